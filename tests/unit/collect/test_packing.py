"""Packing: many small artifacts go into few tasks, so that a run leaves few files."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from tailpipe.collect.item import WorkItem
from tailpipe.collect.job import Job
from tailpipe.collect.packing import TASK_BYTES, estimated_bytes, fetched_bytes, pieces_of
from tailpipe.collect.plan import UnitPlan
from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import Unit
from tailpipe.model.request import Collect

from .support import NOW, World

TODAY = NOW.date()


def planned(world: World, sizes: list[int | None], suffix: str = "") -> list[int]:
    """How many artifacts each task of a unit gets."""
    config = world.config
    partition = config.partitions["app.x"]
    artifacts = tuple(
        WorkItem("file", Artifact(f"{n}{suffix}", size=size), origin=f"{n}{suffix}") for n, size in enumerate(sizes)
    )
    unit = UnitPlan(Unit(day=TODAY), "append", "new day", artifacts)
    with world.catalog() as catalog:
        job = Job(partition, config.tables["app"], catalog, world.engine, Collect(NOW))
        return [len(piece.share.readings) for piece in pieces_of(job, {}, unit, "", "r0")]


def test_small_artifacts_of_a_unit_are_one_task(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert planned(world, [300] * 10_000) == [10_000]
    assert planned(world, [0] * 1000) == [1000]
    assert len(planned(world, [None] * 1000)) == 6
    assert planned(world, [300] * 10_000, ".gz") == [10_000]
    assert sum(planned(world, [TASK_BYTES // 10] * 20)) == 20
    assert len(planned(world, [TASK_BYTES // 10] * 20)) == 2


def test_what_is_told_is_what_a_source_gives_and_not_what_it_becomes() -> None:
    def one(name: str, start: int = 0) -> WorkItem:
        return WorkItem("file", Artifact(name, size=100), origin=name, offset_bytes=start)

    assert [fetched_bytes(each) for each in (one("a.gz"), one("a.log"), one("a.log", 40))] == [100, 100, 60]
    assert [estimated_bytes(each) for each in (one("a.gz"), one("a.log"), one("a.log", 40))] == [800, 100, 60]


@pytest.mark.slow
def test_ten_thousand_small_artifacts_over_thirty_days_leave_two_files_a_day_at_most(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.text = world.text.replace('partition "app" "x" {', 'partition "app" "x" {\n  tp_index = "message"')
    for number in range(10_000):
        day = TODAY - timedelta(days=number % 30)
        # Some rows are of the day before, as in logs that are cut at odd times.
        path = world.write(f"{number}/{day}.jsonl", f"m{number % 3}", day=day - timedelta(days=number % 7 == 0))
        if number % 11 == 0:
            with path.open("a") as file:
                file.write("oops\n")
    summary = world.collect()
    assert summary.is_done
    with world.catalog() as catalog:
        live = catalog.snapshot().files
    assert sum(file.rows for file in live) == 10_000
    counts = Counter((file.unit, file.tp_date, file.tp_index) for file in live)
    assert max(counts.values()) <= 2
