"""An install directory with logs, and the command line that works in it as a user does."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

from tailpipe.spark.java import find_java

CONFIG = """
table "app_log" {{
  format = format.jsonl.default
  column "tp_timestamp" {{ source = "time" }}
}}
partition "app_log" "x" {{
  source "file" {{ paths = ["{logs}"] }}
}}
"""


class Home:
    """An install directory with one log, and the command line that works in it."""

    def __init__(self, root: Path, **env: str) -> None:
        self.root = root
        self.env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(root), **env}
        (root / "config").mkdir(parents=True)
        (root / "logs").mkdir()
        (root / "config" / "app.tpc").write_text(CONFIG.format(logs=root / "logs"))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-m", "tailpipe", *words]
        return subprocess.run(call, env=self.env, cwd=self.root, capture_output=True, text=True, check=False)

    def collect(self, number: int) -> None:
        """Collect one new file; its row is there once."""
        (self.root / "logs" / f"{number}.jsonl").write_text('{"time": "2024-03-01T10:00:00Z"}\n')
        done = self.run("collect", "--from", "2024-03-01", "--no-progress")
        assert (done.returncode, done.stdout.partition(",")[0]) == (0, "app_log.x: 1 row"), done.stderr
        assert self.run("query", "SELECT count(*) FROM app_log", "--output", "csv").stdout.split() == [
            "count_star()",
            str(number),
        ]

    def wait_for_archive(self) -> None:
        """Wait until a process in the background has made the archive."""
        end = time.monotonic() + 240
        while not list(self.root.glob("cache/java/*.size")):
            assert time.monotonic() < end, (self.root / "cache" / "warmup.log").read_text()
            time.sleep(0.1)

    @property
    def archives(self) -> list[Path]:
        return [*self.root.glob("cache/java/*.jsa"), *self.root.glob("cache/java/*.aot")]


class WatchedJava:
    """A Java home that notes each start, and runs `before` in a shell first."""

    def __init__(self, home: Path, before: str = "") -> None:
        self.home = home
        self._log = home / "started"
        real = find_java({name: value for name, value in os.environ.items() if name != "JAVA_HOME"}, home / "cache")
        (home / "bin").mkdir(parents=True)
        (home / "release").write_text((real / "release").read_text())
        program = home / "bin" / "java"
        note = 'case "$*" in *PythonGatewayServer*) kind=direct;; *SparkSubmit*) kind=submit;; *) kind=other;; esac'
        lines = ["#!/bin/sh", note, f'echo "$kind" >> {shlex.quote(str(self._log))}', before]
        program.write_text("\n".join([*lines, f'exec {shlex.quote(str(real / "bin" / "java"))} "$@"', ""]))
        program.chmod(0o700)

    @property
    def starts(self) -> list[str]:
        """How Java was started each time: by us, or by the scripts of Spark, which do so twice."""
        return self._log.read_text().split() if self._log.exists() else []
