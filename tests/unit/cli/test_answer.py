"""How answers are written."""

from __future__ import annotations

import io
import json
import resource
import tempfile
from contextlib import nullcontext
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from tailpipe.cli.answer import OUTPUTS, Shape, answer_statement, write_answer
from tailpipe.errors import UsageError

from .answers import EVERY_TYPE, Told, ask, connect, written, written_with

HOSTILE = "SELECT chr(27) || ']0;x' || chr(7) || chr(10) || 'b' || chr(8238) AS \"a\x1b[2J\", 'ok' AS b"
AWKWARD = """
SELECT unnest(['a', '', NULL, '#', 'a#b', ' lead', 'trail ', 'a,b', 'a;b', 'q"q', chr(10), chr(13), chr(9), '''',
    'NULL',    '\\', chr(8232), chr(0), '||', 'é']) AS "a ,b", 1 AS a, 2 AS a
"""


def copied(tmp_path: Path, sql: str, options: str) -> bytes:
    """What DuckDB's own writer makes of it."""
    path = tmp_path / "copied"
    connect().execute(f"COPY ({sql}) TO '{path}' ({options})")
    return path.read_bytes()


# A table for people


def test_a_table_aligns_numbers_and_tells_null_from_text() -> None:
    sql = "FROM (VALUES (1, 'x'), (100, NULL), (NULL, ''), (2, 'null'), (3, 'NULL')) t(a, b)"
    assert written(sql).decode() == ('   a  b\n────  ──────\n   1  x\n 100  NULL\nNULL\n   2  "null"\n   3  "NULL"\n')
    assert written(sql, null="∅").decode().splitlines()[3] == "100  ∅"


def test_a_null_is_darker_on_a_terminal() -> None:
    assert "\x1b[2mNULL\x1b[0m" in written("SELECT NULL AS a", has_colour=True).decode()


@pytest.mark.parametrize("output", ["pretty", "plain", "line"])
def test_what_could_steer_a_terminal_is_shown_escaped(output: str) -> None:
    text = written(HOSTILE, output).decode()
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    end = "\n             " if output == "line" else "\\n"
    assert f"\\u001b]0;x\\u0007{end}b\\u202e" in text
    assert "a\\u001b[2J" in text


def test_a_text_of_several_lines_goes_on_below_its_beginning() -> None:
    trace = (
        "SELECT 7 AS id, 'it broke' || chr(10) || chr(9) || 'at Shop.pay' || chr(10) AS message, repeat('x', 60) AS c"
    )
    shown = f"id      = 7\nmessage = it broke\n           at Shop.pay\\n\nc       = {'x' * 60}\n"
    assert written(trace, "line").decode() == shown
    assert written(trace.replace("7 AS", "repeat('y', 60) AS"), room=20).decode() == shown.replace("7", "y" * 60)
    assert written(trace, "plain").decode().splitlines()[1].startswith("7\tit broke\\n at Shop.pay\\n\t")


def test_a_table_fits_the_terminal_and_says_what_it_leaves_out() -> None:
    columns = ", ".join(f"repeat('x', {5 * n}) AS column_{n}" for n in range(20))
    text, told = written_with(f"SELECT {columns} FROM range(2)", room=60)
    lines = text.decode().splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("column_0  column_1  column_2    column_3")
    assert lines[0].endswith("  …")
    assert told.hidden == "hidden: 16 too wide; name columns or use --output line"


def test_the_widest_cells_are_cut_first() -> None:
    text = written("SELECT 'short' AS a, repeat('y', 100) AS b, repeat('z', 20) AS c FROM range(2)", room=60).decode()
    assert text.splitlines()[2] == f"short  {'y' * 30}…  {'z' * 20}"


def test_times_and_numbers_are_never_cut_where_text_can_be() -> None:
    sql = (
        "SELECT TIMESTAMP '2024-01-31 10:00:00' AS at, repeat('y', 99) AS b, 12345678901234 AS n, repeat('z', 99) AS c"
    )
    lines = written(f"{sql} FROM range(2)", room=64).decode().splitlines()
    assert lines[2] == f"2024-01-31 10:00:00  {'y' * 11}…  12345678901234  {'z' * 11}…"
    narrow = written(f"{sql} FROM range(2)", room=18).decode().splitlines()
    assert narrow[2] == "2024-01-31 10:…"


def test_one_row_that_does_not_fit_is_shown_from_top_to_bottom() -> None:
    columns = ", ".join(f"{n} AS a_long_name_{n}" for n in range(10))
    assert written(f"SELECT {columns}", room=60).decode().splitlines()[1] == "a_long_name_1 = 1"


