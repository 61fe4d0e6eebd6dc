"""Requests of operations: what a run of `collect` or `detect` is to do."""

from __future__ import annotations

from datetime import UTC, date, datetime

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.selector import Selection
from tailpipe.model.window import Window


@frozen
class Collect:
    """A request to collect partitions, or all of them.

    Without a window a run continues from the frontier; with `fill` it also takes older days that were never requested,
    but none before `oldest`, the first day that the partition keeps. With `accept_loss`, overwriting may leave days
    without rows.
    """

    now: datetime
    window: Window | None = None
    overwrite: bool = False
    oldest: date | None = None
    fill: bool = False
    accept_loss: bool = False
    partitions: Selection = ()
    source: str | None = None
    """The one source to collect, of a single partition."""
    skip_bad_artifacts: bool = False
    compact: bool = True
    maintain: bool = True
    push: bool = True
    is_cycle: bool = False
    """Whether this is one of many runs of a process: their SQL was checked, and those without news are one run."""
    command: str = ""
    """The command line, for the history of runs."""

    def __post_init__(self) -> None:
        if self.fill and (self.overwrite or self.window is not None):
            other = "--overwrite" if self.overwrite else "--from or --to"
            hint = "--fill collects the days since the oldest one that were never requested"
            raise UsageError(f"--fill cannot be combined with {other}", hint=hint)

    @property
    def is_open(self) -> bool:
        """Whether the run has no end of its own."""
        return self.window is None or self.window.is_open

    @property
    def today(self) -> date:
        """The day that has not ended yet, in UTC."""
        return self.now.astimezone(UTC).date()


@frozen
class Detect:
    """A request to run detections, all or those of these names and patterns.

    They examine the rows that are new since the last run of all, or all rows of a window.
    """

    now: datetime
    names: tuple[str, ...] = ()
    window: Window | None = None
    dry_run: bool = False
    notify: bool | None = None
    """Whether hits are sent; without it those of new rows are, and those of a window are not."""

    @property
    def sends(self) -> bool:
        """Whether hits are sent."""
        return self.window is None if self.notify is None else self.notify
