"""Events that were asked for again, or came through two sources, are left out by Spark as by the kernel alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tailpipe.spark.engine import SparkEngine
from tests.aws.cloudwatch.conftest import Group
from tests.aws.conftest import moto  # noqa: F401 - a fixture
from tests.unit.collect.support import World
from tests.unit.collect.test_duplicates import CONFIG, write


@pytest.fixture
def engine(spark: SparkSession) -> Any:
    return SparkEngine(lambda: spark.sparkContext)


def test_an_event_through_two_sources_is_there_once(tmp_path: Path, engine: Any) -> None:
    world = World(tmp_path, CONFIG, engine=engine)
    for source in ("one", "two"):
        (world.logs / source).mkdir()
    write(world, "one/2024-03-09.jsonl", ("1", "a"), ("2", "b"))
    write(world, "two/2024-03-09.jsonl", ("2", "b"), ("3", "c"))
    write(world, "two/2024-03-10.jsonl", ("1", "a"))
    summary = world.collect()
    assert summary.is_done
    assert (summary.accounts.kept, summary.accounts.duplicate) == (3, 2)
    assert world.rows("event_id") == ["1", "2", "3"]
    assert list((tmp_path / "home" / ".tailpipe" / "staging").iterdir()) == []


def test_events_of_a_log_group_are_added_once(tmp_path: Path, engine: Any, moto: str) -> None:  # noqa: F811
    group = Group(moto, tmp_path)
    group.world.engine = engine
    group.say("a", 1, "one", "two")
    group.collect("T-1d")
    group.say("a", 1, "late")
    summary = group.collect()
    assert (summary.accounts.kept, summary.accounts.duplicate) == (1, 2)
    assert group.world.rows() == ["late", "one", "two"]
