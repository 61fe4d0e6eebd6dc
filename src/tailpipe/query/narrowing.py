"""Narrowing: which part of what was collected queries see: a span of time, partitions, indexes, a schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from tailpipe.catalog.snapshot import EPOCH, LiveFile, Snapshot
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean, listed
from tailpipe.model.partition import Schema
from tailpipe.model.window import EVER, Window, window_between
from tailpipe.sql.quoting import moment

if TYPE_CHECKING:
    from tailpipe.catalog.live import LargeSnapshot

_MICROSECOND = timedelta(microseconds=1)


@frozen
class Narrowing:
    """The part of the tables that is shown; partitions (by name or `table.name`) and indexes may have wildcards."""

    window: Window = EVER
    partitions: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    schema: str | None = None
    """Where names without a schema are looked up."""

    def __post_init__(self) -> None:
        if self.window.start == self.window.end:
            raise UsageError(f"no time is between {self.window.start} and {self.window.end}", hint="choose a later end")

    @classmethod
    def parse(
        cls,
        start: str | None = None,
        end: str | None = None,
        partitions: Sequence[str] = (),
        indexes: Sequence[str] = (),
        schema: str | None = None,
        *,
        now: datetime,
    ) -> Narrowing:
        """Read what a command line says: times in all forms of `--from` and `--to`."""
        window = window_between(start, end, now=now)
        return cls(window, tuple(partitions), tuple(indexes), schema)

    @classmethod
    def of_schema(cls, schema: Schema, *, now: datetime) -> Narrowing:
        """What a `schema` block shows of its tables."""
        partitions = () if "*" in schema.partitions else tuple(schema.partitions)
        indexes = () if "*" in schema.indexes else tuple(schema.indexes)
        return cls.parse(schema.from_, schema.to, partitions, indexes, now=now)

    def files(self, files: Iterable[LiveFile]) -> tuple[LiveFile, ...]:
        """Those that can hold rows of it, by what the catalog knows of them."""
        low, high = _microseconds(self.window.start), _microseconds(self.window.end)
        return tuple(
            file
            for file in files
            if (not self.partitions or any(_is_partition(pattern, file.partition) for pattern in self.partitions))
            and (not self.indexes or any(_matches(pattern, file.tp_index) for pattern in self.indexes))
            and (file.max_microseconds is None or file.max_microseconds >= low)
            and (file.min_microseconds is None or file.min_microseconds < high)
        )

    def condition(self, files: Iterable[LiveFile]) -> str:
        """The SQL that drops rows of files which cross an end of the window; empty if no file does."""
        low, high = _microseconds(self.window.start), _microseconds(self.window.end)
        cuts = []
        some = tuple(files)
        if self.window.has_start and any(one.min_microseconds is None or one.min_microseconds < low for one in some):
            cuts.append(f"tp_timestamp >= {moment(self.window.start)}")
        if self.window.has_end and any(one.max_microseconds is None or one.max_microseconds >= high for one in some):
            cuts.append(f"tp_timestamp < {moment(self.window.end)}")
        return " AND ".join(cuts)

    def check(self, snapshot: Snapshot | LargeSnapshot, partitions: Iterable[str]) -> None:
        """Refuse a partition or an index that nothing has: a wrong name must not look like no rows."""
        if not self.partitions and not self.indexes:
            return
        known = sorted({*partitions, *snapshot.partitions})
        for pattern in self.partitions:
            if not any(_is_partition(pattern, name) for name in known):
                raise UsageError(f"partition not found: {pattern}", hint=_nearest(pattern, known))
        indexes = sorted(snapshot.indexes()) if self.indexes else []
        for pattern in self.indexes:
            if indexes and not any(fnmatchcase(name, pattern) for name in indexes):
                raise UsageError(f"index not found: {pattern}", hint=_nearest(pattern, indexes))


def _is_partition(pattern: str, address: str) -> bool:
    return _matches(pattern, address if "." in pattern else address.partition(".")[2])


@cache
def _matches(pattern: str, name: str | None) -> bool:
    """Cached, because ten thousand files have few partitions and indexes."""
    return name is not None and fnmatchcase(name, pattern)


def _microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // _MICROSECOND


def _nearest(name: str, known: Sequence[str]) -> str:
    return did_you_mean(name, known, f"there are: {listed(known, 5)}" if known else "there is none yet")
