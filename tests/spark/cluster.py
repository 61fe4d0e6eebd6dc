"""A Spark standalone cluster on loopback: a master and workers from the pyspark package."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyspark

from tailpipe.spark.java import find_java

_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
_PATIENCE = 120.0


class Cluster:
    """Its processes live as long as the context; each worker has one core, and a process group of its own."""

    def __init__(self, home: Path, *, java: Path | None = None) -> None:
        self.home = home
        self._java = java or find_java(os.environ, home / "cache")
        self.master = ""
        self.workers: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        self.home.mkdir(parents=True, exist_ok=True)
        self._start("master", "org.apache.spark.deploy.master.Master", {})
        self.master = self._wait("master", r"Starting Spark master at (spark://\S+)")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._all:
            self.kill(process)

    def add_worker(
        self, env: Mapping[str, str] | None = None, *, hidden: Sequence[Path] = ()
    ) -> subprocess.Popen[bytes]:
        """One more worker; `env` is what its executors, and their Python, find in their environment.

        In the directories that are `hidden` it sees nothing: they are covered in a mount namespace of its own.
        """
        name = f"worker{len(self.workers)}"
        options = ("--cores", "1", "--memory", "2g", "--work-dir", str(self.home / name), self.master)
        main = "org.apache.spark.deploy.worker.Worker"
        self.workers.append(self._start(name, main, env or {}, *options, before=_without(hidden)))
        self._wait(name, r"(Successfully registered with master)")
        return self.workers[-1]

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill it with all its executors; they are in its process group."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        process.wait(timeout=240)

    def _start(
        self, name: str, main: str, env: Mapping[str, str], *options: str, before: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYTHONPATH"))}
        own = {"JAVA_HOME": str(self._java), "SPARK_LOCAL_IP": "127.0.0.1"}
        words = [*before, str(_CLASS), main, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *options]
        with (self.home / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                words,
                env={**kept, **own, "SPARK_DAEMON_MEMORY": "256m", "PYSPARK_PYTHON": sys.executable, **env},
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._all.append(process)
        return process

    def _wait(self, name: str, pattern: str) -> str:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            text = (self.home / f"{name}.log").read_text(errors="replace")
            if match := re.search(pattern, text):
                return match[1]
            time.sleep(0.1)
        raise AssertionError(f"{name} did not start: {text[-2000:]}")


def can_hide() -> bool:
    """Whether this machine lets us cover directories for a process alone."""
    try:
        return subprocess.run([*_without([Path("/mnt")]), "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _without(hidden: Sequence[Path]) -> list[str]:
    """The words before a command that let it see empty directories in place of these."""
    if not hidden:
        return []
    mounts = "".join(f"mount -t tmpfs none {shlex.quote(str(path))} && " for path in hidden)
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *user, "--mount", "sh", "-c", f'{mounts} exec "$@"', "sh"]
