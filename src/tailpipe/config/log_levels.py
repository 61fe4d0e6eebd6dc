"""How much is logged, as `TAILPIPE_LOG_LEVEL` says it: `info`, or `info,botocore=debug`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from tailpipe.config.settings import LOG_LEVELS
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean

__all__ = ["LogLevels"]

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_FORM = "write LEVEL, or LEVEL,NAME=LEVEL, such as info,botocore=debug"


@frozen
class LogLevels:
    """The level of our own loggers, and those of others that were named."""

    level: str = "warning"
    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, default: str = "warning") -> LogLevels:
        """The levels that `TAILPIPE_LOG_LEVEL` says, whatever the case; if it only names loggers, with the default."""
        variable = "TAILPIPE_LOG_LEVEL"
        level: str | None = None
        named: dict[str, str] = {}
        for part in text.split(","):
            name, equals, value = (one.strip() for one in part.rpartition("="))
            if value.lower() not in LOG_LEVELS:
                hint = did_you_mean(value, LOG_LEVELS, "the levels are: " + ", ".join(LOG_LEVELS)) if value else _FORM
                raise UsageError(f'{variable} is "{text}": there is no level "{value}"', hint=hint)
            if not equals and level is not None:
                raise UsageError(f'{variable} is "{text}": it has two levels, {level} and {value}', hint=_FORM)
            if not equals:
                level = value.lower()
            elif not _NAME.fullmatch(name):
                raise UsageError(f'{variable} is "{text}": "{name}" is not the name of a logger', hint=_FORM)
            elif name in named:
                raise UsageError(f'{variable} is "{text}": "{name}" is duplicated', hint=_FORM)
            else:
                named[name] = value.lower()
        return cls(level or default, named)
