"""The Spark of a platform instead of ours: the oldest version that works gives the same rows."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.catalog.catalog import Catalog
from tailpipe.collect.collect import collect as collect_in_process
from tailpipe.collect.job import Job
from tailpipe.model.request import Collect
from tailpipe.testing import InProcessEngine
from tests.crash.processes import collect
from tests.delta import spark41
from tests.spark.worlds import PARTITIONS, days_back, read_config, rows_of, write_config, write_logs


@pytest.mark.slow
@pytest.mark.skipif(bool(spark41.missing()), reason=f"NOT TESTED ON SPARK 4.1: {spark41.missing()}")
def test_spark_4_1_collects_the_same_rows(tmp_path: Path) -> None:
    try:
        python, _ = spark41.installed()
    except subprocess.CalledProcessError:
        pytest.skip("NOT TESTED ON SPARK 4.1: it cannot be downloaded")
    (site,) = (python.parents[1] / "lib").glob("python3*/site-packages")
    env = {"PYTHONPATH": str(site)}
    code = "import pyspark; print(pyspark.__version__)"
    used = subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True)
    assert used.stdout.startswith("4.1."), used.stderr
    now = datetime.now(UTC)
    write_logs(tmp_path / "logs", days_back(3, now), rows=60)
    config = read_config(write_config(tmp_path / "plain", tmp_path / "logs"))
    engine = InProcessEngine()
    chosen = [(one, config.tables[one.table]) for one in config.partitions.values()]
    with Catalog.open(tmp_path / "plain" / "data") as catalog:
        jobs = [Job(*pair, catalog, engine, Collect(now)) for pair in chosen]
        assert collect_in_process(config, jobs, engine).is_done
    write_config(tmp_path / "install", tmp_path / "logs")
    run = collect(tmp_path / "install", env=env)
    assert run.process.returncode == 0, run.err + run.out
    for name in PARTITIONS:
        assert rows_of(tmp_path / "install" / "data" / "default", name) == rows_of(tmp_path / "plain" / "data", name)