def test_no_more_rows_are_shown_than_people_read() -> None:
    text, told = written_with("FROM range(20000)")
    assert (told.rows, len(text.splitlines())) == (10_000, 10_002)
    assert told.left_out == "more rows are not shown; to print all: --output csv"
    assert written_with("FROM range(20000)", limit=10_000)[1].left_out == ""
    assert written_with("FROM range(20000)", limit=15_000)[1] == told
    assert written_with("FROM range(10000)")[1].left_out == ""


def test_a_plan_is_drawn_as_it_is() -> None:
    assert written("EXPLAIN SELECT 1").decode().splitlines()[0].startswith("┌──")


def test_values_are_shown_as_duckdb_shows_them() -> None:
    """Also where Python knows less: intervals, nanoseconds, zones, short floats."""
    sql = EVERY_TYPE + " LIMIT 1"
    pairs = (line.partition(" =") for line in written(sql, "line").decode().splitlines())
    texts = {name.strip(): text.strip() for name, _, text in pairs}
    names = [
        name for name in ask(sql).columns if name not in ("struct", "list", "map", "nest", "fixed", "text", "nothing")
    ]
    casts = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in names)
    row = connect().execute(f"SELECT {casts} FROM ({sql})").fetchone()
    assert row is not None
    assert {name: texts[name] for name in names} == dict(zip(names, (str(text).strip() for text in row), strict=True))
    assert texts["struct"] == '{"a":1,"b":[null,"q\\"q"],"f":NaN}'


def test_values_of_common_types_are_shown_without_arrow() -> None:
    sql = (
        "SELECT TIMESTAMP '2024-01-31 10:00:00.5' AS ts, DATE '2024-01-31' AS d, 1.50::DECIMAL(9,2) AS n, true AS b, "
        "'\\xAA'::BLOB AS x, {'a': ['b', NULL]} AS s, 'infinity'::TIMESTAMP AS e, TIME '10:00:00' AS t,"
        " DATE '9999-12-31' AS v, 0.00000002::DECIMAL(9,8) AS small"
    )
    shown = written(sql, "plain").decode().splitlines()[1]
    assert shown == (
        '2024-01-31 10:00:00.5\t2024-01-31\t1.50\ttrue\t\\xAA\t{"a": ["b", null]}\tinfinity\t10:00:00\t9999-12-31'
        "\t0.00000002"
    )


@pytest.mark.parametrize(
    "value",
    [
        "unnest([true, false])",
        "unhex(string_agg(printf('%02x', range::INTEGER), '' ORDER BY range)) FROM range(256)",
        "'a b'::BLOB",
        "unnest([0, -5, 9223372036854775807])",
        "unnest([0.5, 1e100, 'nan', '-inf', 100000]::DOUBLE[])",
        "unnest([0.000001, 12.500, -1]::DECIMAL(12,6)[])",
        "unnest([TIME '00:00:00', TIME '23:59:59.999999', TIME '10:00:00.100'])",
        "unnest([TIMESTAMP '2024-01-31 00:00:00', TIMESTAMP '2024-01-31 10:20:30.000400'])",
        "unnest(['7b0a1b1e-0000-4000-8000-00000000000a'::UUID])",
        "unnest(['x', 'y']::ENUM('x', 'y')[])",
        "170141183460469231731687303715884105727::HUGEINT",
    ],
)
def test_a_value_of_a_common_type_reads_as_duckdb_writes_it(value: str) -> None:
    rows = connect().execute(f"SELECT CAST(v AS VARCHAR) FROM (SELECT {value.replace(' FROM', ' AS v FROM')}) t(v)")
    expected = [text for (text,) in rows.fetchall()]
    assert written(f"SELECT {value}", "plain", has_header=False).decode().splitlines() == expected


def test_nested_values_of_common_types_read_as_json() -> None:
    sql = (
        "SELECT {'é': [1.5::DOUBLE, 'nan'::DOUBLE, NULL], 'd': [DATE '2024-01-31'], 'b': [true, false],"
        " 'm': MAP {1: 'x\"y'}, 'n': [1.50::DECIMAL(4,2)], 's': {'t': TIME '10:00:00'}} AS s"
    )
    shown = written(sql, "plain", has_header=False).decode()
    assert "é" in shown
    assert json.loads(shown) == {
        "é": [1.5, None, None],
        "d": ["2024-01-31"],
        "b": [True, False],
        "m": {"1": 'x"y'},
        "n": ["1.50"],
        "s": {"t": "10:00:00"},
    }


def test_text_that_reads_as_null_is_told_apart_in_any_case() -> None:
    sql = "SELECT unnest(['none', 'NONE', NULL, 'x']) AS a"
    for more in ("", ", INTERVAL 1 DAY AS b"):  # without Arrow, and with it
        lines = written(f"{sql}{more}", null="None").decode().splitlines()[2:]
        assert [line.split()[0] for line in lines] == ['"none"', '"NONE"', "None", "x"]


