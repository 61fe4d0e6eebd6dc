"""Files that are written again hold the same values in the same types."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tailpipe.kernel.carry import CarriedFile
from tailpipe.kernel.compact import Compaction, Index, compact_files, misplaced
from tailpipe.kernel.task import Staging

DAY = date(2024, 1, 10)
VALUES = {
    "text": ("VARCHAR", ["'ü \n \"'", "''", "NULL", "'x' || chr(0)"]),
    "whole": ("BIGINT", ["9223372036854775807", "-1", "NULL", "0"]),
    "unsigned": ("UBIGINT", ["18446744073709551615", "0", "NULL", "1"]),
    "real": ("DOUBLE", ["'NaN'::DOUBLE", "'-Infinity'::DOUBLE", "NULL", "0.1"]),
    "exact": ("DECIMAL(38,10)", ["1234567890.0123456789", "-1", "NULL", "0"]),
    "truth": ("BOOLEAN", ["true", "false", "NULL", "true"]),
    "bytes": ("BLOB", ["'\\xFF\\x00'::BLOB", "''::BLOB", "NULL", "'a'::BLOB"]),
    "day": ("DATE", ["'0001-01-01'", "'9999-12-31'", "NULL", "'2024-02-29'"]),
    "list": ("VARCHAR[]", ["['a', NULL]", "[]", "NULL", "['']"]),
    "found": ("VARCHAR", ["'{\"a\": 1}'", "'[1,  2]'", "NULL", "'{}'"]),
    "deep": (
        'STRUCT("a b" INTEGER, c VARCHAR[])',
        ["{'a b': 1, 'c': ['x']}", "NULL", "{'a b': NULL, 'c': NULL}", "NULL"],
    ),
}
COLUMNS = {name: kind for name, (kind, _) in VALUES.items()} | {
    "tp_id": "VARCHAR",
    "tp_timestamp": "TIMESTAMP",
    "tp_date": "DATE",
    "tp_index": "VARCHAR",
}


def written(tmp_path: Path, *, without: str = "") -> tuple[CarriedFile, ...]:
    """Four rows in two files; the second may lack a column."""
    files = []
    with duckdb.connect() as connection:
        for number in range(2):
            columns = {name: kind for name, kind in COLUMNS.items() if not (number and name == without)}
            rows = []
            for row in (2 * number + 1, 2 * number):
                values = [f"{VALUES[n][1][row]}::{kind} AS {n}" for n, kind in columns.items() if n in VALUES]
                stamp = f"'id-{row}' AS tp_id, TIMESTAMP '2024-01-10 0{9 - row}:00:00' AS tp_timestamp"
                rows.append(f"SELECT {', '.join(values)}, {stamp}, DATE '{DAY}' AS tp_date, 'old' AS tp_index")
            path = tmp_path / f"file-{number}"
            connection.execute(f"COPY ({' UNION ALL '.join(rows)}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
            files.append(CarriedFile(str(path), DAY, "old", columns))
    return tuple(files)


def rows(*paths: str, columns: str = "*") -> list[str]:
    with duckdb.connect() as connection:
        query = f"SELECT {columns} FROM read_parquet(?, union_by_name = true) ORDER BY tp_id"
        return [repr(row) for row in connection.execute(query, [list(paths)]).fetchall()]


def compacted(tmp_path: Path, files: tuple[CarriedFile, ...], index: Index | None = None) -> list[str]:
    staging = tmp_path / "staging"
    staging.mkdir()
    noted = {**COLUMNS, "found": "JSON"}  # an undeclared object is text in the file
    made = compact_files(Compaction(files, noted, Staging(str(staging), "c"), 0, index))
    assert all(dict(file.columns) == noted for file in made)
    assert sum(file.rows for file in made) == 4
    return [str(staging / file.path) for file in made]


@pytest.mark.parametrize("without", ["", "deep", "exact"])
def test_all_values_of_all_types_stay_as_they_are(tmp_path: Path, without: str) -> None:
    files = written(tmp_path, without=without)
    (path,) = compacted(tmp_path, files)
    assert rows(path) == rows(*(file.path for file in files))
    assert pq.read_schema(path).equals(pq.read_schema(files[0].path))
    with duckdb.connect() as connection:
        found = connection.execute("SELECT tp_id FROM read_parquet(?)", [path]).fetchall()
    assert found == [("id-3",), ("id-2",), ("id-1",), ("id-0",)]  # sorted by time


def test_rows_get_the_index_of_their_column_and_keep_all_else(tmp_path: Path) -> None:
    files = written(tmp_path, without="whole")
    assert misplaced(files, "whole", "BIGINT") == [file.path for file in files]
    paths = compacted(tmp_path, files, Index("whole"))
    assert len(paths) == 3
    others = "* EXCLUDE (tp_index)"
    assert rows(*paths, columns=others) == rows(*(file.path for file in files), columns=others)
    assert set(rows(*paths, columns="tp_index IS NOT DISTINCT FROM whole::VARCHAR, tp_id")) == {
        f"(True, 'id-{n}')" for n in range(4)
    }


def test_rows_of_each_index_are_sorted_by_time(tmp_path: Path) -> None:
    (path,) = compacted(tmp_path, written(tmp_path), Index(None))
    with duckdb.connect() as connection:
        found = connection.execute("SELECT tp_id FROM read_parquet(?)", [path]).fetchall()
    assert found == [("id-3",), ("id-2",), ("id-1",), ("id-0",)]


@pytest.mark.parametrize("index", [None, Index("whole")])
def test_a_file_that_cannot_be_read_fails_and_leaves_nothing_staged(tmp_path: Path, index: Index | None) -> None:
    files = written(tmp_path)
    Path(files[1].path).write_bytes(Path(files[1].path).read_bytes()[:-40])
    with pytest.raises(duckdb.Error):
        compacted(tmp_path, files, index)
    assert list((tmp_path / "staging").iterdir()) == []


def test_a_column_whose_case_is_written_otherwise_since_keeps_its_values(tmp_path: Path) -> None:
    files = written(tmp_path)
    before = rows(*(file.path for file in files))
    for change in (str.upper, str.lower):
        staging = tmp_path / change.__name__
        staging.mkdir()
        columns = {change(name) if name in VALUES else name: kind for name, kind in COLUMNS.items()}
        (made,) = compact_files(Compaction(files, columns, Staging(str(staging), "c"), 0))
        files = (CarriedFile(str(staging / made.path), DAY, "old", columns),)
        assert pq.read_schema(files[0].path).names == list(columns)
        assert rows(files[0].path) == before


def test_files_are_misplaced_whose_index_is_not_the_value_of_the_column_in_all_rows(tmp_path: Path) -> None:
    found = []
    with duckdb.connect() as connection:
        for number, (select, index) in enumerate(
            [
                ("SELECT 1 AS tp_id", "x"),  # it has no such column, so its rows belong to no index
                ("SELECT 1 AS tp_id", None),
                ("SELECT unnest(['x', 'x']) AS \"Group\"", "x"),
                ("SELECT unnest(['x', 'y']) AS \"group\"", "x"),
                ('SELECT NULL::VARCHAR AS "group"', "x"),
                ('SELECT NULL::VARCHAR AS "group"', None),
                ("SELECT 'x' AS \"group\"", None),
                ("SELECT 'it''s' AS \"group\"", "it's"),
            ]
        ):
            path = tmp_path / str(number)
            connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
            columns = dict.fromkeys(pq.read_schema(path).names, "VARCHAR")
            found.append(CarriedFile(str(path), DAY, index, columns))
    assert [Path(path).name for path in misplaced(found, "GROUP", "VARCHAR")] == ["0", "3", "4", "6"]
