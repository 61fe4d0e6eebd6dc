"""What is told of each partition at a glance."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime

import pytest

from tailpipe.catalog.overview import LastRun
from tailpipe.model.coverage import DaySet
from tailpipe.model.window import Window
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace

WINDOW = Window.of_day(DAY)


def test_partitions_are_told_with_their_coverage_and_last_run(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1", "2"])])
    workspace.collect([("b", DAY, ["3"])], partition="app_log.gone")
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        writer.begin_run(WINDOW, {})
        writer.end_run("failed")
        workspace.clock.pass_(hours=1)
        writer.begin_run(WINDOW, {}, "tailpipe collect")
        writer.end_run("done")
    with workspace.open(is_read_only=True) as catalog:
        gone, here = catalog.overview()
    assert (gone.totals.name, gone.last_run) == ("app_log.gone", None)
    assert (here.totals.rows, here.totals.files) == (2, 1)
    assert here.coverage["file"].covered == DaySet.of([DAY])
    moment = datetime(2024, 2, 1, 13, tzinfo=UTC)
    assert here.last_run == LastRun(moment, moment, "done")


def test_one_that_only_ever_failed_is_told_too(workspace: Workspace) -> None:
    with workspace.open() as catalog:
        with catalog.writer(PARTITION) as writer:
            writer.begin_run(WINDOW, {})
            writer.end_run("failed")
        with catalog.writer("app_log.untried"):
            pass
        (one,) = catalog.overview()
    assert (one.totals.name, one.totals.rows, one.coverage) == (PARTITION, 0, {})
    assert one.last_run is not None
    assert one.last_run.outcome == "failed"


@pytest.mark.parametrize(
    ("pid", "outcome"), [(os.getpid(), "running"), (2**22 + 1, "interrupted")], ids=["alive", "dead"]
)
def test_a_run_goes_on_only_as_long_as_its_process_lives(workspace: Workspace, pid: int, outcome: str) -> None:
    with workspace.open() as catalog:
        with catalog.writer(PARTITION) as writer:
            writer.begin_run(WINDOW, {"file": DaySet.of([date(2024, 1, 30)])})
        lock = catalog.database.layout.lock(PARTITION)
        lock.write_text(json.dumps({**json.loads(lock.read_text()), "pid": pid}))
        (one,) = catalog.overview()
        assert one.last_run is not None
        assert (one.last_run.outcome, one.last_run.ended_at) == (outcome, None)
        lock.unlink()
        (one,) = catalog.overview()
        assert one.last_run is not None
        assert one.last_run.outcome == "interrupted"
