"""What a run of `collect` is requested to do."""

from __future__ import annotations

from datetime import UTC, date, datetime

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.window import Window

__all__ = ["CollectRequest"]


@frozen
class CollectRequest:
    """What is requested of a run; without a window it goes on from the frontier.

    If it may `accept_loss`, overwriting may leave days without rows that have some.

    `oldest` is the first day that the partition keeps: without a window nothing older is requested. With `fill` a run
    without a window takes the days too that nobody has requested, from the oldest one on.
    """

    now: datetime
    window: Window | None = None
    overwrite: bool = False
    oldest: date | None = None
    fill: bool = False
    accept_loss: bool = False

    def __post_init__(self) -> None:
        if self.fill and (self.overwrite or self.window is not None):
            other = "--overwrite" if self.overwrite else "--from or --to"
            raise UsageError(
                f"--fill cannot be combined with {other}",
                hint="--fill collects the days since the oldest one that were never requested",
            )

    @property
    def is_open(self) -> bool:
        """Whether the run has no end of its own."""
        return self.window is None or self.window.is_open

    @property
    def today(self) -> date:
        """The day that has not ended yet, in UTC."""
        return self.now.astimezone(UTC).date()
