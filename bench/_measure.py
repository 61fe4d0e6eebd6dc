"""Run a command and measure its whole process tree: wall time, CPU time and peak memory.

CPU time is what a cgroup of its own has used: the resource usage of children misses processes that nobody waits for,
such as the workers of Spark. Memory is the sum of the proportional set sizes (PSS), sampled, so that pages which
processes share count once; the peak of a cgroup would count the page cache too. Other programs on the machine that have
the same libraries open make it a little smaller.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

__all__ = ["Usage", "measure"]

_TICKS = os.sysconf("SC_CLK_TCK")
_SAMPLE_SECONDS = 0.2
_SAMPLE_SHARE = 0.05
"""Short commands are sampled more often: whenever so much of their time has gone by."""
_END_SECONDS = 20.0
"""So long do we wait for processes that outlive their command."""
_NUMBERS = count()


@dataclass(frozen=True)
class Usage:
    """What one run of a command has taken."""

    wall: float
    cpu: float
    memory: float
    """Peak, in bytes."""


def measure(command: Sequence[str], env: Mapping[str, str], log: Path) -> Usage:
    """Run a command to its end; its output goes to `log`, and a failure ends the measurement with it."""
    root = _root()
    group = _Group(root / f"bench-{os.getpid()}-{next(_NUMBERS)}") if root else _Tree()
    with group, log.open("wb") as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            [*group.prefix, *command], env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        group.watch(process.pid)
        status = process.wait()
        wall = time.perf_counter() - started
        cpu = group.end()
    if status:
        sys.exit(f"{' '.join(command)}: exit code {status}\n{log.read_text(errors='replace')}")
    return Usage(wall, cpu, group.peak)


class _Tree:
    """The processes below a command: CPU time of those that are waited for by the system, of others by samples."""

    prefix: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.peak = 0
        self._cpu: dict[int, float] = {}
        self._before = _waited_for()
        self._pid = 0
        self._is_over = threading.Event()
        self._watcher = threading.Thread(target=self._sample_all, daemon=True)

    def __enter__(self) -> _Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()

    def watch(self, pid: int) -> None:
        self._pid = pid
        self._watcher.start()

    def end(self) -> float:
        """CPU seconds, when the command has ended."""
        self._is_over.set()
        self._watcher.join()
        return max(sum(self._cpu.values()), _waited_for() - self._before)

    def processes(self) -> list[int]:
        parents = {}
        for entry in Path("/proc").glob("[0-9]*/stat"):
            if fields := _stat(int(entry.parent.name)):
                parents[int(entry.parent.name)] = int(fields[1])
        family = {self._pid, *self._cpu} & parents.keys()
        while grown := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= grown
        return sorted(family)

    def account(self, pids: Sequence[int]) -> None:
        for pid in pids:
            if fields := _stat(pid):
                self._cpu[pid] = (int(fields[11]) + int(fields[12])) / _TICKS

    def _sample_all(self) -> None:
        started = time.monotonic()
        while True:
            pids = self.processes()
            self.account(pids)
            self.peak = max(self.peak, sum(map(_memory, pids)))
            pause = min(max((time.monotonic() - started) * _SAMPLE_SHARE, 0.01), _SAMPLE_SECONDS)
            if self._is_over.wait(pause):
                return


class _Group(_Tree):
    """A cgroup of its own for the command; nothing that the command starts can leave it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.prefix = ("/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(path))

    def __enter__(self) -> _Group:
        self._path.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        self._drain()
        self._is_over.set()
        if left := self.processes():
            print(f"warning: processes outlive the command: {left}", file=sys.stderr)
            return
        for _again in range(100):  # the kernel takes a moment to forget the last process
            with suppress(OSError):
                self._path.rmdir()
                return
            time.sleep(0.1)

    def end(self) -> float:
        self._drain()
        self._is_over.set()
        self._watcher.join()
        return _usage(self._path)

    def _drain(self) -> None:
        """Wait until the last process has ended: what it does belongs to the command."""
        deadline = time.monotonic() + _END_SECONDS
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.02)

    def processes(self) -> list[int]:
        return [int(pid) for pid in (self._path / "cgroup.procs").read_text().split()]

    def account(self, pids: Sequence[int]) -> None:
        """The kernel does it."""


def _waited_for() -> float:
    """CPU seconds of all children that have ended, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _usage(group: Path) -> float:
    stat = group / "cpu.stat"
    if stat.is_file():
        facts = dict(line.split() for line in stat.read_text().splitlines())
        return int(facts["usage_usec"]) / 1e6
    return int((group / "cpuacct.usage").read_text()) / 1e9


@cache
def _root() -> Path | None:
    """The cgroup below which we may make others, of version 2 or else the one of version 1 that counts CPU time."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    for _, controllers, path in sorted(lines, key=lambda line: line[1] != ""):
        for mount in _mounts(controllers):
            parent = Path(f"{mount}{path}")
            probe = parent / f"bench-{os.getpid()}"
            try:
                probe.mkdir()
                _usage(probe)
                probe.rmdir()
            except (OSError, KeyError):
                continue
            return parent
    print(
        "WARNING: cannot create a cgroup (not root?). CPU times are too low: they come from samples of /proc that\n"
        "WARNING: miss processes that end between two samples, such as workers of Spark. Do not publish these figures.",
        file=sys.stderr,
    )
    return None


def _mounts(controllers: str) -> list[str]:
    """Where a hierarchy is mounted that counts CPU time."""
    wanted = {"": "cgroup2", "cpuacct": "cgroup", "cpu,cpuacct": "cgroup"}.get(controllers)
    found = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == wanted and (not controllers or "cpuacct" in options.split(",")):
            found.append(place)
    return found


def _stat(pid: int) -> list[str] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _memory(pid: int) -> int:
    """The bytes of a process, with its part of what it shares with others."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # it has ended, or is not ours
    return 0
