"""How much memory a worker may allocate: together they leave some of it to the rest of the machine.

The limit is that of the kernel on anonymous memory (RLIMIT_DATA): DuckDB's own setting does not count the texts that
functions make.
"""

from __future__ import annotations

import os
from pathlib import Path

_SHARE = 0.75
_LEAST = 512 << 20
_CGROUP = Path("/sys/fs/cgroup")
_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")


def memory_for(workers: int) -> int:
    """The bytes that each of so many workers may allocate."""
    return max(_LEAST, int(_machine() * _SHARE) // workers)


def _machine() -> int:
    """The memory of this machine or container."""
    found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for name in _LIMITS:
        try:
            found = min(found, int((_CGROUP / name).read_text()))
        except (OSError, ValueError):  # there is none, or it is "max"
            continue
    return found
