"""Values are bound to the parameters of a statement; whatever they hold, they stay values."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from tailpipe.errors import QueryError, UsageError
from tailpipe.query.session import Session

from .support import TIME, Files

HOSTILE = [
    "it's",
    "'; DROP TABLE app_log; --",
    "' OR '1' = '1",
    "-- comment",
    "/* open",
    "$who",
    "$$",
    "$tag$ x $tag$",
    "a;b",
    "line\nbreak\r\n",
    "SELECT",
    "NULL",
    '"quoted"',
    "\\",
    "a\0b",
    "${env:HOME}",
    "?",
    ":name",
    "ü😀",
    "",
    " ",
    "x" * 1_000_000,
]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    files = Files(tmp_path / "internal")
    files.add(f"SELECT 'alice' AS who, i AS n, '10.0.0.1' AS tp_source_ip, {TIME} FROM range(3) t(i)")
    with Session(files.snapshot(), {}) as session:
        yield session


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_a_value_comes_back_as_it_was_given(session: Session, value: str) -> None:
    answer = session.run("SELECT $who AS a, count(*) FROM app_log WHERE who = $who", {"who": value})
    assert list(answer.rows) == [(value, 0)]


@pytest.mark.parametrize(
    ("sql", "params", "expected"),
    [
        ("SELECT count(*) FROM app_log WHERE who = $who", {"who": "alice"}, 3),
        ("SELECT count(*) FROM app_log WHERE who = $WHO", {"Who": "alice"}, 3),
        ("SELECT count(*) FROM app_log WHERE n > $n", {"n": "0"}, 2),
        ("SELECT count(*) FROM app_log WHERE n > $n", {"n": 0}, 2),
        ("SELECT count(*) FROM app_log WHERE tp_date = $day", {"day": date(2024, 1, 31)}, 0),
        ("SELECT count(*) FROM app_log WHERE tp_timestamp = $at", {"at": datetime(2024, 1, 31, 10, tzinfo=UTC)}, 3),
        ("SELECT count(*) FROM app_log WHERE who IN $all", {"all": ["alice", "bob"]}, 3),
        ("SELECT count(*) FROM app_log WHERE tp_source_ip::inet <<= $net::inet", {"net": "10.0.0.0/8"}, 3),
        ("SELECT coalesce($nothing, 7)", {"nothing": None}, 7),
        ('SELECT $"odd name" + 1', {"odd name": 1}, 2),
        ("SELECT $select + $from", {"select": 1, "from": 2}, 3),
        ("SELECT $ä", {"Ä": 5}, 5),
        ("SELECT max(x) FROM (SELECT $net::inet AS x)", {"net": "10.0.0.1"}, "10.0.0.1"),
        ("SELECT 'is $not' -- $not\n WHERE $yes", {"yes": True}, "is $not"),
    ],
)
def test_values_are_bound(session: Session, sql: str, params: dict[str, Any], expected: object) -> None:
    ((value,),) = session.run(sql, params).rows
    assert value == expected


def test_statements_of_several_parts_take_values(session: Session) -> None:
    assert list(session.run("PIVOT app_log ON who USING sum(n + $more)", {"more": 1}).columns)
    assert list(session.run("EXPLAIN SELECT $a", {"a": 1}).rows)
    assert session.describe("SELECT $a AS a", {"a": 1}) == (("a",), ("INTEGER",))


@pytest.mark.parametrize(
    ("sql", "params", "message", "hint"),
    [
        ("SELECT $who", {}, 'the parameter "who" has no value', "give one: --param who=VALUE"),
        ("SELECT $who", {"whoo": 1}, 'the statement has no parameter "whoo"', 'did you mean "who"?'),
        ("SELECT $who", {"who": 1, "x": 1}, 'the statement has no parameter "x"', "there are: $who"),
        ("SELECT 1", {"x": 1}, 'the statement has no parameter "x"', "it has none"),
        ("SELECT '$x' -- $x", {"x": 1}, 'the statement has no parameter "x"', "it has none"),
        ("SELECT $who", {"who": 1, "WHO": 2}, 'the parameter "WHO" is repeated', "case-insensitive"),
        ("SELECT ?", {}, "parameters must be named", "write $name instead of ? and $1"),
        ("SELECT $1", {}, "parameters must be named", "write $name instead of ? and $1"),
        ("SELECT $a", {"a": "\ud800"}, 'the parameter "a" is not UTF-8', ""),
    ],
)
def test_a_wrong_name_is_refused(session: Session, sql: str, params: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        session.run(sql, params)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("sql", "value", "message"),
    [
        ("SELECT count(*) FROM app_log WHERE n = $x", "three", "three"),
        ("SELECT count(*) FROM app_log WHERE tp_timestamp > $x", "soon", "soon"),
        ("SELECT current_date - $x", "7", "--param"),
        ("SELECT $x", object(), "object"),
        ("SELECT $x", 10**60, "too large"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(session: Session, sql: str, value: object, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        session.run(sql, {"x": value})
    assert message in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT * FROM query($x)", "SELECT 1"),
        ("SELECT * FROM query_table($x)", "app_log"),
        ("SELECT * FROM read_text($x)", "/etc/passwd"),
        ("SELECT getenv($x)", "HOME"),
        ("COPY app_log TO $x", "/tmp/x"),
        ("SET threads = $x", 1),
    ],
)
def test_a_value_opens_nothing_that_a_literal_would_not(session: Session, sql: str, value: object) -> None:
    with pytest.raises((UsageError, QueryError)):
        session.run(sql, {"x": value})
