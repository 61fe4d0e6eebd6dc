"""Executors that read objects of a store and write answers to one, without Spark's own readers of buckets."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tailpipe.errors import SparkError
from tailpipe.kernel.delivery import address_of
from tailpipe.model.store import Store
from tailpipe.spark.object_source import Destination, write_frame
from tailpipe.spark.tables import FileSet, table_frame
from tailpipe.storage.object_stores import open_objects
from tailpipe.stores.depot import StoreDepot

COLUMNS = {"n": "INTEGER", "text": "VARCHAR", "at": "TIMESTAMP", "many": "VARCHAR[]", "small": "UTINYINT"}


@pytest.mark.slow
def test_objects_are_read_and_answers_written_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    (tmp_path / "lake").mkdir()
    (tmp_path / "out").mkdir()
    paths = []
    for number in range(3):
        path = tmp_path / "lake" / f"{number}.parquet"
        rows = f"SELECT (i + {number * 10})::INTEGER AS n, 'x' || i AS text, TIMESTAMP '2024-01-01' AS at,"
        duckdb.execute(f"COPY ({rows} ['a'] AS many, 7::UTINYINT AS small FROM range(10) t(i)) TO '{path}'")
        paths.append(str(path))
    store = Store(name="lake", location=str(tmp_path / "lake"))
    addresses = [address_of("lake", Path(path).name, None) for path in paths]
    depots = {"lake": StoreDepot(store)}
    there = table_frame(session, COLUMNS, [FileSet(COLUMNS, addresses)], depots)
    here = table_frame(session, COLUMNS, [FileSet(COLUMNS, paths)])
    assert there.schema == here.schema
    assert sorted(there.collect()) == sorted(here.collect())
    place = Destination(f"file://{tmp_path / 'out'}")
    files, size = write_frame(there.select("n", "text"), 'CAST("0" AS BIGINT) AS "n", "1" AS "text"', place)
    assert files == 3
    assert size > 0
    found = duckdb.sql(f"SELECT count(*), sum(n), typeof(any_value(n)) FROM '{tmp_path / 'out'}/*.parquet'").fetchall()
    assert found == [(30, sum(range(30)), "BIGINT")]
    with pytest.raises(SparkError, match="is not empty"):
        write_frame(there, "1", place)
    (tmp_path / "failed").mkdir()
    with pytest.raises(Exception, match=r"(?i)could not convert|conversion"):
        write_frame(there.select("text"), 'CAST("0" AS INTEGER) AS n', Destination(f"file://{tmp_path / 'failed'}"))
    assert list(open_objects(str(tmp_path / "failed")).list("")) == []
    assert isinstance(there.toArrow(), pa.Table)
