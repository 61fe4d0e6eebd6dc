"""The lines of docs/clients.md that read the hive keep every index as it is."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars
import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession

from tailpipe.model.table import Column
from tailpipe.storage.object_stores import open_objects
from tests.delta.lake import Lake, day
from tests.unit.docs.pages import read

PAGE = read("docs/clients.md")
INDEXES = ["012345678901", "00", "1e5", "7" * 200]
LINES = {
    "Spark": 'spark.read.option("recursiveFileLookup", "true").parquet(f"{hive}/tp_table=app_log")',
    "Polars": 'polars.scan_parquet(f"{hive}/tp_table=app_log/**/*.parquet", hive_partitioning=False)',
    "pyarrow": "pyarrow.dataset.dataset(table, partitioning=None)",
}


@pytest.fixture
def hive(tmp_path: Path) -> Path:
    """Files of our writer in the directories of the hive."""
    for name in ("store", "staging"):
        (tmp_path / name).mkdir()
    lake = Lake(open_objects(str(tmp_path / "store")), tmp_path / "staging", [Column("host")])
    lake.is_earlier = True
    lake.put("app_log.x", [day(number) | {"host": host} for number, host in enumerate(INDEXES, 1)])
    return tmp_path / "store/data"


def test_the_lines_of_the_page_keep_every_index(hive: Path, spark: SparkSession) -> None:
    assert all(line in PAGE for line in LINES.values())
    names = {
        "hive": hive,
        "table": str(hive / "tp_table=app_log"),
        "spark": spark,
        "polars": polars,
        "pyarrow": pyarrow,
    }
    files = f"{hive}/tp_table=app_log/**/*.parquet"
    found = {
        "Spark": [row["tp_index"] for row in eval(LINES["Spark"], names).select("tp_index").collect()],
        "Polars": eval(LINES["Polars"], names).select("tp_index").collect()["tp_index"].to_list(),
        "DuckDB": _by_duckdb(files),
        "pyarrow": eval(LINES["pyarrow"], names).to_table(columns=["tp_index"])["tp_index"].to_pylist(),
    }
    assert {name: sorted(values) for name, values in found.items()} == dict.fromkeys(found, sorted(INDEXES))


def _by_duckdb(files: str) -> list[str]:
    query = f"SELECT tp_index FROM read_parquet('{files}', hive_partitioning = false)"
    return [row[0] for row in duckdb.sql(query).fetchall()]


def test_spark_takes_a_number_from_a_directory(hive: Path, spark: SparkSession) -> None:
    """What the page warns of: if this fails, the warning can go."""
    table = str(hive / "tp_table=app_log/tp_partition=x/tp_index=012345678901")
    frame = spark.read.option("basePath", str(hive)).parquet(table)
    assert [row["tp_index"] for row in frame.select("tp_index").collect()] == [12345678901]
