"""A scan gives the rows that collecting lands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tailpipe.catalog.catalog import Catalog
from tailpipe.collect.collect import collect
from tailpipe.collect.job import Job
from tailpipe.collect.scan import tasks_to_scan
from tailpipe.config.config import Config
from tailpipe.errors import SparkError
from tailpipe.model.request import Collect
from tailpipe.model.window import Window
from tailpipe.spark.engine import SparkEngine
from tailpipe.spark.scan import scan_tasks
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.sampling import sampled
from tests.spark.worlds import PARTITIONS, days_back, read_config, rows_of, sorted_rows, write_config, write_logs

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
WINDOW = Window(NOW - timedelta(days=20), NOW)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    write_logs(tmp_path / "logs", days_back(3, NOW))
    return read_config(write_config(tmp_path / "install", tmp_path / "logs"))


def scan(spark: SparkSession, config: Config, home: Path, name: str) -> DataFrame:
    home.mkdir(exist_ok=True)
    partition = config.partitions[name]
    with Catalog.open(home) as catalog:
        engine = SparkEngine(lambda: spark.sparkContext)
        tasks = tasks_to_scan(partition, config.tables[partition.table], catalog, engine, Collect(NOW, WINDOW))
    return scan_tasks(spark, tasks)


@pytest.mark.parametrize("name", sampled(PARTITIONS, 3))
def test_a_scan_gives_the_rows_that_land(spark: SparkSession, config: Config, tmp_path: Path, name: str) -> None:
    fresh = scan(spark, config, tmp_path / "fresh", name)
    home = tmp_path / "ws"
    home.mkdir()
    partition = config.partitions[name]
    with Catalog.open(home) as catalog:
        engine = InProcessEngine()
        collect(config, [Job(partition, config.tables[partition.table], catalog, engine, Collect(NOW))], engine)
    landed = rows_of(home, name)
    assert landed
    for frame in (fresh, scan(spark, config, home, name)):  # before anything was collected, and after it
        assert sorted_rows([row.asDict(recursive=True) for row in frame.collect()]) == landed


def test_a_scan_is_lazy_and_can_be_asked_in_spark(spark: SparkSession, config: Config, tmp_path: Path) -> None:
    frame = scan(spark, config, tmp_path / "ws", "access_log.web")
    assert frame.schema["tp_timestamp"].dataType.simpleString() == "timestamp_ntz"
    assert frame.where("status = 200").groupBy("tp_date").count().count() == 3
    assert frame.rdd.getNumPartitions() == 3


def test_a_damaged_artifact_fails_the_scan_by_its_name(spark: SparkSession, config: Config, tmp_path: Path) -> None:
    frame = scan(spark, config, tmp_path / "ws", "flow_log.office")
    [damaged, *_] = sorted((tmp_path / "logs" / "flow").rglob("*.gz"))
    damaged.write_bytes(damaged.read_bytes()[:-20])
    with pytest.raises(PySparkException, match=damaged.name):
        frame.count()


def test_a_workspace_scans_a_partition(spark: SparkSession, config: Config, tmp_path: Path) -> None:
    workspace = Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(tmp_path / "install"), "HOME": str(tmp_path)})
    frame = workspace.scan("app_log.shop", WINDOW)
    assert frame.count() == 3 * 2 * 60
    assert frame.select("tp_id").distinct().count() == frame.count()


def test_nothing_to_scan_is_said(spark: SparkSession) -> None:
    with pytest.raises(SparkError, match="nothing to scan"):
        scan_tasks(spark, [])
