"""Examine stores: what their logs name against the objects that are there, and repair from copies on this disk.

What is lost on this disk and is in the store, the catalog's own doctor finds and fetches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from tailpipe.catalog.database import Database
from tailpipe.catalog.findings import Finding, ProblemKind
from tailpipe.catalog.learn import known_version
from tailpipe.catalog.log_entry import read_entry
from tailpipe.errors import CatalogError
from tailpipe.storage.objects import Objects
from tailpipe.stores.keys import DATA, LOG, REJECTED, STORE, log_key
from tailpipe.stores.log import id_problem, logged_id, remembered_id, restore_id, store_id
from tailpipe.stores.publish import live_files

REPAIR = "tailpipe doctor --stores --repair"
_PIECE = 8 * 2**20


def examine_store(
    database: Database, objects: Objects, partitions: Iterable[str], *, with_checksums: bool = False
) -> list[Finding]:
    """What a store lacks of the partitions that are known here: versions of logs, and live files.

    One listing each of logs and files; with checksums all bytes are read. Changes nothing.
    """
    logged = logged_id(objects)
    store = remembered_id(database, objects) or logged or store_id(database, objects, may_make=False)
    if store is None:
        return []
    sizes = {one.key: one.size for prefix in (LOG, DATA, REJECTED) for one in objects.list(prefix)}
    found = list(_identity(objects, logged)) if logged else []
    for name in partitions:
        row = database.connection.execute("SELECT id FROM partitions WHERE name = ?", (name,)).fetchone()
        if row is not None:
            found += _log(database, objects, name, known_version(database, row[0], store), sizes, with_checksums)
            found += _files(database, objects, name, sizes, with_checksums)
    return found


def _identity(objects: Objects, logged: str) -> Iterator[Finding]:
    """The object that names the store, against the name that its log gives."""
    if how := id_problem(objects, logged):
        problem: ProblemKind = _MISSING if how == "is missing" else _ALTERED
        yield Finding(
            problem,
            STORE,
            f'"{objects.location}/{STORE}" {how}; the log has the right name',
            repair=REPAIR,
            copy=logged,
        )


def _log(
    database: Database, objects: Objects, partition: str, known: int, sizes: dict[str, int], with_checksums: bool
) -> Iterator[Finding]:
    for version in range(1, known + 1):
        key, copy = log_key(partition, version), _copied_entry(database, partition, version)
        problem: ProblemKind = _ALTERED
        if key not in sizes:
            problem, how = _MISSING, "is missing"
        elif copy is not None and sizes[key] != len(copy):
            how = f"has {sizes[key]:,} bytes instead of {len(copy):,}"
        elif with_checksums and not _is_good_entry(objects, key, version, copy):
            how = "differs from what was pushed"
        else:
            continue
        what = f'"{objects.location}/{key}" {how}: version {version} of {partition}'
        is_copied = copy is not None
        repair = REPAIR if problem == _MISSING or not with_checksums else f"{REPAIR} --checksums"
        yield Finding(
            problem,
            key,
            f"{what}; {'this disk has a copy' if is_copied else 'restore it from .tailpipe/log of another host'}",
            partition,
            repair=repair if is_copied else "",
            copy=str(database.layout.log_copy(partition, version)) if is_copied else "",
        )


def _copied_entry(database: Database, partition: str, version: int) -> bytes | None:
    """The copy of an entry on this disk, if it is intact."""
    path = database.layout.log_copy(partition, version)
    try:
        data = database.storage.read(path)
        read_entry(data, version, str(path))
    except (OSError, CatalogError):
        return None
    return data


def _is_good_entry(objects: Objects, key: str, version: int, copy: bytes | None) -> bool:
    try:
        data = objects.get(key)
        if copy is None:
            read_entry(data, version, key)
    except (FileNotFoundError, CatalogError):
        return False
    return copy is None or data == copy


def _files(
    database: Database, objects: Objects, partition: str, sizes: dict[str, int], with_checksums: bool
) -> Iterator[Finding]:
    for file in live_files(database, partition):
        key, problem, repair = str(file.key), None, REPAIR
        if key not in sizes:
            problem, how = _MISSING, "is missing"
        elif sizes[key] != file.size:
            problem, how = _ALTERED, f"has {sizes[key]:,} bytes instead of {file.size:,}"
        elif with_checksums and _object_digest(objects, key, file.size) != file.sha256:
            problem, how, repair = _ALTERED, "differs from what was pushed", f"{REPAIR} --checksums"
        if problem is None:
            continue
        path = database.layout.stored(file.path)
        is_good = database.storage.exists(path) and _digest(database, file.path) == file.sha256
        end = "this disk has an intact copy" if is_good else "this disk has no intact copy: look on other hosts"
        yield Finding(
            problem,
            key,
            f'"{objects.location}/{key}" ({file.rows:,} rows of {partition}) {how}; {end}',
            partition,
            repair=repair if is_good else "",
            copy=str(path) if is_good else "",
            size=file.size,
            sha256=file.sha256,
        )


_MISSING: ProblemKind = "missing"
_ALTERED: ProblemKind = "altered"


def _digest(database: Database, path: str) -> str:
    place, digest, read = database.layout.stored(path), hashlib.sha256(), 0
    while piece := database.storage.read(place, read, _PIECE):
        digest.update(piece)
        read += len(piece)
    return digest.hexdigest()


def _object_digest(objects: Objects, key: str, size: int) -> str:
    digest, read = hashlib.sha256(), 0
    try:
        while read < size and (piece := objects.get(key, read, _PIECE)):
            digest.update(piece)
            read += len(piece)
    except FileNotFoundError:
        return ""
    return digest.hexdigest()


def repair_store(database: Database, objects: Objects, findings: Iterable[Finding]) -> int:
    """Upload again what this disk has an intact copy of; returns the number of objects."""
    count = 0
    for finding in findings:
        if not finding.copy:
            continue
        if finding.path == STORE:
            restore_id(objects, finding.copy)
            count += 1
            continue
        path = database.layout.internal / finding.copy
        if finding.problem == _ALTERED:
            objects.delete([finding.path])  # it is damaged, and the copy was read a moment ago
        if finding.sha256:
            objects.put_file(finding.path, path, sha256=finding.sha256)
        else:
            objects.put(finding.path, database.storage.read(path))
        count += 1
    return count
