"""The crash harness: kill a collector at a failpoint, look, kill again, recover, compare with the model."""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType

import pyarrow.parquet as pq

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.failpoints import NAMES
from tests.crash.collector import PARTITION
from tests.crash.disks import lose_power
from tests.crash.world import KINDS, Step, StepKind, World

ROOT = Path(__file__).resolve().parents[2]
SIGKILL = -9
UNDONE = (
    "lock.taken",
    "recover.before",
    "rollback.orphan",
    "rollback.staging",
    "rollback.before",
    "rollback.after",
)
FINISHED = (
    *(
        "recover.before",
        "recover.forward",
        "manifest.written",
        "manifest.after",
        "project.link",
        "project.unlink",
    ),
    *("project.exchange.before", "project.exchange.after", "project.drain", "project.copy", "project.synced"),
    *("publish.before", "publish.after", "staging.remove", "staging.removed", "recover.after"),
)

KILLING = tuple(name for name in NAMES if name not in UNDONE)


class BrokenError(AssertionError):
    """A promise was broken; the soak counts it, a test fails by it."""


@dataclass
class Report:
    """What the harness has seen."""

    kills: int = 0
    lost: int = 0
    twice: int = 0
    partial: int = 0
    reached: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


class Server:
    """The process that forks the victims."""

    def __enter__(self) -> Server:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.server"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=240)
        self._process.stdout.close()

    def ask(self, **request: object) -> tuple[int, str]:
        """Let a child do it; returns its exit code (-9 if it was killed) and its last words."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return answer["status"], answer["error"]


@dataclass
class Harness:
    """One workspace, its model, and the report."""

    server: Server
    home: Path
    seed: int
    disk: str = "plain"
    mutant: str = ""
    with_power_loss: bool = False
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.world = World(random.Random(self.seed + 1))
        self.strangers: set[Path] = set()

    def step(self, kind: StepKind, first: str, second: str = "") -> None:
        """Take one step: killed at `first`, its recovery killed at `second`, then brought to an end."""
        if kind == "compact":
            self._run(self.world.next("append"), "")  # so that there is something to put together
        before = self.world.rows()
        made = self.world.next(kind)
        after = self.world.rows()
        for failpoint in filter(None, (first, second)):
            status = self._run(made, failpoint)
            if status == SIGKILL:
                self.report.kills += 1
                self.report.reached[failpoint.partition(":")[0]] += 1
                self.report.kinds[kind] += 1
                self.check_readers(before, after)
            elif status != 0:
                raise BrokenError(f"child failed at {failpoint}")
        if self._run(made, "") != 0:
            raise BrokenError("the last run failed")
        self.check_settled(after)
        self._invite_strangers()

    def _invite_strangers(self) -> None:
        """Put a file of somebody else into each directory of the hive; it must outlive everything."""
        for directory in self.home.glob("tp_table=*/*/*/*"):
            stranger = directory / "notes.txt"
            stranger.touch()
            self.strangers.add(stranger)

    def _run(self, made: Step, failpoint: str) -> int:
        journal = self.home.parent / f"{self.home.name}.journal"
        status, error = self.server.ask(
            home=str(self.home),
            steps=[json.dumps(asdict(made))],
            failpoint=f"{failpoint}=kill" if failpoint else "",
            mutant=self.mutant,
            disk=self.disk,
            journal=str(journal) if self.with_power_loss else "",
        )
        if status == SIGKILL and self.with_power_loss:
            lose_power(journal)
        journal.unlink(missing_ok=True)
        if status not in (0, SIGKILL):
            raise BrokenError(f"step {made.kind} at {failpoint or 'the end'}: {error}")
        return status

    def check_readers(self, before: Counter[str], after: Counter[str]) -> None:
        """What others see right after a kill, before anyone recovers: whole Days, and nothing twice."""
        if not (self.home / ".tailpipe" / "catalog.db").exists():
            return
        seen = self._snapshot_rows()
        self._count(seen, before, after)
        hive = self._hive_rows()
        if any(count > 1 for count in hive.values()):
            self.report.twice += 1
            raise BrokenError(f"twice in the hive: {hive - Counter(set(hive))}")
        # Before the commit nothing new may show; after it, the projection may be at any point.
        allowed = set(before) if seen == before else set(before) | set(after)
        if extra := set(hive) - allowed:
            raise BrokenError(f"in the hive, but never committed: {extra}")

    def check_settled(self, expected: Counter[str]) -> None:
        """What must hold when nothing is under way."""
        seen = self._snapshot_rows()
        self._count(seen, expected, expected)
        if self._hive_rows() != expected:
            raise BrokenError("the hive is not the live set")
        self.check_disk()

    def check_disk(self) -> None:
        """What must hold of everything but the rows."""
        if left := [entry.name for entry in (self.home / ".tailpipe" / "staging").iterdir()]:
            raise BrokenError(f"left in staging: {left}")
        for finding in doctor.examine(self.home, with_checksums=True):
            if finding.problem != "foreign":
                raise BrokenError(f"the doctor found: {finding.message}")
        if gone := [path for path in self.strangers if not path.exists()]:
            raise BrokenError(f"a stranger's file was removed: {gone}")

    def _count(self, seen: Counter[str], before: Counter[str], after: Counter[str]) -> None:
        if seen in (before, after):
            return
        if any(count > 1 for count in seen.values()):
            self.report.twice += 1
            raise BrokenError(f"rows twice: {seen - Counter(set(seen))}")
        self.report.lost += len((before & after) - seen)
        self.report.partial += 1
        raise BrokenError(f"neither before nor after: lacks {after - seen}, has {seen - after}")

    def _snapshot_rows(self) -> Counter[str]:
        with Catalog.open(self.home, is_read_only=True) as catalog:
            return read_ids(catalog.snapshot(partition=PARTITION).paths())

    def _hive_rows(self) -> Counter[str]:
        return read_ids([str(path) for path in self.home.glob("tp_table=*/*/*/*/*.parquet")])


def read_ids(paths: list[str]) -> Counter[str]:
    """The ids in these files; a file that cannot be read is a broken promise."""
    rows: Counter[str] = Counter()
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                rows.update(file.read(columns=["tp_id"], use_threads=False)["tp_id"].to_pylist())
        except (OSError, ValueError) as problem:
            raise BrokenError(f"{path} cannot be read: {problem}") from problem
    return rows


def soak(harness: Harness, kills: int, *, progress: Callable[[Report], None] | None = None) -> Report:
    """Random steps killed at random points, every second time twice, until so many kills are done."""
    while harness.report.kills < kills:
        first = harness.random.choice(KILLING)
        later = UNDONE if NAMES.index(first) <= NAMES.index("commit.before") else FINISHED
        second = harness.random.choice(later) if harness.random.random() < 0.5 else ""
        kinds = tuple(kind for kind in KINDS if first.startswith(kind)) or KINDS
        harness.step(harness.random.choice(kinds), f"{first}:{harness.random.choice((0, 0, 1))}", second)
        if progress:
            progress(harness.report)
    return copy.deepcopy(harness.report)
