"""Logging without secrets."""

from __future__ import annotations

import logging
import os

from tailpipe.model.redaction import REDACTOR, secrets_of


class RedactingFormatter(logging.Formatter):
    """Formats a record as a whole, its traceback included, and takes the secrets out of it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line as it may be written."""
        return REDACTOR(super().format(record))


def log_redacted() -> None:
    """Let a process that has set up no logging, such as a worker of Spark, write its warnings without secrets."""
    REDACTOR.learn(secrets_of(os.environ))
    if not logging.getLogger().handlers:  # Python would print them as they are
        handler = logging.StreamHandler()
        handler.setFormatter(RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
        logging.getLogger().addHandler(handler)
        logging.raiseExceptions = False  # a record that cannot be formatted is printed with its arguments