# Plain, line


def test_plain_is_separated_and_has_no_frame() -> None:
    sql = "FROM (VALUES (1, 'x y'), (2, NULL)) t(a, b)"
    assert written(sql, "plain") == b"a\tb\n1\tx y\n2\t\n"
    assert written(sql, "plain", separator=" ", has_header=False, null="-") == b"1 x y\n2 -\n"


def test_line_has_one_column_in_each_line() -> None:
    sql = "FROM (VALUES (1, 'x'), (2, NULL), (3, '')) t(a, long)"
    first, last = "a    = 1\nlong = x\n\na    = 2\nlong =", "\n\na    = 3\nlong =\n"
    assert written(sql, "line").decode() == first + " NULL" + last
    assert written(sql, "line", null="-").decode() == first + " -" + last


# csv, JSON


@pytest.mark.parametrize("sql", [EVERY_TYPE, AWKWARD, "SELECT 1 AS a WHERE false", "SELECT NULL AS a", "SHOW TABLES"])
@pytest.mark.parametrize("shape", [{}, {"separator": ";"}, {"separator": "\t", "null": "NULL"}, {"has_header": False}])
def test_csv_is_what_duckdb_writes(tmp_path: Path, sql: str, shape: dict[str, object]) -> None:
    options = f"FORMAT csv, DELIMITER '{shape.get('separator', ',')}', NULLSTR '{shape.get('null', '')}'"
    source = f"FROM ({sql})" if sql.startswith("SHOW") else sql
    expected = copied(tmp_path, source, f"{options}, HEADER {shape.get('has_header', True)}")
    assert written(sql, "csv", **shape) == expected


@pytest.mark.parametrize(
    "sql", [EVERY_TYPE, "SELECT 1 AS a, 'x' AS \"b c\" FROM range(50000)", "SELECT 1 AS a WHERE false"]
)
def test_json_is_what_duckdb_writes_and_valid(tmp_path: Path, sql: str) -> None:
    for output, option in (("json", "ARRAY true"), ("jsonl", "ARRAY false")):
        text = written(sql, output)
        expected = copied(tmp_path, sql, f"FORMAT json, {option}")
        bare = {
            b'"nan":NaN': b'"nan":null',
            b'"inf":Infinity': b'"inf":null',
            b'"minus_inf":-Infinity': b'"minus_inf":null',
        }
        for before, after in {**bare, b'"f":NaN}': b'"f":null}'}.items():
            expected = expected.replace(before, after)
        assert text == expected
        rows = json.loads(text) if output == "json" else [json.loads(line) for line in text.splitlines()]
        assert all(isinstance(row, dict) for row in rows)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_number_that_json_lacks_is_null(value: str) -> None:
    sql = f"SELECT '{value}'::DOUBLE AS a, 1.5 AS b, [{{'x': '{value}'::FLOAT}}] AS c"
    assert json.loads(written(sql, "json")) == [{"a": None, "b": 1.5, "c": [{"x": None}]}]


def test_text_that_looks_like_a_number_json_lacks_stays_text() -> None:
    sql = """SELECT 'nan'::DOUBLE AS a, 'NaN "NaN' || chr(92) AS b, ['-inf'::DOUBLE, 1] AS "NaN",
        '[NaN, "Infinity"]'::JSON AS j"""
    (row,) = json.loads(written(sql, "json"))
    assert row == {"a": None, "b": 'NaN "NaN\\', "NaN": [None, 1.0], "j": [None, "Infinity"]}


def test_columns_with_the_same_name_are_told_apart_in_json() -> None:
    assert json.loads(written('SELECT 1 AS a, 2 AS a, 3 AS "A"', "jsonl")) == {"a": 1, "a_1": 2, "A_2": 3}


def test_a_separator_that_cannot_work_is_refused_before_anything_is_written() -> None:
    parts: list[bytes] = []
    with pytest.raises(UsageError, match="NULL") as caught:
        write_answer(ask("SELECT 1"), Shape("csv", null="a,b"), parts.append)
    assert "--null" in caught.value.hint
    assert parts == []


@pytest.mark.parametrize("output", ["csv", "jsonl", "plain"])
def test_a_limit_ends_the_answer(output: str) -> None:
    text, told = written_with("FROM range(10000000000)", output, limit=30_000, has_header=output != "plain")
    assert told.rows == 30_000
    assert len(text.splitlines()) == 30_000 + (output == "csv")
    assert written_with("FROM range(9)", output, limit=0)[1].rows == 0


def numbers(output: str, data: bytes) -> list[int]:
    """The numbers of a column `n`, as another program reads them."""
    if output == "parquet":
        return list(pyarrow.parquet.read_table(io.BytesIO(data))["n"].to_pylist())
    if output == "arrow":
        return list(pyarrow.ipc.open_file(data).read_all()["n"].to_pylist())
    if output == "json":
        return [row["n"] for row in json.loads(data)]
    lines = [line for line in data.decode().splitlines() if line not in ("", "n")]
    if output == "jsonl":
        return [json.loads(line)["n"] for line in lines]
    return [int(line.removeprefix("n = ")) for line in lines]


@pytest.mark.parametrize("limit", [None, 25_000])
@pytest.mark.parametrize("output", [output for output in OUTPUTS if output != "pretty"])
def test_a_long_answer_has_each_row_once_and_in_order(output: str, limit: int | None) -> None:
    """More of them than are fetched, written or kept in a group at once."""
    data, told = written_with("SELECT range AS n FROM range(130001)", output, limit=limit)
    assert told.rows == (limit or 130_001)
    assert numbers(output, data) == list(range(told.rows))


def test_the_memory_does_not_grow_with_the_rows() -> None:
    def grown(rows: int) -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        answer = ask(f"SELECT range AS a, repeat('x', 500) || range AS b FROM range({rows})")
        assert write_answer(answer, Shape("csv"), lambda _: None).rows == rows
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    grown(60_000)
    assert grown(300_000) < 100_000, "kilobytes, for 150 MB of text"


@pytest.mark.parametrize("output", ["pretty", "csv", "json", "parquet"])
def test_an_answer_leaves_nothing_on_disk(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written("SELECT 1 AS a, INTERVAL 1 DAY AS b", output)
    assert list(tmp_path.iterdir()) == []


# Parquet, Arrow


def test_parquet_and_arrow_hold_every_type_in_a_form_that_others_read() -> None:
    kept = EVERY_TYPE.replace("170141183460469231731687303715884105727", "17").replace(
        "340282366920938463463374607431768211455", "34"
    )
    parquet = pyarrow.parquet.read_table(io.BytesIO(written(kept, "parquet")))
    arrow = pyarrow.ipc.open_file(written(kept, "arrow")).read_all()
    for table in (parquet, arrow):
        assert (table.num_rows, table.column_names) == (3, list(ask(kept).columns))
        first = table.drop(["ides", "ever", "ns"]).slice(0, 1).to_pylist()[0]  # what Python has no room for
        assert (first["huge"], first["span"]) == (17, "1 year 2 days 00:00:03.5")
        assert (first["id"], first["j"]) == ("7b0a1b1e-0000-4000-8000-00000000000a", '{"x": [1, null, "NaN"]}')
        assert table.schema.field("ts").type == pyarrow.timestamp("us")
        assert table.schema.field("day").type == pyarrow.date32()
        assert table.schema.field("yes").type == pyarrow.bool_()
    assert parquet.schema.field("huge").type == pyarrow.decimal128(38, 0)


@pytest.mark.parametrize("output", ["parquet", "arrow"])
def test_an_answer_without_rows_keeps_its_columns(output: str) -> None:
    data = written("SELECT 1 AS a, {'x': 'y'} AS b WHERE false", output)
    table = (
        pyarrow.parquet.read_table(io.BytesIO(data)) if output == "parquet" else pyarrow.ipc.open_file(data).read_all()
    )
    assert str(table.schema) == "a: int32\nb: struct<x: string>\n  child 0, x: string"
    assert table.num_rows == 0


def test_a_value_that_does_not_fit_is_told() -> None:
    with pytest.raises(UsageError, match="too large"):
        written("SELECT 170141183460469231731687303715884105727::HUGEINT AS a", "parquet")


def test_an_answer_without_rows_still_shows_its_columns() -> None:
    sql = "SELECT 1 AS a, 'x' AS b WHERE false"
    assert written(sql).decode() == "a  b\n─  ─\n"
    assert written(sql, "csv") == b"a,b\n"
    assert json.loads(written(sql, "json")) == []
    assert written(sql, "jsonl") == b""


# Ctrl-C


@pytest.mark.parametrize("failure", [RuntimeError("Query interrupted"), duckdb.InterruptException("Query interrupted")])
def test_ctrl_c_while_an_answer_is_written_is_no_failure(failure: Exception) -> None:
    """The second DuckDB, which writes csv, hears it too, and calls it an error."""

    class Session:
        def run(self, sql: str, _: object) -> Told:
            return ask(sql)

        def interrupt(self) -> None:
            pass

    def write(_: bytes) -> None:
        raise failure

    with pytest.raises(KeyboardInterrupt):
        answer_statement(Session(), "SELECT 1", Shape("csv"), lambda: nullcontext(write), None, {})
