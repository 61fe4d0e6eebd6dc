"""Project the live set into the hive: the public tree of links that anyone may read by glob.

A reader that lists the tree and then opens what it found never gets a row twice: files that must go
are gone from all directories before the first new one appears. Where only one directory is touched,
it is built aside and exchanged in one step, so that nothing is missing in between either.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tailpipe.catalog.aside import free_name
from tailpipe.catalog.layout import is_our_name
from tailpipe.catalog.store import Store
from tailpipe.frozen import frozen
from tailpipe.storage.local import CANNOT_EXCHANGE, CANNOT_LINK

__all__ = ["drain", "is_ours", "project"]


@frozen
class _Change:
    """What a directory of the hive must get and lose to hold exactly the live files."""

    directory: str
    live: tuple[str, ...]
    comes: tuple[str, ...]
    goes: tuple[str, ...]


def project(store: Store, transaction: str, paths: Iterable[str]) -> None:
    """Bring the directories of these stored files in line with the live set; doing it twice is the same."""
    directories = sorted({path.rpartition("/")[0] for path in paths if path.startswith("files/")})
    # An exchange that was interrupted may have left a stranger's file aside: back with it first.
    drain(store, transaction)
    changes = [_change(store, directory) for directory in directories]
    busy = [change for change in changes if change.comes or change.goes]
    if not (len(busy) == 1 and busy[0].goes and busy[0].live and _exchange(store, transaction, busy[0])):
        _unlink_then_link(store, transaction, busy)
    # Also where nothing was to do now: a recovery cannot know what its forerunner had synced.
    store.tree.settle(
        place
        for change in changes
        if change.live
        for place in _with_parents(store, store.layout.public_directory(change.directory))
    )
    for change in changes:
        if not change.live:
            _remove_empty(store, store.layout.public_directory(change.directory))
    store.failpoints.reach("project.synced")


def drain(store: Store, transaction: str) -> None:
    """Empty what an exchange left aside: our links go, a stranger's files return to their directory."""
    swap = store.layout.swap(transaction)
    for aside, directories, names in store.tree.directories(swap):
        home = store.layout.data / aside.relative_to(swap)
        for name in names:
            store.failpoints.reach("project.drain")
            if is_ours(store, name):
                store.tree.delete(aside / name)
            else:
                store.tree.make_directory(home)
                store.tree.rename(aside / name, free_name(store.tree, home / name))
        for name in directories:
            if not store.tree.remove_empty(aside / name):
                store.tree.rename(aside / name, free_name(store.tree, home / name))
    store.tree.remove_empty(swap)


def is_ours(store: Store, name: str) -> bool:
    """Whether a file of the hive is known to the catalog; no other file is ever removed there."""
    transaction = is_our_name(name)
    if transaction is None or not name.endswith(".parquet"):
        return False
    found = store.connection.execute("SELECT 1 FROM transactions WHERE name = ?", (transaction,))
    return found.fetchone() is not None


def _change(store: Store, directory: str) -> _Change:
    # "0" follows "/": this is the range of all paths below the directory, found in the primary key.
    rows = store.connection.execute(
        "SELECT path FROM files WHERE path > ? AND path < ? AND state = 'live'",
        (directory + "/", directory + "0"),
    )
    live = {path.rpartition("/")[2] + ".parquet": path for (path,) in rows}
    try:
        there = set(store.tree.entries(store.layout.public_directory(directory)))
    except FileNotFoundError:
        there = set()
    comes = tuple(sorted(path for name, path in live.items() if name not in there))
    goes = tuple(sorted(name for name in there - set(live) if is_ours(store, name)))
    return _Change(directory, tuple(sorted(live.values())), comes, goes)


def _unlink_then_link(store: Store, transaction: str, changes: list[_Change]) -> None:
    for change in changes:
        for name in change.goes:
            store.failpoints.reach("project.unlink")
            store.tree.delete(store.layout.public_directory(change.directory) / name)
    for change in changes:
        for path in change.comes:
            store.tree.make_directory(store.layout.public_directory(change.directory))
            store.failpoints.reach("project.link")
            _link(store, transaction, path, store.layout.public(path))


def _exchange(store: Store, transaction: str, change: _Change) -> bool:
    """Build the directory aside and swap it in; False where the file system cannot do that."""
    public = store.layout.public_directory(change.directory)
    aside = store.layout.swap(transaction) / public.relative_to(store.layout.data)
    store.tree.make_directory(aside)
    for path in change.live:
        store.failpoints.reach("project.link")
        _link(store, transaction, path, aside / store.layout.public(path).name)
    store.tree.sync(aside)
    store.failpoints.reach("project.exchange.before")
    try:
        store.tree.exchange(public, aside)
    except OSError as problem:
        if problem.errno not in CANNOT_EXCHANGE:
            raise
        drain(store, transaction)
        return False
    store.failpoints.reach("project.exchange.after")
    store.tree.sync(public.parent)
    drain(store, transaction)
    return True


def _link(store: Store, transaction: str, path: str, target: Path) -> None:
    try:
        store.tree.link(store.layout.stored(path), target)
    except FileExistsError:
        return  # a recovery that was itself interrupted
    except FileNotFoundError:
        if store.storage.exists(store.layout.stored(path)):
            raise
        return  # lost: the doctor tells of it, and the other files must not wait for it
    except OSError as problem:
        if problem.errno not in CANNOT_LINK:
            raise
        copied = store.layout.staging / transaction / target.name.removesuffix(".parquet")
        store.tree.make_directory(copied.parent)
        store.tree.copy(store.layout.stored(path), copied)
        store.failpoints.reach("project.copy")
        store.tree.rename(copied, target)


def _with_parents(store: Store, directory: Path) -> list[Path]:
    """A directory of the hive and those above it, up to the workspace."""
    above = [parent for parent in directory.parents if parent.is_relative_to(store.layout.data)]
    return [directory, *above]


def _remove_empty(store: Store, directory: Path) -> None:
    """Remove an empty directory, its index and its partition; the table is shared with other writers."""
    for _ in range(3):
        if not store.tree.remove_empty(directory):
            return
        directory = directory.parent
