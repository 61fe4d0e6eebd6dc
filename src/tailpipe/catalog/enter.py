"""Enter a transaction in a catalog that does not know it, from its own manifest or from one that was pulled."""

from __future__ import annotations

import sqlite3
from datetime import UTC

from tailpipe.catalog import image
from tailpipe.catalog import manifest as manifests
from tailpipe.catalog.apply import apply
from tailpipe.catalog.fence import fence
from tailpipe.catalog.hosts import remember_host
from tailpipe.catalog.manifest_record import Manifest


def forget_begun(connection: sqlite3.Connection, manifest: Manifest) -> None:
    """Forget that transactions of a log were begun here: the process that appended them was killed before it knew."""
    connection.executemany(
        "DELETE FROM transactions WHERE name = ? AND sequence IS NULL",
        [(name,) for name in (*manifest.transactions, manifest.transaction)],
    )


def enter(
    connection: sqlite3.Connection, manifest: Manifest, *, is_published: bool = True, pushed_by: str | None = None
) -> int:
    """Enter a transaction and return its id; the caller holds the SQLite transaction.

    A manifest of this workspace keeps its number. One that was `pushed_by` a host to a store gets the next free ones,
    what names no host in it is of that host, and its files are in the store alone, under the keys in it.

    If it does not follow from what is known, CommitError or sqlite3.IntegrityError is raised, and the SQLite
    transaction must be rolled back.
    """
    if pushed_by is not None:
        forget_begun(connection, manifest)
        manifest = manifest.owned_by(pushed_by)
    else:
        remember_host(connection, manifest.host)
    connection.execute("INSERT INTO partitions (name) VALUES (?) ON CONFLICT DO NOTHING", (manifest.partition,))
    (partition_id,) = connection.execute("SELECT id FROM partitions WHERE name = ?", (manifest.partition,)).fetchone()
    query = "SELECT 1 FROM transactions WHERE partition_id = ? AND sequence IS NOT NULL LIMIT 1"
    if manifest.image and connection.execute(query, (partition_id,)).fetchone() is None:
        image.restore(connection, manifest.image, partition_id)
        rows = connection.execute(
            "SELECT DISTINCT host FROM transactions WHERE partition_id = ? AND number IS NOT NULL", (partition_id,)
        )
        for (host,) in rows.fetchall() if pushed_by is None else ():
            remember_host(connection, host)
    transaction_id = _insert(connection, manifest, partition_id, is_published, is_pulled=pushed_by is not None)
    apply(connection, manifest, partition_id=partition_id, transaction_id=transaction_id)
    fence(connection, manifest, partition_id)
    if pushed_by is not None:
        connection.execute(
            "UPDATE files SET here = 0, there = key IS NOT NULL WHERE transaction_id = ?", (transaction_id,)
        )
    return transaction_id


def enter_dropped(
    connection: sqlite3.Connection, manifest: Manifest, *, epoch: int = 0, run_id: int | None = None
) -> None:
    """Enter a dropped transaction as aborted: its number is used, and its files are to be removed."""
    connection.execute("INSERT INTO partitions (name) VALUES (?) ON CONFLICT DO NOTHING", (manifest.partition,))
    connection.execute(
        "INSERT INTO transactions (name, partition_id, kind, unit, state, epoch, run_id, begun_at, committed_at, host,"
        " number) SELECT ?, id, ?, ?, 'aborted', ?, ?, ?, ?, ?, ? FROM partitions WHERE name = ?",
        (
            manifest.transaction,
            manifest.kind,
            str(manifest.unit) if manifest.unit else None,
            epoch,
            run_id,
            manifest.begun_at.isoformat(),
            manifest.committed_at.isoformat(),
            manifest.host,
            manifest.sequence,
            manifest.partition,
        ),
    )


def _insert(
    connection: sqlite3.Connection, manifest: Manifest, partition_id: int, is_published: bool, *, is_pulled: bool
) -> int:
    (newest,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM transactions").fetchone()
    # The number in the name, if it is free: so the names that are given later ascend.
    number = int(manifest.transaction.partition("-")[0])
    is_taken = connection.execute("SELECT 1 FROM transactions WHERE id = ?", (number,)).fetchone() is not None
    done = connection.execute(
        "INSERT INTO transactions (id, name, partition_id, kind, unit, state, epoch, begun_at, committed_at,"
        " ingested_at, host, sequence, number, record) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)",
        (
            None if is_pulled or is_taken else number,
            manifest.transaction,
            partition_id,
            manifest.kind,
            str(manifest.unit) if manifest.unit else None,
            "published" if is_published else "committed",
            manifest.begun_at.isoformat(),
            manifest.committed_at.isoformat(),
            manifest.ingested_at.astimezone(UTC).isoformat() if manifest.ingested_at else None,
            manifest.host,
            newest + 1 if is_pulled else max(newest + 1, manifest.sequence),
            None if is_pulled else manifest.sequence,
            None if is_published else manifests.to_text(manifest),
        ),
    )
    return int(done.lastrowid or 0)
