"""Replay the manifests of this workspace, and the kept copies of the logs of stores, in a new catalog.

A partition that is in a store is replayed in the order of its log, as every other host knows it; what was not pushed
comes after it. A copy of the log that is lost or cannot be applied ends it: the next push continues from there.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence

from tailpipe.catalog import image
from tailpipe.catalog.enter import enter, enter_dropped
from tailpipe.catalog.layout import CHECKPOINT, MANIFEST, Layout
from tailpipe.catalog.log_entry import LogEntry, read_entry
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.errors import CatalogError, CommitError, NewerError
from tailpipe.storage.storage import LocalTree


def replay(
    connection: sqlite3.Connection,
    layout: Layout,
    tree: LocalTree,
    whole: Sequence[Manifest],
    dropped: Container[str] = (),
) -> tuple[Manifest, str] | None:
    """Replay everything; returns the manifest of this workspace that cannot be applied, and why, if there is one."""
    chains: dict[str, list[Manifest]] = defaultdict(list)
    for manifest in whole:
        if manifest.transaction not in dropped:
            chains[manifest.partition].append(manifest)
    logged = {layout.logged_partition(path.parent) for path in tree.objects(layout.log)}
    partitions = {
        name: _Partition(connection, layout, tree, chains[name], name if name in logged else None)
        for name in dict.fromkeys([*(one.partition for one in whole), *sorted(logged)])
    }
    try:
        for manifest in whole:
            if manifest.transaction in dropped:
                enter_dropped(connection, manifest)
            else:
                partitions[manifest.partition].replay_own(manifest)
    except _OwnError as failed:
        return failed.manifest, failed.reason
    for partition in partitions.values():
        partition.replay_log(None)
    _find_here(connection, layout, tree)
    return None


def _entries(layout: Layout, tree: LocalTree, partition: str) -> list[LogEntry]:
    """The copies of a log that follow each other, from the newest image on."""
    paths = [path for path in tree.objects(layout.log_of(partition)) if path.suffix in (MANIFEST, CHECKPOINT)]
    found: list[LogEntry] = []
    for path in sorted(paths):  # a checkpoint comes before the entry of the same version
        try:
            entry = read_entry(tree.read(path), int(path.stem), str(path))
        except NewerError:
            raise  # without it the history would not be whole
        except (OSError, ValueError, CatalogError):
            continue
        if entry.is_whole and not (found and found[-1].version == entry.version):
            found = [entry]
        elif found and entry.version == found[-1].version + 1:
            found.append(entry)
    return found


class _OwnError(Exception):
    """A manifest of this workspace does not follow from those before it."""

    def __init__(self, manifest: Manifest, reason: str) -> None:
        super().__init__(reason)
        self.manifest = manifest
        self.reason = reason


class _Partition:
    """One partition during the replay: the entries of its log come before what follows from them."""

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
        self.entries = _entries(layout, tree, logged) if logged else []
        self.is_begun = False

    def replay_own(self, manifest: Manifest) -> None:
        """Replay a manifest of this workspace, after the log up to it; all of the log if it was not pushed."""
        self._begin()
        if manifest is not self.first:  # an image contains everything before it, of all hosts
            self.replay_log(manifest.transaction)
        self._own(manifest)

    def replay_log(self, until: str | None) -> None:
        """Replay entries of the log up to the one with this transaction, or all of them."""
        self._begin()
        while self.entries and not (until is not None and self._is_known(until)):
            entry = self.entries.pop(0)
            if not self._entry(entry):
                self.entries = []

    def _begin(self) -> None:
        """Restore the image that the log begins with, if it has transactions of other hosts."""
        if self.entries and not self.is_begun and not self.chain.keys() >= {*self.entries[0].manifests[0].transactions}:
            self._restore(self.entries.pop(0))
        self.is_begun = True

    def _restore(self, entry: LogEntry) -> None:
        (manifest,) = entry.manifests
        names = set(manifest.transactions)
        self.connection.execute(
            "INSERT INTO partitions (name) VALUES (?) ON CONFLICT DO NOTHING", (manifest.partition,)
        )
        if entry.is_checkpoint:
            (number,) = self.connection.execute(
                "SELECT id FROM partitions WHERE name = ?", (manifest.partition,)
            ).fetchone()
            image.restore(self.connection, manifest.image, number)
        else:
            enter(self.connection, manifest, pushed_by=entry.host)
            names.add(manifest.transaction)
        self._mark(entry, names, [])
        self.connection.executemany(
            "UPDATE transactions SET number = ? WHERE name = ?",
            [(one.sequence, one.transaction) for one in self.chain.values() if one.transaction in names],
        )

    def _own(self, manifest: Manifest) -> None:
        if not self._is_known(manifest.transaction):
            try:
                is_published = self.tree.exists(self.layout.manifest(manifest.transaction))
                enter(self.connection, manifest, is_published=is_published)
            except CommitError as problem:
                raise _OwnError(manifest, problem.message) from problem
            except (sqlite3.IntegrityError, ValueError, KeyError, TypeError) as problem:
                raise _OwnError(manifest, str(problem)) from problem

    def _entry(self, entry: LogEntry) -> bool:
        """Replay an entry atomically; returns whether it could be applied."""
        self.connection.execute("SAVEPOINT entry")
        try:
            self._enter(entry)
        except (CommitError, sqlite3.IntegrityError, ValueError, KeyError, TypeError):
            self.connection.execute("ROLLBACK TO entry")
            return False
        finally:
            self.connection.execute("RELEASE entry")
        return True

    def _enter(self, entry: LogEntry) -> None:
        for manifest in entry.manifests:
            names = manifest.transactions
            is_own = entry.is_whole and any(name in self.chain or self._is_known(name) for name in names)
            if is_own:
                # An image of our own history: its transactions are replayed one by one.
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
                enter(self.connection, manifest, pushed_by=entry.host)
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
    """Record which of the files in a store are also on this disk."""
    rows = connection.execute("SELECT path, here FROM files WHERE there = 1").fetchall()
    found = [(int(tree.exists(layout.stored(path))), path, here) for path, here in rows]
    changed = [(now, path) for now, path, here in found if now != here]
    connection.executemany("UPDATE files SET here = ?, left_at = NULL WHERE path = ?", changed)
