"""Columns as a Delta table has them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailpipe.model.types import SCALARS
from tailpipe.stores.delta_schema import Columns, delta_schema, merged


def fields(columns: Columns) -> dict[str, Any]:
    whole = json.loads(delta_schema(columns)[0])
    assert whole["type"] == "struct"
    assert all(field["nullable"] and field["metadata"] == {} for field in whole["fields"])
    return {field["name"]: field["type"] for field in whole["fields"]}


def left_out(columns: Columns) -> dict[str, str]:
    return {one.column: one.reason for one in delta_schema(columns)[1]}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("BOOLEAN", "boolean"),
        ("TINYINT", "byte"),
        ("SMALLINT", "short"),
        ("INTEGER", "integer"),
        ("BIGINT", "long"),
        ("UTINYINT", "short"),
        ("USMALLINT", "integer"),
        ("UINTEGER", "long"),
        ("UBIGINT", "decimal(20,0)"),
        ("FLOAT", "float"),
        ("DOUBLE", "double"),
        ("VARCHAR", "string"),
        ("BLOB", "binary"),
        ("DATE", "date"),
        ("TIMESTAMP", "timestamp_ntz"),
        ("DECIMAL(18,3)", "decimal(18,3)"),
        ("UBIGINT[]", {"type": "array", "elementType": "decimal(20,0)", "containsNull": True}),
        (
            'STRUCT("a" UUID, "b c" INTEGER[])'.replace("b c", "b"),
            {
                "type": "struct",
                "fields": [
                    {"name": "a", "type": "string", "nullable": True, "metadata": {}},
                    {
                        "name": "b",
                        "type": {"type": "array", "elementType": "integer", "containsNull": True},
                        "nullable": True,
                        "metadata": {},
                    },
                ],
            },
        ),
    ],
)
def test_types_have_their_counterpart(kind: str, expected: Any) -> None:
    assert fields(merged({}, {"x": kind}))["x"] == expected


@pytest.mark.parametrize("kind", ["JSON", "UUID", "INET", "INTERVAL"])
def test_what_files_hold_as_text_is_text(kind: str) -> None:
    assert fields(merged({}, {"x": kind}))["x"] == "string"


def test_every_type_of_ours_is_published_or_reported() -> None:
    columns = merged({}, {kind.name: kind.duckdb for kind in SCALARS})
    assert {*fields(columns)} - {"tp_partition", "tp_index", "tp_date"} == {*columns} - {"time"}
    assert left_out(columns) == {"time": "Delta has no type for TIME"}


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("x", "TIME", "Delta has no type for TIME"),
        ("x", 'STRUCT("a" TIME)[]', "Delta has no type for TIME"),
        ("x", "MAP(VARCHAR, INTEGER)", "Delta has no type for MAP(VARCHAR, INTEGER)"),
        ("a b", "VARCHAR", "its name has a blank or one of ,;{}()="),
        ("a=b", "VARCHAR", "its name has a blank or one of ,;{}()="),
        ("a\tb", "VARCHAR", "its name has a blank or one of ,;{}()="),
        ("x", 'STRUCT("a;b" INTEGER)', 'the name of its field "a;b" has a blank or one of ,;{}()='),
    ],
)
def test_what_delta_cannot_hold_is_left_out_with_the_reason(name: str, kind: str, reason: str) -> None:
    columns = merged({}, {"fine": "INTEGER", name: kind})
    assert left_out(columns) == {name: reason}
    assert [one for one in fields(columns) if not one.startswith("tp_")] == ["fine"]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["INTEGER", "BIGINT"], "long"),
        (["BIGINT", "INTEGER"], "long"),
        (["TINYINT", "UTINYINT"], "short"),
        (["UINTEGER", "SMALLINT"], "long"),
        (["FLOAT", "DOUBLE"], "double"),
        (["DECIMAL(9,2)", "DECIMAL(20,2)", "DECIMAL(10,2)"], "decimal(20,2)"),
        (["VARCHAR", "JSON"], "string"),
    ],
)
def test_types_that_all_readers_widen_become_the_widest(kinds: list[str], expected: str) -> None:
    columns: Columns = {}
    for kind in kinds:
        columns = merged(columns, {"x": kind})
    assert fields(columns)["x"] == expected


@pytest.mark.parametrize(
    "kinds",
    [
        ["BIGINT", "DOUBLE"],
        ["UINTEGER", "DOUBLE"],
        ["UINTEGER", "UBIGINT"],
        ["DATE", "TIMESTAMP"],
        ["INTEGER", "VARCHAR"],
        ["DECIMAL(10,2)", "DECIMAL(12,4)"],
        ["INTEGER[]", "BIGINT[]"],
        ["DECIMAL(20,0)", "UBIGINT"],
    ],
)
def test_types_that_some_reader_mistakes_leave_the_column_out_for_good(kinds: list[str]) -> None:
    columns = merged(merged({}, {"x": kinds[0]}), {"x": kinds[1]})
    again = merged(columns, {"x": kinds[1]})
    assert again == columns
    assert left_out(again) == {"x": "its files have different types: " + ", ".join(sorted(kinds))}


def test_names_that_differ_in_case_alone_are_one_column() -> None:
    assert merged({"userName": ["INTEGER"]}, {"username": "BIGINT"}) == {"userName": ["BIGINT", "INTEGER"]}


def test_columns_keep_their_order_and_the_partition_columns_are_always_there() -> None:
    assert [*fields(merged({}, {"b": "INTEGER", "tp_date": "DATE", "a": "INTEGER"}))] == [
        "b",
        "tp_date",
        "a",
        "tp_partition",
        "tp_index",
    ]
