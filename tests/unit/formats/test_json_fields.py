"""Fields of JSON records: structs in another spelling, and the keys that have no column."""

from __future__ import annotations

import json
from typing import Any

from tailpipe.formats import Json, Jsonl
from tailpipe.kernel.task import Limits
from tailpipe.model.table import Column
from tests.unit.kernel.support import run

TIME = 1706695200
USER = Column("user", "struct(user_name varchar, roles struct(is_new boolean)[])", source="u", keys="camel")
REST = Column("rest", "json", source="*")


def lines(*records: dict[str, Any]) -> bytes:
    return b"\n".join(json.dumps({"time": TIME, **record}).encode() for record in records)


def test_a_struct_may_be_spelt_in_camel_or_pascal_case() -> None:
    pascal = Column("p", "struct(user_name varchar, last_seen_at timestamp)", keys="pascal")
    value = {"userName": "anna", "roles": [{"isNew": "true"}, {"isNew": "perhaps"}]}
    done = run(lines({"u": value, "p": {"UserName": "x", "LastSeenAt": TIME}}), [USER, pascal])
    assert done.column("user") == [{"user_name": "anna", "roles": [{"is_new": True}, {"is_new": None}]}]
    assert done.rows[0]["p"]["user_name"] == "x"
    assert done.rows[0]["p"]["last_seen_at"] is not None
    assert done.outcome.results[0].nulls == {"user": 1}


def test_a_value_of_another_shape_is_noticed_in_any_spelling() -> None:
    done = run(lines({"u": "anna"}, {"u": {"userName": {"first": "anna"}, "roles": {}}}, {}), [USER])
    assert done.accounts == (3, 3, 0, 0, 0)
    assert done.column("user") == [None, None, None]
    assert done.outcome.results[0].nulls == {"user": 2}


def test_keys_without_a_column_are_kept_together() -> None:
    odd = {'say "hi"': [1, None], "": 0, "*": "star", "Time": 1, "$.x": {"y": 2}}
    columns = [REST, Column("n", "integer"), Column("double", "integer", transform="x::INTEGER * 2")]
    done = run(lines({"n": 1, "x": 2}, {"n": 2, **odd}, {"m": None}), columns)
    assert [row and json.loads(row) for row in done.column("rest")] == [None, odd, {"m": None}]
    assert done.column("double") == [4, None, None]


def test_keys_that_a_struct_does_not_name_are_kept_below_its_name() -> None:
    deep = Column("d", "struct(a varchar, b struct(a varchar, c struct(x integer)))")
    known = {"a": 1, "b": {"a": 2, "c": {"x": 3}}}
    records: list[dict[str, Any]] = [
        {"d": known},
        {"d": {**known, "new": None}, "top": 1},
        {"d": {"b": {"c": {"x": 3, 'say "hi"': [1]}, "x": {}}}},
        {"d": {"b": 5, "c": 6}},
        {"d": {"b": {"c": {}}}, "a": 7},
        {"d": "text"},
    ]
    done = run(lines(*records), [deep, REST])
    assert [row and json.loads(row) for row in done.column("rest")] == [
        None,
        {"top": 1, "d": {"new": None}},
        {"d": {"b": {"x": {}, "c": {'say "hi"': [1]}}}},
        {"d": {"c": 6}},
        {"a": 7},
        None,
    ]
    assert done.outcome.results[0].nulls == {"d": 2}


def test_a_record_with_a_key_twice_inside_a_struct_is_kept_whole() -> None:
    text = '{"time": 1706695200, "u": {"x": 1, "x": 2}}'
    assert run(text.encode(), [USER, REST]).column("rest") == [text]


def test_a_record_with_a_key_twice_is_kept_whole() -> None:
    text = '{"time": 1706695200, "a": 1, "a": 2}'
    done = run(text.encode() + b'\n{"a": 1} 2\n[]\nnull', [REST])
    assert done.accounts == (4, 1, 0, 3, 0)
    assert done.column("rest") == [text]


def test_an_expression_over_a_struct_also_meets_rows_that_were_never_parsed() -> None:
    name = Column("name", "varchar", transform="u.userName")
    document = json.dumps({"rows": [{"time": TIME, "u": {"userName": "anna"}}]}).encode()
    cut = run(document + b'{"rows": [{"time"', [USER, name, REST], Json(records="rows"))
    assert cut.accounts == (2, 1, 0, 1, 0)
    assert cut.column("name") == ["anna"]
    long = run(lines({"u": {"userName": "a" * 500}}), [USER, name], Jsonl(), limits=Limits(line_bytes=100))
    assert long.accounts == (1, 0, 0, 1, 0)
