"""Undeclared fields: found by a sample, kept as they are, widened when a later value does not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from tailpipe.formats import Delimited, Json, Jsonl, Logfmt, Regex
from tailpipe.formats.key_limit import FIELDS_LIMIT
from tailpipe.kernel.sample import sample
from tailpipe.kernel.task import Limits, Task, Widening
from tailpipe.kernel.undeclared import infer_json, widened
from tailpipe.model.format import Format
from tailpipe.model.table import Column
from tests.unit.kernel.support import Run, table, task

ALL = table(map_fields=["*"])


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"time": "2024-01-31", **row}).encode() + b"\n" for row in rows)


def settled(made: Task) -> tuple[Run, dict[str, str]]:
    """Sample, then run until nothing is widened any more."""
    types = sample(made)
    for _ in range(5):
        done = Run(replace(made, types=types))
        if not done.outcome.widenings:
            return done, types
        types = {**types, **{one.field: one.type for one in done.outcome.widenings}}
    raise AssertionError("it widens for ever")


def test_types_of_json_fields() -> None:
    made = task(
        lines(
            {"n": 1, "d": 1, "s": "x", "b": True, "j": {"a": 1}, "m": 1, "z": None, "q": "12"},
            {"n": -2, "d": 2.5, "s": "y", "b": False, "j": [1], "m": "text", "z": None, "q": 5},
        ),
        of=ALL,
    )
    done, types = settled(made)
    assert types == {
        "time": "varchar",
        "n": "bigint",
        "d": "double",
        "s": "varchar",
        "b": "boolean",
        "j": "json",
        "m": "varchar",
        "q": "varchar",
    }
    assert done.column("d") == [1.0, 2.5]
    assert done.column("j") == ['{"a":1}', "[1]"]
    assert done.outcome.files[0].columns["j"] == "JSON"  # the files have text, and the catalog says what it is
    assert done.column("m") == ["1", "text"]


@pytest.mark.parametrize(
    "format", [Delimited(header=True), Logfmt(), Regex(layout="time=(?P<time>.*) x=(?P<x>.*)")], ids=lambda f: f.type
)
@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["1", "-2"], "bigint", [1, -2]),
        (["1", "2.5"], "double", [1.0, 2.5]),
        (["1", "x"], "varchar", ["1", "x"]),
        (["007"], "varchar", ["007"]),
        (["9223372036854775808"], "varchar", ["9223372036854775808"]),
        (["true"], "varchar", ["true"]),
        (["1.10", "2.35"], "decimal(18,2)", [Decimal("1.10"), Decimal("2.35")]),
        (["0.010", "-12.500"], "decimal(18,3)", [Decimal("0.010"), Decimal("-12.500")]),
        (["1.9", "1.10"], "varchar", ["1.9", "1.10"]),
        (["1.25", "2"], "double", [1.25, 2.0]),
        (["5", "1.10"], "varchar", ["5", "1.10"]),
        (["123456789012345678901"], "varchar", ["123456789012345678901"]),
        (["9007199254740993", "0.5"], "varchar", ["9007199254740993", "0.5"]),
        (["12345678901234567.10"], "varchar", ["12345678901234567.10"]),
        (["0.12345678901234567891"], "varchar", ["0.12345678901234567891"]),
        (["1e400"], "varchar", ["1e400"]),
        (["1e5"], "varchar", ["1e5"]),
        (["1e+20", "1e-07"], "double", [1e20, 1e-7]),
        (["+1"], "varchar", ["+1"]),
        (["-0"], "varchar", ["-0"]),
        (["-0.00"], "varchar", ["-0.00"]),
        (["1_000"], "varchar", ["1_000"]),
        (["inf", "nan"], "varchar", ["inf", "nan"]),
    ],
)
def test_types_of_fields_that_are_text(format: Format, values: list[str], kind: str, expected: list[Any]) -> None:
    rows = {
        "delimited": "time,x\n" + "".join(f"2024-01-31,{value}\n" for value in values),
        "logfmt": "".join(f"time=2024-01-31 x={value}\n" for value in values),
    }
    text = rows.get(format.type, rows["logfmt"])
    done, types = settled(task(text.encode(), of=ALL, format=format))
    assert types["x"] == kind
    assert done.column("x") == expected


@pytest.mark.parametrize(
    ("known", "value", "wider"),
    [
        ("bigint", 2.5, "double"),
        ("bigint", "x", "varchar"),
        ("bigint", "007", "varchar"),
        ("bigint", 2**64, "varchar"),
        ("double", "x", "varchar"),
        ("double", 2**53 + 1, "varchar"),
        ("double", "1.10", "varchar"),
        ("decimal(18,2)", "1.5", "varchar"),
        ("decimal(18,2)", "-0.00", "varchar"),
        ("boolean", 1, "varchar"),
        ("boolean", "yes", "varchar"),
        ("bigint", {"a": 1}, "varchar"),
    ],
)
def test_a_misfit_in_a_later_task_asks_for_the_wider_type(known: str, value: Any, wider: str) -> None:
    made = task(lines({"x": value}), of=ALL, types={"time": "varchar", "x": known})
    assert Run(made).outcome.widenings == (Widening("x", wider),)
    done = Run(replace(made, types={"time": "varchar", "x": wider}))
    assert done.outcome.widenings == ()
    assert None not in done.column("x")


def test_digits_of_json_numbers_are_kept() -> None:
    texts = [
        "123456789012345678901",
        "1e400",
        "9007199254740993",
        "18446744073709551615",
        "1.10",
        "1E5",
        "1e22",
        "1e-7",
    ]
    fields = ", ".join(f'"x{n}": {text}' for n, text in enumerate(texts))
    content = f'{{"time": "2024-01-31", {fields}, "y": 0.5}}\n{{"time": "2024-01-31", "y": 9007199254740993}}\n'
    done, types = settled(task(content.encode(), of=ALL))
    assert [types[f"x{n}"] for n in range(len(texts))] == [
        *("varchar", "varchar", "bigint", "varchar"),
        *("double", "double", "double", "double"),
    ]
    assert [done.rows[0][f"x{n}"] for n in range(len(texts))] == [
        *("123456789012345678901", "1e400", 9007199254740993, "18446744073709551615"),
        *(1.1, 1e5, 1e22, 1e-7),
    ]
    assert done.column("y") == ["0.5", "9007199254740993"]


def test_keys_that_differ_in_case_keep_their_digits_too() -> None:
    content = b'{"time": "2024-01-31", "a": 1e22, "A": 1e-7}\n{"time": "2024-01-31", "a": 1, "A": 1e300}\n'
    done, types = settled(task(content, of=ALL))
    assert {types["A"], types["a_2"]} == {"double"}
    assert (done.column("A"), done.column("a_2")) == ([1e-7, 1e300], [1e22, 1.0])


def test_a_batch_is_judged_by_its_own_values() -> None:
    rows: list[dict[str, Any]] = [{"x": 2.5}, *({"x": n} for n in range(40)), {"x": 2**60}]
    made = task(lines(*rows), of=ALL, types={"time": "varchar", "x": "bigint"}, limits=Limits(64, 64))
    assert Run(made).outcome.widenings == (Widening("x", "double"),)
    made = replace(made, types={"time": "varchar", "x": "double"})
    assert Run(made).outcome.widenings == (Widening("x", "varchar"),)
    made = replace(made, types={"time": "varchar", "x": "varchar"})
    assert Run(made).column("x") == [str(row["x"]) for row in rows]


def test_a_new_field_in_a_later_task_is_told_with_its_type() -> None:
    made = task(lines({"a": 1}, {"a": 2, "b": 1.5}), of=ALL, types={"time": "varchar", "a": "bigint"})
    assert Run(made).outcome.widenings == (Widening("b", "double"),)


def test_wildcards_choose_the_fields_and_declared_columns_come_first() -> None:
    made = task(
        lines({"http_status": 1, "http_path": "x", "other": 1, "renamed": 2}),
        of=table(Column("mine", "integer", source="renamed"), map_fields=["http_*", "renamed"]),
    )
    done, types = settled(made)
    assert types == {"http_path": "varchar", "http_status": "bigint"}
    assert list(done.rows[0])[:4] == ["mine", "http_path", "http_status", "tp_akas"]


def test_fields_that_differ_in_case_alone_or_have_names_of_ours() -> None:
    made = task(lines({"id": 1, "ID": 2, "_raw": 3, "tp_id": 4, "tp__artifact": 5}), of=ALL)
    done, _ = settled(made)
    assert sorted(done.rows[0][name] for name in done.rows[0] if not name.startswith("tp_") and name != "time") == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert done.rows[0]["tp_id"].endswith("-1")
    assert done.outcome.widenings == ()


def test_of_fields_that_differ_in_case_alone_the_one_that_most_records_have_gets_the_name() -> None:
    made = task(
        lines({"level": "INFO", "Level": "x", "a": 1}, {"level": "WARN"}, {"level": "ERROR", "Zone": 1}), of=ALL
    )
    done, types = settled(made)
    assert types == {"level": "varchar", "Level_2": "varchar", "Zone": "bigint", "a": "bigint", "time": "varchar"}
    assert list(types) == ["level", "Level_2", "Zone", "a", "time"]
    assert (done.column("level"), done.column("Level_2")) == (["INFO", "WARN", "ERROR"], ["x", None, None])


def test_a_column_without_a_type_gets_it_from_the_sample() -> None:
    columns = [Column("a"), Column("b", source="x"), Column("c", transform="length(x)")]
    made = task(lines({"a": 1, "x": "word"}), of=table(*columns))
    done, types = settled(made)
    assert types == {"a": "bigint", "b": "varchar", "c": "bigint"}
    assert (done.rows[0]["a"], done.rows[0]["b"], done.rows[0]["c"]) == (1, "word", 4)


@pytest.mark.parametrize(
    ("transform", "kind", "value"),
    [("x::DATE", "date", date(2024, 1, 31)), ("split_part(x, '-', 1)::INTEGER::VARCHAR", "varchar", "2024")],
)
def test_a_transform_that_fails_on_some_rows_has_no_other_type_for_it(transform: str, kind: str, value: Any) -> None:
    made = task(lines({"x": "2024-01-31"}, {"x": "never"}, {}), of=table(Column("c", transform=transform)))
    done, types = settled(made)
    assert types == {"c": kind}
    assert [row["c"] for row in done.rows] == [value, None, None]
    assert done.outcome.results[0].nulls == {"c": 1}


def test_documents_are_sampled_too() -> None:
    made = task(
        b'{"r": [{"time": "2024-01-31", "a": 1}, {"time": "2024-01-31", "b": "x"}]}', of=ALL, format=Json(records="r")
    )
    done, types = settled(made)
    assert types == {"time": "varchar", "a": "bigint", "b": "varchar"}
    assert done.column("b") == [None, "x"]


def test_a_field_map_renames() -> None:
    made = task(lines({"@n": 5}), of=ALL, format=Jsonl(field_map={"number": "@n"}))
    done, types = settled(made)
    assert types == {"number": "bigint", "time": "varchar"}
    assert done.column("number") == [5]


def test_widening_only_ever_widens() -> None:
    kinds = ["boolean", "bigint", "double", "decimal(18,2)", "decimal(18,3)", "json", "varchar"]
    for one in kinds:
        assert widened(one, "varchar") == "varchar"
        assert widened(one, None) == widened(None, one) == one
        for other in kinds:
            both = widened(one, other)
            assert both == widened(other, one)
            assert widened(both, one) == both


class _Noting:
    """A connection that remembers how long its statements were."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self.lengths: list[int] = []

    def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        self.lengths.append(len(sql))
        return self._connection.execute(sql)


