"""Snapshots: the files that are live at one instant, which is all that a query needs of the catalog.

It stands alone, so that a query loads nothing of what writes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tailpipe.catalog import seals
from tailpipe.catalog.database import Database, open_database
from tailpipe.catalog.home import is_begun
from tailpipe.catalog.layout import Layout, below, partition_segment
from tailpipe.catalog.schema import has_table
from tailpipe.frozen import frozen

__all__ = [
    "EPOCH",
    "ColumnSets",
    "LiveFile",
    "Snapshot",
    "column_sets",
    "count_move",
    "current",
    "newer",
    "sequence",
    "snapshot",
]

MOVES = "moves"
"""The fact that counts how often files have left this disk or come back."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ColumnSets = Mapping[int, Mapping[str, str]]
"""Names of columns with their DuckDB types, by the number of the set that files share."""


class LiveFile(NamedTuple):
    """A file that a query may read; a tuple, because there may be a hundred thousand of them.

    The bounds are microseconds since 1970, as the catalog keeps them.
    """

    path: str
    partition: str
    unit: str
    tp_index: str | None
    tp_date: date
    rows: int
    size: int
    min_microseconds: int | None
    max_microseconds: int | None
    columns_id: int

    @property
    def min_timestamp(self) -> datetime | None:
        """The oldest `tp_timestamp`."""
        return None if self.min_microseconds is None else EPOCH + timedelta(microseconds=self.min_microseconds)

    @property
    def max_timestamp(self) -> datetime | None:
        """The newest `tp_timestamp`."""
        return None if self.max_microseconds is None else EPOCH + timedelta(microseconds=self.max_microseconds)


@frozen
class Snapshot:
    """The live files at one instant, whole Days only; they stay readable for the grace period.

    Read them with `hive_partitioning=false`: each file carries all its columns, and a directory name
    may be a shortened index.
    """

    root: Path
    files: tuple[LiveFile, ...]
    columns: ColumnSets
    sequence: int

    def paths(self) -> list[str]:
        """The absolute paths, as DuckDB takes them."""
        root = f"{self.root}/"
        return [root + file.path for file in self.files]

    @property
    def rows(self) -> int:
        """How many rows all files hold."""
        return sum(file.rows for file in self.files)


def current(layout: Layout) -> Snapshot:
    """What is live in a workspace now; nothing, if nothing was ever collected."""
    if not is_begun(layout):
        return Snapshot(layout.internal, (), {}, 0)
    with closing(open_database(layout, is_read_only=True)) as database:
        return snapshot(database)


def newer(layout: Layout, than: int) -> Snapshot | None:
    """The same, unless the newest commit still is that of this number."""
    if not is_begun(layout):
        return None
    with closing(open_database(layout, is_read_only=True)) as database:
        return snapshot(database) if sequence(database) != than else None


def snapshot(
    database: Database,
    table: str | None = None,
    partition: str | None = None,
    *,
    unit: str | None = None,
    dates: tuple[date, date] | None = None,
) -> Snapshot:
    """The live files of all tables, of one table, or of one partition (`table.partition`).

    Of a partition also those of one unit, or those from one date to another, without looking at the others.
    """
    path = str(database.layout.database)
    with database.reading() as connection:
        files: list[LiveFile] = []
        sealed = None if unit or dates else seals.load(connection, "data", path)
        for key, name in _names(database, connection, table, partition):
            where, values = _where(name, unit, dates)
            rows = connection.execute(
                f"SELECT {', '.join(seals.FILE)} FROM files WHERE {where} AND state = 'live' ORDER BY path",  # noqa: S608
                values,
            ).fetchall()
            if sealed is not None:
                seals.check(sealed.get(key), seals.sum_of(rows, seals.FILE), f"the files of {name}", path)
            files += [
                LiveFile(stored, name, of, index, date.fromisoformat(day), count, size, low, high, columns_id)
                for stored, of, index, day, count, size, low, high, columns_id, _ in rows
            ]
        columns = _columns(connection, {file.columns_id for file in files}, path)
        number = _sequence(connection)
    return Snapshot(database.layout.internal, tuple(files), columns, number)


def column_sets(database: Database, table: str | None = None, partition: str | None = None) -> ColumnSets:
    """The columns of the live files of a table or partition, each set of them once, without the files."""
    with database.reading() as connection:
        return columns_of(database, connection, table, partition)


def columns_of(
    database: Database, connection: sqlite3.Connection, table: str | None = None, partition: str | None = None
) -> ColumnSets:
    """The same, within a transaction."""
    used: set[int] = set()
    for _, name in _names(database, connection, table, partition):
        where, values = _where(name)
        used |= {
            number
            for (number,) in connection.execute(
                f"SELECT DISTINCT columns_id FROM files WHERE {where} AND state = 'live'",  # noqa: S608 - marks
                values,
            )
        }
    return _columns(connection, used, str(database.layout.database))


def _where(
    partition: str, unit: str | None = None, dates: tuple[date, date] | None = None
) -> tuple[str, tuple[str, ...]]:
    """Which files of a partition are meant, as SQL and its values."""
    of_partition = "partition_id = (SELECT id FROM partitions WHERE name = ?) AND role = 'data'"
    if unit is not None:
        return f"{of_partition} AND unit = ?", (partition, unit)
    if dates is not None:
        return f"{of_partition} AND tp_date BETWEEN ? AND ?", (partition, *(day.isoformat() for day in dates))
    # A partition is one range of the primary key, and reading on in it needs no look-ups.
    return "path > ? AND path < ?", below(f"files/{partition_segment(partition)}")


def _columns(connection: sqlite3.Connection, used: Collection[int], path: str) -> ColumnSets:
    """The sets of these numbers; a single one may have thousands of columns."""
    found = {}
    sealed = seals.load(connection, "columns", path)
    for number in sorted(used):
        rows = connection.execute("SELECT columns FROM column_sets WHERE id = ?", (number,)).fetchall()
        if sealed is not None:
            seals.check(sealed.get(number), seals.sum_of(rows, ("columns",)), "columns", path)
        found[number] = json.loads(rows[0][0])
    return found


def sequence(database: Database) -> int:
    """The number of the newest commit: while it stays, a snapshot is true."""
    with database.reading() as connection:
        return _sequence(connection)


def _sequence(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM transactions").fetchone()
    if not has_table(connection, "facts"):
        return int(number)
    # What has left this disk or come back is no commit, but a snapshot has to be taken again all the same.
    moved = connection.execute("SELECT value FROM facts WHERE name = ?", (MOVES,)).fetchone()
    return int(number) + (int(moved[0]) if moved else 0)


def count_move(connection: sqlite3.Connection) -> None:
    """Let snapshots that were taken before be out of date, without a commit."""
    connection.execute(
        "INSERT INTO facts VALUES (?, '1') ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1", (MOVES,)
    )


def _names(
    database: Database, connection: sqlite3.Connection, table: str | None, partition: str | None
) -> list[tuple[int, str]]:
    """The partitions of a table, or the one that is named, with their numbers."""
    path = str(database.layout.database)
    known = connection.execute("SELECT id, name FROM partitions ORDER BY name").fetchall()
    if (sealed := seals.load(connection, "partitions", path)) is not None:
        seals.check(sealed.get(0), seals.sum_of(known, ("id", "name")), "partitions", path)
    return [
        (key, name)
        for key, name in known
        if (table is None or name.partition(".")[0] == table) and (partition is None or name == partition)
    ]
