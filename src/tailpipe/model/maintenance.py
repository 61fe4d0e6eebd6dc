"""Maintenance of a partition after a run: what has expired, and which files were merged."""

from __future__ import annotations

from tailpipe.frozen import frozen
from tailpipe.model.coverage import NO_DAYS, DaySet


@frozen
class Maintenance:
    """`expired_days` were dropped with their rows, and `compacted_files` became `new_files`."""

    expired_days: DaySet = NO_DAYS
    expired_rows: int = 0
    compacted_files: int = 0
    new_files: int = 0
    warnings: tuple[str, ...] = ()
