"""Whole runs are killed: the driver, the JVM, a worker, all of them; and the driver at points of the commit.

Committed days stay and are whole, the next plain run completes the rest, and in the end every row is
there as if nothing had happened.
"""

from __future__ import annotations

import os
import signal
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.crash.processes import Collecting, collect, kill, until
from tests.spark.worlds import Row, days_back, rows_of, write_config, write_logs

pytestmark = pytest.mark.slow

PARTITION = "app_log.shop"
DAYS = 24
ROWS = 1500
POINTS = (
    "intent.after:1",
    "staging.made:2",
    "verify.before:1",
    "verify.after:1",
    "store.directory:3",
    "store.rename:5",
    "store.synced:1",
    "commit.begin:1",
    "commit.before:1",
    "commit.after:1",
    "manifest.written:1",
    "project.link:1",
    "publish.before:1",
    "staging.removed:1",
)
SIGKILLED = -signal.SIGKILL


class World:
    """Logs, and the rows of an undisturbed run over them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        write_logs(root / "logs", days_back(DAYS, datetime.now(UTC)), rows=ROWS)
        calm = self.install("calm")
        run = collect(calm, PARTITION)
        assert run.process.returncode == 0, run.err
        self.rows = self.read(calm)
        self.whole = _by_day(self.rows)
        assert len(self.whole) == DAYS
        assert sum(self.whole.values()) == DAYS * 2 * ROWS

    def install(self, name: str) -> Path:
        path = self.root / name
        write_config(path, self.root / "logs")
        return path

    def read(self, install: Path) -> list[Row]:
        home = install / "data" / "default"
        return rows_of(home, PARTITION) if (home / ".tailpipe" / "catalog.db").exists() else []

    def check_whole_days(self, install: Path) -> int:
        """Whatever is there is a whole Day, row by row; gives the number of them."""
        rows = self.read(install)
        days = _by_day(rows)
        assert {day: self.whole[day] for day in days} == dict(days)
        assert not Counter(rows) - Counter(self.rows)
        return len(days)

    def check_completion(self, install: Path) -> None:
        """The next plain run completes it, and another one has nothing to do."""
        run = collect(install, PARTITION)
        assert run.process.returncode == 0, run.err
        assert self.read(install) == self.rows
        staging = install / "data" / "default" / ".tailpipe" / "staging"
        assert list(staging.iterdir()) == []
        again = collect(install, PARTITION)
        assert (again.process.returncode, again.committed) == (0, 0)


def _by_day(rows: list[Row]) -> Counter[str]:
    """How many rows each Day has, which is what the file's name says, not the row's date."""
    days: dict[str, int] = defaultdict(int)
    for row in rows:
        days[Path(dict(row)["tp_source_location"]).name[:10]] += 1
    return Counter(days)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("kills"))


def _kill_driver(run: Collecting) -> None:
    kill(run.process.pid)


def _kill_jvm(run: Collecting) -> None:
    kill(run.jvm())


def _kill_worker(run: Collecting) -> None:
    until(run.workers, alive=run)
    kill(run.workers()[0])


def _kill_group(run: Collecting) -> None:
    os.killpg(run.process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("victim", "codes"),
    [
        (_kill_driver, [SIGKILLED]),
        (_kill_jvm, [0, 1]),  # between two jobs, nobody misses it
        (_kill_worker, [0]),
        (_kill_group, [SIGKILLED]),
    ],
)
def test_a_killed_first_run_leaves_whole_days_and_is_completed(
    world: World, victim: Callable[[Collecting], None], codes: list[int]
) -> None:
    install = world.install(victim.__name__)
    run = Collecting(install, PARTITION)
    until(lambda: run.committed >= 2, alive=run)
    victim(run)
    code = run.end()
    assert code in codes, run.err
    assert "Traceback" not in run.err
    assert 2 <= world.check_whole_days(install) <= DAYS
    if code == 1:
        assert "Spark's Java process ended" in run.out + run.err
    world.check_completion(install)


@pytest.mark.parametrize(("points", "least"), [(POINTS[1::2], 2), pytest.param(POINTS, 5, marks=pytest.mark.soak)])
def test_kills_at_points_of_the_commit_lose_and_double_nothing(
    world: World, points: tuple[str, ...], least: int
) -> None:
    install = world.install(f"points-{least}")
    days = 0
    for point in points:
        run = collect(install, PARTITION, env={"TAILPIPE_TEST": "1", "TAILPIPE_FAILPOINT": f"{point}=kill"})
        assert run.process.returncode == SIGKILLED, f"{point}: {run.err}"
        after = world.check_whole_days(install)
        assert after >= days
        days = after
    assert least <= days < DAYS
    world.check_completion(install)


def test_an_interrupt_rolls_the_day_back_and_keeps_the_others(world: World) -> None:
    install = world.install("interrupt")
    run = Collecting(install, PARTITION)
    until(lambda: run.committed >= 1, alive=run)
    os.killpg(run.process.pid, signal.SIGINT)  # as a terminal does it
    assert run.end() == 130, run.err
    assert run.err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in run.err
    assert 1 <= world.check_whole_days(install) < DAYS
    assert list((install / "data" / "default" / ".tailpipe" / "staging").iterdir()) == []
    world.check_completion(install)


def test_an_interrupt_while_spark_starts_leaves_no_process_behind(world: World) -> None:
    install = world.install("early")
    run = Collecting(install, PARTITION)
    until(lambda: any("PythonGatewayServer" in one.command for one in run.others()), alive=run)
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.end() == 130, run.err
    assert "Traceback" not in run.err
    assert world.check_whole_days(install) == 0


def test_spark_is_not_heard_on_the_terminal_and_needs_no_java_of_its_own(world: World) -> None:
    install = world.install("quiet")
    old = install / "old" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho 'java version \"1.8.0_392\"' >&2\n")
    old.chmod(0o755)
    path = f"{old.parent}{os.pathsep}{os.environ['PATH']}"
    run = collect(install, PARTITION, env={"PATH": path, "JAVA_HOME": str(old.parents[1])})
    assert run.process.returncode == 0, run.err
    assert [line for line in run.err.splitlines() if not line.startswith((PARTITION, "created "))] == []
    assert len(run.out.splitlines()) == 1
    assert (install / "cache" / "java" / "bin" / "java").exists()
    assert world.read(install) == world.rows
