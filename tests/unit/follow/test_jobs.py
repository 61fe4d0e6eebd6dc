"""The loop over a real workspace, with the kernel in this process instead of Spark."""

from __future__ import annotations

import gc
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Generator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tailpipe.catalog.catalog import Catalog
from tailpipe.errors import ConfigError, SparkError
from tailpipe.follow.facts import read_facts
from tailpipe.follow.jobs import WorkspaceJobs
from tailpipe.follow.loop import Loop
from tailpipe.follow.metrics import metrics_text
from tailpipe.follow.news import Collected, Failing, News, Reloaded, TaskDone
from tailpipe.follow.schedule import DETECT, MAINTAIN, PUSH, Paces
from tailpipe.follow.server import StatusServer
from tailpipe.follow.worker import Stopped
from tailpipe.home.home import Home
from tailpipe.kernel.task import Outcome, Task
from tailpipe.model.request import Collect
from tailpipe.operations.collect import collect
from tailpipe.operations.facts import runs
from tailpipe.operations.pull import Pull, pull
from tailpipe.spark.engine import SparkEngine
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.unit.collect.support import CONFIG
from tests.unit.follow.support import PACES, Bell, until

TODAY = datetime.now(UTC).date()
MORE = """
partition "app" "y" {
  source "file" {
    paths = ["LOGS/y"]
    file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`
  }
}
detection "bad" {
  table    = "app"
  where    = "message = 'bad'"
  severity = "high"
}
"""

STORE = """
store "lake" { location = "LAKE" }
workspace "default" {
  host  = "web-1"
  store = store.lake
}
"""
SILENT = """
connection "http" "silent" {
  base_url    = "http://127.0.0.1:PORT"
  timeout     = "1h"
  max_retries = 0
}
partition "app" "h" {
  source "http" {
    connection = connection.http.silent
    params     = { from = "{from}" }
  }
}
"""


