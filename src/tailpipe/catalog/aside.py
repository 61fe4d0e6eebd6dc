"""Set aside: what a repair takes out and cannot prove to be worthless is moved, never deleted."""

from __future__ import annotations

from pathlib import Path

from tailpipe.catalog.store import Store
from tailpipe.storage.storage import LocalTree

__all__ = ["free_name", "is_copy", "is_sound", "put_aside", "sound_copy"]


def put_aside(store: Store, path: Path) -> Path:
    """Move a file of the data directory to `set-aside/`, where it keeps its path."""
    base = store.layout.internal if path.is_relative_to(store.layout.internal) else store.layout.data
    target = free_name(store.tree, store.layout.set_aside / path.relative_to(base))
    changed = store.tree.make_directory(target.parent)
    store.tree.rename(path, target)
    store.tree.settle({*changed, target.parent, path.parent})
    return target


def sound_copy(store: Store, path: str, size: int, sha256: str) -> Path | None:
    """The public file of a stored one that is gone or damaged, if its bytes are those that were stored."""
    public = store.layout.public(path)
    return public if path.startswith("files/") and is_sound(store, public, size, sha256) else None


def is_sound(store: Store, path: Path, size: int, sha256: str) -> bool:
    """Whether a file is there with these bytes."""
    if not store.tree.exists(path) or store.tree.is_directory(path):
        return False
    return store.tree.size(path) == size and store.tree.checksum(path) == sha256


def is_copy(store: Store, public: Path, stored: Path) -> bool:
    """Whether a file of the hive is there and has the bytes of a stored one."""
    if not store.tree.exists(public) or not store.storage.exists(stored):
        return False
    return store.tree.is_same(stored, public) or store.storage.checksum(stored) == store.tree.checksum(public)


def free_name(tree: LocalTree, path: Path) -> Path:
    """The path, or one beside it if something of that name is there."""
    free, number = path, 1
    while tree.is_taken(free):
        free, number = path.with_name(f"{path.name}.{number}"), number + 1
    return free
