"""The past of partitions: their logs replayed into a catalog in memory, up to a version.

The version at a time is the last one that the store had by then, by its own clock: whoever asks gets the same answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime

from tailpipe.catalog import schema, seals
from tailpipe.catalog.database import Database
from tailpipe.catalog.enter import enter
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.log_entry import LogEntry, read_entry
from tailpipe.catalog.rewind import joined
from tailpipe.catalog.root_facts import save_roots
from tailpipe.catalog.snapshot import Snapshot, snapshot
from tailpipe.errors import CatalogError, CommitError, ObjectStoreError, UsageError
from tailpipe.frozen import frozen
from tailpipe.storage.local import LOCAL
from tailpipe.storage.objects import Objects
from tailpipe.stores.keys import log_key, log_prefix, version_of
from tailpipe.stores.log import entry_of


@frozen
class Logged:
    """A partition at a version of its log; `oldest` is the time since when replaced files are kept (None: all are)."""

    partition: str
    objects: Objects
    version: int
    oldest: datetime | None = None


@contextmanager
def past_database(layout: Layout) -> Iterator[Database]:
    """An empty catalog in memory, for replaying logs; files are those of the layout."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        seals.install(connection)
        schema.migrate(connection, "memory")
        save_roots(connection, layout.roots)
        yield Database(layout, connection, is_read_only=False)


def entry_at(layout: Layout, objects: Objects, partition: str, version: int) -> LogEntry:
    """An entry of the log: the copy that is kept here, or else the object."""
    path = layout.log_copy(partition, version)
    try:
        return read_entry(LOCAL.read(path), version, str(path))
    except (OSError, CatalogError):
        entry = entry_of(objects, partition, version)
    if entry is None:
        key = log_key(partition, version)
        raise ObjectStoreError(
            f'"{objects.location}/{key}" is missing',
            location=objects.location,
            key=key,
            hint="restore it from a version of the bucket, or from .tailpipe/log of a host",
        )
    return entry


def since_image(layout: Layout, objects: Objects, partition: str, version: int) -> list[LogEntry]:
    """The entries that make up a version: those since the newest image before it."""
    found = []
    for number in range(version, 0, -1):
        found.append(entry_at(layout, objects, partition, number))
        if found[-1].is_whole:
            break
    return found[::-1]


def replay_entries(database: Database, entries: Iterable[LogEntry]) -> None:
    """Let the catalog know entries of a log of which it knows nothing or what was before; files count as remote."""
    for entry in entries:
        with database.writing() as connection:
            try:
                numbers = [enter(connection, manifest, pushed_by=entry.host) for manifest in entry.manifests]
            except (CommitError, sqlite3.IntegrityError) as problem:
                key = log_key(entry.manifests[0].partition, entry.version)
                raise CatalogError(
                    f'"{key}" does not match the versions before it: {problem}',
                    path=key,
                    hint="run: tailpipe doctor --stores",
                ) from problem
            connection.executemany(
                "INSERT OR IGNORE INTO pushed VALUES (?, ?)", [(number, entry.version) for number in numbers]
            )
            if entry.is_whole:
                connection.execute("INSERT OR IGNORE INTO pushed SELECT id, ? FROM transactions", (entry.version,))


def version_at(layout: Layout, objects: Objects, partition: str, moment: datetime) -> int | None:
    """The newest version that the store had at a time: 0 if the partition had no rows yet, None if it has no log."""
    found = [one for one in objects.list(log_prefix(partition)) if version_of(one.key)]
    if not found:
        return None
    version = 0
    for one in found:
        if one.modified > moment:
            break
        version = version_of(one.key) or 0
    if version:
        return version
    (first,) = entry_at(layout, objects, partition, 1).manifests
    times = (str(row.values["committed_at"]) for row in first.image if row.table == "transactions")
    if any(datetime.fromisoformat(text) <= moment for text in times):
        raise UsageError(
            f"{partition} cannot be read as of {moment.isoformat()}: its log in the store begins at"
            f" {found[0].modified.isoformat(timespec='seconds')}",
            hint="choose a later time",
        )
    return 0


def past_snapshot(layout: Layout, wanted: Iterable[Logged]) -> Snapshot:
    """The files of partitions at versions of their logs; UsageError if some of them are not kept any more."""
    parts = []
    for one in wanted:
        with past_database(layout) as database:
            replay_entries(database, since_image(layout, one.objects, one.partition, one.version))
            _find_here(database)
            if one.oldest is not None:
                _check_kept(database, one, one.oldest)
            parts.append(snapshot(database, partition=one.partition))
    return joined(layout, parts)


def _find_here(database: Database) -> None:
    """Of the files of that version, those are here that are still on this disk, retired or not."""
    with database.writing() as connection:
        paths = [path for (path,) in connection.execute("SELECT path FROM files WHERE state = 'live'").fetchall()]
        here = [(path,) for path in paths if LOCAL.exists(database.layout.stored(path))]
        connection.executemany("UPDATE files SET here = 1 WHERE path = ?", here)


def _check_kept(database: Database, one: Logged, oldest: datetime) -> None:
    """Refuse a version with files that were replaced before the kept history began, and that are not on this disk."""
    rows = database.connection.execute("SELECT path FROM files WHERE state = 'live' AND role = 'data' AND here = 0")
    remote = {path for (path,) in rows}
    after = log_key(one.partition, one.version)
    for found in one.objects.list(log_prefix(one.partition), after=after) if remote else ():
        if found.modified >= oldest:
            return
        version = version_of(found.key)
        entry = entry_at(database.layout, one.objects, one.partition, version) if version else None
        for manifest in entry.manifests if entry else ():
            kept = {str(row.values["path"]) for row in manifest.image if row.table == "files"}
            gone = remote - kept if entry and entry.is_whole else remote & set(manifest.removed)
            if gone:
                raise UsageError(
                    f"version {one.version} of {one.partition} is not kept any more: {len(gone)} of its files were"
                    f" replaced before {oldest.isoformat(timespec='seconds')}",
                    hint='choose a later time; history = "…" of the store, or a tag, keeps versions for longer',
                )
