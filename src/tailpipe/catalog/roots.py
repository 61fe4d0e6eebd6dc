"""Roots: the directory that holds the hive, the stored files and the staging of a partition.

That is the data directory of the workspace, unless `here { path }` of a store names another one. The catalog knows
where the files are; the config says where they should be. The next writer moves them: it copies all files, lets the
catalog switch in one transaction, and projects the hive; the copies at the old place go after the grace period. A mark
in each root tells a disk that is not mounted from one that has lost its files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from tailpipe.catalog import aside, head
from tailpipe.catalog.database import Database
from tailpipe.catalog.facts import drop_fact, write_fact
from tailpipe.catalog.layout import INTERNAL, Layout, encoded, foreign_data, is_our_name, partition_segment
from tailpipe.catalog.root_facts import absent, is_marked, load_roots, mark_of, read_roots, set_root, write_roots
from tailpipe.catalog.snapshot import count_move
from tailpipe.errors import CatalogError, StorageError, WorkspaceError
from tailpipe.storage.storage import LocalTree

_COPIES = "copies:"
"""What the fact begins with that names a root with copies of a partition's files: when they were left, or nothing while
they are being made."""
_TREES = ("files", "rejected")
_LEAST_BYTES = 64 * 1024 * 1024


def refresh(database: Database) -> None:
    """Update where partitions are in the layout: another process may have moved one."""
    database.layout.roots.clear()
    database.layout.roots.update(load_roots(database.connection))


def check_present(database: Database, partition: str) -> None:
    """Refuse to work on a partition whose disk is not mounted: its files would count as lost."""
    refresh(database)
    root = database.layout.root(partition)
    if not is_present(database, root):
        raise absent(partition, root)


def is_present(database: Database, root: Path) -> bool:
    """Whether a root is there, and the one that was marked."""
    return root == database.layout.data or is_marked(root, head.workspace_of(database.connection) or "")


def renew_marks(database: Database) -> None:
    """Mark roots that are lost, so that what was in them counts as lost."""
    for root in database.layout.all_roots():
        if not is_present(database, root):
            database.tree.make_directory(root)
            _mark(database, root)


def follow(database: Database, partition: str) -> bool:
    """Move the files of a partition to where the config wants them; False if they are there.

    The caller holds the partition's lock, and has recovered it. Until the switch nothing has changed but for copies.
    """
    source, target = database.layout.root(partition), database.layout.wanted.get(partition)
    if target is None or target == source:
        return False
    _prepare(database, target)
    with database.writing() as connection:
        write_fact(connection, _fact(database.layout, partition, target), "")
    _copy(database, partition, source, target)
    left = _left_before(database, partition, target)
    database.failpoints.reach("root.before")
    with database.writing() as connection:
        set_root(connection, partition, None if target == database.layout.data else target)
        now = database.now().isoformat()
        write_fact(connection, _fact(database.layout, partition, source), now)
        drop_fact(connection, _fact(database.layout, partition, target))
        connection.executemany("UPDATE files SET left_at = ? WHERE path = ?", [(now, path) for path in left])
        count_move(connection)
    refresh(database)
    database.failpoints.reach("root.switched")
    return True


def _prepare(database: Database, root: Path) -> None:
    """Mark a directory as a root of this workspace, or refuse it."""
    layout = database.layout
    if root == layout.data:
        return
    if any(one.is_relative_to(root) or root.is_relative_to(one) for one in (layout.home, layout.data)):
        raise _refused(root, "overlaps with the directory of the workspace", "name a directory outside of it")
    if not database.tree.is_directory(root):
        raise _refused(root, "does not exist", f"mount its disk, or make it: mkdir -p {root}")
    workspace = head.workspace_of(database.connection) or ""
    if is_marked(root, workspace):
        return
    if database.tree.exists(mark_of(root)) or database.tree.exists(Layout.of(root).database):
        raise _refused(root, "belongs to another workspace", "name a directory of its own")
    if (foreign := foreign_data(root, database.tree)) is not None:
        raise _refused(root, f"contains data of another program: {foreign}", "name an empty directory")
    _mark(database, root)


def _mark(database: Database, root: Path) -> None:
    database.tree.settle(database.tree.make_directory(mark_of(root).parent))
    database.storage.put(mark_of(root), (head.workspace_of(database.connection) or "").encode())


def _refused(root: Path, reason: str, hint: str) -> WorkspaceError:
    return WorkspaceError(
        f'"{root}", the path of a store\'s here block, {reason}', path=str(root), hint=f"{hint}; nothing was changed"
    )


def _copy(database: Database, partition: str, source: Path, target: Path) -> None:
    """Copy all files of a partition to another root, durably; existing files are not copied again."""
    rows = [
        (path, size, sha256)
        for path, size, sha256 in database.connection.execute(
            "SELECT path, bytes, sha256 FROM files WHERE here = 1"
            " AND partition_id = (SELECT id FROM partitions WHERE name = ?) ORDER BY path",
            (partition,),
        )
        if not _has(database.tree, target / INTERNAL / path, size)
    ]
    _check_space(database, partition, target, sum(size for _, size, _ in rows))
    drafts = _drafts(database.layout, partition, target)
    database.tree.make_directory(drafts)
    changed = set[Path]()
    for path, size, sha256 in rows:
        found = source / INTERNAL / path
        if not aside.is_sound(database, found, size, sha256):
            found = aside.sound_copy(database, path, size, sha256) or found
        if not database.tree.exists(found):
            continue  # lost: the doctor reports it
        draft, place = drafts / Path(path).name, target / INTERNAL / path
        aside.link_or_copy(database.tree, found, draft)
        changed |= database.storage.prepare(place)
        database.tree.rename(draft, place)
        database.failpoints.reach("root.copied")
    database.storage.settle(changed)
    database.tree.remove_tree(drafts)


def _drafts(layout: Layout, partition: str, root: Path) -> Path:
    return layout.staging_in(root) / f"move-{encoded(partition)}"


def _left_before(database: Database, partition: str, target: Path) -> list[str]:
    """Files in a root that the partition has left before and comes back to, which are in the store alone since.

    They wait once more until the store has proved them. What was retired or forgotten since goes at once: it had left
    this disk before, and no reader has it any more.
    """
    rows = database.connection.execute(
        "SELECT path, state, here = 0 AND left_at IS NULL FROM files"
        " WHERE partition_id = (SELECT id FROM partitions WHERE name = ?)",
        (partition,),
    )
    known, left = {path: (state, bool(is_remote)) for path, state, is_remote in rows}, []
    for place in _stored_in(database.tree, target, partition):
        path = place.relative_to(target / INTERNAL).as_posix()
        if known.get(path, ("retired", True)) == ("retired", True):
            database.tree.delete(place)
        elif known[path] == ("live", True):
            left.append(path)
    return left


def _stored_in(tree: LocalTree, root: Path, partition: str) -> Iterator[Path]:
    """The stored files of a partition in a root, by their names."""
    for top in _TREES:
        for place in sorted(tree.objects(root / INTERNAL / top / partition_segment(partition))):
            if is_our_name(place.name) is not None:
                yield place


def _check_space(database: Database, partition: str, root: Path, size: int) -> None:
    if size and database.tree.free(root) < size + _LEAST_BYTES:
        raise StorageError(
            f"{partition} needs {(size + _LEAST_BYTES) / 1e6:,.0f} MB in {root},"
            f" and {database.tree.free(root) / 1e6:,.0f} MB are left",
            path=str(root),
            hint="free some space, or name another path in the here block of its store; nothing was changed",
        )


def _has(tree: LocalTree, place: Path, size: int) -> bool:
    try:
        return tree.size(place) == size
    except FileNotFoundError:
        return False


def withdraw(database: Database, partition: str) -> None:
    """Take the links of a partition out of the hives of roots that it has left, if the new root has their files."""
    for root, since in _copies(database, partition):
        if since and is_present(database, root):
            _withdraw(database, partition, root)


def _withdraw(database: Database, partition: str, root: Path) -> None:
    query = "SELECT path FROM files WHERE partition_id = (SELECT id FROM partitions WHERE name = ?)"
    known = {Path(path).name: path for (path,) in database.connection.execute(query, (partition,))}
    top = root / partition_segment(partition)
    for place in sorted(database.tree.objects(top)):
        path = known.get(place.name.removesuffix(".parquet"))
        is_public = place.suffix == ".parquet" and is_our_name(place.name) is not None
        if is_public and (path is None or database.storage.exists(database.layout.stored(path))):
            database.failpoints.reach("root.withdraw")
            database.tree.delete(place)
            _remove_empty(database.tree, place.parent, top.parent)


def is_due(database: Database, partition: str, grace: timedelta) -> bool:
    """Whether there are copies that no reader uses any more."""
    return any(True for _ in _due(database, partition, grace))


def drop_copies(database: Database, partition: str, grace: timedelta) -> None:
    """Remove the files of a partition from roots that it left longer ago than `grace`; the caller holds its lock.

    A live file goes only if the root of the partition has it. A disk that is not mounted waits.
    """
    query = (
        "SELECT path, bytes FROM files WHERE partition_id = (SELECT id FROM partitions WHERE name = ?)"
        " AND state = 'live' AND here = 1"
    )
    for root in list(_due(database, partition, grace)):
        live = dict(database.connection.execute(query, (partition,)).fetchall())
        lacking = False
        _withdraw(database, partition, root)
        for place in _stored_in(database.tree, root, partition):
            path = place.relative_to(root / INTERNAL).as_posix()
            top = Path(*Path(path).parts[:2])
            if path in live and not _has(database.tree, database.layout.stored(path), live[path]):
                lacking = True
                continue
            database.failpoints.reach("root.unlink")
            database.tree.delete(place)
            _remove_empty(database.tree, place.parent, root / INTERNAL / top)
        database.tree.remove_tree(_drafts(database.layout, partition, root))
        if lacking:
            continue
        database.failpoints.reach("root.forget")
        _unmark(database, partition, root)
        with database.writing() as connection:
            drop_fact(connection, _fact(database.layout, partition, root))


def _unmark(database: Database, partition: str, root: Path) -> None:
    """Leave a root that no other partition uses as it was found."""
    query = "SELECT 1 FROM facts WHERE name LIKE ? AND substr(name, ?) = ? AND name <> ?"
    own = _fact(database.layout, partition, root)
    name = f":{root}"
    is_used = (
        root in database.layout.roots.values()
        or database.connection.execute(query, (f"{_COPIES}%", -len(name), name, own)).fetchone()
    )
    if root == database.layout.data or is_used:
        return
    database.tree.delete(mark_of(root))
    table = partition_segment(partition).partition("/")[0]
    for name in (table, *(f"{INTERNAL}/{top}{end}" for top in _TREES for end in (f"/{table}", ""))):
        database.tree.remove_empty(root / name)
    for name in (f"{INTERNAL}/staging", INTERNAL):
        database.tree.remove_empty(root / name)


def _due(database: Database, partition: str, grace: timedelta) -> Iterator[Path]:
    for root, since in _copies(database, partition):
        is_left = bool(since) and datetime.fromisoformat(since) <= database.now() - grace
        is_given_up = not since and database.layout.wanted.get(partition, root) != root
        is_here = root == database.layout.root(partition)
        if (is_left or is_given_up) and not is_here and is_present(database, root):
            yield root


def _copies(database: Database, partition: str) -> list[tuple[Path, str]]:
    first = f"{_COPIES}{partition}:"
    rows = database.connection.execute(
        "SELECT name, value FROM facts WHERE substr(name, 1, ?) = ?", (len(first), first)
    ).fetchall()
    places = ((name.removeprefix(first), since) for name, since in rows)
    return [(database.layout.data if place == "." else Path(place), since) for place, since in places]


def _fact(layout: Layout, partition: str, root: Path) -> str:
    return f"{_COPIES}{partition}:{'.' if root == layout.data else root}"


def _remove_empty(tree: LocalTree, directory: Path, top: Path) -> None:
    """Remove empty directories below that of the table, which is shared with other writers."""
    while directory != top and tree.remove_empty(directory):
        directory = directory.parent


def record(database: Database) -> None:
    """Write down the roots of all partitions, for a rebuild, if they are not yet."""
    with contextlib.suppress(CatalogError):
        if read_roots(database.layout, database.storage) == database.layout.roots:
            return
    with database.writing():  # one at a time
        refresh(database)
        write_roots(database.layout, database.storage, database.layout.roots)
    database.failpoints.reach("root.recorded")
