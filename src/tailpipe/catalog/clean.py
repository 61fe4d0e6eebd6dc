"""Clean up: unlink retired files when no reader can use them any more, and remove files without an owner."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from tailpipe.catalog import aside, layout, roots
from tailpipe.catalog.database import Database
from tailpipe.catalog.recover import orphans, state_of
from tailpipe.frozen import frozen

GRACE = timedelta(hours=1)
"""How long a retired file stays for readers that took their snapshot before; a query may run that long."""
UNPUSHED = timedelta(days=7)
"""How long a retired file of a partition with a store waits until the transaction that retired it is pushed: another
host may have been first, and then the file is live again."""


@frozen
class Cleaned:
    """What a clean-up has freed."""

    files: int = 0
    size: int = 0
    set_aside: int = 0
    """Of these, how many were moved and not removed."""


def clean(database: Database, partition: str, grace: timedelta = GRACE) -> Cleaned:
    """Unlink files that were retired longer ago than `grace`; the caller holds the partition's lock."""
    rows = _due(database, partition, grace)
    for path, _ in rows:
        database.failpoints.reach("clean.unlink")
        database.storage.delete(database.layout.stored(path))
    database.failpoints.reach("clean.forget")
    # The names are forgotten last: a file without a name in the catalog would be an orphan.
    with database.writing() as connection:
        connection.executemany("DELETE FROM files WHERE path = ? AND state = 'retired'", [(path,) for path, _ in rows])
    remove_empty(database, partition, {database.layout.stored(path).parent for path, _ in rows})
    roots.drop_copies(database, partition, grace)
    return Cleaned(len(rows), sum(size for _, size in rows))


def is_due(database: Database, partition: str) -> bool:
    """Whether there are files that `clean` would unlink."""
    return bool(_due(database, partition, GRACE)) or roots.is_due(database, partition, GRACE)


def _due(database: Database, partition: str, grace: timedelta) -> list[tuple[str, int]]:
    return database.connection.execute(
        "SELECT path, bytes FROM files WHERE partition_id = (SELECT id FROM partitions WHERE name = ?)"
        " AND state = 'retired' AND retired_at <= ?"
        " AND (SELECT t.state FROM transactions t WHERE t.id = retired_by) = 'published'"
        " AND (retired_by IN (SELECT transaction_id FROM pushed) OR retired_at <= ?"
        " OR NOT EXISTS (SELECT 1 FROM stores s WHERE s.partition_id = files.partition_id))",
        (partition, *((database.now() - span).isoformat() for span in (grace, UNPUSHED))),
    ).fetchall()


def sweep(database: Database, partition: str) -> Cleaned:
    """Take out stored files that the catalog does not know; the caller holds the partition's lock.

    Only what was never committed is removed. Anything else may be the last copy of rows, and is set aside.
    """
    count = size = kept = 0
    parents = set()
    for path in list(orphans(database, partition)):
        owner = layout.is_our_name(path.name)
        # A name that we never give is of another program, and an unknown manifest is for a rebuild to read.
        if owner is None:
            continue
        state = state_of(database, owner)
        if state is None and database.storage.exists(database.layout.manifest(owner)):
            continue
        size += database.storage.size(path)
        count += 1
        parents.add(path.parent)
        if state == "aborted":
            database.storage.delete(path)
        else:
            _set_aside(database, path)
            kept += 1
    remove_empty(database, partition, parents)
    return Cleaned(count, size, kept)


def _set_aside(database: Database, path: Path) -> None:
    """Set a stored file aside, and take the same file out of the hive."""
    if (stored := database.layout.stored_path(path)).startswith("files/"):
        public = database.layout.public(stored)
        if aside.is_copy(database, public, path):
            database.tree.delete(public)
    aside.put_aside(database, path)


def remove_empty(database: Database, partition: str, directories: set[Path]) -> None:
    """Remove directories of stored files in which nothing is left, up to that of the partition."""
    internal = database.layout.root(partition) / layout.INTERNAL
    top = os.fspath(internal / "files" / layout.partition_segment(partition))
    for directory in directories:
        place = directory
        while os.fspath(place).startswith(top + os.sep) and database.tree.remove_empty(place):
            place = place.parent
