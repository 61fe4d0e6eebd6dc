"""The log of a partition's store as the catalog knows it: what is pushed, what is not, and what other hosts did."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime

from tailpipe.catalog import image
from tailpipe.catalog import manifest as manifests
from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.commute import commute
from tailpipe.catalog.database import Database, storage_errors
from tailpipe.catalog.enter import enter
from tailpipe.catalog.facts import write_fact
from tailpipe.catalog.locks import check_epoch
from tailpipe.catalog.log_entry import LogEntry, make_entry, read_entry
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.errors import CatalogError, CommitError, ConflictError
from tailpipe.frozen import frozen


@frozen
class UnpushedFile:
    """A live file that the store does not have for certain.

    It has a `key` if it was put by a push that did not come to its end. `is_named` says that the log names it.
    """

    path: str
    role: str
    tp_index: str | None
    tp_date: date | None
    size: int
    sha256: str
    key: str | None
    is_named: bool


def known_version(database: Database, partition_id: int, store: str) -> int:
    """Up to which version of the log the partition is known here; 0 if it never met the store."""
    row = database.connection.execute(
        "SELECT version FROM stores WHERE partition_id = ? AND store = ?", (partition_id, store)
    ).fetchone()
    return int(row[0]) if row else 0


def pending(database: Database, partition_id: int) -> list[tuple[str, str | None]]:
    """The transactions of this workspace that the log does not have, with their records if they are not published."""
    return database.connection.execute(
        "SELECT name, record FROM transactions t WHERE partition_id = ? AND number IS NOT NULL"
        " AND sequence IS NOT NULL AND id NOT IN (SELECT transaction_id FROM pushed) ORDER BY sequence",
        (partition_id,),
    ).fetchall()


def unpushed_since(database: Database, partition: str) -> datetime | None:
    """When the oldest transaction was committed that the log does not have; None if it has all."""
    (moment,) = database.connection.execute(
        "SELECT min(committed_at) FROM transactions WHERE number IS NOT NULL AND sequence IS NOT NULL"
        " AND partition_id = (SELECT id FROM partitions WHERE name = ?)"
        " AND id NOT IN (SELECT transaction_id FROM pushed)",
        (partition,),
    ).fetchone()
    return datetime.fromisoformat(moment) if moment else None


def unpushed_files(database: Database, partition_id: int) -> list[UnpushedFile]:
    """The live files that are to be put: what was added and retired since the last push is not among them."""
    rows = database.connection.execute(
        "SELECT path, role, tp_index, tp_date, bytes, sha256, key,"
        " transaction_id IN (SELECT transaction_id FROM pushed) FROM files"
        " WHERE partition_id = ? AND state = 'live' AND there = 0 ORDER BY path",
        (partition_id,),
    ).fetchall()
    return [
        UnpushedFile(path, role, index, date.fromisoformat(day) if day else None, size, digest, key, bool(named))
        for path, role, index, day, size, digest, key, named in rows
    ]


def mark_put(writer: Writer, files: Iterable[tuple[UnpushedFile, str]]) -> None:
    """Remember that files are objects under these keys; `there` is set once the log names them."""
    with writer.database.writing() as connection:
        connection.executemany(
            "UPDATE files SET key = ?, there = ? WHERE path = ? AND state = 'live'",
            [(key, int(file.is_named), file.path) for file, key in files],
        )


def to_push(
    writer: Writer, names: Sequence[tuple[str, str | None]], host: str, version: int
) -> tuple[list[Manifest], bool]:
    """The manifests of the next entry, and whether it is an image of the whole partition.

    That is so for the first one, and if a manifest is lost or damaged, which an image makes good for.
    """
    keys = _keys(writer)
    found = _recorded(writer.database, names) if version > 1 else None
    if found is None:
        return [_whole(writer, host, keys)], True
    keyed = (replace(one, added=tuple(replace(file, key=keys.get(file.path)) for file in one.added)) for one in found)
    return list(keyed), False


def _keys(writer: Writer) -> dict[str, str]:
    """The keys of the live files of the partition in its store."""
    query = "SELECT path, key FROM files WHERE partition_id = ? AND state = 'live'"
    return dict(writer.database.connection.execute(query, (writer.partition_id,)).fetchall())


def _recorded(database: Database, names: Sequence[tuple[str, str | None]]) -> list[Manifest] | None:
    """The manifests of transactions; None unless all of them contain what has changed."""
    try:
        found = [manifests.of_transaction(database.layout, name, record) for name, record in names]
    except CatalogError:
        return None
    # A manifest with an image does not say how coverage has changed.
    return None if any(made.image for made in found) else found


def _whole(writer: Writer, host: str, keys: Mapping[str, str]) -> Manifest:
    """A manifest that is no transaction of this workspace, with all that the catalog knows of the partition."""
    with writer.database.reading() as connection:
        rows = image.shared(image.take(connection, writer.partition_id), host, keys)
        (newest,) = connection.execute("SELECT max(id) FROM transactions").fetchone()
    now = writer.database.now()
    name = f"{newest:08d}-{secrets.token_hex(8)}"
    return Manifest(name, 0, writer.partition, "note", None, now, now, image=rows, host=host)


def checkpoint(writer: Writer, store: str, host: str, version: int) -> LogEntry | None:
    """The state at a version that has just been learned; None if more than the log is known here."""
    keys = _keys(writer)
    if pending(writer.database, writer.partition_id) or None in keys.values():
        return None
    made = make_entry([_whole(writer, host, keys)], version, store, host, is_checkpoint=True)
    with storage_errors(writer.database.layout.log):
        keep_copy(writer.database, writer.partition, made)
    return made


def learn(writer: Writer, store: str, entry: LogEntry) -> int:
    """Apply an entry of the log in one SQLite transaction; returns how many transactions were new.

    Transactions that are known here are those of this workspace: they are pushed. All others are applied. If they do
    not follow from what is known, or their order with what is not pushed matters, ConflictError is raised and nothing
    is changed: the partition has to be rebased.
    """
    database = writer.database
    with storage_errors(database.layout.log):
        keep_copy(database, writer.partition, entry)
    database.failpoints.reach("learn.copied")
    try:
        with database.writing() as connection:
            check_epoch(database, writer.partition, writer.partition_id, writer.epoch)
            if entry.is_whole:
                pulled = _learn_whole(writer, connection, entry)
            else:
                _check_order(writer, connection, entry)
                pulled = _learn(writer, connection, entry)
            connection.execute(
                "INSERT INTO stores VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version",
                (writer.partition_id, store, entry.version),
            )
            if entry.host == database.host.name:
                write_fact(connection, f"pushed:{writer.partition}", database.now().isoformat())
            database.failpoints.reach("learn.before")
    except (CommitError, ConflictError, sqlite3.IntegrityError) as problem:
        database.storage.delete(database.layout.log_copy(writer.partition, entry.version))
        if isinstance(problem, ConflictError):
            raise
        raise conflict(writer, entry, str(problem)) from problem
    if pulled:
        database.on_commit()
    return pulled


def kept_entry(database: Database, partition: str, version: int) -> LogEntry | None:
    """The copy of a checkpoint of a version, or else of its entry; None if there is none that can be read."""
    for path in (database.layout.checkpoint_copy(partition, version), database.layout.log_copy(partition, version)):
        try:
            return read_entry(database.storage.read(path), version, str(path))
        except (OSError, CatalogError):
            continue
    return None


def keep_copy(database: Database, partition: str, entry: LogEntry) -> None:
    """Keep a copy of the object for a rebuild."""
    copy_of = database.layout.checkpoint_copy if entry.is_checkpoint else database.layout.log_copy
    path = copy_of(partition, entry.version)
    changed = database.storage.prepare(path)
    database.storage.put(path, entry.data)
    database.storage.settle({*changed, path.parent})


def _check_order(writer: Writer, connection: sqlite3.Connection, entry: LogEntry) -> None:
    """Refuse an entry whose order with what is not pushed makes a difference."""
    rows = connection.execute(
        "SELECT name FROM transactions WHERE sequence IS NOT NULL AND name IN (SELECT value FROM json_each(?))",
        (json.dumps([one.transaction for one in entry.manifests]),),
    )
    known = {name for (name,) in rows}
    theirs = [one.owned_by(entry.host) for one in entry.manifests if one.transaction not in known]
    waiting = pending(writer.database, writer.partition_id) if theirs else []
    ours = _recorded(writer.database, [one for one in waiting if one[0] not in known])
    if ours is None or not all(commute(one, other) for one in theirs for other in ours):
        raise conflict(writer, entry, "both have changed the same")


def _learn(writer: Writer, connection: sqlite3.Connection, entry: LogEntry) -> int:
    pulled = 0
    for manifest in entry.manifests:
        row = connection.execute(
            "SELECT id FROM transactions WHERE name = ? AND sequence IS NOT NULL", (manifest.transaction,)
        ).fetchone()
        if row is None:
            pulled += 1
            number = enter(connection, manifest, pushed_by=entry.host)
        else:
            number = int(row[0])
            _mark_there(writer.database, connection, ((file.path, file.key) for file in manifest.added if file.key))
        connection.execute("INSERT OR IGNORE INTO pushed VALUES (?, ?)", (number, entry.version))
    return pulled


def _learn_whole(writer: Writer, connection: sqlite3.Connection, entry: LogEntry) -> int:
    """Apply an entry with an image, of which either all or no transactions are known here."""
    (manifest,) = entry.manifests
    named = set(manifest.transactions)
    rows = connection.execute(
        "SELECT name FROM transactions WHERE partition_id = ? AND sequence IS NOT NULL", (writer.partition_id,)
    )
    known = {name for (name,) in rows}
    pulled = 0
    if not known:
        enter(connection, manifest, pushed_by=entry.host)
        named.add(manifest.transaction)
        pulled = len(named)
    elif not named <= known:
        raise conflict(writer, entry, "each has a history of its own")
    else:
        files = (row.values for row in manifest.image if row.table == "files")
        _mark_there(writer.database, connection, ((str(one["path"]), str(one["key"])) for one in files))
    connection.executemany(
        "INSERT OR IGNORE INTO pushed SELECT id, ? FROM transactions WHERE name = ?",
        [(entry.version, name) for name in sorted(named)],
    )
    return pulled


def _mark_there(database: Database, connection: sqlite3.Connection, files: Iterable[tuple[str, str]]) -> None:
    """Record that the store has these files of ours; those no longer on this disk are in the store alone."""
    for path, key in files:
        is_here = database.storage.exists(database.layout.stored(path))
        connection.execute(
            "UPDATE files SET there = 1, key = ?, here = here AND ? WHERE path = ?", (key, is_here, path)
        )


def conflict(writer: Writer, entry: LogEntry, reason: str) -> ConflictError:
    """The error of an entry that conflicts with unpushed transactions."""
    own = writer.database.host.name or "this host"
    return ConflictError(
        f"{writer.partition}: version {entry.version} of the log, pushed by {entry.host}, does not follow from what"
        f" {own} has committed and not pushed: {reason}",
        partition=writer.partition,
        hosts=(own, entry.host),
        hint="nothing was changed; delete and collect again the days that both hosts have collected",
    )
