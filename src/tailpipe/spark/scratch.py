"""Scratch directories: one for each session, and those of sessions that were killed are cleared away."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["make_scratch"]

_LOCK = "lock"


def make_scratch(root: Path) -> Path:
    """A directory of this process alone; what dead processes have left beside it is removed.

    Its lock is held until the process ends. The kernel frees it then, however the end comes, and it holds
    across containers, where the number of a process says nothing.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in root.iterdir():
        if _is_left(left):
            shutil.rmtree(left, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix="session-", dir=root))
    fcntl.flock(os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), fcntl.LOCK_EX)
    return made


def _is_left(directory: Path) -> bool:
    try:
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False  # being made just now, or not ours
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
