"""Tell a new catalog all that happened: the manifests of this workspace, and the kept copies of the logs of stores.

A partition that is in a store is told in the order of its log, as every other host knows it; what was not pushed comes
after it. A copy of the log that is lost or cannot be applied ends it: the next push reads on from there.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tailpipe.catalog.layout import MANIFEST, Layout
from tailpipe.catalog.log_entry import LogEntry, read_entry
from tailpipe.catalog.tell import tell
from tailpipe.errors import CatalogError, CommitError, NewerError
from tailpipe.model.manifest import Manifest
from tailpipe.storage.storage import LocalTree

__all__ = ["replay"]


def replay(
    connection: sqlite3.Connection, layout: Layout, tree: LocalTree, whole: Sequence[Manifest]
) -> tuple[Manifest, str] | None:
    """Tell all of it; returns the manifest of this workspace that cannot be applied, and why, if there is one."""
    chains: dict[str, list[Manifest]] = defaultdict(list)
    for manifest in whole:
        chains[manifest.partition].append(manifest)
    logged = set(_logged(layout, tree))
    partitions = {
        name: _Partition(connection, layout, tree, chains[name], name if name in logged else None)
        for name in [*chains, *sorted(logged - chains.keys())]
    }
    try:
        for manifest in whole:
            partitions[manifest.partition].tell_own(manifest)
    except _OwnError as failed:
        return failed.manifest, failed.reason
    for partition in partitions.values():
        partition.tell_log(None)
    _find_here(connection, layout, tree)
    return None


def _logged(layout: Layout, tree: LocalTree) -> Iterator[str]:
    """The partitions of which there are copies of a log, by the names in them."""
    for directory in sorted({path.parent for path in tree.objects(layout.log) if path.suffix == MANIFEST}):
        try:
            entry = read_entry(tree.read(first := directory / f"{1:010d}{MANIFEST}"), 1, str(first))
        except (OSError, CatalogError):
            continue
        yield entry.manifests[0].partition


def _entries(layout: Layout, tree: LocalTree, partition: str) -> Iterator[LogEntry]:
    """The copies of a log from the first on, as long as there are any."""
    version = 1
    while tree.exists(path := layout.log_copy(partition, version)):
        try:
            yield read_entry(tree.read(path), version, str(path))
        except NewerError:
            raise  # without it the history would not be whole
        except (OSError, CatalogError):
            return
        version += 1


class _OwnError(Exception):
    """A manifest of this workspace does not follow from those before it."""

    def __init__(self, manifest: Manifest, reason: str) -> None:
        super().__init__(reason)
        self.manifest = manifest
        self.reason = reason


class _Partition:
    """One partition on its way: the entries of its log are told before what follows from them."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        layout: Layout,
        tree: LocalTree,
        chain: Sequence[Manifest],
        logged: str | None,
    ) -> None:
        self.connection, self.layout, self.tree = connection, layout, tree
        self.chain = {one.transaction: one for one in chain}
        self.first = chain[0] if chain and chain[0].image else None
        self.entries = list(_entries(layout, tree, logged)) if logged else []

    def tell_own(self, manifest: Manifest) -> None:
        """Tell a manifest of this workspace, after the log up to it; all of the log if it was not pushed."""
        if manifest is not self.first:  # an image tells all that was before it, whatever host it was of
            self.tell_log(manifest.transaction)
        self._own(manifest)

    def tell_log(self, until: str | None) -> None:
        """Tell entries of the log up to the one with this transaction, or all of them."""
        while self.entries and not (until is not None and self._is_known(until)):
            entry = self.entries.pop(0)
            if not self._entry(entry):
                self.entries = []

    def _own(self, manifest: Manifest) -> None:
        if not self._is_known(manifest.transaction):
            try:
                is_published = self.tree.exists(self.layout.manifest(manifest.transaction))
                tell(self.connection, manifest, is_published=is_published)
            except CommitError as problem:
                raise _OwnError(manifest, problem.message) from problem
            except (sqlite3.IntegrityError, ValueError, KeyError, TypeError) as problem:
                raise _OwnError(manifest, str(problem)) from problem

    def _entry(self, entry: LogEntry) -> bool:
        """Tell an entry whole, or not at all; returns whether it could be told."""
        self.connection.execute("SAVEPOINT entry")
        try:
            self._tell(entry)
        except (CommitError, sqlite3.IntegrityError, ValueError, KeyError, TypeError):
            self.connection.execute("ROLLBACK TO entry")
            return False
        finally:
            self.connection.execute("RELEASE entry")
        return True

    def _tell(self, entry: LogEntry) -> None:
        for manifest in entry.manifests:
            names = [str(row.values["name"]) for row in manifest.image if row.table == "transactions"]
            is_own = entry.is_whole and any(name in self.chain or self._is_known(name) for name in names)
            if is_own:
                # An image of our own history: its transactions are told one by one.
                for name in (name for name in self.chain if name in set(names)):
                    self._own(self.chain[name])
                rows = [row.values for row in manifest.image if row.table == "files"]
                self._mark(entry, names, [(row["key"], row["path"]) for row in rows])
            elif manifest.transaction in self.chain or self._is_known(manifest.transaction):
                if manifest.transaction in self.chain:
                    self._own(self.chain[manifest.transaction])
                files = [(file.key, file.path) for file in manifest.added if file.key]
                self._mark(entry, [manifest.transaction], files)
            else:
                tell(self.connection, manifest, pushed_by=entry.host)
                self._mark(entry, [*names, manifest.transaction], [])

    def _mark(self, entry: LogEntry, names: Iterable[str], files: Iterable[tuple[object, object]]) -> None:
        partition = entry.manifests[0].partition
        self.connection.executemany(
            "INSERT OR IGNORE INTO pushed SELECT id, ? FROM transactions WHERE name = ?",
            [(entry.version, name) for name in names],
        )
        self.connection.executemany("UPDATE files SET there = 1, key = ? WHERE path = ?", files)
        self.connection.execute(
            "INSERT INTO stores SELECT id, ?, ? FROM partitions WHERE name = ?"
            " ON CONFLICT DO UPDATE SET version = excluded.version",
            (entry.store, entry.version, partition),
        )

    def _is_known(self, name: str) -> bool:
        found = self.connection.execute("SELECT 1 FROM transactions WHERE name = ?", (name,))
        return found.fetchone() is not None


def _find_here(connection: sqlite3.Connection, layout: Layout, tree: LocalTree) -> None:
    """Of the files that a store has, those are here that are on the disk."""
    rows = connection.execute("SELECT path, here FROM files WHERE there = 1").fetchall()
    found = [(int(tree.exists(layout.stored(path))), path, here) for path, here in rows]
    changed = [(now, path) for now, path, here in found if now != here]
    connection.executemany("UPDATE files SET here = ?, left_at = NULL WHERE path = ?", changed)
