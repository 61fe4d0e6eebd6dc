"""Project the live set into the hive: the public tree of links that anyone may read by glob.

A reader that lists the tree and then opens what it found never gets a row twice: files that must go
are gone from all directories before the first new one appears. Where only one directory is touched,
it is built aside and exchanged in one step, so that nothing is missing in between either.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tailpipe.catalog.aside import free_name
from tailpipe.catalog.database import Database
from tailpipe.catalog.layout import is_our_name, partition_segment
from tailpipe.catalog.root_facts import hive_fact
from tailpipe.catalog.roots import withdraw
from tailpipe.frozen import frozen
from tailpipe.model.store import PARTITION_BY
from tailpipe.storage.local import CANNOT_EXCHANGE, CANNOT_LINK

__all__ = ["drain", "is_ours", "project", "project_anew"]

_OF_PARTITION = 2
"""How many directories lead to that of a partition."""


@frozen
class _Change:
    """What a directory of the hive must get and lose to hold exactly the live files."""

    directory: str
    live: tuple[str, ...]
    comes: tuple[str, ...]
    goes: tuple[str, ...]


def project(database: Database, transaction: str, paths: Iterable[str], *, may_exchange: bool = True) -> None:
    """Bring the directories of these stored files in line with what is live and here; doing it twice is the same.

    To exchange a directory, `transaction` must be one that is open: whoever recovers drops the staging of all others.
    """
    directories = sorted({path.rpartition("/")[0] for path in paths if path.startswith("files/")})
    # An exchange that was interrupted may have left a stranger's file aside: back with it first.
    drain(database, transaction)
    changes = [_change(database, directory) for directory in directories]
    busy = [change for change in changes if change.comes or change.goes]
    is_single = may_exchange and len(busy) == 1 and busy[0].goes and busy[0].live
    if not (is_single and _exchange(database, transaction, busy[0])):
        _unlink_then_link(database, transaction, busy)
    # Also where nothing was to do now: a recovery cannot know what its forerunner had synced.
    database.tree.settle(
        place
        for change in changes
        if change.live
        for place in _with_parents(database, database.layout.public_directory(change.directory))
    )
    for change in changes:
        if not change.live:
            _remove_empty(database, database.layout.public_directory(change.directory))
    database.failpoints.reach("project.synced")


def project_anew(database: Database, partition: str) -> bool:
    """Give the hive of a partition the directories that it should have; False if it has them.

    The caller holds the partition's lock. What the hive has is noted down last, so it can be done again.
    """
    root = database.layout.root(partition)
    wanted = ",".join(database.layout.partition_by(partition))
    if wanted == _known(database, partition):
        return False
    rows = database.connection.execute(
        "SELECT path FROM files JOIN partitions p ON p.id = partition_id"
        " WHERE p.name = ? AND state = 'live' AND role = 'data'",
        (partition,),
    ).fetchall()
    withdraw(database, partition)
    expected = {database.layout.stored(path): database.layout.public(path) for (path,) in rows}
    there = set(database.tree.objects(root / partition_segment(partition)))
    for place in sorted(there - set(expected.values())):
        if is_ours(database, place.name):
            database.failpoints.reach("project.unlink")
            _give_way(database, place, expected.get(database.layout.mirrored(place)))
    project(database, "anew", [path for (path,) in rows])
    database.tree.remove_tree(database.layout.staging_in(root) / "anew")
    with database.writing() as connection:
        connection.execute(
            "INSERT INTO facts VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            (hive_fact(partition), wanted),
        )
    return True


def _give_way(database: Database, place: Path, target: Path | None) -> None:
    """Take a link out of its directory; one that is the last copy of a live file goes to its new place."""
    if target is not None and not database.storage.exists(database.layout.mirrored(place)):
        database.tree.make_directory(target.parent)
        database.tree.rename(place, target)
    else:
        database.tree.delete(place)
    _remove_empty(database, place.parent)


def _known(database: Database, partition: str) -> str:
    """The directories that the hive of a partition has."""
    row = database.connection.execute("SELECT value FROM facts WHERE name = ?", (hive_fact(partition),)).fetchone()
    return str(row[0]) if row else ",".join(PARTITION_BY)


def drain(database: Database, transaction: str) -> None:
    """Empty what an exchange left aside: our links go, a stranger's files return to their directory."""
    for root in database.layout.all_roots():
        _drain(database, database.layout.swap(transaction, root), root)


