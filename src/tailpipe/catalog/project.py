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
from tailpipe.catalog.facts import read_fact, write_fact
from tailpipe.catalog.layout import below, is_our_name, partition_segment
from tailpipe.catalog.root_facts import HIVE
from tailpipe.catalog.roots import withdraw
from tailpipe.frozen import frozen
from tailpipe.model.store import PARTITION_BY
from tailpipe.storage.local import CANNOT_EXCHANGE, CANNOT_LINK

_OF_PARTITION = 2
"""How many directories lead to that of a partition."""


@frozen
class _Change:
    """What a directory of the hive must get and lose to hold exactly the live files."""

    public: Path
    live: tuple[str, ...]
    comes: tuple[str, ...]
    goes: tuple[str, ...]


def project(database: Database, transaction: str, paths: Iterable[str], *, may_exchange: bool = True) -> None:
    """Update the directories of these stored files to what is live and on this disk; it can be repeated.

    To exchange a directory, `transaction` must be one that is open: a recovery drops the staging of all others.
    """
    directories = sorted({path.rpartition("/")[0] for path in paths if path.startswith("files/")})
    # An exchange that was interrupted may have left an unknown file aside: it returns first.
    drain(database, transaction)
    changes = [_change(database, directory) for directory in directories]
    busy = [change for change in changes if change.comes or change.goes]
    is_single = may_exchange and len(busy) == 1 and busy[0].goes and busy[0].live
    if not (is_single and _exchange(database, transaction, busy[0])):
        _unlink_then_link(database, transaction, busy)
    # Also where nothing was to do now: a recovery cannot know what its forerunner had synced.
    settled: list[Path] = []
    for change in changes:
        if change.live:
            root = database.layout.root_above(change.public)
            settled += [place for place in (change.public, *change.public.parents) if place.is_relative_to(root)]
    database.tree.settle(settled)
    for change in changes:
        if not change.live:
            _remove_empty(database, change.public)
    database.failpoints.reach("project.synced")


def reproject(database: Database, partition: str) -> bool:
    """Give the hive of a partition the directories that it should have; False if it has them.

    The caller holds the partition's lock. The directories are recorded last, so it can be repeated.
    """
    root = database.layout.root(partition)
    wanted = ",".join(database.layout.partition_by(partition))
    known = read_fact(database.connection, HIVE + partition)
    if wanted == (",".join(PARTITION_BY) if known is None else known):
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
        write_fact(connection, HIVE + partition, wanted)
    return True


def _give_way(database: Database, place: Path, target: Path | None) -> None:
    """Take a link out of its directory; one that is the last copy of a live file goes to its new place."""
    if target is not None and not database.storage.exists(database.layout.mirrored(place)):
        database.tree.make_directory(target.parent)
        database.tree.rename(place, target)
    else:
        database.tree.delete(place)
    _remove_empty(database, place.parent)


def drain(database: Database, transaction: str) -> None:
    """Empty what an exchange left aside: links to stored files go, unknown files return to their directory."""
    tree = database.tree
    for root in database.layout.all_roots():
        swap = database.layout.swap(transaction, root)
        for aside, directories, names in tree.directories(swap):
            home = root / aside.relative_to(swap)
            for name in names:
                database.failpoints.reach("project.drain")
                if is_ours(database, name):
                    tree.delete(aside / name)
                else:
                    tree.make_directory(home)
                    tree.rename(aside / name, free_name(tree, home / name))
            for name in directories:
                if not tree.remove_empty(aside / name):
                    tree.rename(aside / name, free_name(tree, home / name))
        tree.remove_empty(swap)


def is_ours(database: Database, name: str) -> bool:
    """Whether a file of the hive is known to the catalog; no other file is ever removed there."""
    transaction = is_our_name(name)
    if transaction is None or not name.endswith(".parquet"):
        return False
    found = database.connection.execute("SELECT 1 FROM transactions WHERE name = ?", (transaction,))
    return found.fetchone() is not None


def _change(database: Database, directory: str) -> _Change:
    query = "SELECT path FROM files WHERE path > ? AND path < ? AND state = 'live' AND here = 1"
    live = {
        path.rpartition("/")[2] + ".parquet": path
        for (path,) in database.connection.execute(query, below(directory))  # a range of the primary key
    }
    public = database.layout.public_directory(directory)
    try:
        there = set(database.tree.entries(public))
    except FileNotFoundError:
        there = set()
    comes = tuple(sorted(path for name, path in live.items() if name not in there))
    goes = tuple(sorted(name for name in there - set(live) if is_ours(database, name)))
    return _Change(public, tuple(sorted(live.values())), comes, goes)


def _unlink_then_link(database: Database, transaction: str, changes: list[_Change]) -> None:
    for change in changes:
        for name in change.goes:
            database.failpoints.reach("project.unlink")
            database.tree.delete(change.public / name)
    for change in changes:
        for path in change.comes:
            database.tree.make_directory(change.public)
            database.failpoints.reach("project.link")
            _link(database, transaction, path, change.public)


def _exchange(database: Database, transaction: str, change: _Change) -> bool:
    """Build the directory aside and swap it in; False where the file system cannot do that."""
    public, root = change.public, database.layout.root_above(change.public)
    aside = database.layout.swap(transaction, root) / public.relative_to(root)
    database.tree.make_directory(aside)
    for path in change.live:
        database.failpoints.reach("project.link")
        _link(database, transaction, path, aside)
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


def _link(database: Database, transaction: str, path: str, directory: Path) -> None:
    stored, target = database.layout.stored(path), directory / f"{path.rpartition('/')[2]}.parquet"
    try:
        database.tree.link(stored, target)
    except FileExistsError:
        return  # a recovery that was itself interrupted
    except FileNotFoundError:
        if database.storage.exists(stored):
            raise
        return  # lost: the doctor reports it, and the other files must not wait for it
    except OSError as problem:
        if problem.errno not in CANNOT_LINK:
            raise
        staging = database.layout.staging_in(database.layout.root_above(target))
        copied = staging / transaction / target.name.removesuffix(".parquet")
        database.tree.make_directory(copied.parent)
        database.tree.copy(stored, copied)
        database.failpoints.reach("project.copy")
        database.tree.rename(copied, target)


def _remove_empty(database: Database, directory: Path) -> None:
    """Remove an empty directory, and those above it up to its partition; the table is shared with other writers."""
    root = database.layout.root_above(directory)
    while len(directory.relative_to(root).parts) >= _OF_PARTITION:
        if not database.tree.remove_empty(directory):
            return
        directory = directory.parent
