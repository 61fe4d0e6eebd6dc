"""The command line as processes to be watched and killed: the driver, its JVM and their workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 240.0


@dataclass(frozen=True)
class Seen:
    """A process as the kernel shows it."""

    pid: int
    parent: int
    session: int
    command: str


class Collecting:
    """A `tailpipe collect` under way, in a session of its own."""

    def __init__(self, install: Path, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        home = {"HOME": str(install.parent), "TAILPIPE_INSTALL_DIR": str(install), "NO_COLOR": "1"}
        self._out = install.parent / f"{install.name}.out"
        self._err = install.parent / f"{install.name}.err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tailpipe", "collect", *arguments],
                env={**os.environ, **home, **(env or {})},
                cwd=install.parent,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def committed(self) -> int:
        """How many days it has told as committed."""
        return self.err.count(" rows")

    def end(self, patience: float = PATIENCE) -> int:
        """Its exit code, once it and all its processes are gone."""
        code = self.process.wait(timeout=patience)
        until(lambda: not self.others())
        return code

    def others(self) -> list[Seen]:
        """The processes that it has started, and those that they have."""
        return [one for one in processes() if one.session == self.process.pid and one.pid != self.process.pid]

    def jvm(self) -> int:
        """The Java process of Spark."""
        return next(one.pid for one in self.others() if "PythonGatewayServer" in one.command)

    def workers(self) -> list[int]:
        """The Python processes that do the tasks: the children of the daemon that forks them."""
        daemons = {one.pid for one in self.others() if "tailpipe.spark.daemon" in one.command}
        return [one.pid for one in self.others() if one.parent in daemons]


def collect(
    install: Path, *arguments: str, env: Mapping[str, str] | None = None, patience: float = PATIENCE
) -> Collecting:
    """Run it to its end."""
    run = Collecting(install, *arguments, env=env)
    run.end(patience)
    return run


def until(condition: Callable[[], object], *, alive: Collecting | None = None) -> None:
    """Wait for something, but not for ever, and not for a process that has ended."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if alive is not None and alive.process.poll() is not None:
            raise AssertionError(f"ended with {alive.process.returncode}: {alive.err}")
        if time.monotonic() > end:
            raise AssertionError("waited too long")
        time.sleep(0.02)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def processes() -> list[Seen]:
    """All processes of this machine."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue  # it ended meanwhile
        if fields[0] != "Z":
            found.append(Seen(int(entry.name), int(fields[1]), int(fields[3]), command))
    return found
