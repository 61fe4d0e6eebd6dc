"""Clean up: unlink retired files once no reader can still want them, and sweep what nobody owns."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from tailpipe.catalog import aside, layout
from tailpipe.catalog.recover import orphans
from tailpipe.catalog.store import Store
from tailpipe.frozen import frozen

__all__ = ["GRACE", "Cleaned", "clean", "is_due", "sweep"]

GRACE = timedelta(hours=1)
"""How long a retired file stays for readers that took their snapshot before; a query may run that long."""


@frozen
class Cleaned:
    """What a clean-up has freed."""

    files: int = 0
    size: int = 0
    set_aside: int = 0
    """Of these, how many were moved and not removed."""


def clean(store: Store, partition: str, grace: timedelta = GRACE) -> Cleaned:
    """Unlink files that were retired longer ago than `grace`; the caller holds the partition's lock."""
    rows = _due(store, partition, grace)
    for path, _ in rows:
        store.failpoints.reach("clean.unlink")
        store.storage.delete(store.layout.stored(path))
    store.failpoints.reach("clean.forget")
    # The names are forgotten last: a file without a name in the catalog would be an orphan.
    with store.writing() as connection:
        connection.executemany("DELETE FROM files WHERE path = ? AND state = 'retired'", [(path,) for path, _ in rows])
    _remove_empty(store, partition, {store.layout.stored(path).parent for path, _ in rows})
    return Cleaned(len(rows), sum(size for _, size in rows))


def is_due(store: Store, partition: str) -> bool:
    """Whether there are files that `clean` would unlink."""
    return bool(_due(store, partition, GRACE))


def _due(store: Store, partition: str, grace: timedelta) -> list[tuple[str, int]]:
    return store.connection.execute(
        "SELECT path, bytes FROM files WHERE partition_id = (SELECT id FROM partitions WHERE name = ?)"
        " AND state = 'retired' AND retired_at <= ?"
        " AND (SELECT t.state FROM transactions t WHERE t.id = retired_by) = 'published'",
        (partition, (store.now() - grace).isoformat()),
    ).fetchall()


def sweep(store: Store, partition: str) -> Cleaned:
    """Take out stored files that the catalog does not know; the caller holds the partition's lock.

    Only what was never committed is removed. Anything else may be the last copy of somebody's rows, and is set aside.
    """
    count = size = kept = 0
    parents = set()
    for path in list(orphans(store, partition)):
        owner = layout.is_our_name(path.name)
        # A name that we never give is somebody's own, and a manifest that we do not know is for a rebuild to read.
        if owner is None:
            continue
        state = _state(store, owner)
        if state is None and store.storage.exists(store.layout.manifest(owner)):
            continue
        size += store.storage.size(path)
        count += 1
        parents.add(path.parent)
        if state == "aborted":
            store.storage.delete(path)
        else:
            _set_aside(store, path)
            kept += 1
    _remove_empty(store, partition, parents)
    return Cleaned(count, size, kept)


def _set_aside(store: Store, path: Path) -> None:
    """Set a stored file aside, and take the same file out of the hive."""
    if path.is_relative_to(store.layout.files):
        public = store.layout.public(path.relative_to(store.layout.internal).as_posix())
        if aside.is_copy(store, public, path):
            store.tree.delete(public)
    aside.put_aside(store, path)


def _state(store: Store, transaction: str) -> str | None:
    row = store.connection.execute("SELECT state FROM transactions WHERE name = ?", (transaction,)).fetchone()
    return row[0] if row else None


def _remove_empty(store: Store, partition: str, directories: set[Path]) -> None:
    top = os.fspath(store.layout.files / layout.partition_segment(partition))
    for directory in directories:
        place = directory
        while os.fspath(place).startswith(top + os.sep) and store.tree.remove_empty(place):
            place = place.parent
