"""Recover a partition after a crash: finish what was committed, undo what was not."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from tailpipe.catalog import head, layout, manifest, roots
from tailpipe.catalog.database import Database
from tailpipe.catalog.facts import drop_fact
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.project import reproject
from tailpipe.catalog.publish import drop_staging, publish, remove_staging, write_dropped
from tailpipe.catalog.seals import damaged

DROPPED = "dropped:{partition_id}:{transaction}"
"""The fact that keeps the manifest of a dropped transaction until it is set aside."""


def recover(database: Database, partition: str, partition_id: int) -> int:
    """Bring the partition to a whole state; the caller holds its lock. Returns how much was to do."""
    database.failpoints.reach("recover.before")
    # Listed before the catalog is read: a transaction that begins meanwhile must not lose its directory.
    staged = _staged(database, partition)
    open_ones = database.connection.execute(
        "SELECT name, state, record FROM transactions"
        " WHERE partition_id = ? AND state IN ('intent', 'committed') ORDER BY sequence, id",
        (partition_id,),
    ).fetchall()
    for _, state, record in open_ones:
        if state == "committed":
            database.failpoints.reach("recover.forward")
            publish(database, _recorded(database, record))
    undone = [name for name, state, _ in open_ones if state == "intent"]
    if undone:
        rollback(database, partition, undone)
    set_dropped_aside(database, partition_id)
    for name in staged:
        if _is_over(database, name):
            drop_staging(database, name)
    is_moved = roots.follow(database, partition)
    roots.record(database)
    if reproject(database, partition) and is_moved:
        database.on_commit()  # other clients name files by their paths
    head.ensure(database)
    database.failpoints.reach("recover.after")
    return len(open_ones)


def set_dropped_aside(database: Database, partition_id: int) -> None:
    """Rename the manifests of dropped transactions, so that a rebuild does not replay them."""
    first = DROPPED.format(partition_id=partition_id, transaction="")
    rows = database.connection.execute(
        "SELECT name, value FROM facts WHERE name >= ? AND name < ?", (first, first + "~")
    ).fetchall()
    for name, record in rows:
        write_dropped(database, _recorded(database, record))
        with database.writing() as connection:
            drop_fact(connection, name)


def _recorded(database: Database, record: str) -> Manifest:
    try:
        return manifest.from_text(record)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise damaged(str(database.layout.database), f"the record of a transaction: {problem}") from problem


def is_due(database: Database, partition: str) -> bool:
    """Whether there may be something to recover: a process died, or is at work now."""
    is_open = database.connection.execute(
        "SELECT 1 FROM transactions t JOIN partitions p ON p.id = partition_id"
        " WHERE p.name = ? AND state IN ('intent', 'committed') LIMIT 1",
        (partition,),
    )
    return is_open.fetchone() is not None or any(_is_over(database, name) for name in _staged(database, partition))


def _staged(database: Database, partition: str) -> list[str]:
    """The names in staging: of the workspace, where manifests are drafted, and of the partition's own root."""
    found = set[str]()
    for root in {database.layout.data, database.layout.root(partition)}:
        with contextlib.suppress(FileNotFoundError):
            found |= set(database.tree.entries(database.layout.staging_in(root)))
    return sorted(found)


def rollback(database: Database, partition: str, transactions: list[str], stored: Iterable[Path] | None = None) -> None:
    """Drop all that transactions without a commit have left; the mark comes last, so it can be done again.

    Unless the caller knows what they have `stored`, the whole partition is searched for it.
    """
    # One that was committed after all stays, with what its publication has put into staging.
    transactions = [name for name in transactions if state_of(database, name) == "intent"]
    if not transactions:
        return  # without a walk through all files of the partition
    for path in orphans(database, partition, transactions) if stored is None else stored:
        database.failpoints.reach("rollback.orphan")
        database.storage.delete(path)
    for name in transactions:
        database.failpoints.reach("rollback.staging")
        remove_staging(database, name)
    database.failpoints.reach("rollback.before")
    with database.writing() as connection:
        connection.executemany(
            "UPDATE transactions SET state = 'aborted' WHERE name = ? AND state = 'intent'",
            [(name,) for name in transactions],
        )
    database.failpoints.reach("rollback.after")


def orphans(database: Database, partition: str, transactions: Container[str] | None = None) -> Iterator[Path]:
    """The stored files of a partition that the catalog does not know; of all or of some transactions."""
    internal = database.layout.root(partition) / layout.INTERNAL
    for top in ("files", "rejected"):
        for path in database.storage.objects(internal / top / layout.partition_segment(partition)):
            if transactions is not None and layout.is_our_name(path.name) not in transactions:
                continue
            relative = path.relative_to(internal).as_posix()
            known = database.connection.execute("SELECT 1 FROM files WHERE path = ?", (relative,))
            if known.fetchone() is None:
                yield path


def _is_over(database: Database, transaction: str) -> bool:
    return state_of(database, transaction) in (None, "published", "aborted")


def state_of(database: Database, transaction: str) -> str | None:
    """The state of a transaction; None if the catalog does not know it."""
    row = database.connection.execute("SELECT state FROM transactions WHERE name = ?", (transaction,)).fetchone()
    return row[0] if row else None
