"""Recover a partition after a crash: finish what was committed, undo what was not."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from tailpipe.catalog import head, layout, manifest
from tailpipe.catalog.publish import drop_staging, publish
from tailpipe.catalog.seals import damaged
from tailpipe.catalog.store import Store
from tailpipe.model.manifest import Manifest

__all__ = ["is_due", "orphans", "recover", "rollback"]


def recover(store: Store, partition: str, partition_id: int) -> int:
    """Bring the partition to a whole state; the caller holds its lock. Returns how much was to do."""
    store.failpoints.reach("recover.before")
    # Listed before the catalog is read: a transaction that begins meanwhile must not lose its directory.
    staged = sorted(store.tree.entries(store.layout.staging))
    open_ones = store.connection.execute(
        "SELECT name, state, record FROM transactions"
        " WHERE partition_id = ? AND state IN ('intent', 'committed') ORDER BY sequence, id",
        (partition_id,),
    ).fetchall()
    for _, state, record in open_ones:
        if state == "committed":
            store.failpoints.reach("recover.forward")
            publish(store, _recorded(store, record))
    undone = [name for name, state, _ in open_ones if state == "intent"]
    if undone:
        rollback(store, partition, undone)
    for name in staged:
        if _is_over(store, name):
            drop_staging(store, name)
    head.ensure(store)
    store.failpoints.reach("recover.after")
    return len(open_ones)


def _recorded(store: Store, record: str) -> Manifest:
    try:
        return manifest.from_text(record)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise damaged(str(store.layout.database), f"the record of a transaction: {problem}") from problem


def is_due(store: Store, partition: str) -> bool:
    """Whether there may be something to recover: a process died, or is at work now."""
    is_open = store.connection.execute(
        "SELECT 1 FROM transactions t JOIN partitions p ON p.id = partition_id"
        " WHERE p.name = ? AND state IN ('intent', 'committed') LIMIT 1",
        (partition,),
    )
    return is_open.fetchone() is not None or any(
        _is_over(store, name) for name in store.tree.entries(store.layout.staging)
    )


def rollback(store: Store, partition: str, transactions: list[str], stored: Iterable[Path] | None = None) -> None:
    """Drop all that transactions without a commit have left; the mark comes last, so it can be done again.

    Whoever does not know what they have `stored` has the whole partition searched for it.
    """
    # One that was committed after all stays, with what its publication has put into staging.
    transactions = [name for name in transactions if _state(store, name) == "intent"]
    if not transactions:
        return  # without a walk through all files of the partition
    for path in orphans(store, partition, transactions) if stored is None else stored:
        store.failpoints.reach("rollback.orphan")
        store.storage.delete(path)
    for name in transactions:
        store.failpoints.reach("rollback.staging")
        store.tree.remove_tree(store.layout.staging / name)
    store.failpoints.reach("rollback.before")
    with store.writing() as connection:
        connection.executemany(
            "UPDATE transactions SET state = 'aborted' WHERE name = ? AND state = 'intent'",
            [(name,) for name in transactions],
        )
    store.failpoints.reach("rollback.after")


def orphans(store: Store, partition: str, transactions: Container[str] | None = None) -> Iterator[Path]:
    """The stored files of a partition that the catalog does not know; of all or of some transactions."""
    for top in (store.layout.files, store.layout.rejected):
        for path in store.storage.objects(top / layout.partition_segment(partition)):
            if transactions is not None and layout.is_our_name(path.name) not in transactions:
                continue
            relative = path.relative_to(store.layout.internal).as_posix()
            known = store.connection.execute("SELECT 1 FROM files WHERE path = ?", (relative,))
            if known.fetchone() is None:
                yield path


def _is_over(store: Store, transaction: str) -> bool:
    return _state(store, transaction) in (None, "published", "aborted")


def _state(store: Store, transaction: str) -> str | None:
    row = store.connection.execute("SELECT state FROM transactions WHERE name = ?", (transaction,)).fetchone()
    return row[0] if row else None
