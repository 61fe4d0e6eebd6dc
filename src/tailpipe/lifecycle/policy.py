"""Policy: which files are to be put together, and which days have expired. Nothing here reads a clock or a disk."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from tailpipe.catalog.snapshot import LiveFile
from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, Coverage, DaySet

__all__ = ["FileGroup", "Wanted", "expired_days", "groups_to_compact", "is_right"]

_MEGABYTE = 1024 * 1024
SMALL_BYTES = 128 * _MEGABYTE
"""Two files that are neighbours in time and not larger than this together should be one."""
LARGE_BYTES = 256 * _MEGABYTE
"""Up to this, the rows of a group become one file."""
PART_BYTES = 192 * _MEGABYTE
"""About how large the files are if there are several of them."""
OPEN_DATES = 2
OPEN_FILES = 8
"""The newest dates still get rows with each run: after a collection they wait until they have so many files."""


@dataclass(frozen=True)
class Wanted:
    """What is to be looked at: the dates, and the units if not all of them.

    `today` is given after a collection, when the newest dates wait until it pays.
    """

    days: DaySet = EVERY_DAY
    units: Container[str] | None = None
    today: date | None = None


@dataclass(frozen=True)
class FileGroup:
    """Files of one unit and date whose rows are written again together; with other indexes if it `is_moved`."""

    unit: str
    tp_date: date
    files: tuple[LiveFile, ...]
    is_moved: bool = False

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(file.rows for file in self.files)

    @property
    def part_bytes(self) -> int | None:
        """About how large the new files are; None if there is to be one for each index."""
        return None if self.size <= LARGE_BYTES else PART_BYTES


def groups_to_compact(files: Iterable[LiveFile], wanted: Wanted, misplaced: Container[str] = ()) -> list[FileGroup]:
    """The groups that are to be written again, by unit and date.

    Files of one unit, date and index are a group. If some of a unit's files of a date are `misplaced`
    (their paths are given), all its files of that date are one, and its rows get their indexes anew.
    """
    places: dict[tuple[str, date], list[LiveFile]] = {}
    for file in files:
        if file.tp_date in wanted.days and (wanted.units is None or file.unit in wanted.units):
            places.setdefault((file.unit, file.tp_date), []).append(file)
    groups = []
    for (unit, day), found in sorted(places.items()):
        if any(file.path in misplaced for file in found):
            groups.append(FileGroup(unit, day, tuple(found), is_moved=True))
            continue
        indexes: dict[str | None, list[LiveFile]] = {}
        for file in found:
            indexes.setdefault(file.tp_index, []).append(file)
        groups += [FileGroup(unit, day, tuple(some)) for some in indexes.values() if _is_due(some, day, wanted)]
    return groups


def is_right(files: Sequence[LiveFile]) -> bool:
    """Whether these files of one unit, date and index are as they should be.

    One file always is. Several are if they follow each other in time and no two neighbours are small.
    """
    order = sorted(files, key=lambda file: (file.min_microseconds or 0, file.max_microseconds or 0))
    return all(
        (one.max_microseconds or 0) <= (other.min_microseconds or 0) and one.size + other.size > SMALL_BYTES
        for one, other in pairwise(order)
    )


def _is_due(files: Sequence[LiveFile], day: date, wanted: Wanted) -> bool:
    is_open = wanted.today is not None and day > wanted.today - timedelta(days=OPEN_DATES)
    return not is_right(files) and (not is_open or len(files) >= OPEN_FILES)


def expired_days(oldest: date, coverage: Mapping[str, Coverage], first_date: date | None) -> DaySet:
    """The days before `oldest`, the first that is kept, of which something is here or known and not yet dropped.

    `first_date` is the oldest date of a row.
    """
    open_days = NO_DAYS
    for known in coverage.values():
        open_days |= known.covered | known.missing
    first = min((day for day in (open_days.first, first_date) if day is not None), default=oldest)
    return DaySet.span(first, oldest - timedelta(days=1))