@pytest.mark.slow
def test_thousands_of_keys_are_judged_some_at_a_time() -> None:
    document = json.dumps({f"c{number}": number for number in range(300)})
    with duckdb.connect() as connection:
        noting = _Noting(connection)
        relation = f"SELECT '{document}' AS text"
        found = infer_json(noting, relation, "text", [f"c{number}" for number in range(300)])  # type: ignore[arg-type]
    assert found == {f"c{number}": "bigint" for number in range(300)}
    # DuckDB holds each sum of a statement against all others: one for all would take minutes.
    assert len(noting.lengths) > 10
    assert max(noting.lengths) < 100_000


@pytest.mark.parametrize("limit", [60, pytest.param(FIELDS_LIMIT, marks=pytest.mark.soak)])
def test_a_record_that_brings_a_key_beyond_the_limit_is_rejected_and_the_others_are_kept(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("kernel.plan", "formats.key_limit"):
        monkeypatch.setattr(f"tailpipe.{place}.FIELDS_LIMIT", limit)
    odd = [{f"k{number:05}": 1} for number in range(limit + 500)]
    done, types = settled(task(lines({"often": 1}, *odd, {"often": 2}), of=ALL))
    assert len(types) == limit
    assert "often" in types  # the most frequent come first
    accounts = done.outcome.accounts
    assert (accounts.kept, accounts.rejected) == (limit - len({"time", "often"} & types.keys()) + 2, 502)
    assert done.outcome.samples[0].reason == f"brings more than {limit:,} different keys"
