"""Snapshots: the files that are live at one instant, which is all that a query needs of the catalog.

It imports nothing that writes, so that a query loads less.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tailpipe.catalog import seals
from tailpipe.catalog.database import Database, open_database
from tailpipe.catalog.facts import read_fact
from tailpipe.catalog.home import is_begun
from tailpipe.catalog.layout import INTERNAL, Layout, below, partition_segment
from tailpipe.catalog.root_facts import absent, load_roots, mark_of
from tailpipe.catalog.schema import has_column, has_table
from tailpipe.errors import WorkspaceError
from tailpipe.frozen import frozen

MOVES = "moves"
"""The fact that counts how often files have left this disk or come back."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_SEALED = len(seals.FILE)
_OF_PARTITION = "partition_id = (SELECT id FROM partitions WHERE name = ?) AND role = 'data'"

ColumnSets = Mapping[int, Mapping[str, str]]
"""Names of columns with their DuckDB types, by the number of the set that files share."""


def moment_of(microseconds: int | None) -> datetime | None:
    """The time that the catalog keeps as microseconds since 1970."""
    return None if microseconds is None else EPOCH + timedelta(microseconds=microseconds)


class LiveFile(NamedTuple):
    """A file that a query may read; a tuple, because there may be a hundred thousand of them.

    The bounds are microseconds since 1970, as the catalog keeps them. A file that is not here is an object of its
    partition's store: `key` names it there, and `sha256` proves its bytes. A `key` of None: it is not in the store.
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
    is_here: bool = True
    key: str | None = None
    sha256: str | None = None

    @property
    def table(self) -> str:
        """The table of its rows."""
        return self.partition.partition(".")[0]

    @property
    def min_timestamp(self) -> datetime | None:
        """The oldest `tp_timestamp`."""
        return moment_of(self.min_microseconds)

    @property
    def max_timestamp(self) -> datetime | None:
        """The newest `tp_timestamp`."""
        return moment_of(self.max_microseconds)


Bring = Callable[[Sequence[LiveFile], Callable[[LiveFile], str]], list[str]]
"""The paths of files on this disk, given where those are that are here."""


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
    roots: Mapping[str, Path] = field(default_factory=dict)
    """Other roots, by partition: the disk that its local files are on."""
    bring: Bring | None = None
    """Brings files here that are in a store alone."""
    sets: Mapping[str, Collection[int]] | None = None
    """The sets of columns of all files of a table, if some of these are not loaded."""

    def paths(self) -> list[str]:
        """The absolute paths of all files; those that are in a store alone are fetched."""
        return self.local(self.files)

    def local(self, files: Sequence[LiveFile]) -> list[str]:
        """The absolute paths of some files, as `paths` has them."""
        if all(file.is_here for file in files):
            return [self.place(file) for file in files]
        if self.bring is None:
            first = next(file for file in files if not file.is_here)
            raise WorkspaceError(f"{first.path} is only in a store", path=first.path, hint="run: tailpipe pull --data")
        return self.bring(files, self.place)

    def place(self, file: LiveFile) -> str:
        """The absolute path of a file that is here, as DuckDB takes it."""
        if (root := self.roots.get(file.partition)) is None:
            return f"{self.root}/{file.path}"
        if not mark_of(root.parent).exists():
            raise absent(file.partition, root.parent)
        return f"{root}/{file.path}"

    @property
    def directories(self) -> list[Path]:
        """The directories that hold what a query may read on this disk."""
        return [self.root / "schemas", *(root / "files" for root in dict.fromkeys((self.root, *self.roots.values())))]

    @property
    def partitions(self) -> frozenset[str]:
        """The partitions that hold something."""
        return frozenset(file.partition for file in self.files)

    def indexes(self) -> set[str]:
        """The values of `tp_index` that occur."""
        return {file.tp_index for file in self.files if file.tp_index is not None}

    def close(self) -> None:
        """Do nothing; only a `LargeSnapshot` holds a connection."""

    @property
    def rows(self) -> int:
        """How many rows all files hold."""
        return sum(file.rows for file in self.files)


def microseconds(moment: datetime | None) -> int | None:
    """A time as the catalog keeps it; one without a zone is UTC, as in the files."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def current(layout: Layout) -> Snapshot:
    """What is live in a workspace now; nothing, if nothing was ever collected."""
    if not is_begun(layout):
        return Snapshot(layout.internal, (), {}, 0)
    with closing(open_database(layout, is_read_only=True)) as database:
        return snapshot(database)


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
        chosen = selected(connection)
        for key, name in names_of(database, connection, table, partition):
            # A partition is one range of the primary key, and reading on in it needs no look-ups.
            where, values = "path > ? AND path < ?", [*below(f"files/{partition_segment(name)}")]
            if unit is not None:
                where, values = f"{_OF_PARTITION} AND unit = ?", [name, unit]
            elif dates is not None:
                where, values = f"{_OF_PARTITION} AND tp_date BETWEEN ? AND ?", [name, *map(date.isoformat, dates)]
            rows = connection.execute(
                f"SELECT {chosen} FROM files WHERE {where} AND state = 'live' ORDER BY path",  # noqa: S608 - ours
                values,
            ).fetchall()
            if sealed is not None:
                known = (row[:_SEALED] for row in rows)
                seals.check(sealed.get(key), known, seals.FILE, f"the files of {name}", path)
            files += [live_file(name, *row) for row in rows]
        columns = sets_of(connection, {file.columns_id for file in files}, path)
        number = newest_commit(connection)
        own = roots_of(connection)
    return Snapshot(database.layout.internal, tuple(files), columns, number, own, bring=database.bring)


