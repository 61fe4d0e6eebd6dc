"""Logs that a program rotates while Spark reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from tailpipe.spark.engine import SparkEngine
from tests.unit.collect.live import collect_while_it_turns
from tests.unit.collect.support import World


@pytest.mark.slow
@pytest.mark.parametrize("style", ["rename", "gzip"])
def test_ten_runs_during_each_of_which_logs_were_rotated_have_each_row_once(
    tmp_path: Path, spark: SparkSession, style: str
) -> None:
    engine = SparkEngine(lambda: spark.sparkContext)
    collect_while_it_turns(World(tmp_path, engine=cast("Any", engine)), style, rounds=10, pause=1.0)
