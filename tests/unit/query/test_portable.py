"""Answers as Arrow: plain types, which pandas and Polars know what to do with."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import polars
import pyarrow as pa
import pytest

from tailpipe.catalog.snapshot import Snapshot
from tailpipe.errors import UsageError
from tailpipe.query.session import Session

ROW = (
    "SELECT sum(i) AS total, '0b0e8f1c-0000-4000-8000-000000000001'::UUID AS id, TIMETZ '10:00:00+02' AS clock,"
    " '101'::BIT AS bits, INTERVAL 3 DAY AS span, '{\"a\": 1}'::JSON AS body, 1::UHUGEINT AS large,"
    " TIMESTAMP_NS '2024-01-31 10:00:00.123456789' AS moment, [sum(i)] AS totals, {'n': sum(i)} AS inside,"
    " sum(i) > 3 AS is_large, [true, NULL] AS claims, TIMESTAMPTZ '2024-01-31 10:00:00+02' AS zoned"
    " FROM range(5) t(i)"
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(Snapshot(tmp_path, (), {}, 0), {}) as opened:
        yield opened


def test_an_answer_has_no_types_that_only_duckdb_knows(session: Session) -> None:
    table = session.run(ROW).table()
    total = pa.decimal128(38, 0)
    assert {field.name: field.type for field in table.schema} == {
        "total": total,
        "id": pa.string(),
        "clock": pa.string(),
        "bits": pa.string(),
        "span": pa.string(),
        "body": pa.string(),
        "large": total,
        "moment": pa.timestamp("ns"),
        "totals": pa.list_(pa.field("l", total)),
        "inside": pa.struct([("n", total)]),
        "is_large": pa.bool_(),
        "claims": pa.list_(pa.field("l", pa.bool_())),
        "zoned": pa.timestamp("us", tz="UTC"),
    }
    (row,) = table.to_pylist()
    assert (row["is_large"], row["claims"], row["clock"], row["bits"]) == (True, [True, None], "10:00:00+02", "101")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("[{}]", ["3 days"]),
        ("[{}, NULL]::INTERVAL[2]", ["3 days", None]),
        ("{{'a': {{'b': {}}}}}", {"a": {"b": "3 days"}}),
        ("MAP {{'k': {}}}", [("k", "3 days")]),
        ("MAP {{{}: 1}}", [("3 days", 1)]),
        ("[[{{'a b': {}}}]]", [[{"a b": "3 days"}]]),
    ],
)
def test_such_types_are_plain_within_others_too(session: Session, value: str, plain: object) -> None:
    table = session.run(f"SELECT {value.format('INTERVAL 3 DAY')} AS v").table()
    assert "interval" not in str(table.schema)
    assert table["v"].to_pylist() == [plain]


def test_names_that_differ_in_case_alone_are_told_apart(session: Session) -> None:
    table = session.run('SELECT 1 AS a, 2 AS A, 3 AS a_1, 4 AS "from x", 5 AS A').table()
    assert table.column_names == ["a", "A_1", "a_1_1", "from x", "A_2"]
    assert [column.to_pylist() for column in table.columns] == [[1], [2], [3], [4], [5]]


def test_pandas_and_polars_read_sums_and_ids(session: Session) -> None:
    table = session.run(ROW).table()
    frame = table.to_pandas()
    assert (frame["total"][0], frame["id"][0]) == (Decimal(10), "0b0e8f1c-0000-4000-8000-000000000001")
    assert int(frame["total"].sum()) == 10
    in_polars = polars.from_arrow(table)
    assert isinstance(in_polars, polars.DataFrame)
    assert in_polars["total"].sum() == Decimal(10)
    assert in_polars.select(polars.col("totals").list.first())["totals"].to_list() == [Decimal(10)]
    # and rows after pandas, in the same process
    assert str(session.run(ROW).table().to_pylist()[0]["moment"]) == "2024-01-31 10:00:00.123456789"


def test_two_columns_of_one_name_get_names_of_their_own_and_rows_keep_their_order(session: Session) -> None:
    table = session.run("SELECT i, -i AS i FROM range(200_000) t(i)").table()
    assert table.column_names == ["i", "i_1"]
    assert table["i"].to_pylist() == list(range(200_000))


def test_a_number_that_fits_nowhere_is_told(session: Session) -> None:
    with pytest.raises(UsageError, match="too large"):
        session.run("SELECT 170141183460469231731687303715884105727::HUGEINT AS n").table()


def test_an_answer_does_not_load_pandas_and_pandas_works_behind_it(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from tailpipe.catalog.snapshot import Snapshot\nfrom tailpipe.query.exact import Exact\n"
        "from tailpipe.query.session import Session\n"
        "with Session(Snapshot(Path('/'), (), {}, 0), {}) as session:\n"
        "    answer = session.run(\"SELECT TIMESTAMP_NS '2024-01-31 10:00:00.123456789' AS t, sum(1) AS n\")\n"
        "    with Exact(answer.columns, answer.types) as exact:\n"
        "        for batch in answer.batches(): print(exact.csv(batch, ',', '').decode(), end='')\n"
        "    table = session.run(\"SELECT TIMESTAMP_NS '2024-01-31 10:00:00.123456789' AS t\").table()\n"
        "print('pandas' in sys.modules, 'pyarrow.dataset' in sys.modules)\n"
        "print(table.to_pylist()[0]['t'], table.to_pandas()['t'][0])\n"
    )
    script = tmp_path / "script.py"  # not by -c, which DuckDB takes for a person: to one that waits it draws a bar
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True)
    moment = "2024-01-31 10:00:00.123456789"
    assert done.stdout.splitlines() == [f"{moment},1", "False False", f"{moment} {moment}"]
