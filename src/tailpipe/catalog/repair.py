"""Repair what the doctor finds: heal from copies that are sound, relink, sweep, and mark as lost what is lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path

from tailpipe.catalog import aside, clean, commit, findings, image, roots
from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.database import Database, storage_errors
from tailpipe.catalog.findings import Finding
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.locks import each_in_turn
from tailpipe.catalog.mend import retire_missing
from tailpipe.catalog.project import project
from tailpipe.catalog.publish import drop_staging
from tailpipe.catalog.snapshot import count_move
from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen
from tailpipe.storage.local import LOCAL
from tailpipe.storage.storage import LocalTree

Fetch = Callable[[str, str, Path], str]
"""Copies the object of a partition with this key into a file, and returns its SHA-256."""


@frozen
class Repaired:
    """What a repair did, the units that the next collect must bring again, and why partitions were left alone."""

    relinked: int = 0
    swept: int = 0
    finished: int = 0
    healed: int = 0
    set_aside: int = 0
    recorded: int = 0
    """How many partitions have a new manifest with an image of the whole partition."""
    remote: int = 0
    """How many files count as remote now: this disk has lost them, but the store has them."""
    lost_units: tuple[tuple[str, str], ...] = ()
    locked: tuple[str, ...] = ()

    def __add__(self, other: Repaired) -> Repaired:
        return Repaired(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def repair(
    home: Path | Layout,
    *,
    data: Path | None = None,
    with_checksums: bool = False,
    storage: LocalTree = LOCAL,
    fetch: Fetch | None = None,
    host: str | None = None,
    accept_loss: bool = False,
) -> Repaired:
    """Finish, heal, relink and sweep; units with files of which no sound copy is left are marked as lost.

    Nothing that the catalog does not know is removed from the hive, and no file of which there is no other copy.
    What the store has is never lost: `fetch` brings it back, and without it, it counts as remote. A partition whose
    disk is not mounted is left alone, unless the loss of that disk is accepted.
    """
    layout = Layout.of(home, data)
    with Catalog.open(layout, storage=storage, may_be_lost=True, host=host) as catalog:
        if accept_loss:
            roots.renew_marks(catalog.database)

        def mend(name: str) -> Repaired:
            if unmounted := [one.message for one in findings.unmounted(catalog.database, name)]:
                return Repaired(locked=tuple(unmounted))
            with catalog.writer(name) as writer, storage_errors(layout.home):
                return _repaired(writer, with_checksums, fetch)

        names = findings.partitions(catalog.database)
        done = each_in_turn(names, mend, lambda _, why: Repaired(locked=(why,)))
    return sum(done, Repaired())


def _repaired(writer: Writer, with_checksums: bool, fetch: Fetch | None) -> Repaired:
    database, partition = writer.database, writer.partition
    bad = list(findings.stored(database, partition, with_checksums))
    healed = [one for one in bad if one.copy and _heal(database, one)]
    remote = [one for one in bad if one not in healed and one.is_there]
    lost = [one for one in bad if one not in healed and not one.is_there]
    kept = _set_aside(database, [*lost, *remote])
    if lost:
        retire_missing(writer, [one.path for one in lost])
    fetched = [one for one in remote if fetch is not None and _fetch(database, one, fetch)]
    healed += fetched
    _leave(database, [one.path for one in remote if one not in fetched])
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
        len(remote) - len(fetched),
        tuple(sorted({(partition, one.unit) for one in lost})),
    )


def _heal(database: Database, bad: Finding) -> bool:
    """Put the sound copy in the place of the stored file; False if it does not prove to be sound."""
    target, draft = database.layout.stored(bad.path), _draft(database, bad)
    database.tree.make_directory(draft.parent)
    changed = database.storage.prepare(target)
    aside.link_or_copy(database.tree, Path(bad.copy), draft)
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


def _draft(database: Database, bad: Finding) -> Path:
    return database.layout.staging_in(database.layout.root(bad.partition)) / "repair" / Path(bad.path).name


def _fetch(database: Database, bad: Finding, fetch: Fetch) -> bool:
    """Bring a file back from the store; False if that does not answer, or has other bytes."""
    target, draft = database.layout.stored(bad.path), _draft(database, bad)
    (key,) = database.connection.execute("SELECT key FROM files WHERE path = ?", (bad.path,)).fetchone()
    database.tree.make_directory(draft.parent)
    try:
        is_sound = fetch(bad.partition, key, draft) == bad.sha256
    except (TailpipeError, FileNotFoundError):
        is_sound = False
    if is_sound:
        changed = database.storage.prepare(target)
        database.tree.protect(draft)
        database.tree.sync(draft)
        database.storage.put_file(draft, target)
        database.storage.settle({*changed, target.parent})
    drop_staging(database, "repair")
    return is_sound


def _leave(database: Database, paths: Sequence[str]) -> None:
    """Let files count as remote that this disk has lost."""
    if paths:
        with database.writing() as connection:
            connection.executemany(
                "UPDATE files SET here = 0, left_at = NULL WHERE path = ? AND there = 1", [(path,) for path in paths]
            )
            count_move(connection)


def _set_aside(database: Database, lost: Sequence[Finding]) -> int:
    """Set aside what is left of files that cannot be read any more."""
    kept = 0
    for one in lost:
        stored, public = database.layout.stored(one.path), database.layout.public(one.path)
        is_other = database.tree.exists(public) and not database.tree.is_same(stored, public)
        for path in (stored, *([public] if is_other and one.path.startswith("files/") else [])):
            if database.tree.exists(path):
                aside.put_aside(database, path)
                kept += 1
    return kept


def _relink(writer: Writer, with_checksums: bool) -> int:
    database = writer.database
    found = [one for one in findings.hive(database, writer.partition, with_checksums) if one.problem != "foreign"]
    by_directory: dict[str, list[Path]] = defaultdict(list)
    for one in found:
        place = Path(one.path)
        stored = database.layout.stored_path(database.layout.mirrored(place))
        by_directory[stored.rpartition("/")[0]].append(place)
    for directory, places in by_directory.items():
        for place in places:
            # Under a name of ours, but not the stored file: a broken copy, or a link that was retired.
            if not database.tree.is_taken(place) or aside.is_copy(database, place, database.layout.mirrored(place)):
                database.tree.delete(place)
            else:
                aside.put_aside(database, place)
        project(database, "repair", [f"{directory}/any"])
    drop_staging(database, "repair")
    return len(found)


def _record(writer: Writer, found: Sequence[Finding]) -> int:
    """Record the whole partition in one manifest, if others are lost or cannot be read."""
    unrecorded = [one for one in found if one.problem == "unrecorded"]
    if not unrecorded:
        return 0
    transaction = commit.begin(writer, "repair", None)
    transaction.record(lambda connection, made: replace(made, image=image.take(connection, writer.partition_id)))
    for one in unrecorded:
        if writer.database.storage.exists(Path(one.path)):
            aside.put_aside(writer.database, Path(one.path))
    return 1
