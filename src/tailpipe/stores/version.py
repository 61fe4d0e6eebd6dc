"""Versions: which state of the data a query sees."""

from __future__ import annotations

from datetime import UTC, datetime

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.window import parse_moment


@frozen
class Version:
    """The data of now, of a time, or of a tag."""

    as_of: datetime | None = None
    tag: str | None = None

    @classmethod
    def parse(cls, as_of: str | datetime | None, tag: str | None, *, now: datetime) -> Version:
        """Read what a command line or a program says."""
        if as_of is not None and tag is not None:
            raise UsageError("--as-of and --tag cannot be combined", hint="remove one of them")
        if isinstance(as_of, datetime) and as_of.tzinfo is None:
            raise UsageError("the time of a version needs a time zone", hint="add tzinfo=UTC")
        moment = parse_moment(as_of, now=now) if isinstance(as_of, str) else as_of
        if moment is not None and moment > now:
            raise UsageError(f"{moment.isoformat()} is in the future", hint="choose an earlier time")
        return cls(moment.astimezone(UTC) if moment else None, tag)


NOW = Version()
