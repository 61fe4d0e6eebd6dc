"""A real standalone cluster on loopback: the rows of local mode, a lost worker, and hosts that are not ready."""

from __future__ import annotations

import platform
import sys
import venv
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.catalog.catalog import Catalog
from tailpipe.collect.collect import collect as collect_in_process
from tailpipe.collect.job import Job
from tailpipe.model.request import Collect
from tailpipe.spark.java import find_java
from tailpipe.testing import InProcessEngine
from tests.crash.processes import Collecting, collect, until
from tests.spark.cluster import Cluster
from tests.spark.worlds import PARTITIONS, Row, days_back, read_config, rows_of, write_config, write_logs

pytestmark = pytest.mark.slow

DAYS = 12


class World:
    """A cluster, logs, and the rows that they give without Spark."""

    def __init__(self, root: Path, cluster: Cluster) -> None:
        self.root = root
        self.cluster = cluster
        now = datetime.now(UTC)
        write_logs(root / "logs", days_back(DAYS, now), rows=800)
        config = read_config(write_config(root / "plain", root / "logs"))
        engine = InProcessEngine()
        chosen = [(one, config.tables[one.table]) for one in config.partitions.values()]
        with Catalog.open(root / "plain" / "data") as catalog:
            jobs = [Job(*pair, catalog, engine, Collect(now)) for pair in chosen]
            assert collect_in_process(config, jobs, engine).is_done
        self.rows = {name: rows_of(root / "plain" / "data", name) for name in PARTITIONS}

    def install(self, name: str, *, python: str = sys.executable, data: str = "", workers: int = 2) -> Path:
        """An install directory whose workspace works on the cluster, once so many workers are there."""
        conf = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        conf |= {"spark.pyspark.python": python, "spark.cores.max": str(workers)}
        conf |= {"spark.scheduler.minRegisteredResourcesRatio": "1.0"}
        conf |= {"spark.scheduler.maxRegisteredResourcesWaitingTime": "240s"}
        place = f'data_dir = "{data or self.root / name / "shared"}"'
        write_config(self.root / name, self.root / "logs", master=self.cluster.master, conf=conf, workspace=place)
        return self.root / name

    def read(self, install: Path) -> dict[str, list[Row]]:
        home = install / "data" / "default"
        return {name: rows_of(home, name, data=install / "shared") for name in PARTITIONS}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("cluster")
    with Cluster(root / "spark") as cluster:
        cluster.add_worker()
        cluster.add_worker()
        yield World(root, cluster)


def test_a_cluster_gives_the_rows_of_local_mode(world: World) -> None:
    install = world.install("calm")
    run = collect(install)
    assert run.process.returncode == 0, run.err + run.out
    assert world.read(install) == world.rows
    for number in (0, 1):  # both of them worked
        assert list((world.cluster.home / f"worker{number}").glob("app-*"))


def test_a_worker_that_is_killed_in_the_middle_loses_nothing(world: World) -> None:
    install = world.install("lost")
    run = Collecting(install)
    until(lambda: run.committed >= 2, alive=run)
    world.cluster.kill(world.cluster.workers[1])
    assert run.end() == 0, run.err + run.out
    assert world.read(install) == world.rows
    world.cluster.add_worker()


def test_a_host_that_does_not_see_the_data_is_named(world: World) -> None:
    # A path that means another directory in each process.
    install = world.install("apart", data="/proc/self/cwd/shared")
    run = collect(install, "app_log.shop")
    assert run.process.returncode == 1
    text = run.err + run.out
    assert f'the cluster is not ready: {platform.node()} does not see "/proc/self/cwd/shared/.tailpipe"' in text
    assert "Traceback" not in text


def test_a_host_without_the_package_is_named(world: World, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    python = tmp_path / "python"
    bare = tmp_path / "bare" / "bin" / "python"
    python.write_text(f'#!/bin/sh\n[ -n "$BARE_HOST" ] && exec {bare} "$@"\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    worker = world.cluster.add_worker({"BARE_HOST": "1"})
    try:
        install = world.install("bare", python=str(python), workers=3)
        run = collect(install, "app_log.shop")
        assert run.process.returncode == 1
        text = run.err + run.out
        assert f"{platform.node()} lacks tailpipe" in text
        assert f"{platform.node()} lacks duckdb" in text
        assert "Traceback" not in text
    finally:
        world.cluster.kill(worker)


def test_a_host_without_the_python_is_named(world: World) -> None:
    install = world.install("no-python", python="/no/such/python")
    run = collect(install, "app_log.shop")
    assert run.process.returncode == 1
    assert '127.0.0.1 cannot run "/no/such/python"' in run.err + run.out


def test_a_cluster_without_workers_is_told_after_the_wait(tmp_path: Path) -> None:
    with Cluster(tmp_path / "empty") as cluster:
        world = tmp_path / "install"
        write_logs(tmp_path / "logs", days_back(2, datetime.now(UTC)), rows=5)
        conf = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        place = f'data_dir = "{tmp_path / "shared"}"'
        config = write_config(world, tmp_path / "logs", master=cluster.master, conf=conf, workspace=place)
        config.write_text(config.read_text().replace("spark {", "spark {\n    wait_seconds = 3", 1))
        run = collect(world, "app_log.shop")
        text = run.err + run.out
        assert run.process.returncode == 1, text
        assert f"the cluster {cluster.master} started no executor within 3 s" in text
        assert "Traceback" not in text


def test_the_java_of_the_package_runs_a_master_and_a_worker(tmp_path: Path) -> None:
    with Cluster(tmp_path / "packaged", java=find_java({}, tmp_path / "cache")) as cluster:
        cluster.add_worker()
