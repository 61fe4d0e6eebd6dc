"""Live files as DataFrames: the same rows and columns that the views have."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from tailpipe.spark.tables import FileSet, table_frame

STORED = {
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "whole": "INTEGER",
    "big": "BIGINT",
    "utiny": "UTINYINT",
    "usmall": "USMALLINT",
    "uwhole": "UINTEGER",
    "ubig": "UBIGINT",
    "single": "FLOAT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "raw": "BLOB",
    "day": "DATE",
    "moment": "TIMESTAMP",
    "clock": "TIME",
    "price": "DECIMAL(18,3)",
    "words": "VARCHAR[]",
    "place": 'STRUCT("port" INTEGER, "tags" VARCHAR[])',
    "`odd` name": "VARCHAR",
}
VALUES = (
    "true, -1, -2, -3, -4, 255, 65535, 4294967295, 18446744073709551615, 1.5, 2.5, 'ü', 'ab'::BLOB, DATE '1970-01-01',"
    " TIMESTAMP '2026-01-02 03:04:05.678901', TIME '03:04:05.123456', 1.234, ['a', NULL],"
    " {'port': 3, 'tags': ['x']}, 'odd'"
)


def write(path: Path, columns: dict[str, str], values: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ", ".join(f'v{number}::{kind} AS "{name}"' for number, (name, kind) in enumerate(columns.items()))
    given = ", ".join(f"v{number}" for number in range(len(columns)))
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {names} FROM (VALUES ({values})) t({given})) TO '{path}' (FORMAT parquet)")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory as the catalog spells it: hidden, and with an index that is no plain word."""
    return tmp_path / ".tailpipe" / "files" / "tp_table=t" / "tp_partition=p" / "tp_index=a%5Bb%5D%3A~x"


def test_every_type_is_read_as_it_was_stored(spark: SparkSession, files: Path) -> None:
    path = write(files / "00000001-abcd-0000", STORED, VALUES)
    noted = {**STORED, "`odd` name": "JSON"}  # an undeclared object is text in the file
    frame = table_frame(spark, {**noted, "text": "JSON"}, [FileSet(noted, [path])])
    assert frame.columns == list(STORED)
    with duckdb.connect() as connection:
        expected = (
            connection.execute(f"FROM read_parquet('{path}', hive_partitioning = false)").to_arrow_table().to_pylist()
        )
    assert frame.toArrow().to_pylist() == expected


def test_files_of_other_times_have_fewer_columns_and_narrower_types(spark: SparkSession, files: Path) -> None:
    old, new = {"n": "INTEGER", "code": "BIGINT"}, {"n": "BIGINT", "code": "VARCHAR", "more": "UUID"}
    stored = {**new, "more": "VARCHAR"}
    sets = [
        FileSet(old, [write(files / "1", old, "1, 7")]),
        FileSet(stored, [write(files / "2", stored, "5000000000, 'x', 'u'")]),
    ]
    frame = table_frame(spark, new, sets)
    rows = sorted(tuple(row) for row in frame.collect())
    assert rows == [(1, "7", None), (5000000000, "x", "u")]


def test_a_table_without_files_has_its_columns(spark: SparkSession) -> None:
    frame = table_frame(spark, {"n": "UINTEGER", "id": "UUID", "tags": "JSON[]"}, [])
    assert frame.dtypes == [("n", "bigint"), ("id", "string"), ("tags", "array<string>")]
    assert frame.count() == 0
