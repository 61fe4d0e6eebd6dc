"""Events of the loop: small values, which the command line prints."""

from __future__ import annotations

from tailpipe.collect.events import Summary
from tailpipe.frozen import frozen


@frozen
class Collected:
    """A cycle has brought rows, or left something aside."""

    summary: Summary


@frozen
class Failing:
    """A partition or task has failed; it is tried again after so many seconds. One that `is_stuck` still runs."""

    name: str
    error: str
    retry_seconds: float = 0.0
    failures: int = 1
    is_stuck: bool = False


@frozen
class Recovered:
    """A partition or task works again."""

    name: str


@frozen
class TaskDone:
    """A task has done something: `message` in words, `counts` for programs."""

    task: str
    message: str
    counts: dict[str, int]


@frozen
class Reloaded:
    """The config was read again; with an `error` the one before stays in use."""

    partitions: int
    error: str = ""


News = Collected | Failing | Recovered | TaskDone | Reloaded
