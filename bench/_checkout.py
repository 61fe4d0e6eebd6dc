"""A checkout of tailpipe whose program is measured: a fresh install directory for each run."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench._cloudtrail import FIRST
from bench._jobs import Job
from bench._measure import Usage, measure

__all__ = ["Checkout", "environment"]

_COUNT = "SELECT count(*), count(DISTINCT tp_id) FROM {}"


@dataclass(frozen=True)
class Checkout:
    """Where a program is, and what its runs begin with."""

    name: str
    program: Path
    scratch: Path
    has_archive: bool

    @classmethod
    def at(cls, name: str, root: Path, scratch: Path, *, has_archive: bool) -> Checkout:
        """The program in the environment of a checkout, warmed up: compiled, and its class archive made if wanted."""
        program = root.resolve() / ".venv" / "bin" / "tailpipe"
        if not program.is_file():
            sys.exit(f"{program}: no such file; run make setup in {root}")
        found = cls(name, program, scratch / name, has_archive)
        if has_archive:
            found.run(["warmup"], found._pattern)
        return found

    def collect(self, job: Job, data: Path) -> Usage:
        """Measure one job from an empty install directory, and check the rows that it has collected."""
        install = self._fresh(job, data)
        try:
            command = ["collect", job.table, "--no-progress"]
            first = [*command, "--from", str(FIRST)]
            if job.is_again:
                self.run(first, install)
            usage = self.measure(command if job.is_again else first, install)
            self._check(job, install)
        finally:
            shutil.rmtree(install)
        return usage

    def collected(self, job: Job, data: Path) -> Path:
        """An install directory with the rows of a job, for queries; no file in it has been replaced."""
        install = self._fresh(job, data)
        self.run(["collect", job.table, "--no-progress", "--no-compact", "--from", str(FIRST)], install)
        self._check(job, install)
        return install.rename(self.scratch / job.table)

    def measure(self, arguments: list[str], install: Path) -> Usage:
        """Run a command of the program, and measure it."""
        return measure([str(self.program), *arguments], environment(install), self.scratch / "output.log")

    def _fresh(self, job: Job, data: Path) -> Path:
        install = self.scratch / "install"
        if self.has_archive:  # it is replaced or removed as a whole, so a link is as good as a copy
            shutil.copytree(self._pattern / "cache", install / "cache", copy_function=os.link)
        (install / "config").mkdir(parents=True)
        (install / "config" / "bench.tpc").write_text(job.config(data))
        return install

    def _check(self, job: Job, install: Path) -> None:
        text = self.run(["query", _COUNT.format(job.table), "--output", "csv", "--no-header"], install)
        rows, ids = map(int, next(csv.reader([text])))
        if (rows, ids) != (job.rows, job.rows):
            sys.exit(f"{self.name}: {job.title}: {rows} rows with {ids} ids, not {job.rows}")

    def run(self, arguments: list[str], install: Path) -> str:
        """The output of a command that is not measured."""
        install.mkdir(parents=True, exist_ok=True)
        return _output([str(self.program), *arguments], environment(install))

    def run_python(self, code: str) -> str:
        """The output of a program that uses the same libraries."""
        return _output([str(self.python), "-c", code], dict(os.environ))

    @property
    def python(self) -> Path:
        """The Python of its environment."""
        return self.program.with_name("python")

    @property
    def _pattern(self) -> Path:
        """The install directory in which the class archive is made."""
        return self.scratch / "pattern"


def environment(install: Path) -> dict[str, str]:
    """The variables of a measured program: none of those that change tailpipe, and compiled code is kept."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TAILPIPE_") and name != "PYTHONDONTWRITEBYTECODE"
    }
    return {**kept, "TAILPIPE_INSTALL_DIR": str(install), "TAILPIPE_AUTO_WARMUP": "no"}


def _output(command: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout
