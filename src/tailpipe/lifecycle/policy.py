"""Policy: which files to merge, and which days have expired. Nothing here reads a clock or a disk."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate, pairwise

from tailpipe.catalog.snapshot import LiveFile
from tailpipe.frozen import frozen
from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, Coverage, DaySet

_MEGABYTE = 1024 * 1024
SMALL_BYTES = 128 * _MEGABYTE
"""A full pass merges two files that follow each other in time and are not larger than this together."""
LARGE_BYTES = 256 * _MEGABYTE
"""Up to this, the rows of a group become one file."""
PART_BYTES = 192 * _MEGABYTE
"""About how large the files are if there are several of them."""
FULL_BYTES = 32 * _MEGABYTE
"""Files of this size or more are not rewritten after a collection: opening one takes about 1 % of reading it."""
GROWTH = 4
"""After a collection, files are merged if the new one has at least this many times the rows of the largest of them."""
FEW_FILES = 8
"""After a collection, a unit has at most this many files below `FULL_BYTES` for each date and index."""


@frozen
class Wanted:
    """Which files to look at, by date and unit, and what to merge: in a full pass whatever is not right, otherwise
    only what pays."""

    days: DaySet = EVERY_DAY
    units: Container[str] | None = None
    is_full_pass: bool = True


@frozen
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

    A group has files of one unit, date and index. If some of a unit's files of a date are `misplaced`
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
        for some in indexes.values():
            chosen = worth_merging(some) if not wanted.is_full_pass else () if is_right(some) else tuple(some)
            if chosen:
                groups.append(FileGroup(unit, day, chosen))
    return groups


def worth_merging(files: Sequence[LiveFile]) -> tuple[LiveFile, ...]:
    """Those of these files of one unit, date and index that are worth merging: the smallest ones, or none.

    As many as possible are taken that together have `GROWTH` times the rows of the largest of them. So a file grows by
    that factor each time that its rows are rewritten, which bounds how often that happens by a logarithm. If sizes
    differ so much that more than `FEW_FILES` are left, those are taken that grow most. Rows are counted rather than
    bytes, because a merged file has fewer bytes than its parts, but not fewer rows.
    """
    small = sorted((file for file in files if file.size < FULL_BYTES), key=lambda file: (-file.rows, file.path))
    rows = [max(file.rows, 1) for file in small]
    sums = list(accumulate(reversed(rows)))[::-1]
    # By what the largest grows if it and all smaller ones are merged; those before it stay.
    growth = [together / largest for together, largest in zip(sums, rows, strict=True)][:FEW_FILES]
    for first, factor in enumerate(growth):
        if factor >= GROWTH:
            return tuple(small[first:])
    if len(small) <= FEW_FILES:
        return ()
    best = max(range(FEW_FILES), key=lambda first: (growth[first], first))  # of equal ones the cheapest
    return tuple(small[best:])


def is_right(files: Sequence[LiveFile]) -> bool:
    """Whether these files of one unit, date and index are as they should be.

    One file always is. Several are if they follow each other in time and no two neighbours are small.
    """
    order = sorted(files, key=lambda file: (file.min_microseconds or 0, file.max_microseconds or 0))
    return all(
        (one.max_microseconds or 0) <= (other.min_microseconds or 0) and one.size + other.size > SMALL_BYTES
        for one, other in pairwise(order)
    )


def expired_days(oldest: date, coverage: Mapping[str, Coverage], first_date: date | None) -> DaySet:
    """The days before `oldest`, the first that is kept, of which something is here or known and not yet dropped.

    `first_date` is the oldest date of a row.
    """
    open_days = NO_DAYS
    for known in coverage.values():
        open_days |= known.covered | known.missing
    first = min((day for day in (open_days.first, first_date) if day is not None), default=oldest)
    return DaySet.span(first, oldest - timedelta(days=1))
