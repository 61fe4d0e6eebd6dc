"""What was done to a partition's data after a run: what has expired, and what was put together."""

from __future__ import annotations

from tailpipe.frozen import frozen
from tailpipe.model.coverage import NO_DAYS, DaySet

__all__ = ["Tidied"]


@frozen
class Tidied:
    """`expired` are dates that were dropped, with their rows; `files` became `new_files`; `notes` tell the rest."""

    expired: DaySet = NO_DAYS
    expired_rows: int = 0
    files: int = 0
    new_files: int = 0
    notes: tuple[str, ...] = ()
