"""What the loop tells: small values, which the command line prints."""

from __future__ import annotations

from tailpipe.collect.events import Summary
from tailpipe.frozen import frozen

__all__ = ["Chored", "Collected", "Failing", "News", "Recovered", "Reloaded", "Said"]


@frozen
class Collected:
    """A cycle has brought rows, or left something aside."""

    summary: Summary


@frozen
class Failing:
    """A partition or chore has failed; it is tried again after so many seconds. One that `is_stuck` still runs."""

    name: str
    error: str
    again_seconds: float = 0.0
    failures: int = 1
    is_stuck: bool = False


@frozen
class Recovered:
    """A partition or chore works again."""

    name: str


@frozen
class Chored:
    """A chore has done something: `what` in words, `counts` for programs."""

    kind: str
    what: str
    counts: dict[str, int]


@frozen
class Reloaded:
    """The config was read again; with an `error` the one before stays in use."""

    partitions: int
    error: str = ""


@frozen
class Said:
    """Words for the person."""

    text: str


News = Collected | Failing | Recovered | Chored | Reloaded | Said
