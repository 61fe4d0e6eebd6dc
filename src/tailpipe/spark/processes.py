"""The processes of Spark on this machine: how much CPU time they have used."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_seconds(root: int, proc: Path = Path("/proc")) -> float:
    """What a process and all below it have used so far, in seconds of the CPU; 0 where the system does not say."""
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for entry in proc.glob("[0-9]*"):
        try:
            # The name of the program stands in brackets and may hold anything.
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        pid = int(entry.name)
        children.setdefault(int(fields[1]), []).append(pid)
        used[pid] = sum(map(int, fields[11:15]))  # its own, and that of children that have ended
    total, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        total += used.get(pid, 0)
        waiting += children.get(pid, [])
    return total / os.sysconf("SC_CLK_TCK")
