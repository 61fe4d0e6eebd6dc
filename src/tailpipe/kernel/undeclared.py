"""Undeclared fields: types by looking at values, and the wider type where a later value does not fit.

    boolean ───────┐
    bigint ─► double ─► varchar
    decimal(18,s) ─┤
    json ──────────┘

A type is only ever widened, and no digit of a value is ever lost: what a column shows is the text that stood in
the log, but for the `.0` that a whole number gets among fractions. So `007`, `+1`, `1e5`, `1e400` and whole
numbers of more than 64 bits are text; `1.10` is `decimal(18,2)` if all values have two digits behind the point,
and text if they do not. Numbers in JSON have a value and no spelling: `1.10` is 1.1 there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tailpipe.model.paths import EACH, Path
from tailpipe.sql.quoting import json_path, quoted, text_list

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

_AT_ONCE = 24
_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_FIXED = r"-?(0|[1-9][0-9]*)\.[0-9]+"
_DIGITS = 18
"""How many digits a decimal has: what fits into 64 bits."""
_EXACT = 2**53
"""Up to it, a double holds every whole number."""


def widened(one: str | None, other: str | None) -> str | None:
    """The type that takes the values of both; None is that of a field without values."""
    if one is None or other is None or one == other:
        return one or other
    return "double" if {one, other} == {"bigint", "double"} else "varchar"


def round_trip(value: str, kind: str) -> str | None:
    """The condition for texts that fit their undeclared type, but would be changed by it."""
    if kind in ("bigint", "boolean") or kind.startswith("decimal("):
        return f"({value} IS NOT NULL AND try_cast({value} AS {kind})::VARCHAR IS DISTINCT FROM {value})"
    if kind == "double":
        return f"({value} IS NOT NULL AND {_is_double(value)} IS NOT TRUE)"
    return None


def has_long_numbers(connection: duckdb.DuckDBPyConnection, paths: Sequence[str], column: str) -> bool:
    """Whether a column of these files holds whole numbers that a double would change, by their statistics."""
    name = quoted(column)
    ((found,),) = connection.execute(
        f"SELECT coalesce(max({name}) > {_EXACT} OR min({name}) < -{_EXACT}, false)"
        f" FROM read_parquet({text_list(paths)}, hive_partitioning = false)"
    ).fetchall()
    return bool(found)


def _is_double(value: str) -> str:
    """Whether a text is a number that a double shows with the same digits."""
    shown = _plain_exponent(f"try_cast({value} AS DOUBLE)::VARCHAR")
    whole = f"try_cast({value} AS BIGINT)"
    return (
        f"(CASE WHEN NOT regexp_full_match({value}, '{_NUMBER}') THEN false"
        f" WHEN {shown} = {_plain_exponent(value)} THEN true"
        f" ELSE {whole} BETWEEN -{_EXACT} AND {_EXACT} AND {whole}::VARCHAR = {value} END)"
    )


def _plain_exponent(text: str) -> str:
    """`1e+07` as `1e7`, because not all of DuckDB spells it alike."""
    return f"regexp_replace({text}, 'e[+]?(-?)0*', 'e\\1')"


def infer_text(connection: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[str]) -> dict[str, str | None]:
    """The types of columns of text, as all their values show them."""
    return _judged(connection, relation, {column: _text_tests(quoted(column)) for column in columns})


def infer_json(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    text: str,
    keys: Sequence[str],
    paths: Mapping[str, Path] = {},
) -> dict[str, str | None]:
    """The types of keys of JSON objects, whose texts are the column `text`; some may be inside others, at `paths`."""
    tests = {}
    for key in keys:
        if EACH in paths.get(key, ()):
            tests[key] = ("true", "false", "false", "'json'", "NULL::BIGINT")
            continue
        path = json_path(*(step or "" for step in paths.get(key, (key,))))
        kind, value = f"TRY(json_type({text}, {path}))", f"TRY(json_extract_string({text}, {path}))"
        plain = f"{kind} IN ('BIGINT', 'UBIGINT', 'DOUBLE', 'HUGEINT', 'UHUGEINT')"
        any_value, whole, number, _, _ = _text_tests(value)
        nested = f"{kind} IN ('OBJECT', 'ARRAY')"
        tests[key] = (
            f"({any_value} AND {kind} <> 'NULL')",
            f"({plain} AND {whole})",
            f"({plain} AND {number})",
            f"CASE WHEN {kind} = 'BOOLEAN' THEN 'boolean' WHEN {nested} THEN 'json' END",
            "NULL::BIGINT",
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


def _text_tests(value: str) -> tuple[str, str, str, str, str]:
    """Whether there is a value, whether it is a whole number, whether any number; another type it may have, and how
    many digits it has behind the point if it may be a decimal."""
    whole = f"(try_cast({value} AS BIGINT)::VARCHAR = {value})"
    is_fixed = (
        f"regexp_full_match({value}, '{_FIXED}') AND length(replace(ltrim({value}, '-'), '.', '')) <= {_DIGITS}"
        f" AND NOT (starts_with({value}, '-') AND try_cast({value} AS DOUBLE) = 0)"
    )
    scale = f"CASE WHEN {is_fixed} THEN length(split_part({value}, '.', 2)) END"
    return f"({value} IS NOT NULL)", whole, _is_double(value), "NULL::VARCHAR", scale


def _judged(
    connection: duckdb.DuckDBPyConnection, relation: str, tests: Mapping[str, Iterable[str]]
) -> dict[str, str | None]:
    """The type of each column by its tests; some columns at a time, because DuckDB compares each sum with all."""
    names = list(tests)
    found: dict[str, str | None] = {}
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        items = []
        for is_there, whole, number, other, scale in (tests[name] for name in some):
            items += [
                f"count(*) FILTER ({is_there})",
                f"count(*) FILTER ({is_there} AND {whole})",
                f"count(*) FILTER ({is_there} AND {number})",
                f"count(*) FILTER ({is_there} AND {other} IS NOT NULL)",
                f"min({other}) FILTER ({is_there})",
                f"max({other}) FILTER ({is_there})",
                *(f"count({scale})", f"min({scale})", f"max({scale})"),
            ]
        (row,) = connection.execute(f"SELECT {', '.join(items)} FROM ({relation})").fetchall()
        found |= {name: _judgement(*row[place * 9 : place * 9 + 9]) for place, name in enumerate(some)}
    return found


def _judgement(
    values: int, wholes: int, numbers: int, others: int, first: str, last: str, fixed: int, least: int, most: int
) -> str | None:
    """The type of so many values, of which so many are whole numbers, numbers, of another type, or decimals."""
    if not values:
        return None
    if others == values and first == last:
        return first
    if wholes == values:
        return "bigint"
    if numbers == values:
        return "double"
    return f"decimal({_DIGITS},{least})" if fixed == values and least == most else "varchar"
