"""What differs between the disk and the catalog, one finding after the other; nothing is changed here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Literal

from tailpipe.catalog import aside, layout, seals
from tailpipe.catalog import manifest as manifests
from tailpipe.catalog.database import Database
from tailpipe.catalog.project import is_ours
from tailpipe.catalog.recover import orphans
from tailpipe.catalog.root_facts import absent
from tailpipe.catalog.roots import is_present
from tailpipe.catalog.schema import has_column, has_table, here_alone
from tailpipe.errors import CatalogError, NewerError
from tailpipe.frozen import frozen
from tailpipe.model.coverage import DaySet

ProblemKind = Literal[
    "missing",
    "altered",
    "lost",
    "unlinked",
    "stale",
    "foreign",
    "orphan",
    "unfinished",
    "unrecorded",
    "unknown",
    "damaged",
    "unmounted",
]
REPAIR = "tailpipe doctor --repair"
REPAIR_BYTES = "tailpipe doctor --repair --checksums"
"""For what is found by reading all bytes alone: without that it would not be found again."""
REBUILD = "tailpipe doctor --rebuild"


@frozen
class Finding:
    """One difference: what, where, and the command that repairs it (empty: nothing needs to be done)."""

    problem: ProblemKind
    path: str
    message: str
    partition: str = ""
    unit: str = ""
    repair: str = REPAIR
    copy: str = ""
    """An intact copy, from which a repair restores the file."""
    size: int = 0
    sha256: str = ""
    is_there: bool = False
    """Whether the store has the file too: then nothing is lost."""


def partitions(database: Database) -> list[str]:
    """The partitions that the catalog knows, and others that have stored files."""
    known = [name for (name,) in database.connection.execute("SELECT name FROM partitions").fetchall()]
    return sorted({*known, *stored_partitions(database)})


def stored_partitions(database: Database) -> set[str]:
    """The partitions that have stored files, whether or not the catalog knows them."""
    layout_ = database.layout
    tops = (root / layout.INTERNAL / "files" for root in layout_.all_roots())
    found = {layout_.partition_of(path) for top in tops for path in database.storage.objects(top)}
    return {name for name in found if name is not None}


def damage(database: Database) -> Iterator[Finding]:
    """What is wrong with the catalog itself."""
    path = str(database.layout.database)
    for (line,) in database.connection.execute("PRAGMA integrity_check(5)").fetchall():
        if line != "ok":
            yield Finding("damaged", path, f"{path} is damaged: {line}", repair=REBUILD)
    for table, *_ in database.connection.execute("PRAGMA foreign_key_check").fetchall():
        message = f"{path} is damaged: a row of {table} refers to a missing row"
        yield Finding("damaged", path, message, repair=REBUILD)
    with database.reading() as connection:
        try:
            seals.verify(connection, path)
        except CatalogError as problem:
            yield Finding("damaged", path, problem.message, repair=REBUILD)


def unmounted(database: Database, partition: str) -> Iterator[Finding]:
    """A root that is not mounted, so that its files cannot be checked."""
    root = database.layout.root(partition)
    if not is_present(database, root):
        problem = absent(partition, root)
        yield Finding("unmounted", str(root), f"{problem.message}; its files were not checked", partition, repair="")


def stored(database: Database, partition: str, with_checksums: bool) -> Iterator[Finding]:
    """Live files that are missing or altered."""
    is_there = "there" if has_column(database.connection, "files", "there") else "0"
    rows = database.connection.execute(
        f"SELECT path, unit, rows, bytes, sha256, {is_there} FROM files JOIN partitions p ON p.id = partition_id"  # noqa: S608
        f" WHERE p.name = ? AND state = 'live'{here_alone(database.connection)} ORDER BY path",
        (partition,),
    ).fetchall()
    for path, unit, count, size, sha256, there in rows:
        place = database.layout.stored(path)
        where = f"{partition} {unit}: {place} ({count:,} rows)"
        problem: ProblemKind = "altered"
        repair = REPAIR
        try:
            now = database.storage.size(place)
        except FileNotFoundError:
            problem, wrong = "missing", "is missing"
        else:
            if now != size:
                wrong = f"has {now} bytes instead of {size}"
            elif with_checksums and database.storage.checksum(place) != sha256:
                wrong, repair = "does not match its checksum", REPAIR_BYTES
            else:
                continue
        copy = aside.sound_copy(database, path, size, sha256)
        found = f"; the {'hive has an intact' if copy else 'store has a'} copy" if copy or there else ""
        facts = (partition, unit, repair, str(copy or ""), size, sha256, bool(there))
        yield Finding(problem, path, f"{where} {wrong}{found}", *facts)


def lost(database: Database, partition: str) -> Iterator[Finding]:
    """Units whose rows were lost, and have not been collected again."""
    rows = database.connection.execute(
        "SELECT unit, tp_date FROM losses JOIN partitions p ON p.id = partition_id"
        " WHERE p.name = ? AND reason = 'missing' ORDER BY unit, tp_date",
        (partition,),
    ).fetchall()
    units: dict[str, list[date]] = {}
    for unit, day in rows:
        units.setdefault(unit, []).append(date.fromisoformat(day))
    for unit, days in units.items():
        message = f"{partition} {unit}: rows of {DaySet.of(days)} are lost; collect them again while their logs exist"
        yield Finding("lost", "", message, partition, unit, f"tailpipe collect {partition}")


def hive(database: Database, partition: str, with_checksums: bool) -> Iterator[Finding]:
    """Missing links, stale links, and files of other programs."""
    rows = database.connection.execute(
        "SELECT path, unit, bytes, sha256 FROM files JOIN partitions p ON p.id = partition_id"  # noqa: S608 - ours
        f" WHERE p.name = ? AND state = 'live' AND role = 'data'{here_alone(database.connection)} ORDER BY path",
        (partition,),
    ).fetchall()
    expected = {database.layout.public(path): (path, unit, size, sha256) for path, unit, size, sha256 in rows}
    there = set(database.tree.objects(database.layout.root(partition) / layout.partition_segment(partition)))
    for place, (path, unit, size, sha256) in expected.items():
        if place not in there:
            yield Finding("unlinked", str(place), f"{place} is not in the hive", partition, unit)
        elif repair := _wrong_copy(database, database.layout.stored(path), place, size, sha256, with_checksums):
            yield Finding("unlinked", str(place), f"{place} is not the stored file", partition, unit, repair)
    for place in sorted(there - set(expected)):
        if is_ours(database, place.name):
            message = f"{place} was replaced or moved to the store, but is still in the hive"
            yield Finding("stale", str(place), message, partition)
        elif not (  # what is orphaned as a whole is reported as that
            layout.is_our_name(place.name) and database.tree.is_same(database.layout.mirrored(place), place)
        ):
            message = f"{place} is not a file of tailpipe; it is kept, but readers of the hive see it"
            yield Finding("foreign", str(place), message, partition, repair="")


def _wrong_copy(database: Database, stored: Path, public: Path, size: int, sha256: str, with_checksums: bool) -> str:
    """The command that repairs a public file, or an empty text if it is correct."""
    if database.tree.is_same(stored, public):
        return ""
    # A copy, where the file system has no links.
    if database.tree.size(public) != size:
        return REPAIR
    return REPAIR_BYTES if with_checksums and database.tree.checksum(public) != sha256 else ""


def unstored(database: Database, partition: str) -> Iterator[Finding]:
    """Stored files that belong to nothing."""
    query = "SELECT name FROM transactions WHERE state IN ('intent', 'committed')"
    is_busy = {name for (name,) in database.connection.execute(query)}
    for path in orphans(database, partition):
        owner = layout.is_our_name(path.name)
        if owner in is_busy:
            continue  # a writer is at work, or its recovery will see to it
        if owner is None:
            yield Finding("foreign", str(path), f"{path} is not a file of tailpipe; it is kept", partition, repair="")
        else:
            yield Finding("orphan", str(path), f"{path} belongs to no transaction", partition)


def transactions(database: Database, partition: str, with_checksums: bool) -> Iterator[Finding]:
    """Transactions that are not over or that a rebuild would lose; a store records those of other hosts."""
    number = "number" if has_column(database.connection, "transactions", "number") else "sequence"
    rows = database.connection.execute(
        "SELECT t.name, state, coalesce(unit, kind) FROM transactions t JOIN partitions p ON p.id = t.partition_id"  # noqa: S608
        f" WHERE p.name = ? AND state <> 'aborted' AND (sequence IS NULL OR {number} IS NOT NULL)"
        " AND coalesce(sequence, ?) >= ? ORDER BY t.id",
        (partition, first := _first_needed(database, partition), first),
    ).fetchall()
    for name, state, unit in rows:
        path = database.layout.manifest(name)
        if state != "published":
            message = f"{partition} {unit}: transaction {name} is {state}; it is running, or its process was killed"
            yield Finding("unfinished", str(database.layout.staging / name), message, partition, unit)
        elif not database.storage.exists(path):
            message = f"{path} is missing: a rebuild would lose this transaction"
            yield Finding("unrecorded", str(path), message, partition, unit)
        elif with_checksums and not _is_readable(database, path):
            message = f"{path} is damaged: a rebuild would lose this transaction"
            yield Finding("unrecorded", str(path), message, partition, unit, REPAIR_BYTES)


def _first_needed(database: Database, partition: str) -> int:
    """The number of the newest image of a partition: a rebuild needs no manifest before it."""
    if not has_table(database.connection, "images"):
        return 0  # a catalog of an earlier version
    row = database.connection.execute(
        "SELECT sequence FROM images i JOIN transactions t ON t.id = i.transaction_id"
        " JOIN partitions p ON p.id = i.partition_id WHERE p.name = ?",
        (partition,),
    ).fetchone()
    return int(row[0]) if row else 0


def unknown(database: Database) -> Iterator[Finding]:
    """Manifests of transactions that the catalog does not know."""
    known = {name for (name,) in database.connection.execute("SELECT name FROM transactions")}
    for path in sorted(database.storage.objects(database.layout.manifests)):
        if path.suffix == layout.MANIFEST and path.stem not in known:
            message = f"{path} records a transaction that {database.layout.database} does not know"
            yield Finding("unknown", str(path), message, repair=REBUILD)


def _is_readable(database: Database, manifest: Path) -> bool:
    try:
        manifests.read(manifest, database.storage)
    except NewerError:
        return True  # by the version that wrote it
    except CatalogError:
        return False
    return True
