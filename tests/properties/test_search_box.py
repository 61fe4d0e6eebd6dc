"""The search box, whatever is written into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.errors import Place, QueryError
from tailpipe.serve.conditions import condition_of, unknown_field
from tailpipe.serve.rows import phrase
from tailpipe.serve.terms import Term, parse_terms

TYPES = {"n": "INTEGER", "a": "VARCHAR", "list": "VARCHAR[]", "doc": "JSON", "flag": "BOOLEAN", "at": "TIMESTAMP"}
SIGNS = "ab'\"\\%_*();:-.$ \n|?äß\u202e"
TEXTS = st.text(alphabet=SIGNS, min_size=1, max_size=6)
VALUES = TEXTS.filter(lambda text: bool(text.strip()))
ROWS: list[Mapping[str, Any]] = [
    {"id": 0, "n": 1, "a": "ab", "list": ["a", "b"]},
    {"id": 1, "n": 2, "a": "A'b", "list": []},
    {"id": 2, "n": None, "a": "%_\\", "list": ["%"]},
    {"id": 3, "n": 4, "a": None, "list": None},
    {"id": 4, "n": 5, "a": '"; --', "list": ['"']},
]


def _table() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    columns = ", ".join(f'"{name}" {kind}' for name, kind in TYPES.items())
    connection.execute(f"CREATE TABLE t (id INTEGER, {columns})")
    for row in ROWS:
        connection.execute("INSERT INTO t (id, n, a, list) VALUES ($id, $n, $a, $list)", dict(row))
    return connection


TABLE = _table()


def found(term: Term, q: str) -> set[int]:
    """The rows that DuckDB finds."""
    condition = condition_of(term, TYPES, q).sql or "true"
    return {key for (key,) in TABLE.execute(f"SELECT id FROM t WHERE {condition}").fetchall()}


@given(st.text(alphabet=SIGNS + "n<>=OR", max_size=40))
def test_any_text_is_a_search_that_runs_or_a_mistake_with_a_place(q: str) -> None:
    place = None
    try:
        term = parse_terms(q)
        if wrong := unknown_field(term, [TYPES], q):
            raise wrong
        found(term, q)
    except QueryError as error:
        place = error.place or Place("", 0, 0)
    if place is not None:
        lines = q.split("\n")
        assert 1 <= place.line <= len(lines)
        assert 1 <= place.column <= len(lines[place.line - 1]) + 1
    assert TABLE.execute("SELECT count(*) FROM t").fetchone() == (len(ROWS),)


@given(VALUES)
def test_a_quoted_value_finds_the_rows_that_have_exactly_it(value: str) -> None:
    q = f"a:{phrase(value)}"
    assert found(parse_terms(q), q) == {row["id"] for row in ROWS if row["a"] == value}
    q = f"list:{phrase(value)}"
    assert found(parse_terms(q), q) == {row["id"] for row in ROWS if value in (row["list"] or [])}


@given(VALUES)
def test_a_phrase_finds_the_rows_whose_text_has_it(value: str) -> None:
    wanted = value.strip().lower()
    has = [wanted in f"{row['a'] or ''}".lower() or wanted in ", ".join(row["list"] or []).lower() for row in ROWS]
    q = phrase(value)
    assert found(parse_terms(q), q) == {row["id"] for row, is_met in zip(ROWS, has, strict=True) if is_met}


MATCHES = st.one_of(
    st.integers(0, 6).flatmap(
        lambda n: st.sampled_from([(f"n:{sign}{n}", sign, n) for sign in (">", ">=", "<", "<=")])
    ),
    VALUES.map(lambda value: (f"a:{phrase(value)}", "a", value)),
)


def meets(row: Mapping[str, Any], match: tuple[str, str, Any]) -> bool:
    _, sign, value = match
    if sign == "a":
        return bool(row["a"] == value)
    if row["n"] is None:
        return False
    compared = {">": row["n"] > value, ">=": row["n"] >= value, "<": row["n"] < value, "<=": row["n"] <= value}
    return bool(compared[sign])


@given(MATCHES, MATCHES, MATCHES)
def test_terms_are_joined_as_they_are_written(one: Any, two: Any, three: Any) -> None:
    q = f"({one[0]} OR {two[0]}) -{three[0]}"
    wanted = {row["id"] for row in ROWS if (meets(row, one) or meets(row, two)) and not meets(row, three)}
    assert found(parse_terms(q), q) == wanted
    q = f"NOT ({one[0]} AND {two[0]})"
    assert found(parse_terms(q), q) == {row["id"] for row in ROWS if not (meets(row, one) and meets(row, two))}
