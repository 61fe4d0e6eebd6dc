"""Scratch directories: one for each session, and those of processes that were killed are cleared away."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_LOCK = "lock"
_LIVE: set[Path] = set()
"""The directories of this process: one that must end at once removes them without asking anybody."""


class Scratch:
    """A directory of this process alone, until it is closed.

    Its lock is held until then. If the process ends earlier, the kernel frees it, however the end comes, and it holds
    across containers, where the number of a process says nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        _LIVE.add(path)
        draft = path / f"{_LOCK}-draft"
        self._lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # where nothing can be locked, nothing is cleared away
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            draft.rename(path / _LOCK)  # under its name it is locked from the beginning

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.path in _LIVE:
            _LIVE.remove(self.path)
            os.close(self._lock)


def make_scratch(root: Path, prefix: str = "session-") -> Scratch:
    """A new directory in `root`; those with the same prefix that dead processes have left are removed."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError):  # a directory that may be written but not listed
        for left in root.iterdir():
            if left.name.startswith(prefix) and _is_left(left):
                shutil.rmtree(left, ignore_errors=True)
    return Scratch(Path(tempfile.mkdtemp(prefix=prefix, dir=root)))


def remove_scratch() -> None:
    """Remove all directories of this process, which is about to end."""
    for path in tuple(_LIVE):
        shutil.rmtree(path, ignore_errors=True)


def _is_left(directory: Path) -> bool:
    try:
        if directory.is_symlink() or directory.stat().st_uid != os.getuid():
            return False
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False  # being made just now, or not ours
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
