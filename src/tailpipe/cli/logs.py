"""What is logged, and how much: our own loggers by level, those of others by name, and nothing secret."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tailpipe.errors import UsageError
from tailpipe.model.redacted_logging import RedactingFormatter
from tailpipe.model.redaction import REDACTOR, secrets_of

if TYPE_CHECKING:
    from tailpipe.config.settings import LogLevels

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}
_DEFAULT = "warning"
_QUIET = {"azure": "error", "botocore": "error", "google": "error", "py4j": "error", "sqlglot": "error"}
"""Py4J logs every word to and from the JVM; what sqlglot cannot translate, or a cloud refuses, is an error of ours."""


def start_logging() -> None:
    """Log to stderr, without the secrets of the environment, as much as the variable says."""
    REDACTOR.learn(secrets_of(os.environ))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.getLogger().handlers = [handler]
    logging.raiseExceptions = False  # a record that cannot be formatted is printed with its arguments
    _log(*_requested())


def log_from(levels: LogLevels, secrets: Iterable[str] = ()) -> None:
    """Log what is at least that important; loggers that are not ours give warnings alone, unless they are named."""
    REDACTOR.learn(secrets)
    _log(levels.level, levels.named)


def _log(least: str, named: Mapping[str, str]) -> None:
    level = _LEVELS[least]
    logging.getLogger().setLevel(max(level, logging.WARNING))
    logging.getLogger("tailpipe").setLevel(level)
    for name, one in {**_QUIET, **named}.items():
        logging.getLogger(name).setLevel(_LEVELS[one])


def is_debugging() -> bool:
    """Whether a bug is shown with its traceback."""
    level, _ = _requested()
    return level == "debug"


def _requested() -> tuple[str, Mapping[str, str]]:
    """What the variable says; a wrong one is reported by the command, when it opens its workspace."""
    if text := os.environ.get("TAILPIPE_LOG_LEVEL"):
        from tailpipe.config.settings import LogLevels  # late, because it brings the options of a workspace

        try:
            levels = LogLevels.parse(text)
        except UsageError:
            return _DEFAULT, {}
        return levels.level, levels.named
    return _DEFAULT, {}
