"""Set aside: what a repair takes out and cannot prove to be worthless is moved, never deleted."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from tailpipe.catalog.store import Store

__all__ = ["digest", "free_name", "is_sound", "put_aside", "sound_copy"]

_CHUNK = 1 << 20


def put_aside(store: Store, path: Path) -> Path:
    """Move a file of the data directory to `set-aside/`, where it keeps its path."""
    base = store.layout.internal if path.is_relative_to(store.layout.internal) else store.layout.data
    target = free_name(store.layout.set_aside / path.relative_to(base))
    changed = store.disk.make_directory(target.parent)
    store.disk.rename(path, target)
    store.disk.sync_all({*changed, target.parent, path.parent})
    return target


def sound_copy(store: Store, path: str, size: int, sha256: str) -> Path | None:
    """The public file of a stored one that is gone or damaged, if its bytes are those that were stored."""
    public = store.layout.public(path)
    return public if path.startswith("files/") and is_sound(public, size, sha256) else None


def is_sound(path: Path, size: int, sha256: str) -> bool:
    """Whether a file is there with these bytes."""
    return path.is_file() and path.stat().st_size == size and digest(path) == sha256


def digest(path: Path) -> str:
    """The checksum of a file."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            total.update(chunk)
    return total.hexdigest()


def free_name(path: Path) -> Path:
    """The path, or one beside it if something of that name is there."""
    free, number = path, 1
    while os.path.lexists(free):
        free, number = path.with_name(f"{path.name}.{number}"), number + 1
    return free
