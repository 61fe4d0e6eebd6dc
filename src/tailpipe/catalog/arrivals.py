"""Arrivals: which rows of a partition have come since a position, exact through compaction, replacement and rebuild.

A file says nothing of when its rows came: compaction merges it with others at once. But each transaction that brings
rows has one ingest time, its rows carry it, and compaction keeps it. So the rows that came by a transaction are those
of its unit with its ingest time, in whatever files they are now.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime

from tailpipe.catalog.database import Database
from tailpipe.catalog.snapshot import LiveFile, Snapshot, live_file, newest_commit, selected, sets_of
from tailpipe.frozen import frozen


@frozen
class Position:
    """A position in the history of a partition: its last transaction with new rows that was read.

    Its name counts, because that stays the same when the catalog is rebuilt. Its ingest time counts if the transaction
    is not known any more. Empty at the beginning.
    """

    transaction: str
    ingested_at: str = ""

    def __str__(self) -> str:
        return f"{self.transaction} {self.ingested_at}".rstrip()

    @classmethod
    def parse(cls, text: str) -> Position:
        """The position that was written like this."""
        name, _, moment = text.partition(" ")
        return cls(name, moment)


@frozen
class Arrivals:
    """The live files in which new rows are, the ingest times of these by partition and unit, and where history ends."""

    snapshot: Snapshot
    stamps: Mapping[tuple[str, str], tuple[datetime, ...]]
    heads: Mapping[str, Position]

    @property
    def groups(self) -> dict[tuple[datetime, ...], list[LiveFile]]:
        """The files by the ingest times of their new rows; files of most units share them."""
        found: dict[tuple[datetime, ...], list[LiveFile]] = {}
        for file in self.snapshot.files:
            found.setdefault(self.stamps[file.partition, file.unit], []).append(file)
        return found


def heads(database: Database) -> dict[str, Position]:
    """Where the history of each partition ends now."""
    with database.reading() as connection:
        return _heads(connection)


def arrivals(database: Database, since: Mapping[str, Position | None]) -> Arrivals:
    """The new rows of these partitions since their positions, at one instant; all rows where it is None."""
    with database.reading() as connection:
        ends = {name: head for name, head in _heads(connection).items() if name in since}
        stamps: dict[tuple[str, str], set[datetime]] = {}
        files: list[LiveFile] = []
        for name in ends:
            for unit, moment in _since(connection, name, since[name]):
                stamps.setdefault((name, unit), set()).add(datetime.fromisoformat(moment))
            files += _files(connection, name, [unit for of, unit in stamps if of == name])
        columns = sets_of(connection, {file.columns_id for file in files}, str(database.layout.database))
        number = newest_commit(connection)
    root, sorted_stamps = database.layout.internal, {key: tuple(sorted(value)) for key, value in stamps.items()}
    return Arrivals(Snapshot(root, tuple(files), columns, number, bring=database.bring), sorted_stamps, ends)


def _heads(connection: sqlite3.Connection) -> dict[str, Position]:
    """The newest transaction of each partition that brought rows, found by an index from the end."""
    found = {}
    for key, name in connection.execute("SELECT id, name FROM partitions ORDER BY name").fetchall():
        last = connection.execute(
            "SELECT name, ingested_at FROM transactions WHERE partition_id = ? AND sequence IS NOT NULL"
            " AND kind IN ('append', 'replace') AND ingested_at IS NOT NULL ORDER BY sequence DESC LIMIT 1",
            (key,),
        ).fetchone()
        found[name] = Position(*last) if last else Position("")
    return found


def _since(connection: sqlite3.Connection, partition: str, position: Position | None) -> list[tuple[str, str]]:
    """Unit and ingest time of each transaction that brought rows since."""
    condition: str = "sequence > 0"
    values: tuple[object, ...] = ()
    if position is not None and position.transaction:
        known = connection.execute(
            "SELECT sequence FROM transactions WHERE name = ? AND sequence IS NOT NULL", (position.transaction,)
        ).fetchone()
        condition, values = ("sequence > ?", known) if known else ("ingested_at > ?", (position.ingested_at,))
    rows: list[tuple[str, str]] = connection.execute(
        f"SELECT DISTINCT unit, ingested_at FROM transactions WHERE {condition}"  # noqa: S608 - marks
        " AND partition_id = (SELECT id FROM partitions WHERE name = ?)"
        " AND kind IN ('append', 'replace') AND unit IS NOT NULL AND ingested_at IS NOT NULL AND sequence IS NOT NULL",
        (*values, partition),
    ).fetchall()
    return rows


def _files(connection: sqlite3.Connection, partition: str, units: Iterable[str]) -> list[LiveFile]:
    rows = connection.execute(
        f"SELECT {selected(connection)} FROM files WHERE state = 'live' AND role = 'data'"  # noqa: S608 - our columns
        " AND partition_id = (SELECT id FROM partitions WHERE name = ?)"
        " AND unit IN (SELECT value FROM json_each(?)) ORDER BY path",
        (partition, json.dumps(sorted(set(units)))),
    )
    return [live_file(partition, *row) for row in rows.fetchall()]
