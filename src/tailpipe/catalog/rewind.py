"""What a workspace held at an earlier time, by its own catalog: as far as replaced files are still on this disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime

from tailpipe.catalog import manifest as manifests
from tailpipe.catalog import seals
from tailpipe.catalog.database import Database, open_database
from tailpipe.catalog.layout import Layout, is_our_name
from tailpipe.catalog.snapshot import LiveFile, Snapshot, snapshot
from tailpipe.errors import CatalogError, UsageError


def rewound(layout: Layout, partitions: Collection[str], moment: datetime) -> Snapshot:
    """The files of partitions that were live at a time; UsageError if some of them were unlinked since."""
    with (
        closing(open_database(layout, is_read_only=True)) as now,
        closing(sqlite3.connect(":memory:", isolation_level=None)) as connection,
    ):
        now.connection.backup(connection)
        seals.install(connection)
        database = replace(now, connection=connection, is_read_only=False)
        parts = []
        for name in sorted(partitions):
            _check(database, name, moment)
            _rewind(database, name, moment)
            parts.append(snapshot(database, partition=name))
    return joined(layout, parts)


def joined(layout: Layout, parts: Collection[Snapshot]) -> Snapshot:
    """Snapshots of different partitions as one, which no commit makes out of date."""
    files: list[LiveFile] = []
    columns: dict[int, Mapping[str, str]] = {}
    for part in parts:
        numbers = {number: len(columns) + place for place, number in enumerate(part.columns)}
        columns |= {numbers[number]: names for number, names in part.columns.items()}
        files += [file._replace(columns_id=numbers[file.columns_id]) for file in part.files]
    roots = {name: root for part in parts for name, root in part.roots.items()}
    return Snapshot(layout.internal, tuple(files), columns, 0, roots)


def _check(database: Database, partition: str, moment: datetime) -> None:
    """Refuse a time at which files were live that the catalog has forgotten since."""
    rows = database.connection.execute(
        "SELECT name, record, committed_at FROM transactions"
        " WHERE partition_id = (SELECT id FROM partitions WHERE name = ?) AND committed_at > ?"
        " AND sequence IS NOT NULL ORDER BY sequence DESC",
        (partition, moment.isoformat()),
    ).fetchall()
    for name, record, committed_at in rows:
        try:
            made = manifests.of_transaction(database.layout, name, record)
        except CatalogError:
            made = None
        if made is None or any(_is_forgotten(database, path, moment) for path in made.removed):
            raise UsageError(
                f"{partition} cannot be read as of {moment.isoformat()}: files that were replaced since are"
                " no longer on this disk",
                hint=f"choose {committed_at[:19]}Z or later; a store keeps replaced files for longer",
            )


def _is_forgotten(database: Database, path: str, moment: datetime) -> bool:
    if database.connection.execute("SELECT 1 FROM files WHERE path = ?", (path,)).fetchone():
        return False
    owner = is_our_name(path.rpartition("/")[2])
    row = database.connection.execute("SELECT committed_at FROM transactions WHERE name = ?", (owner,)).fetchone()
    return row is None or str(row[0]) <= moment.isoformat()


def _rewind(database: Database, partition: str, moment: datetime) -> None:
    with database.writing() as connection:
        connection.execute(
            "DELETE FROM files WHERE partition_id = (SELECT id FROM partitions WHERE name = ?)"
            " AND transaction_id IN (SELECT id FROM transactions WHERE committed_at > ?)",
            (partition, moment.isoformat()),
        )
        connection.execute(
            "UPDATE files SET state = 'live', retired_by = NULL, retired_at = NULL WHERE state = 'retired'"
            " AND partition_id = (SELECT id FROM partitions WHERE name = ?) AND retired_at > ?",
            (partition, moment.isoformat()),
        )
