"""Set files aside: a repair moves files that may be the last copy of rows, and never deletes them."""

from __future__ import annotations

from pathlib import Path

from tailpipe.catalog.database import Database
from tailpipe.catalog.layout import INTERNAL
from tailpipe.storage.local import CANNOT_LINK
from tailpipe.storage.storage import LocalTree


def put_aside(database: Database, path: Path) -> Path:
    """Move a file of the data directory to `set-aside/`, where it keeps its path."""
    root = database.layout.root_above(path)
    base = root / INTERNAL if path.is_relative_to(root / INTERNAL) else root
    target = free_name(database.tree, database.layout.set_aside(root) / path.relative_to(base))
    changed = database.tree.make_directory(target.parent)
    database.tree.rename(path, target)
    database.tree.settle({*changed, target.parent, path.parent})
    return target


def link_or_copy(tree: LocalTree, source: Path, draft: Path) -> None:
    """Make a draft of a file, as a link where the file system has them."""
    tree.delete(draft)
    try:
        tree.link(source, draft)
    except OSError as problem:
        if problem.errno not in CANNOT_LINK:
            raise
        tree.copy(source, draft)


def sound_copy(database: Database, path: str, size: int, sha256: str) -> Path | None:
    """The public file of a stored one that is gone or damaged, if its bytes are those that were stored."""
    public = database.layout.public(path)
    return public if path.startswith("files/") and is_sound(database, public, size, sha256) else None


def is_sound(database: Database, path: Path, size: int, sha256: str) -> bool:
    """Whether a file is there with these bytes."""
    if not database.tree.exists(path) or database.tree.is_directory(path):
        return False
    return database.tree.size(path) == size and database.tree.checksum(path) == sha256


def is_copy(database: Database, public: Path, stored: Path) -> bool:
    """Whether a file of the hive is there and has the bytes of a stored one."""
    if not database.tree.exists(public) or not database.storage.exists(stored):
        return False
    return database.tree.is_same(stored, public) or database.storage.checksum(stored) == database.tree.checksum(public)


def free_name(tree: LocalTree, path: Path) -> Path:
    """The path, or if that exists, one next to it with a number."""
    free, number = path, 1
    while tree.is_taken(free):
        free, number = path.with_name(f"{path.name}.{number}"), number + 1
    return free
