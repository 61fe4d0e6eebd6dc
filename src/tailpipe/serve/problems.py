"""Failures as answers: a status, a message, a hint and a place; never a traceback, nor a path of this machine."""

from __future__ import annotations

import logging
import re
from typing import Any

from tailpipe.errors import (
    ConfigError,
    CrashedError,
    LockedError,
    QueryError,
    TailpipeError,
    TimeLimitError,
    UsageError,
)
from tailpipe.frozen import frozen
from tailpipe.http_guard.guard import RefusedError
from tailpipe.workers.places import Places

_log = logging.getLogger(__name__)
_FLAG = re.compile(r"(?:^|[\s(])(?:--\w|\.timeout)")


class BusyError(RefusedError):
    """Too many statements run and wait."""

    def __init__(self) -> None:
        super().__init__(503, "too many statements at once", hint="try again when others have finished")


class LeftError(TailpipeError):
    """The client has left, or the server ends."""

    def __init__(self) -> None:
        super().__init__("cancelled")


@frozen
class Problems:
    """Turns failures into answers; `places` are directories whose paths are not shown."""

    places: Places

    def of(self, failure: BaseException) -> tuple[int, dict[str, Any]]:
        """The status and the body of an answer."""
        if not isinstance(failure, TailpipeError):
            _log.error("a request of the explorer failed: %s", type(failure).__name__)
            _log.debug("a request of the explorer failed", exc_info=failure)
            return 500, _error("internal error", "see the log of tailpipe serve")
        place = failure.place if isinstance(failure, QueryError) else None
        hint = "" if _FLAG.search(failure.hint) and "tailpipe " not in failure.hint else failure.hint
        found = _error(self.places.shown(failure.message), self.places.shown(hint) or None)
        if place is not None:
            found["error"] |= {"line": place.line, "column": place.column}
        if isinstance(failure, CrashedError):
            found["error"]["code"] = "crashed"
        return _status(failure), found


def _status(failure: TailpipeError) -> int:
    if isinstance(failure, RefusedError):
        return failure.status
    if isinstance(failure, ConfigError):
        return 500
    if isinstance(failure, UsageError | QueryError):
        return 400
    if isinstance(failure, TimeLimitError):
        return 504
    return 409 if isinstance(failure, LockedError) else 500


def _error(message: str, hint: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "hint": hint, "line": None, "column": None}}
