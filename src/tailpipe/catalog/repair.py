"""Repair what the doctor finds: heal from copies that are sound, relink, sweep, and mark as lost what is lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from tailpipe.catalog import aside, clean, commit, findings, image
from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.database import Database, storage_errors
from tailpipe.catalog.findings import Finding
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.locks import each_in_turn
from tailpipe.catalog.mend import retire_missing
from tailpipe.catalog.project import project
from tailpipe.catalog.publish import drop_staging
from tailpipe.frozen import frozen
from tailpipe.storage.local import CANNOT_LINK, LOCAL
from tailpipe.storage.storage import LocalTree

__all__ = ["Repaired", "repair"]


@frozen
class Repaired:
    """What a repair did, the units that the next collect must bring again, and why partitions were left alone."""

    relinked: int = 0
    swept: int = 0
    finished: int = 0
    healed: int = 0
    set_aside: int = 0
    recorded: int = 0
    """How many partitions have a new manifest that tells all of them."""
    lost_units: tuple[tuple[str, str], ...] = ()
    locked: tuple[str, ...] = ()

    def __add__(self, other: Repaired) -> Repaired:
        return Repaired(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def repair(
    home: Path | Layout, *, data: Path | None = None, with_checksums: bool = False, storage: LocalTree = LOCAL
) -> Repaired:
    """Finish, heal, relink and sweep; units with files of which no sound copy is left are marked as lost.

    Nothing that the catalog does not know is removed from the hive, and no file of which there is no other copy.
    """
    layout = Layout.of(home, data)
    with Catalog.open(layout, storage=storage, may_be_lost=True) as catalog:

        def mend(name: str) -> Repaired:
            with catalog.writer(name) as writer, storage_errors(layout.home):
                return _repaired(writer, with_checksums)

        names = findings.partitions(catalog.database)
        done = each_in_turn(names, mend, lambda _, why: Repaired(locked=(why,)))
    return sum(done, Repaired())


def _repaired(writer: Writer, with_checksums: bool) -> Repaired:
    database, partition = writer.database, writer.partition
    bad = list(findings.stored(database, partition, with_checksums))
    healed = [one for one in bad if one.copy and _heal(database, one)]
    lost = [one for one in bad if one not in healed]
    kept = _give_up(writer, lost) if lost else 0
    writer.clean()
    relinked = _relink(writer, with_checksums)
    swept = clean.sweep(database, partition)
    recorded = _record(writer, list(findings.transactions(database, partition, with_checksums)))
    return Repaired(
        relinked,
        swept.files,
        writer.recovered,
        len(healed),
        kept + swept.set_aside,
        recorded,
        tuple(sorted({(partition, one.unit) for one in lost})),
    )


def _heal(database: Database, bad: Finding) -> bool:
    """Put the sound copy in the place of the stored file; False if it does not prove to be sound."""
    target, draft = database.layout.stored(bad.path), database.layout.staging / "repair" / Path(bad.path).name
    database.tree.make_directory(draft.parent)
    database.tree.delete(draft)
    changed = database.storage.prepare(target)
    try:
        database.tree.link(Path(bad.copy), draft)
    except OSError as problem:
        if problem.errno not in CANNOT_LINK:
            raise
        database.tree.copy(Path(bad.copy), draft)
    database.tree.protect(draft)
    database.tree.sync(draft)
    if not aside.is_sound(database, draft, bad.size, bad.sha256):
        database.tree.delete(draft)
        return False
    if database.tree.is_same(target, draft):
        database.tree.delete(draft)  # a rename of two names of one file does nothing
    else:
        database.storage.put_file(draft, target)
    database.storage.settle(changed)
    drop_staging(database, "repair")
    return True


def _give_up(writer: Writer, lost: Sequence[Finding]) -> int:
    """Set aside what is left of files that are lost, then take them out of the live set."""
    database, kept = writer.database, 0
    for one in lost:
        stored, public = database.layout.stored(one.path), database.layout.public(one.path)
        is_other = database.tree.exists(public) and not database.tree.is_same(stored, public)
        for path in (stored, *([public] if is_other and one.path.startswith("files/") else [])):
            if database.tree.exists(path):
                aside.put_aside(database, path)
                kept += 1
    retire_missing(writer, [one.path for one in lost])
    return kept


def _relink(writer: Writer, with_checksums: bool) -> int:
    database = writer.database
    found = [one for one in findings.hive(database, writer.partition, with_checksums) if one.trouble != "foreign"]
    by_directory: dict[str, list[Path]] = defaultdict(list)
    for one in found:
        place = Path(one.path)
        stored = database.layout.mirrored(place).relative_to(database.layout.internal)
        by_directory[stored.parent.as_posix()].append(place)
    for directory, places in by_directory.items():
        for place in places:
            # Under a name of ours, but not the stored file: a broken copy, or a link that was retired.
            if not database.tree.is_taken(place) or _has_other_copy(database, place):
                database.tree.delete(place)
            else:
                aside.put_aside(database, place)
        project(database, "repair", [f"{directory}/any"])
    drop_staging(database, "repair")
    return len(found)


def _has_other_copy(database: Database, public: Path) -> bool:
    """Whether a file of the hive is stored as well, as it is or as it should be."""
    return aside.is_copy(database, public, database.layout.mirrored(public))


def _record(writer: Writer, found: Sequence[Finding]) -> int:
    """Tell all of the partition in one manifest, if others are lost or cannot be read."""
    unrecorded = [one for one in found if one.trouble == "unrecorded"]
    if not unrecorded:
        return 0
    transaction = commit.begin(
        writer.database, writer.partition, writer.partition_id, writer.epoch, "repair", None, writer.run_id
    )
    transaction.record(lambda connection, made: replace(made, image=image.take(connection, writer.partition_id)))
    for one in unrecorded:
        if writer.database.storage.exists(Path(one.path)):
            aside.put_aside(writer.database, Path(one.path))
    return 1