def _drain(database: Database, swap: Path, root: Path) -> None:
    for aside, directories, names in database.tree.directories(swap):
        home = root / aside.relative_to(swap)
        for name in names:
            database.failpoints.reach("project.drain")
            if is_ours(database, name):
                database.tree.delete(aside / name)
            else:
                database.tree.make_directory(home)
                database.tree.rename(aside / name, free_name(database.tree, home / name))
        for name in directories:
            if not database.tree.remove_empty(aside / name):
                database.tree.rename(aside / name, free_name(database.tree, home / name))
    database.tree.remove_empty(swap)


def is_ours(database: Database, name: str) -> bool:
    """Whether a file of the hive is known to the catalog; no other file is ever removed there."""
    transaction = is_our_name(name)
    if transaction is None or not name.endswith(".parquet"):
        return False
    found = database.connection.execute("SELECT 1 FROM transactions WHERE name = ?", (transaction,))
    return found.fetchone() is not None


def _change(database: Database, directory: str) -> _Change:
    # "0" follows "/": this is the range of all paths below the directory, found in the primary key.
    rows = database.connection.execute(
        "SELECT path FROM files WHERE path > ? AND path < ? AND state = 'live' AND here = 1",
        (directory + "/", directory + "0"),
    )
    live = {path.rpartition("/")[2] + ".parquet": path for (path,) in rows}
    try:
        there = set(database.tree.entries(database.layout.public_directory(directory)))
    except FileNotFoundError:
        there = set()
    comes = tuple(sorted(path for name, path in live.items() if name not in there))
    goes = tuple(sorted(name for name in there - set(live) if is_ours(database, name)))
    return _Change(directory, tuple(sorted(live.values())), comes, goes)


def _unlink_then_link(database: Database, transaction: str, changes: list[_Change]) -> None:
    for change in changes:
        for name in change.goes:
            database.failpoints.reach("project.unlink")
            database.tree.delete(database.layout.public_directory(change.directory) / name)
    for change in changes:
        for path in change.comes:
            database.tree.make_directory(database.layout.public_directory(change.directory))
            database.failpoints.reach("project.link")
            _link(database, transaction, path, database.layout.public(path))


def _exchange(database: Database, transaction: str, change: _Change) -> bool:
    """Build the directory aside and swap it in; False where the file system cannot do that."""
    public = database.layout.public_directory(change.directory)
    root = database.layout.root_above(public)
    aside = database.layout.swap(transaction, root) / public.relative_to(root)
    database.tree.make_directory(aside)
    for path in change.live:
        database.failpoints.reach("project.link")
        _link(database, transaction, path, aside / database.layout.public(path).name)
    database.tree.sync(aside)
    database.failpoints.reach("project.exchange.before")
    try:
        database.tree.exchange(public, aside)
    except OSError as problem:
        if problem.errno not in CANNOT_EXCHANGE:
            raise
        drain(database, transaction)
        return False
    database.failpoints.reach("project.exchange.after")
    database.tree.sync(public.parent)
    drain(database, transaction)
    return True


def _link(database: Database, transaction: str, path: str, target: Path) -> None:
    try:
        database.tree.link(database.layout.stored(path), target)
    except FileExistsError:
        return  # a recovery that was itself interrupted
    except FileNotFoundError:
        if database.storage.exists(database.layout.stored(path)):
            raise
        return  # lost: the doctor tells of it, and the other files must not wait for it
    except OSError as problem:
        if problem.errno not in CANNOT_LINK:
            raise
        staging = database.layout.staging_in(database.layout.root_above(target))
        copied = staging / transaction / target.name.removesuffix(".parquet")
        database.tree.make_directory(copied.parent)
        database.tree.copy(database.layout.stored(path), copied)
        database.failpoints.reach("project.copy")
        database.tree.rename(copied, target)


def _with_parents(database: Database, directory: Path) -> list[Path]:
    """A directory of the hive and those above it, up to the workspace."""
    root = database.layout.root_above(directory)
    above = [parent for parent in directory.parents if parent.is_relative_to(root)]
    return [directory, *above]


def _remove_empty(database: Database, directory: Path) -> None:
    """Remove an empty directory, and those above it up to its partition; the table is shared with other writers."""
    root = database.layout.root_above(directory)
    while len(directory.relative_to(root).parts) >= _OF_PARTITION:
        if not database.tree.remove_empty(directory):
            return
        directory = directory.parent
