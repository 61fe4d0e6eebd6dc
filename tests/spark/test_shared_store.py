"""Hosts that collect with Spark into one store, and versions of what they collected, read with Spark."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailpipe.collect.events import Planned
from tailpipe.operations.pull import Pull, pull
from tailpipe.operations.query import spark_queries
from tailpipe.stores.version import Version
from tailpipe.workspace import Collect, Query, Workspace
from tests.aws.conftest import TestBucket, bucket, no_credentials
from tests.crash.hosts import DAYS, FIRST, PARTITION, TABLE, WINDOW, Fleet
from tests.crash.hosts import opened as in_process
from tests.stores.test_publish import run

__all__ = ["bucket", "no_credentials"]

pytestmark = pytest.mark.slow
HOSTS = 4


def opened(install: Path) -> Workspace:
    """With Spark: that of the tests, which runs in this process."""
    return Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(install)})


def test_eight_collections_of_four_hosts_end_with_equal_rows(
    spark: SparkSession, tmp_path: Path, bucket: TestBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, chance = Fleet(tmp_path, bucket, bucket.url), random.Random(3)
    installs = [fleet.host(f"web-{number}") for number in range(HOSTS)]

    def collect(install: Path) -> list[str]:
        (one,) = opened(install).collect(Collect(datetime.now(UTC), WINDOW)).partitions
        assert one.push is not None
        problems = (one.error, one.push.error, one.push.publish_error, *map(str, one.failed), *one.changed_artifacts)
        return [text for text in problems if text]

    counts = []
    for turn in range(2):
        for _ in range(5):
            fleet.feed(chance)
        with ThreadPoolExecutor(2) as pool:
            assert [text for some in pool.map(collect, installs) for text in some] == []
        for install in installs:
            [pulled] = pull(opened(install).home, Pull())
            assert pulled.error == ""
        counts.append(int(in_process(installs[0]).query(f"SELECT count(*) AS n FROM {TABLE}").to_pylist()[0]["n"]))
        if turn == 0:
            monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(installs[0]))
            run("tag", "create", "first")
            between = datetime.now(UTC)
            time.sleep(1 - between.microsecond / 1e6)  # S3 keeps whole seconds: what follows is of a later one
    assert fleet.lines
    for install in installs:
        fleet.check(install, HOSTS)
    assert fleet.check_log() >= HOSTS
    _read_versions(installs[1], between, counts)


def test_a_host_that_lost_a_race_reports_in_that_run_who_had_taken_what(
    spark: SparkSession, tmp_path: Path, bucket: TestBucket
) -> None:
    fleet, chance = Fleet(tmp_path, bucket, bucket.url), random.Random(3)
    winner, loser = fleet.host("web-1"), fleet.host("web-2")
    while fleet.objects_put < DAYS or not fleet.lines:
        fleet.feed(chance)

    def overtake(event: object) -> None:
        if isinstance(event, Planned):
            in_process(winner).collect(Collect(datetime.now(UTC), WINDOW))

    [done] = opened(loser).collect(Collect(datetime.now(UTC), WINDOW), emit=overtake).partitions
    assert done.push is not None
    assert done.is_done
    days = sorted(text.partition(": ")[0] for text in done.push.conflicts)
    assert days == [f"{PARTITION} {FIRST + timedelta(days=number)}" for number in range(DAYS)]
    assert all("web-1 had already collected" in text for text in done.push.conflicts)
    pull(in_process(winner).home, Pull())
    for install in (winner, loser):
        fleet.check(install, hosts=2)
    fleet.check_log()


def _read_versions(install: Path, between: datetime, counts: list[int]) -> None:
    """A tag and a time show on Spark what they show on DuckDB, also if the files are in the store alone."""
    statement = (
        f"SELECT count(*) AS n, count(DISTINCT tp_id) AS ids FROM {TABLE} WHERE tp_partition = '{PARTITION[-1]}'"
    )
    workspace = opened(install)
    for version, count in ((Version(tag="first"), counts[0]), (Version(between), counts[0])):
        with workspace.session(Query(version=version)) as session:
            expected = list(session.run(statement).rows)
        with spark_queries(workspace.home, Query(version=version)) as queries:
            assert list(queries.run(statement).rows) == expected == [(count, count)]
