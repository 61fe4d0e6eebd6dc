"""Rebuild a lost or damaged `catalog.db` by telling all manifests again; nothing is collected anew."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tailpipe.catalog import manifest as manifests
from tailpipe.catalog import schema
from tailpipe.catalog.apply import apply
from tailpipe.catalog.disk import Disk
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.locks import hold_catalog
from tailpipe.catalog.project import project
from tailpipe.catalog.publish import drop_staging
from tailpipe.catalog.store import open_store, storage_errors, utc_now
from tailpipe.errors import CatalogError
from tailpipe.model.manifest import Manifest

__all__ = ["Rebuilt", "rebuild"]

_IS_OPEN = "SELECT 1 FROM transactions WHERE name = ? AND state = 'committed'"


@dataclass(frozen=True)
class Rebuilt:
    """What the new catalog was told, and where the old one lies."""

    transactions: int
    files: int
    rows: int
    set_aside: str


def rebuild(
    home: Path, *, data: Path | None = None, disk: Disk | None = None, clock: Callable[[], datetime] = utc_now
) -> Rebuilt:
    """Write the catalog anew, set the old one aside, and bring the hive in line.

    The new database is complete before it gets its name: a crash leaves the old state, and the
    rebuild can be begun again.
    """
    layout, disk = Layout.of(home, data), disk or Disk()
    if not layout.manifests.is_dir():
        raise CatalogError(
            f"{home} holds no manifests", path=str(layout.manifests), hint="there is nothing to rebuild from"
        )
    with storage_errors(layout.database), hold_catalog(layout, alone=True):
        published = {path.stem: manifests.read(path) for path in layout.manifests.glob("*.manifest")}
        told = sorted({**_unpublished(layout), **published}.values(), key=lambda manifest: manifest.sequence)
        set_aside = _replace_database(layout, disk, told, clock())
        with contextlib.closing(open_store(layout, disk=disk, clock=clock)) as store:
            for entry in layout.staging.iterdir():
                if store.connection.execute(_IS_OPEN, (entry.name,)).fetchone() is None:
                    drop_staging(store, entry.name)
            project(store, "rebuild", [path for (path,) in store.connection.execute("SELECT path FROM files")])
            drop_staging(store, "rebuild")
            files, rows = store.connection.execute(
                "SELECT count(*), coalesce(sum(rows), 0) FROM files WHERE state = 'live' AND role = 'data'"
            ).fetchone()
    return Rebuilt(len(told), files, rows, set_aside)


def _unpublished(layout: Layout) -> dict[str, Manifest]:
    """What the old catalog committed without getting to write its manifest, if it still can be read."""
    if not layout.database.exists():
        return {}
    try:
        with contextlib.closing(sqlite3.connect(f"{layout.database.absolute().as_uri()}?mode=ro", uri=True)) as old:
            rows = old.execute("SELECT name, record FROM transactions WHERE state = 'committed'").fetchall()
        return {name: manifests.from_text(record) for name, record in rows}
    except (sqlite3.DatabaseError, ValueError, KeyError, TypeError):
        return {}


def _replace_database(layout: Layout, disk: Disk, told: list[Manifest], now: datetime) -> str:
    draft = layout.database.with_name("catalog.db.new")
    _remove_database(disk, draft)
    with _new_database(draft) as connection:
        schema.migrate(connection, str(draft))
        connection.execute("BEGIN")
        for manifest in told:
            _tell(connection, manifest, is_published=layout.manifest(manifest.transaction).exists())
        connection.execute("COMMIT")
        gone = [
            (path,)
            for (path,) in connection.execute("SELECT path FROM files WHERE state = 'retired'")
            if not layout.stored(path).exists()
        ]
        connection.executemany("DELETE FROM files WHERE path = ?", gone)
    disk.sync(draft)
    set_aside = ""
    if layout.database.exists():
        set_aside = f"{layout.database}.{now:%Y%m%dT%H%M%S}"
        for suffix in ("-wal", "-shm"):
            # The log goes with the old database: applied to the new one it would destroy it.
            with contextlib.suppress(FileNotFoundError):
                disk.rename(Path(f"{layout.database}{suffix}"), Path(f"{set_aside}{suffix}"))
        disk.rename(layout.database, Path(set_aside))
    disk.rename(draft, layout.database)
    disk.sync(layout.database.parent)
    return set_aside


@contextlib.contextmanager
def _new_database(path: Path) -> Iterator[sqlite3.Connection]:
    # Without a log of its own, so that one rename moves all of it.
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection
    finally:
        connection.close()


def _remove_database(disk: Disk, path: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        disk.unlink(Path(f"{path}{suffix}"))


def _tell(connection: sqlite3.Connection, manifest: Manifest, *, is_published: bool) -> None:
    connection.execute("INSERT INTO partitions (name) VALUES (?) ON CONFLICT DO NOTHING", (manifest.partition,))
    (partition_id,) = connection.execute("SELECT id FROM partitions WHERE name = ?", (manifest.partition,)).fetchone()
    # The number is part of the name: taking it from there keeps later names ascending.
    number = int(manifest.transaction.partition("-")[0])
    connection.execute(
        "INSERT INTO transactions"
        " (id, name, partition_id, kind, unit, state, epoch, begun_at, committed_at, sequence, record)"
        " VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
        (
            number,
            manifest.transaction,
            partition_id,
            manifest.kind,
            str(manifest.unit) if manifest.unit else None,
            "published" if is_published else "committed",
            manifest.begun_at.isoformat(),
            manifest.committed_at.isoformat(),
            manifest.sequence,
            None if is_published else manifests.to_text(manifest),
        ),
    )
    apply(connection, manifest, partition_id=partition_id, transaction_id=number)