class Kept(InProcessEngine):
    """An engine that starts with its first job, and again after it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs = self.starts = 0
        self.is_running = False

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        self.jobs += 1
        self.starts += not self.is_running
        self.is_running = True
        return super().run(tasks)

    def close(self) -> None:
        self.is_running = False


def _never() -> bool:
    return False


def _install(root: Path, text: str = "") -> Path:
    for name in ("config", "logs/x", "logs/y"):
        (root / name).mkdir(parents=True, exist_ok=True)
    whole = CONFIG.replace("LOGS", str(root / "logs" / "x")) + text.replace("LOGS", str(root / "logs"))
    (root / "config" / "main.tpc").write_text(whole)
    return root


def _jobs(root: Path, *, is_detecting: bool = False) -> WorkspaceJobs:
    engine = InProcessEngine()

    def opened() -> Home:
        return Home.open(env={"TAILPIPE_INSTALL_DIR": str(root)}, engine=engine)

    request = Collect(datetime.now(UTC), command="tailpipe collect --follow")
    return WorkspaceJobs(opened, request, is_detecting=is_detecting)


def _append(root: Path, *messages: str, name: str = "x", day: str = "") -> None:
    with (root / "logs" / name / f"{day or TODAY}.jsonl").open("a") as file:
        for message in messages:
            moment = f"{day}T10:00:00Z" if day else datetime.now(UTC).isoformat()
            file.write(json.dumps({"time": moment, "message": message}) + "\n")


def _loop(jobs: WorkspaceJobs, paces: Paces = PACES) -> tuple[Loop, Bell, list[News]]:
    bell, told = Bell(), list[News]()
    loop = Loop(jobs, paces, bell, told.append, clock=bell)
    bell.is_busy = lambda: any(one.turn is not None for one in loop._workers)
    return loop, bell, told


def _messages(root: Path) -> list[str]:
    with Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(root)}).session() as session:
        return [row[0] for row in session.run("SELECT message FROM app ORDER BY 1").rows]


def test_cycles_bring_what_is_new_and_metrics_equal_the_accounts(tmp_path: Path) -> None:
    root = _install(tmp_path, MORE)
    _append(root, "a", "b", name="y")
    _append(root, "a")
    jobs = _jobs(root)
    loop, _, told = _loop(jobs)
    partitions = loop.status.state.partitions
    until(loop, lambda: all(one.runs for one in loop.status.state.partitions.values()))
    _append(root, "c")
    with (root / "logs" / "x" / f"{TODAY}.jsonl").open("a") as file:
        file.write("no json\n")
    until(loop, lambda: loop.status.state.partitions["app.x"].accounts.read == 3)
    until(loop, lambda: loop.rounds > 16)
    loop.end(patience=10, cut=10)
    assert set(partitions) == {"app.x", "app.y"}
    assert {type(one) for one in told} == {Collected}
    assert _messages(root) == ["a", "a", "b", "c"]
    text = metrics_text(loop.status.state, read_facts(jobs.home), now=loop.now(), version="1")
    found = {
        (sample.name, sample.labels.get("partition"), sample.labels.get("outcome")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    with Catalog.open(root / "data" / "default", is_read_only=True) as catalog:
        for name in partitions:
            accounts = catalog.accounts(name)
            shown = {key: found["tailpipe_rows_total", name, key] for key in ("kept", "filtered", "rejected")}
            assert shown == {key: getattr(accounts, key) for key in shown}
            assert sum(shown.values()) == accounts.read
    assert found["tailpipe_rows_total", "app.x", "rejected"] == 1
    assert found["tailpipe_stored_rows", "app.x", None] == 2
    assert 0 <= found["tailpipe_lag_seconds", "app.x", None] < 3600
    assert found["tailpipe_gap_days", "app.x", None] == 0


def test_idle_cycles_are_one_run_in_the_history(tmp_path: Path) -> None:
    root = _install(tmp_path)
    jobs = _jobs(root)
    _append(root, "a")
    for _ in range(5):
        jobs.collect("app.x", should_stop=_never)
    idle, first = runs(jobs.home)
    assert (idle.idle_checks, idle.outcome) == (3, "done")
    assert first.facts is not None
    assert (first.idle_checks, first.facts.accounts.kept) == (0, 1)
    _append(root, "b")
    jobs.collect("app.x", should_stop=_never)
    jobs.collect("app.x", should_stop=_never)
    assert [one.idle_checks for one in runs(jobs.home)] == [0, 0, 3, 0]
    assert idle.ended_at is not None
    collect(jobs.home, Collect(datetime.now(UTC), partitions=["app.x"], command="tailpipe collect"))
    assert len(runs(jobs.home)) == 5, "a run of its own is told by itself"


def test_a_stopped_run_keeps_what_is_committed_and_the_next_one_brings_the_rest_once(tmp_path: Path) -> None:
    root = _install(tmp_path)
    days = [str(TODAY - timedelta(days=number)) for number in range(1, 6)]
    for day in days:
        _append(root, f"of {day}", day=day)
    jobs, events = _jobs(root), list[int]()

    def should_stop() -> bool:
        events.append(1)
        return len(events) > 6

    with pytest.raises(Stopped):
        jobs.collect("app.x", should_stop=should_stop)
    assert [one.outcome for one in runs(jobs.home)] == ["interrupted"]
    assert jobs.collect("app.x", should_stop=_never).is_done
    assert _messages(root) == sorted(f"of {day}" for day in days)


def test_small_files_are_compacted_by_a_separate_task(tmp_path: Path) -> None:
    root = _install(tmp_path)
    jobs = _jobs(root)
    for number in range(5):
        _append(root, f"{number}")
        assert jobs.collect("app.x", should_stop=_never).maintenance.compacted_files == 0
    done = jobs.do(MAINTAIN, should_stop=_never)
    assert (done.what, done.problem) == ("compacted 5 files into 1", "")
    assert jobs.do(MAINTAIN, should_stop=_never).what == ""
    assert _messages(root) == [str(number) for number in range(5)]


def test_detections_see_the_rows_of_cycles_once(tmp_path: Path) -> None:
    root = _install(tmp_path, MORE)
    jobs = _jobs(root, is_detecting=True)
    loop, _, told = _loop(jobs)
    _append(root, "bad", "good")
    until(loop, lambda: bool(loop.status.state.hits))
    until(loop, lambda: loop.rounds > 16)
    loop.end(patience=10, cut=10)
    assert loop.status.state.hits == {("bad", "high"): 1}
    hits = [one for one in told if isinstance(one, TaskDone) and one.task == DETECT]
    assert [one.counts["hits"] for one in hits] == [1]


def test_new_rows_are_pushed_and_detected_once_and_the_engine_stops_when_idle(tmp_path: Path) -> None:
    lake = STORE.replace("LAKE", str(tmp_path / "lake"))
    root, reader, engine = _install(tmp_path / "web-1", MORE + lake), tmp_path / "reader", Kept()
    paces = Paces(every=10, push=20, detect=10, engine_idle=60)
    (tmp_path / "lake").mkdir()
    (reader / "config").mkdir(parents=True)
    (reader / "config" / "main.tpc").write_text(lake.replace("web-1", "reader"))
    env = {"TAILPIPE_INSTALL_DIR": str(root)}
    request = Collect(datetime.now(UTC))
    jobs = WorkspaceJobs(lambda: Home.open(env=env), request, is_detecting=True, make_engine=lambda _: engine)
    assert list(jobs.tasks) == [MAINTAIN, PUSH, DETECT]
    loop, bell, told = _loop(jobs, paces)

    def is_settled() -> bool:
        facts = read_facts(jobs.home).partitions.values()
        return sum(one.rows for one in facts) == len(written) and not any(one.not_pushed for one in facts)

    written: list[str] = []
    for number, name in enumerate(["x", "y"], 1):
        lines = [f"{name} {number}", "bad"]
        _append(root, *lines, name=name)
        written += lines
        begun = bell.now
        until(loop, is_settled)
        assert bell.now - begun <= paces.every + paces.push, "pushed at its interval"
        until(loop, lambda: loop.status.state.hits == {("bad", "high"): number})  # noqa: B023
        assert (engine.starts, jobs.has_engine) == (number, True)
        until(loop, lambda: not jobs.has_engine)
        assert paces.engine_idle <= bell.now - begun <= paces.engine_idle + 2 * paces.every
    over = bell.now + 2 * paces.engine_idle
    until(loop, lambda: bell.now > over)
    loop.end(patience=10, cut=10)
    assert engine.starts == 2, "idle cycles start nothing"
    assert loop.status.state.problems == {}
    assert [one.counts["hits"] for one in told if isinstance(one, TaskDone) and one.task == DETECT] == [1, 1]
    pull(Home.open(env={"TAILPIPE_INSTALL_DIR": str(reader)}), Pull(with_data=True))
    assert _messages(root) == _messages(reader) == sorted(written)


def test_a_service_that_never_answers_turns_health_red_and_the_others_go_on(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        root = _install(tmp_path, SILENT.replace("PORT", str(silent.getsockname()[1])))
        loop, bell, told = _loop(_jobs(root))
        bell.is_busy = lambda: any(one.turn is not None and one.turn.name != "app.h" for one in loop._workers)
        server = StatusServer(("127.0.0.1", 0), lambda: loop.status.state, str, poll_seconds=0.01)
        health = f"http://{server.address}/healthz"
        until(loop, lambda: loop.status.state.partitions["app.h"].is_stuck)
        with pytest.raises(HTTPError) as red:
            urlopen(health)
        assert (red.value.code, json.load(red.value)["problems"]) == (503, {"app.h": "the run is stuck"})
        red.value.close()
        client, _ = silent.accept()
        for number in range(3):
            _append(root, f"line {number}")
            until(loop, lambda: loop.status.state.partitions["app.x"].accounts.kept > number)  # noqa: B023
        assert loop.status.state.is_ready
        loop.stop()
        loop.run()
        loop.clock = time.monotonic
        assert not loop.end(patience=0.05, cut=0.05), "a thread that waits for an answer cannot be ended"
    client.close()
    assert loop.end(patience=20, cut=0), "the answer was cut off"
    server.close()
    assert [one.name for one in told if isinstance(one, Failing)] == ["app.h"]
    assert _messages(root) == ["line 0", "line 1", "line 2"]


def test_a_reload_takes_new_partitions_and_a_broken_config_leaves_the_old_ones(tmp_path: Path) -> None:
    root = _install(tmp_path)
    jobs = _jobs(root)
    loop, _, told = _loop(jobs)
    _append(root, "x")
    _append(root, "y", name="y")
    until(loop, lambda: loop.status.state.is_ready)
    _install(root, 'partition "app" "y" {\n  sorce "file" {}\n}\n')
    with pytest.raises(ConfigError):
        jobs.reload()
    loop.reload()
    until(loop, lambda: any(isinstance(one, Reloaded) for one in told))
    (broken,) = [one for one in told if isinstance(one, Reloaded)]
    assert "sorce" in broken.error
    assert broken.partitions == 1
    before = loop.status.state.partitions["app.x"].runs
    until(loop, lambda: loop.status.state.partitions["app.x"].runs > before)
    _install(root, MORE)
    loop.reload()
    until(loop, lambda: "app.y" in loop.status.state.partitions)
    until(loop, lambda: loop.status.state.partitions["app.y"].accounts.kept == 1)
    loop.end(patience=10, cut=10)
    assert _messages(root) == ["x", "y"]


def test_paths_of_file_sources_are_watched(tmp_path: Path) -> None:
    assert _jobs(_install(tmp_path)).paths == {"app.x": (str(tmp_path / "logs" / "x"),)}


@pytest.mark.slow
def test_many_cycles_take_no_more_memory_files_or_threads(tmp_path: Path) -> None:
    root = _install(tmp_path, MORE)
    jobs = _jobs(root, is_detecting=True)
    loop, _, _ = _loop(jobs)
    names = ("app.x", "app.y")

    def run(cycles: int) -> tuple[int, int, int]:
        seen = sum(loop.status.state.partitions[name].runs for name in names)

        def total() -> int:
            return sum(loop.status.state.partitions[name].runs for name in names) - seen

        done = 0
        while done < cycles:
            if done % 20 == 0:
                _append(root, f"line {loop.rounds}")
            until(loop, _grown(total, done))
            done = total()
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE"), len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    fifth = 2 * int(os.environ.get("TAILPIPE_CYCLES", "25"))
    run(fifth)  # what is imported and cached late
    memory, files, threads = run(fifth)
    after = run(3 * fifth)
    loop.end(patience=10, cut=10)
    assert after[1:] == (files, threads)
    assert after[0] - memory < 20e6
    assert len(set(_messages(root))) == len(_messages(root)) >= fifth // 5
    lines = (root / "logs" / "x" / f"{TODAY}.jsonl").read_text().splitlines()
    assert len(_messages(root)) == len(lines)


def _grown(total: Callable[[], int], before: int) -> Callable[[], bool]:
    return lambda: total() > before


@pytest.mark.parametrize(("is_kept", "starts"), [(True, 3), (False, 1)])
def test_a_spark_that_is_kept_is_started_again_after_it_did_not_start(is_kept: bool, starts: int) -> None:
    tried = list[int]()

    def start() -> NoReturn:
        tried.append(1)
        raise SparkError("Java did not start")

    engine = SparkEngine(start, is_kept=is_kept)
    for _ in range(3):
        with pytest.raises(SparkError, match="Java did not start"):
            _ = engine.cores
    assert len(tried) == starts
