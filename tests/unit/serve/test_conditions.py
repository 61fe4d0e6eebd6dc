"""What terms mean to the columns of a table: DuckDB itself answers."""

from __future__ import annotations

import duckdb
import pytest

from tailpipe.errors import QueryError
from tailpipe.serve.conditions import condition_of, unknown_field
from tailpipe.serve.terms import parse_terms
from tailpipe.sql.inet import load_statement

ROWS = """
SELECT * FROM (VALUES
  (1, 200, 'GET', '/login', '10.0.0.1', ['alice', 'Bob'], {'a': {'b': 7}}, '{"k": {"x": "Y"}, "n": 12}'::JSON,
    TIMESTAMP '2026-01-01 10:00', true, MAP {'env': 'prod'}),
  (2, 500, 'post', '/Login?next=100%_', '192.168.1.9', ['carol'], {'a': {'b': 8}}, '{"k": {"x": "z"}}'::JSON,
    TIMESTAMP '2026-01-01 23:59:59.999', false, MAP {'env': 'test'}),
  (3, 404, NULL, 'it''s; DROP TABLE x --', NULL, NULL, NULL, NULL, TIMESTAMP '2026-01-02', NULL, NULL)
) AS t(id, status, "method", path, ip, users, nested, doc, "at", is_ok, labels)
"""
TYPES = {
    "id": "INTEGER",
    "status": "INTEGER",
    "method": "VARCHAR",
    "path": "VARCHAR",
    "ip": "VARCHAR",
    "users": "VARCHAR[]",
    "nested": 'STRUCT("a" STRUCT("b" INTEGER))',
    "doc": "JSON",
    "at": "TIMESTAMP",
    "is_ok": "BOOLEAN",
    "labels": "MAP(VARCHAR, VARCHAR)",
}


@pytest.fixture(scope="module")
def table() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(load_statement())
    connection.execute(f"CREATE TABLE t AS {ROWS}")
    return connection


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("", [1, 2, 3]),
        ("status:500", [2]),
        ("status:>=404", [2, 3]),
        ("status:<404", [1]),
        ("status:200..404", [1, 3]),
        ("status:404..", [2, 3]),
        ("status:4*", [3]),
        ("status:200.5", []),
        ("method:get", [1]),
        ("method:POST", [2]),
        ('method:"POST"', []),
        ("-method:GET", [2, 3]),
        ("NOT method:*", [3]),
        ("method:*", [1, 2]),
        ("path:/login*", [1, 2]),
        ("path:*100%_", [2]),
        ("path:*100__", []),
        ('path:"it\'s; DROP TABLE x --"', [3]),
        ("login", [1, 2]),
        ('"DROP TABLE"', [3]),
        ("dro*x", [3]),
        ("carol", [2]),
        ("users:bob", [1]),
        ('users:"bob"', []),
        ("users:a*", [1]),
        ("nested.a.b:7", [1]),
        ("nested.a.b:>7", [2]),
        ("doc.k.x:y", [1]),
        ("doc.n:>10", [1]),
        ("doc:z", [2]),
        ("labels.env:prod", [1]),
        ("at:2026-01-01", [1, 2]),
        ("at:>2026-01-01", [3]),
        ("at:>=2026-01-01T12:00", [2, 3]),
        ("at:2026-01-01T11:00..2026-01-02", [2, 3]),
        ("at:<=2026-01-01", [1, 2]),
        ("is_ok:true", [1]),
        ("-is_ok:true", [2, 3]),
        ("ip:10.0.0.0/8", [1]),
        ("(status:200 OR status:404) -method:get", [3]),
        ("STATUS:200", [1]),
        ("method:(get OR post)", [1, 2]),
    ],
)
def test_a_search_finds_these_rows(table: duckdb.DuckDBPyConnection, q: str, found: list[int]) -> None:
    condition = condition_of(parse_terms(q), TYPES, q).sql
    assert "ilike" not in condition.lower()
    rows = table.execute(f"SELECT id FROM t WHERE {condition or 'true'} ORDER BY id").fetchall()
    assert [key for (key,) in rows] == found


@pytest.mark.parametrize(
    ("q", "message", "column"),
    [
        ("status:abc", '"abc" is not a number', 8),
        ("x is_ok:maybe", "expected true or false", 9),
        ("at:yesterday", '"yesterday" is not a time', 4),
        ("nested:>5", "it has no order", 9),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_place(q: str, message: str, column: int) -> None:
    with pytest.raises(QueryError) as caught:
        condition_of(parse_terms(q), TYPES, q)
    assert caught.value.message == message
    assert caught.value.place is not None
    assert caught.value.place.column == column


def test_an_unknown_field_names_the_nearest() -> None:
    wrong = unknown_field(parse_terms("a OR statu:5"), [TYPES], "a OR statu:5")
    assert wrong is not None
    assert wrong.message == 'unknown field "statu"'
    assert wrong.hint.startswith('did you mean "status"?')
    assert wrong.place is not None
    assert wrong.place.column == 6
    assert unknown_field(parse_terms("nested.x:1"), [TYPES], "nested.x:1") is not None
    assert unknown_field(parse_terms("doc.any.thing:1"), [TYPES], "doc.any.thing:1") is None


def test_a_table_without_the_field_is_met_by_no_row_of_it() -> None:
    condition = condition_of(parse_terms("status:5"), {"other": "VARCHAR"}, "status:5")
    assert condition.sql == "false"
    assert not condition.has_fields
