"""Undeclared fields: types by looking at values, and the wider type where a later value does not fit.

    boolean ──┐
    bigint ─► double ─► varchar
    json ─────┘

A type is only ever widened, and never so that a value would be changed: `007` and whole numbers of more
than 64 bits are text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tailpipe.kernel.sql import json_path, quoted

if TYPE_CHECKING:
    from tailpipe.kernel.duck import duckdb

__all__ = ["infer_json", "infer_text", "keys_of", "round_trip", "widened"]

_WHOLE = "-?(0|[1-9][0-9]*)"
_AT_ONCE = 24
_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"


def widened(one: str | None, other: str | None) -> str | None:
    """The type that takes the values of both; None is that of a field without values."""
    if one is None or other is None or one == other:
        return one or other
    return "double" if {one, other} == {"bigint", "double"} else "varchar"


def round_trip(value: str, kind: str) -> str | None:
    """The condition under which a text would be changed by its undeclared type, beside not fitting at all."""
    if kind in ("bigint", "boolean"):
        return f"({value} IS NOT NULL AND try_cast({value} AS {kind})::VARCHAR IS DISTINCT FROM {value})"
    if kind == "double":
        beyond = f"regexp_full_match({value}, '{_WHOLE}') AND try_cast({value} AS BIGINT) IS NULL"
        return f"({value} IS NOT NULL AND (NOT regexp_full_match({value}, '{_NUMBER}') OR {beyond}))"
    return None


def infer_text(connection: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[str]) -> dict[str, str | None]:
    """The types of columns of text, as all their values show them."""
    return _judged(connection, relation, {column: _text_tests(quoted(column)) for column in columns})


def infer_json(
    connection: duckdb.DuckDBPyConnection, relation: str, text: str, keys: Sequence[str]
) -> dict[str, str | None]:
    """The types of keys of JSON objects, whose texts are the column `text`."""
    tests = {}
    for key in keys:
        path = json_path(key)
        kind, value = f"TRY(json_type({text}, {path}))", f"TRY(json_extract_string({text}, {path}))"
        plain = f"{kind} IN ('BIGINT', 'UBIGINT', 'DOUBLE', 'HUGEINT', 'UHUGEINT')"
        any_value, whole, number, _ = _text_tests(value)
        nested = f"{kind} IN ('OBJECT', 'ARRAY')"
        tests[key] = (
            f"({any_value} AND {kind} <> 'NULL')",
            f"({plain} AND {whole})",
            f"({plain} AND {number})",
            f"CASE WHEN {kind} = 'BOOLEAN' THEN 'boolean' WHEN {nested} THEN 'json' END",
        )
    return _judged(connection, relation, tests)


def keys_of(connection: duckdb.DuckDBPyConnection, relation: str, text: str) -> dict[str, int]:
    """The keys of JSON objects, in the order of their names, and how many objects have each.

    Of keys that differ in case alone the one that most objects have comes first: it gets the name, and a stray
    `Level` must not take it from the `level` of all others.
    """
    lists = f"SELECT TRY(json_keys({text})) AS keys FROM ({relation})"
    keys = f"SELECT unnest(keys) AS key, objects FROM (SELECT keys, count(*) AS objects FROM ({lists}) GROUP BY keys)"
    counted = f"SELECT key, sum(objects) AS objects FROM ({keys}) GROUP BY key"
    order = "min(key) OVER (PARTITION BY lower(key)), objects DESC, key"
    rows = connection.execute(f"SELECT key, objects FROM ({counted}) ORDER BY {order}").fetchall()
    return {name: int(objects) for name, objects in rows if name is not None}


def _text_tests(value: str) -> tuple[str, str, str, str]:
    """Whether there is a value, whether it is a whole number, whether any number; and another type it may have."""
    whole = f"(try_cast({value} AS BIGINT)::VARCHAR = {value})"
    number = (
        f"(regexp_full_match({value}, '{_NUMBER}')"
        f" AND NOT (regexp_full_match({value}, '{_WHOLE}') AND try_cast({value} AS BIGINT) IS NULL))"
    )
    return f"({value} IS NOT NULL)", whole, number, "NULL::VARCHAR"


def _judged(
    connection: duckdb.DuckDBPyConnection, relation: str, tests: Mapping[str, Iterable[str]]
) -> dict[str, str | None]:
    """What the tests of each column tell; of some columns at a time, because DuckDB holds each sum against all."""
    names = list(tests)
    found: dict[str, str | None] = {}
    for start in range(0, len(names), _AT_ONCE):
        some = {name: tests[name] for name in names[start : start + _AT_ONCE]}
        found.update(_judged_some(connection, relation, some))
    return found


def _judged_some(
    connection: duckdb.DuckDBPyConnection, relation: str, tests: Mapping[str, Iterable[str]]
) -> dict[str, str | None]:
    items = []
    for is_there, whole, number, other in tests.values():
        items += [
            f"count(*) FILTER ({is_there})",
            f"count(*) FILTER ({is_there} AND {whole})",
            f"count(*) FILTER ({is_there} AND {number})",
            f"count(*) FILTER ({is_there} AND {other} IS NOT NULL)",
            f"min({other}) FILTER ({is_there})",
            f"max({other}) FILTER ({is_there})",
        ]
    (row,) = connection.execute(f"SELECT {', '.join(items)} FROM ({relation})").fetchall()
    found: dict[str, str | None] = {}
    for number_, name in enumerate(tests):
        values, wholes, numbers, others, first, last = row[number_ * 6 : number_ * 6 + 6]
        if not values:
            found[name] = None
        elif others == values and first == last:
            found[name] = first
        else:
            found[name] = "bigint" if wholes == values else "double" if numbers == values else "varchar"
    return found
