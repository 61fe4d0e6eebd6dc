"""The live files of a catalog that is too large to be read for each query: loaded by table, date and index.

A workspace with a year of many accounts has a million files, and a query reads those of a day. So a session keeps one
view of the catalog open and loads what a statement's conditions leave.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import date
from functools import cached_property
from operator import attrgetter
from typing import Any

from tailpipe.catalog import seals
from tailpipe.catalog.database import Database, open_database
from tailpipe.catalog.home import is_begun
from tailpipe.catalog.layout import Layout, below, partition_segment
from tailpipe.catalog.snapshot import (
    ColumnSets,
    LiveFile,
    Snapshot,
    columns_in_use,
    live_file,
    names_of,
    newest_commit,
    roots_of,
    selected,
    sequence,
    sets_of,
    snapshot,
)
from tailpipe.frozen import frozen

LARGE = 20_000
"""With more live files than this, a query loads those alone that it may need."""
_FEW_INDEXES = 500
"""More values than this are not worth a condition, nor looking for one by one."""
_TO_INDEX = 4
"""So many parts of a stored path lead to the directory of an index: `files`, table, partition, index."""


@frozen
class Part:
    """Which files to load: partitions with some of their dates (None: all), and indexes (None: all)."""

    dates: Mapping[str, Collection[date] | None]
    indexes: Collection[str | None] | None = None


def open_live(layout: Layout) -> Snapshot | LargeSnapshot:
    """The live files of a workspace, to be closed; none if nothing was ever collected."""
    if not is_begun(layout):
        return Snapshot(layout.internal, (), {}, 0)
    with ExitStack() as stack:
        return _live(stack.enter_context(closing(open_database(layout, is_read_only=True))), stack)


def newer_live(layout: Layout, than: int) -> Snapshot | LargeSnapshot | None:
    """The live files of a workspace, as `open_live` has them; None if this is still the newest commit."""
    if not is_begun(layout):
        return None
    with ExitStack() as stack:
        database = stack.enter_context(closing(open_database(layout, is_read_only=True)))
        return None if sequence(database) == than else _live(database, stack)


def _live(database: Database, opened: ExitStack) -> Snapshot | LargeSnapshot:
    sealed = seals.load(database.connection, "data", str(database.layout.database))
    if sealed is None or sum(one.entries for one in sealed.values()) <= LARGE:
        return snapshot(database)
    opened.enter_context(database.reading())
    return LargeSnapshot(database, opened.pop_all())


class LargeSnapshot:
    """The live files at one instant, as `Snapshot` has them; it holds a transaction of the catalog until it is closed.

    Files are loaded without comparing them with the seals of the catalog, which are over whole partitions.
    """

    def __init__(self, database: Database, held: ExitStack) -> None:
        self._database = database
        self._held = held
        self._sets: dict[str, ColumnSets] = {}
        self._indexes: dict[str, frozenset[str | None]] = {}
        path = str(database.layout.database)
        sealed = seals.load(database.connection, "data", path) or {}
        known = names_of(database, database.connection, None, None)
        self._ids = {name: key for key, name in known if (one := sealed.get(key)) and one.entries}
        own, self.sequence = roots_of(database.connection), newest_commit(database.connection)
        self._empty = empty = Snapshot(database.layout.internal, (), {}, self.sequence, own)
        self.root, self.directories, self.place = empty.root, empty.directories, empty.place

    @property
    def partitions(self) -> frozenset[str]:
        """The partitions that hold something."""
        return frozenset(self._ids)

    def indexes(self) -> set[str]:
        """The values of `tp_index` that occur."""
        return {value for name in self._ids for value in self.indexes_of(name) if value is not None}

    @cached_property
    def columns(self) -> ColumnSets:
        """All sets of columns that live files have."""
        return {number: one for name in self._ids for number, one in self.columns_of(name).items()}

    def columns_of(self, partition: str) -> ColumnSets:
        """The sets of columns that live files of a partition have."""
        if partition not in self._sets:
            connection = self._database.connection
            used = columns_in_use(connection, self._ids[partition], partition)
            self._sets[partition] = sets_of(connection, used, str(self._database.layout.database))
        return self._sets[partition]

    def dates_of(self, partition: str) -> list[date]:
        """The dates of which a partition has files, from date to date through an index."""
        rows = self._database.connection.execute(
            "WITH RECURSIVE known (day) AS ("
            " SELECT min(tp_date) FROM files WHERE partition_id = ?1 AND state = 'live' UNION ALL"
            " SELECT (SELECT min(tp_date) FROM files WHERE partition_id = ?1 AND state = 'live' AND tp_date > day)"
            " FROM known WHERE day IS NOT NULL) SELECT day FROM known WHERE day IS NOT NULL",
            (self._ids[partition],),
        )
        return [date.fromisoformat(day) for (day,) in rows]

    def indexes_of(self, partition: str) -> frozenset[str | None]:
        """The values of `tp_index` that a partition has, from directory to directory; of very many, by all files."""
        if partition not in self._indexes:
            begin, end = below(f"files/{partition_segment(partition)}")
            found = set[str | None]()
            where = "path > ? AND path < ? AND state = 'live'"
            for _ in range(_FEW_INDEXES):
                row = self._database.connection.execute(
                    f"SELECT path, tp_index FROM files WHERE {where} ORDER BY path LIMIT 1",  # noqa: S608 - ours
                    (begin, end),
                ).fetchone()
                if row is None:
                    break
                found.add(row[1])
                begin = below("/".join(row[0].split("/")[:_TO_INDEX]))[1]  # a directory holds one index
            else:
                query = f"SELECT DISTINCT tp_index FROM files WHERE {where}"  # noqa: S608 - ours
                found |= {value for (value,) in self._database.connection.execute(query, (begin, end))}
            self._indexes[partition] = frozenset(found)
        return self._indexes[partition]

    def sums_of(self, partition: str) -> Iterator[tuple[Any, ...]]:
        """For each index and date of a partition: how many files, rows and bytes, the times, and where they are."""
        return self._grouped(
            partition,
            "count(*), sum(rows), sum(bytes), min(min_timestamp), max(max_timestamp), min(here), min(key IS NOT NULL)",
        )

    def days_of(self, partition: str, first: date, last: date) -> list[tuple[date, int, int, int | None, int | None]]:
        """For each date between two: how many files and rows a partition has, and the bounds of their times."""
        rows = self._database.connection.execute(
            "SELECT tp_date, count(*), sum(rows), min(min_timestamp), max(max_timestamp) FROM files"
            " WHERE partition_id = ? AND state = 'live' AND tp_date BETWEEN ? AND ? GROUP BY tp_date",
            (self._ids[partition], first.isoformat(), last.isoformat()),
        )
        return [(date.fromisoformat(day), *facts) for day, *facts in rows]

    def files_of(self, partition: str) -> Iterator[tuple[Any, ...]]:
        """For each index and date of a partition, JSON arrays with what is known of each file."""
        columns = ("rows", "bytes", "min_timestamp", "max_timestamp", "here", "key IS NOT NULL")
        return self._grouped(partition, ", ".join(f"json_group_array({column})" for column in columns))

    def _grouped(self, partition: str, columns: str) -> Iterator[tuple[Any, ...]]:
        # By ranges of the primary key: files of an index and date are side by side there, so that sorting costs little.
        return self._database.connection.execute(
            f"SELECT tp_index, tp_date, {columns} FROM files WHERE path > ? AND path < ? AND state = 'live'"  # noqa: S608
            " GROUP BY tp_index, tp_date",
            below(f"files/{partition_segment(partition)}"),
        )

    def load(self, part: Part) -> Snapshot:
        """The files of a part, with the columns of all files of its partitions."""
        files: list[LiveFile] = []
        columns: dict[int, Mapping[str, str]] = {}
        for name, dates in part.dates.items():
            files += self._files(name, dates, part.indexes)
            columns |= self.columns_of(name)
        sets: dict[str, set[int]] = {}
        for name in part.dates:
            sets.setdefault(name.partition(".")[0], set()).update(self.columns_of(name))
        return replace(self._empty, files=tuple(sorted(files, key=attrgetter("path"))), columns=columns, sets=sets)

    def _files(
        self, partition: str, dates: Collection[date] | None, indexes: Collection[str | None] | None
    ) -> Iterable[LiveFile]:
        connection = self._database.connection
        where, values = "path > ? AND path < ?", [*below(f"files/{partition_segment(partition)}")]
        spans: list[list[str]] = [[]]
        if dates is not None:
            where, values = "partition_id = ? AND role = 'data' AND tp_date = ?", []
            spans = [[str(self._ids[partition]), day.isoformat()] for day in sorted(dates)]
        if indexes is not None and None not in indexes and len(indexes) <= _FEW_INDEXES:
            where += f" AND tp_index IN ({', '.join('?' * len(indexes))})"
            values += [str(value) for value in indexes]
        query = f"SELECT {selected(connection)} FROM files WHERE {where} AND state = 'live'"  # noqa: S608 - marks and our own columns
        for span in spans:
            for row in connection.execute(query, (*span, *values)):
                yield live_file(partition, *row)

    def close(self) -> None:
        """Close the catalog."""
        self._held.close()
