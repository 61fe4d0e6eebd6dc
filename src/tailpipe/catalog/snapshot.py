"""Snapshots: the files that are live at one instant, which is all that a query needs of the catalog.

It stands alone, so that a query loads nothing of what writes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tailpipe.catalog.home import is_begun
from tailpipe.catalog.layout import Layout, partition_segment
from tailpipe.catalog.store import Store, open_store

__all__ = ["EPOCH", "LiveFile", "Snapshot", "current", "newer", "sequence", "snapshot"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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


@dataclass(frozen=True)
class Snapshot:
    """The live files at one instant, whole Days only; they stay readable for the grace period.

    Read them with `hive_partitioning=false`: each file carries all its columns, and a directory name
    may be a shortened index.
    """

    root: Path
    files: tuple[LiveFile, ...]
    columns: Mapping[int, Mapping[str, str]]
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
    with closing(open_store(layout, is_read_only=True)) as store:
        return snapshot(store)


def newer(layout: Layout, than: int) -> Snapshot | None:
    """The same, unless the newest commit still is that of this number."""
    if not is_begun(layout):
        return None
    with closing(open_store(layout, is_read_only=True)) as store:
        return snapshot(store) if sequence(store) != than else None


def snapshot(store: Store, table: str | None = None, partition: str | None = None) -> Snapshot:
    """The live files of all tables, of one table, or of one partition (`table.partition`)."""
    with store.reading() as connection:
        names = _names(connection, table, partition)
        files: list[LiveFile] = []
        for name in names:
            # A partition is one range of the primary key, and reading on in it needs no look-ups.
            prefix = f"files/{partition_segment(name)}/"
            rows = connection.execute(
                "SELECT path, unit, tp_index, tp_date, rows, bytes, min_timestamp, max_timestamp, columns_id"
                " FROM files WHERE path > ? AND path < ? AND state = 'live' ORDER BY path",
                (prefix, prefix[:-1] + "0"),
            )
            files += [
                LiveFile(path, name, unit, index, date.fromisoformat(day), count, size, low, high, columns_id)
                for path, unit, index, day, count, size, low, high, columns_id in rows
            ]
        columns = {
            identifier: json.loads(text)
            for identifier, text in connection.execute("SELECT id, columns FROM column_sets")
        }
        number = _sequence(connection)
    used = {file.columns_id for file in files}
    return Snapshot(store.layout.internal, tuple(files), {key: columns[key] for key in sorted(used)}, number)


def sequence(store: Store) -> int:
    """The number of the newest commit: while it stays, a snapshot is true."""
    with store.reading() as connection:
        return _sequence(connection)


def _sequence(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM transactions").fetchone()
    return int(number)


def _names(connection: sqlite3.Connection, table: str | None, partition: str | None) -> list[str]:
    names = [name for (name,) in connection.execute("SELECT name FROM partitions ORDER BY name")]
    return [
        name
        for name in names
        if (table is None or name.partition(".")[0] == table) and (partition is None or name == partition)
    ]
