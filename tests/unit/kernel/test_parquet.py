"""Parquet artifacts: rows and types as they are, nested values, ordinals, and files that are damaged."""

from __future__ import annotations

import errno
import io
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailpipe.formats import Parquet
from tailpipe.kernel.run import read_rows, run_task
from tailpipe.kernel.task import Staging
from tailpipe.model.artifact import Artifact
from tailpipe.model.table import Column
from tests.unit.kernel.support import Memory, run, shared, task

DAY = datetime(2024, 1, 31, 10)


def parquet(table: pa.Table, **facts: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **facts)
    return file.getvalue()


def times(count: int) -> pa.Array:
    return pa.array([DAY] * count, pa.timestamp("us"))


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("bigint", pa.array([1, None, -(2**63)]), [1, None, -(2**63)]),
        ("integer", pa.array([7, 2**31, None]), [7, None, None]),
        ("double", pa.array([0.5, None, 1e300]), [0.5, None, 1e300]),
        ("boolean", pa.array([True, False, None]), [True, False, None]),
        ("date", pa.array([date(2024, 2, 29), None, date(1970, 1, 1)]), [date(2024, 2, 29), None, date(1970, 1, 1)]),
        (
            "decimal(10,2)",
            pa.array([Decimal("1.25"), None, Decimal("-3.50")]),
            [Decimal("1.25"), None, Decimal("-3.50")],
        ),
        ("varchar", pa.array(["é\0", "", None]), ["é\0", "", None]),
        ("varchar", pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        ("varchar[]", pa.array([["a", None], [], None]), [["a", None], [], None]),
        ("struct(a bigint, b varchar)", pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]), None),
        ("json", pa.array([{"a": [1, 2]}, None, {"a": []}]), ['{"a":[1,2]}', None, '{"a":[]}']),
    ],
)
def test_values_keep_their_types(kind: str, values: pa.Array, expected: list[Any] | None) -> None:
    done = run(parquet(pa.table({"time": times(3), "v": values})), [Column("v", kind)], Parquet())
    assert done.accounts == (3, 3, 0, 0, 0)
    assert done.column("v") == (values.to_pylist() if expected is None else expected)
    (result,) = done.outcome.results
    assert result.nulls == ({"v": 1} if kind == "integer" else {})


def test_ordinals_count_rows_over_all_row_groups_and_what_was_taken_is_left_out() -> None:
    table = pa.table({"time": times(70_000), "n": range(70_000)})
    content = parquet(table, row_group_size=1_000)
    done = run(content, [Column("n", "bigint")], Parquet())
    assert done.accounts == (70_000, 70_000, 0, 0, 0)
    assert [int(row["tp_id"].partition("-")[2]) - 1 for row in done.rows] == done.column("n")
    rest = run(content, [Column("n", "bigint")], Parquet(), reading={"offset_rows": 69_998})
    assert [(row["tp_id"].partition("-")[2], row["n"]) for row in rest.rows] == [("69999", 69_998), ("70000", 69_999)]
    (result,) = rest.outcome.results
    assert (result.committed_bytes, result.committed_ordinals) == (len(content), 70_000)


def test_times_of_any_unit_and_zone_are_utc() -> None:
    for unit in ("s", "ms", "us", "ns"):
        moments = pa.array([datetime(2024, 1, 31, 10, tzinfo=UTC)], pa.timestamp(unit, "Europe/Berlin"))
        assert run(parquet(pa.table({"time": moments})), [], Parquet()).column("tp_timestamp") == [DAY]


def test_a_rejected_row_is_shown_as_json() -> None:
    table = pa.table({"time": pa.array([DAY, None], pa.timestamp("us")), "n": [1, 2], "_raw": ["x", "y"]})
    done = run(parquet(table), [Column("n", "bigint"), Column("r", "varchar", source="_raw")], Parquet())
    assert done.accounts == (2, 1, 0, 1, 0)
    assert done.column("r") == ["x"]
    (row,) = done.rejected
    assert (row["ordinal"], row["reason"]) == (2, '"time" has no time')
    assert row["raw"] == '{"time":null,"n":2,"_raw_2":"y"}'


def test_files_that_are_damaged_are_named_and_the_others_are_kept() -> None:
    good = parquet(pa.table({"time": times(2)}))
    done = run({"/logs/cut": good[:-20], "/logs/text": b"hello", "/logs/none": b"", "/logs/good": good}, [], Parquet())
    assert done.accounts == (2, 2, 0, 0, 0)
    errors = {one.reading.artifact.uri: one.error for one in done.outcome.results}
    assert errors.pop("/logs/good") is None
    assert all(f'"{uri}" is not a readable parquet file' in str(error) for uri, error in errors.items())


def test_a_damaged_page_takes_back_the_rows_that_were_read_before_it(tmp_path: Path) -> None:
    content = bytearray(parquet(pa.table({"time": times(200_000), "n": range(200_000)}), row_group_size=50_000))
    facts = pq.read_metadata(io.BytesIO(bytes(content))).row_group(3).column(1)
    start = facts.dictionary_page_offset or facts.data_page_offset
    content[start : start + 400] = b"\xff" * 400
    good = parquet(pa.table({"time": times(1), "n": [7]}))
    one = task({"/logs/bad": bytes(content), "/logs/good": good}, [Column("n", "bigint")], Parquet())
    (outcome,) = run_task(one.at(Staging(str(tmp_path), "t")))
    assert sum(file.rows for file in outcome.files) == outcome.accounts.kept == 1
    assert "is not a readable parquet file" in str(outcome.results[0].error)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_fault_of_the_disk_is_no_damage() -> None:
    class Broken(Memory):
        def open(self, artifact: Artifact) -> BinaryIO:
            raise OSError(errno.EIO, "Input/output error")

    one = shared(task(b"", [], Parquet()), source=Broken(name="memory"))
    with pytest.raises(OSError, match="Input/output"):
        list(read_rows(one))
