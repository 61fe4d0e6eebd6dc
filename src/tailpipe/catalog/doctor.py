"""The doctor: hold the disk against the catalog, tell what differs, and repair it."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tailpipe.catalog import clean, layout
from tailpipe.catalog import manifest as manifests
from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.disk import Disk
from tailpipe.catalog.locks import each_in_turn
from tailpipe.catalog.mend import retire_missing
from tailpipe.catalog.project import is_ours, project
from tailpipe.catalog.publish import drop_staging
from tailpipe.catalog.rebuild import Rebuilt, rebuild
from tailpipe.catalog.recover import orphans
from tailpipe.catalog.store import Store, storage_errors
from tailpipe.errors import CatalogError

__all__ = ["Finding", "Rebuilt", "Repaired", "examine", "rebuild", "repair"]

Trouble = Literal["missing", "altered", "unlinked", "stale", "foreign", "orphan", "unfinished", "unrecorded", "damaged"]
REPAIR = "tailpipe doctor --repair"
REBUILD = "tailpipe doctor --rebuild"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Finding:
    """One difference: what, where, and the command that repairs it (empty: nothing needs to be done)."""

    trouble: Trouble
    path: str
    message: str
    partition: str = ""
    unit: str = ""
    repair: str = REPAIR


@dataclass(frozen=True)
class Repaired:
    """What a repair did, the units that the next collect must bring again, and why partitions were left alone."""

    relinked: int = 0
    swept: int = 0
    finished: int = 0
    lost_units: tuple[tuple[str, str], ...] = ()
    locked: tuple[str, ...] = ()

    def __add__(self, other: Repaired) -> Repaired:
        return Repaired(
            self.relinked + other.relinked,
            self.swept + other.swept,
            self.finished + other.finished,
            self.lost_units + other.lost_units,
            self.locked + other.locked,
        )


def examine(home: Path, *, data: Path | None = None, with_checksums: bool = False) -> list[Finding]:
    """Everything that differs; reading all bytes again only if asked to. Changes nothing, takes no lock."""
    try:
        with Catalog.open(home, data=data, is_read_only=True) as catalog, storage_errors(home):
            return _findings(catalog.store, with_checksums)
    except CatalogError as problem:
        return [Finding("damaged", problem.path, problem.message, repair=REBUILD)]


def repair(home: Path, *, data: Path | None = None, with_checksums: bool = False, disk: Disk | None = None) -> Repaired:
    """Finish, relink and sweep; units with missing or altered files are marked to be collected again.

    Nothing that the catalog does not know is removed from the hive.
    """
    with Catalog.open(home, data=data, disk=disk) as catalog:

        def mend(name: str) -> Repaired:
            with catalog.writer(name) as writer, storage_errors(home):
                return _repaired(writer, with_checksums)

        done = each_in_turn(_names(catalog.store), mend, lambda _, why: Repaired(locked=(why,)))
    return sum(done, Repaired())


def _findings(store: Store, with_checksums: bool) -> list[Finding]:
    if found := list(_damage(store)):
        return found
    for name in _names(store):
        found += _stored(store, name, with_checksums)
        found += _hive(store, name, with_checksums)
        found += _orphans(store, name)
        found += _transactions(store, name, with_checksums)
    return found


def _repaired(writer: Writer, with_checksums: bool) -> Repaired:
    bad = list(_stored(writer.store, writer.partition, with_checksums))
    if bad:
        retire_missing(writer, [one.path for one in bad])
    writer.clean()
    lost = tuple(sorted({(writer.partition, one.unit) for one in bad}))
    relinked = _relink(writer, with_checksums)
    swept = clean.sweep(writer.store, writer.partition).files
    return Repaired(relinked, swept, writer.recovered, lost)


def _names(store: Store) -> list[str]:
    return [name for (name,) in store.connection.execute("SELECT name FROM partitions ORDER BY name").fetchall()]


def _damage(store: Store) -> Iterator[Finding]:
    path = str(store.layout.database)
    for (line,) in store.connection.execute("PRAGMA integrity_check(5)").fetchall():
        if line != "ok":
            yield Finding("damaged", path, f"{path} is damaged: {line}", repair=REBUILD)
    for table, *_ in store.connection.execute("PRAGMA foreign_key_check").fetchall():
        message = f"{path} is damaged: a row of {table} refers to nothing"
        yield Finding("damaged", path, message, repair=REBUILD)


def _stored(store: Store, partition: str, with_checksums: bool) -> Iterator[Finding]:
    """Live files that are not there any more, or not as they were."""
    rows = store.connection.execute(
        "SELECT path, unit, rows, bytes, sha256 FROM files JOIN partitions p ON p.id = partition_id"
        " WHERE p.name = ? AND state = 'live' ORDER BY path",
        (partition,),
    ).fetchall()
    for path, unit, count, size, sha256 in rows:
        place = store.layout.stored(path)
        where = f"{partition} {unit}: {place} ({count:,} rows)"
        try:
            now = place.stat().st_size
        except FileNotFoundError:
            yield Finding("missing", path, f"{where} is missing", partition, unit)
            continue
        if now != size:
            yield Finding("altered", path, f"{where} has {now} bytes instead of {size}", partition, unit)
        elif with_checksums and _digest(place) != sha256:
            yield Finding("altered", path, f"{where} has another checksum than it was stored with", partition, unit)


def _hive(store: Store, partition: str, with_checksums: bool) -> Iterator[Finding]:
    """Links that lack, links that should be gone, and files of others."""
    rows = store.connection.execute(
        "SELECT path, unit, bytes, sha256 FROM files JOIN partitions p ON p.id = partition_id"
        " WHERE p.name = ? AND state = 'live' AND role = 'data' ORDER BY path",
        (partition,),
    ).fetchall()
    expected = {store.layout.public(path): (path, unit, size, sha256) for path, unit, size, sha256 in rows}
    there = set()
    for root, _, names in os.walk(store.layout.data / layout.partition_segment(partition)):
        there |= {Path(root) / name for name in names}
    for place, (path, unit, size, sha256) in expected.items():
        if place not in there:
            yield Finding("unlinked", str(place), f"{place} is not in the hive", partition, unit)
        elif not _is_same(store.layout.stored(path), place, size, sha256, with_checksums):
            yield Finding("unlinked", str(place), f"{place} is not the stored file any more", partition, unit)
    for place in sorted(there - set(expected)):
        if is_ours(store, place.name):
            yield Finding("stale", str(place), f"{place} was retired, but is still in the hive", partition)
        else:
            message = f"{place} is not ours: it is left alone, but readers of the hive see it"
            yield Finding("foreign", str(place), message, partition, repair="")


def _is_same(stored: Path, public: Path, size: int, sha256: str, with_checksums: bool) -> bool:
    if stored.exists() and stored.samefile(public):
        return True
    # A copy, where the file system has no links.
    return public.stat().st_size == size and (not with_checksums or _digest(public) == sha256)


def _orphans(store: Store, partition: str) -> Iterator[Finding]:
    is_busy = {
        name
        for (name,) in store.connection.execute("SELECT name FROM transactions WHERE state IN ('intent', 'committed')")
    }
    for path in orphans(store, partition):
        owner = layout.is_our_name(path.name)
        if owner in is_busy:
            continue  # a writer is at work, or its recovery will see to it
        if owner is None:
            yield Finding("foreign", str(path), f"{path} is not ours: it is left alone", partition, repair="")
        else:
            yield Finding("orphan", str(path), f"{path} belongs to no transaction", partition)


def _transactions(store: Store, partition: str, with_checksums: bool) -> Iterator[Finding]:
    """Transactions that are not over, and those that could not be told again."""
    rows = store.connection.execute(
        "SELECT t.name, state, coalesce(unit, kind) FROM transactions t"
        " JOIN partitions p ON p.id = partition_id WHERE p.name = ? AND state <> 'aborted' ORDER BY t.id",
        (partition,),
    ).fetchall()
    for name, state, unit in rows:
        path = store.layout.manifest(name)
        if state != "published":
            message = f"{partition} {unit}: transaction {name} is {state}; it is running, or its process died"
            yield Finding("unfinished", str(store.layout.staging / name), message, partition, unit)
        elif not path.exists() or (with_checksums and not _is_readable(path)):
            message = f"{path} is missing or damaged: a rebuild would not know this transaction"
            yield Finding("unrecorded", str(path), message, partition, unit, repair="")


def _is_readable(manifest: Path) -> bool:
    try:
        manifests.read(manifest)
    except CatalogError:
        return False
    return True


def _relink(writer: Writer, with_checksums: bool) -> int:
    store = writer.store
    findings = [one for one in _hive(store, writer.partition, with_checksums) if one.trouble != "foreign"]
    by_directory: dict[str, list[Path]] = defaultdict(list)
    for one in findings:
        place = Path(one.path)
        by_directory["files/" + place.parent.relative_to(store.layout.data).as_posix()].append(place)
    for directory, places in by_directory.items():
        for place in places:
            # Under a name of ours, but not the stored file: a broken copy, or a link that was retired.
            store.disk.unlink(place)
        project(store, "repair", [f"{directory}/any"])
    drop_staging(store, "repair")
    return len(findings)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
