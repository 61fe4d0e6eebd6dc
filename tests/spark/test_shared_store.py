"""Hosts that collect with Spark into one store, and versions of what they collected, read with Spark."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailpipe.model.version import Version
from tailpipe.workspace import Workspace
from tests.aws.conftest import TestBucket, bucket, no_credentials
from tests.crash.hosts import PARTITION, TABLE, WINDOW, Fleet
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
        (one,) = opened(install).collect(window=WINDOW).partitions
        assert one.push is not None
        return [text for text in (one.error, one.push.error, one.push.publish_error) if text]

    counts = []
    for turn in range(2):
        for _ in range(5):
            fleet.feed(chance)
        with ThreadPoolExecutor(2) as pool:
            assert [text for some in pool.map(collect, installs) for text in some] == []
        for install in installs:
            [pulled] = opened(install).sharing.pull()
            assert pulled.error == ""
        counts.append(int(in_process(installs[0]).query(f"SELECT count(*) AS n FROM {TABLE}").to_pylist()[0]["n"]))
        if turn == 0:
            monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(installs[0]))
            run("tag", "create", "first")
            between = datetime.now(UTC)
    assert fleet.lines
    for install in (*installs, *installs):  # what a host had to drop and could not carry over is taken by its next run
        in_process(install).collect(window=WINDOW)
    for install in installs:
        fleet.check(install, HOSTS)
    assert fleet.check_log() >= HOSTS
    _read_versions(installs[1], between, counts)


def _read_versions(install: Path, between: datetime, counts: list[int]) -> None:
    """A tag and a time show on Spark what they show on DuckDB, also if the files are in the store alone."""
    statement = (
        f"SELECT count(*) AS n, count(DISTINCT tp_id) AS ids FROM {TABLE} WHERE tp_partition = '{PARTITION[-1]}'"
    )
    workspace = opened(install)
    for version, count in ((Version(tag="first"), counts[0]), (Version(between), counts[0])):
        with workspace.session(version=version) as session:
            expected = list(session.run(statement).rows)
        with workspace.spark_queries(version=version) as queries:
            assert list(queries.run(statement).rows) == expected == [(count, count)]
