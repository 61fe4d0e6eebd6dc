"""Pull a partition: what other hosts have pushed becomes known here, and on request its files come to this disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.commit import begin
from tailpipe.catalog.database import storage_errors
from tailpipe.catalog.learn import known_version
from tailpipe.catalog.log_entry import LogEntry
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.project import project
from tailpipe.catalog.snapshot import count_move
from tailpipe.errors import ObjectStoreError
from tailpipe.frozen import frozen
from tailpipe.storage.objects import Objects
from tailpipe.stores import log
from tailpipe.stores.follow import Followed, follow
from tailpipe.stores.keys import LOG, logged_partition, version_of
from tailpipe.stores.part import Part
from tailpipe.stores.tiers import Stays, TierFile
from tailpipe.stores.upload import AT_ONCE


@frozen
class RemoteFile:
    """A live file that is in the store alone."""

    path: str
    key: str
    size: int
    sha256: str


@frozen
class _Known:
    """A live file by the log, and what says to which part it belongs."""

    file: RemoteFile
    tp_date: str
    tp_index: str | None


def logged(objects: Objects) -> dict[str, int]:
    """The partitions of which a store has a log, and the newest version of each; one LIST for each 1,000 entries."""
    found: dict[str, int] = {}
    for one in objects.list(f"{LOG}/"):
        name, version = logged_partition(one.key), version_of(one.key)
        if name is not None and version is not None:
            found[name] = max(version, found.get(name, 0))
    return found


def pull(writer: Writer, objects: Objects, host: str) -> tuple[int, Followed]:
    """Fetch the log of a partition; the version that is known since, and what it has brought."""
    store = log.store_id(writer.database, objects, may_make=False)
    if store is None:
        return 0, Followed()
    found = follow(writer, store, objects, host)
    return known_version(writer.database, writer.partition_id, store), found


def remote_files(catalog: Catalog, partition: str, part: Part, unread: Iterable[LogEntry] = ()) -> list[RemoteFile]:
    """The live files of a part that are not on this disk; with `unread`, as if these entries of the log were known."""
    rows = catalog.database.connection.execute(
        "SELECT path, key, bytes, sha256, tp_date, tp_index, here FROM files WHERE state = 'live' AND role = 'data'"
        " AND there = 1 AND partition_id = (SELECT id FROM partitions WHERE name = ?) ORDER BY path",
        (partition,),
    ).fetchall()
    here = {row[0] for row in rows if row[6]}
    live: dict[str, _Known] = {row[0]: _Known(RemoteFile(*row[:4]), row[4], row[5]) for row in rows}
    for entry in unread:
        for manifest in entry.manifests:
            live = {} if entry.is_whole else live
            for path in manifest.removed:
                live.pop(path, None)
            live |= {one.file.path: one for one in _added(manifest)}
    return [one.file for path, one in live.items() if path not in here and part.has(one.tp_date, one.tp_index)]


def _added(manifest: Manifest) -> Iterator[_Known]:
    """The data files that a manifest or its image names."""
    for row in (row.values for row in manifest.image if row.table == "files"):
        if row["role"] == "data":
            file = RemoteFile(str(row["path"]), str(row["key"]), int(str(row["bytes"])), str(row["sha256"]))
            yield _Known(file, str(row["tp_date"]), None if row["tp_index"] is None else str(row["tp_index"]))
    for one in manifest.added:
        if one.key and one.role == "data":
            yield _Known(RemoteFile(one.path, one.key, one.size, one.sha256), str(one.tp_date), one.tp_index)


def bring(writer: Writer, objects: Objects, part: Part) -> tuple[int, int]:
    """Bring the files of a part to this disk and pin all of it, many at once; returns how many came, and their bytes.

    Each file is checked. One that fails ends it: those that came before stay, and the next call goes on.
    """
    files = remote_files(Catalog(writer.database), writer.partition, part)
    _bring_all(writer, objects, files, is_pinned=True)
    _pin(writer, part)
    return len(files), sum(file.size for file in files)


def bring_staying(writer: Writer, objects: Objects, stays: Stays) -> int:
    """Bring the files to this disk that a rule wants here; returns how many came."""
    rows = writer.database.connection.execute(
        "SELECT path, key, bytes, sha256, tp_date, tp_index FROM files WHERE partition_id = ? AND state = 'live'"
        " AND role = 'data' AND here = 0 AND there = 1 AND left_at IS NULL ORDER BY path",
        (writer.partition_id,),
    ).fetchall()
    kept = set(stays([TierFile(row[0], writer.partition, row[5], date.fromisoformat(row[4]), row[2]) for row in rows]))
    files = [RemoteFile(*row[:4]) for row in rows if row[0] in kept]
    _bring_all(writer, objects, files, is_pinned=False)
    return len(files)


def _bring_all(writer: Writer, objects: Objects, files: Sequence[RemoteFile], *, is_pinned: bool) -> None:
    transaction = begin(writer, "note", None)
    try:
        with storage_errors(transaction.staging):
            for start in range(0, len(files), AT_ONCE * 8):
                _bring(writer, objects, files[start : start + AT_ONCE * 8], transaction.staging, is_pinned)
    finally:
        transaction.abort()  # it only lends its directory


def _bring(writer: Writer, objects: Objects, files: Sequence[RemoteFile], staging: Path, is_pinned: bool) -> None:
    database = writer.database
    with ThreadPoolExecutor(min(AT_ONCE, len(files)), "pull") as pool:
        drafts = list(pool.map(lambda one: _fetch(objects, one, staging), files))
    changed = set[Path]()
    for file, draft in zip(files, drafts, strict=True):
        target = database.layout.stored(file.path)
        changed |= database.storage.prepare(target) | {target.parent}
        database.tree.protect(draft)
        database.tree.sync(draft)
        database.storage.put_file(draft, target)
    database.storage.settle(changed)
    database.failpoints.reach("pull.stored")
    with database.writing() as connection:
        connection.executemany(
            "UPDATE files SET here = 1, is_pinned = max(is_pinned, ?), left_at = NULL"
            " WHERE path = ? AND state = 'live'",
            [(int(is_pinned), file.path) for file in files],
        )
        count_move(connection)
    database.failpoints.reach("pull.noted")
    project(database, staging.name, [file.path for file in files], may_exchange=False)
    database.on_commit()


def _fetch(objects: Objects, file: RemoteFile, staging: Path) -> Path:
    draft = staging / file.path.rpartition("/")[2]
    try:
        found = objects.fetch(file.key, draft)
    except FileNotFoundError as problem:
        raise _bad(objects, file, "is missing") from problem
    if found != file.sha256:
        raise _bad(objects, file, "differs from were pushed")
    return draft


def _bad(objects: Objects, file: RemoteFile, reason: str) -> ObjectStoreError:
    return ObjectStoreError(
        f'"{objects.location}/{file.key}" {reason}',
        location=objects.location,
        key=file.key,
        hint="restore it from a version of the bucket, or push it again from a host that has it: tailpipe push",
    )


def _pin(writer: Writer, part: Part) -> None:
    """Pin what was here before, too, and link what a process that was killed here has left."""
    rows = writer.database.connection.execute(
        "SELECT path, tp_date, tp_index FROM files WHERE partition_id = ? AND state = 'live' AND role = 'data'"
        " AND here = 1 AND there = 1 AND is_pinned = 0",
        (writer.partition_id,),
    ).fetchall()
    with writer.database.writing() as connection:
        connection.executemany(
            "UPDATE files SET is_pinned = 1 WHERE path = ?",
            [(path,) for path, day, index in rows if part.has(day, index)],
        )
