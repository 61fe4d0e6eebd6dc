"""What is logged, and how much: our own loggers by level, those of others by name, and nothing secret."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable

from tailpipe.config.log_levels import LogLevels
from tailpipe.errors import UsageError
from tailpipe.model.redacting import RedactingFormatter
from tailpipe.model.redaction import REDACTOR, secrets_of

__all__ = ["is_debugging", "log_from", "start_logging"]

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}
_QUIET = {"py4j": "error", "sqlglot": "error"}
"""Py4J logs every word to and from the JVM; what sqlglot cannot translate is an error of ours."""


def start_logging() -> None:
    """Log to stderr, without the secrets of the environment, as much as the variable says."""
    REDACTOR.learn(secrets_of(os.environ))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.getLogger().handlers = [handler]
    logging.raiseExceptions = False  # a record that cannot be formatted is printed with its arguments
    log_from(_requested())


def log_from(levels: LogLevels, secrets: Iterable[str] = ()) -> None:
    """Log what is at least that important; loggers that are not ours give warnings alone, unless they are named."""
    REDACTOR.learn(secrets)
    level = _LEVELS[levels.level]
    logging.getLogger().setLevel(max(level, logging.WARNING))
    logging.getLogger("tailpipe").setLevel(level)
    for name, one in {**_QUIET, **levels.named}.items():
        logging.getLogger(name).setLevel(_LEVELS[one])


def is_debugging() -> bool:
    """Whether a bug is shown with its traceback."""
    return _requested().level == "debug"


def _requested() -> LogLevels:
    """What the variable says; a wrong one is reported by the command, when it opens its workspace."""
    try:
        return LogLevels.parse(os.environ.get("TAILPIPE_LOG_LEVEL") or "warning")
    except UsageError:
        return LogLevels()