def selected(connection: sqlite3.Connection) -> str:
    """The columns that a `LiveFile` is made of; a catalog of an earlier version knows of no store."""
    has_stores = has_column(connection, "files", "key")
    where = "here, key, CASE here WHEN 0 THEN sha256 END" if has_stores else "1, NULL, NULL"
    return f"{', '.join(seals.FILE)}, {where}"


def live_file(
    partition: str,
    path: str,
    unit: str,
    index: str | None,
    day: str | None,
    rows: int,
    size: int,
    low: int | None,
    high: int | None,
    columns_id: int,
    _: int,
    here: int,
    key: str | None,
    sha256: str | None,
) -> LiveFile:
    """A file of a partition, of the columns that were `selected`."""
    day_ = date.fromisoformat(day) if day else date.min  # rejected rows have none
    return LiveFile(path, partition, unit, index, day_, rows, size, low, high, columns_id, bool(here), key, sha256)


def columns_of(
    database: Database, connection: sqlite3.Connection, table: str | None = None, partition: str | None = None
) -> ColumnSets:
    """The columns of the live files of a table or partition, each set of them once; within a transaction."""
    used: set[int] = set()
    for key, name in names_of(database, connection, table, partition):
        used |= columns_in_use(connection, key, name)
    return sets_of(connection, used, str(database.layout.database))


def columns_in_use(connection: sqlite3.Connection, partition_id: int, partition: str) -> set[int]:
    """The numbers of the sets of columns that live files of a partition have."""
    if has_table(connection, "columns_in_use"):
        query, values = "SELECT columns FROM columns_in_use WHERE partition = ? AND files > 0", (partition_id,)
        return {number for (number,) in connection.execute(query, values)}
    query = "SELECT DISTINCT columns_id FROM files WHERE path > ? AND path < ? AND state = 'live'"
    return {number for (number,) in connection.execute(query, below(f"files/{partition_segment(partition)}"))}


def sets_of(connection: sqlite3.Connection, used: Collection[int], path: str) -> ColumnSets:
    """The sets of these numbers; a single one may have thousands of columns."""
    found = {}
    sealed = seals.load(connection, "columns", path)
    for number in sorted(used):
        rows = connection.execute("SELECT columns FROM column_sets WHERE id = ?", (number,)).fetchall()
        if sealed is not None:
            seals.check(sealed.get(number), rows, ("columns",), "columns", path)
        found[number] = json.loads(rows[0][0])
    return found


def roots_of(connection: sqlite3.Connection) -> dict[str, Path]:
    """What the stored paths of partitions are relative to, where that is not the data directory."""
    return {name: root / INTERNAL for name, root in load_roots(connection).items()}


def sequence(database: Database) -> int:
    """The number of the newest commit: while it stays, a snapshot is current."""
    with database.reading() as connection:
        return newest_commit(connection)


def newest_commit(connection: sqlite3.Connection) -> int:
    """The number of the newest commit and move of files; within a transaction."""
    (number,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM transactions").fetchone()
    # What has left this disk or come back is no commit, but a snapshot has to be taken again all the same.
    return int(number) + int(read_fact(connection, MOVES) or 0)


def count_move(connection: sqlite3.Connection) -> None:
    """Make earlier snapshots out of date without a commit."""
    connection.execute(
        "INSERT INTO facts VALUES (?, '1') ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1", (MOVES,)
    )


def names_of(
    database: Database, connection: sqlite3.Connection, table: str | None, partition: str | None
) -> list[tuple[int, str]]:
    """The partitions of a table, or the one that is named, with their numbers."""
    path = str(database.layout.database)
    known = connection.execute("SELECT id, name FROM partitions ORDER BY name").fetchall()
    if (sealed := seals.load(connection, "partitions", path)) is not None:
        seals.check(sealed.get(0), known, ("id", "name"), "partitions", path)
    return [
        (key, name)
        for key, name in known
        if (table is None or name.partition(".")[0] == table) and (partition is None or name == partition)
    ]
