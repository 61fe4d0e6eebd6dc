"""Collecting through Spark gives what the kernel gives by itself, each row once."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pytest
from pyspark.sql import SparkSession

from tailpipe.catalog.catalog import Catalog
from tailpipe.collect.collect import collect
from tailpipe.collect.events import Report
from tailpipe.collect.job import Job
from tailpipe.config.config import Config
from tailpipe.kernel.engine import Engine
from tailpipe.kernel.task import Limits
from tailpipe.model.artifact import Artifact
from tailpipe.model.partition import Partition
from tailpipe.model.request import Collect
from tailpipe.plugins.core.sources import File
from tailpipe.spark.engine import SparkEngine
from tailpipe.testing import InProcessEngine
from tests.spark.worlds import PARTITIONS, days_back, read_config, rows_of, write_config, write_logs

DAYS = 4
NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    write_logs(tmp_path / "logs", days_back(DAYS, NOW))
    return read_config(write_config(tmp_path / "install", tmp_path / "logs"))


@pytest.fixture
def engine(spark: SparkSession) -> SparkEngine:
    return SparkEngine(lambda: spark.sparkContext)


def run(config: Config, home: Path, engine: Engine, *partitions: Partition, limits: Limits | None = None) -> Report:
    chosen = partitions or tuple(config.partitions[name] for name in PARTITIONS)
    request, tables = Collect(NOW), config.tables
    home.mkdir(exist_ok=True)
    with Catalog.open(home) as catalog:
        jobs = [Job(one, tables[one.table], catalog, engine, request, limits=limits or Limits()) for one in chosen]
        return collect(config, jobs, engine)


def test_spark_lands_the_rows_that_the_kernel_gives(config: Config, tmp_path: Path, engine: SparkEngine) -> None:
    assert run(config, tmp_path / "plain", InProcessEngine()).is_done
    report = run(config, tmp_path / "spark", engine)
    assert report.is_done
    assert [len(one.committed) for one in report.partitions] == [DAYS] * 3
    for name in PARTITIONS:
        rows = rows_of(tmp_path / "spark", name)
        assert rows == rows_of(tmp_path / "plain", name)
        assert len({dict(row)["tp_id"] for row in rows}) == len(rows) > 0


def test_collecting_twice_adds_nothing(config: Config, tmp_path: Path, engine: SparkEngine) -> None:
    run(config, tmp_path / "ws", engine)
    before = {name: rows_of(tmp_path / "ws", name) for name in PARTITIONS}
    again = run(config, tmp_path / "ws", engine)
    assert again.is_done
    assert [one.committed for one in again.partitions] == [(), (), ()]
    assert {name: rows_of(tmp_path / "ws", name) for name in PARTITIONS} == before


class Deadly(File):
    """Kills the worker that opens its last file, once."""

    def open(self, artifact: Artifact) -> BinaryIO:
        mark = Path(self.paths[0]) / "killed"
        if artifact.uri.endswith("-b.jsonl") and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().open(artifact)


def test_files_of_an_attempt_that_died_are_not_committed(config: Config, tmp_path: Path, engine: SparkEngine) -> None:
    [source] = config.partitions["app_log.shop"].sources
    assert isinstance(source, File)
    deadly = Deadly(name="file", paths=source.paths, file_layout=source.file_layout)
    partition = Partition(table="app_log", name="shop", sources=[deadly])
    # Each artifact is written as soon as it is read, so that the dead attempt leaves files behind.
    report = run(config, tmp_path / "ws", engine, partition, limits=replace(Limits(), flush_bytes=1))
    assert report.is_done
    assert (tmp_path / "logs" / "app" / "killed").exists()
    plain = Partition(table="app_log", name="shop", sources=[source])
    run(config, tmp_path / "plain", InProcessEngine(), plain)
    assert rows_of(tmp_path / "ws", "app_log.shop") == rows_of(tmp_path / "plain", "app_log.shop")
    staging = tmp_path / "ws" / ".tailpipe" / "staging"
    assert list(staging.iterdir()) == []
