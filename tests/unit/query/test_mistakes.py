"""Mistakes: what is said of a statement that fails, and where in it the caret stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tailpipe.catalog.snapshot import Snapshot
from tailpipe.errors import QueryError, UsageError
from tailpipe.model.partition import Schema
from tailpipe.model.table import Column, Table
from tailpipe.query.session import Session

APP = Table(name="app_log", columns=[Column("level", "varchar"), Column("body", "json")])
WEB = Table(name="web_log", columns=[Column("path", "varchar")])


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    few = Schema(name="few", tables=["app_log"])
    with Session(Snapshot(tmp_path, (), {}, 0), {"app_log": APP, "web_log": WEB}, schemas=[few]) as opened:
        yield opened


def failure(session: Session, sql: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        session.run(sql)
    return caught.value


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        ("SELECT 1, levl FROM app_log", 1),
        ("SELECT\t1,\tlevl FROM app_log", 1),
        ("SELECT 'é', levl FROM app_log", 1),
        ("SELECT '日本語', levl FROM app_log", 1),
        ("SELECT '日本語👩\u200d👩\u200d👧',\tlevl FROM app_log", 1),
        ("SELECT 'שלום', levl FROM app_log", 1),
        ("SELECT 'a\u0301', levl FROM app_log", 1),
        ("SELECT '" + "日本" * 60 + "', levl, '" + "日本" * 60 + "' FROM app_log", 1),
        ("SELECT 1,\f levl FROM app_log", 1),
        ("SELECT '\u2028',\nlevl FROM app_log", 2),
        ("SELECT 1,\r\n\tlevl FROM app_log\r\n", 2),
        ("SELECT '日本語' 1 levl 1", 1),
        ("SELECT 'é日本',\n1 'x' levl\n", 2),
    ],
)
def test_the_caret_stands_below_the_word(session: Session, sql: str, line: int) -> None:
    place = failure(session, sql).place
    assert place is not None
    assert (place.line, place.text) == (line, sql.split("\n")[line - 1].rstrip("\r"))
    assert place.text[place.column - 1 :].startswith(("levl", "1 levl", "'x'"))


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("FROM few.web_log", 'there is no table "few.web_log"', 'did you mean "web_log"?'),
        ("FROM nosuch.app_log", 'there is no table "nosuch.app_log"', 'did you mean "app_log"?'),
        ('FROM "app log"', 'there is no table "app log"', 'did you mean "app_log"?'),
        ("SELECT sqrt(-1)", "cannot take square root of a negative number", ""),
        ("SELECT error('Not found Error: x')", "not found Error: x", ""),
        (
            'FROM app_log WHERE level = "error"',
            'there is no column "error"',
            "text is written in single quotes: 'error'",
        ),
        ('SELECT "levl" FROM app_log', 'there is no column "levl"', 'did you mean "level"?'),
        ("SELECT * EXCLUDE levl FROM app_log", 'there is no column "levl"', 'did you mean "level"?'),
        ("SELECT level FROM (SELECT level AS lvl FROM app_log)", 'there is no column "level"', 'did you mean "lvl"?'),
        (
            "SELECT 1 FROM app_log JOIN web_log USING (level)",
            'column "level" does not exist on right side of join',
            "",
        ),
        ("SELECT app_log.level FROM app_log a", 'there is no table or alias "app_log"', "there are: a"),
        ("SELECT `level` FROM app_log", 'a name is quoted with ", not with `', ""),
        ("SELECT {'status': 1}.statu", 'there is no field "statu"', 'did you mean "status"?'),
        (
            """SELECT "order".total FROM (SELECT 'x' AS "order")""",
            '"order" is not a struct, so it has no field "total"',
            """if it is text of JSON, write "order"->>'total'""",
        ),
        (
            "SELECT sum(level) FROM app_log",
            "there is no function for sum(VARCHAR)",
            "cast a value to the type that is meant, such as x::BIGINT or '1 day'::INTERVAL",
        ),
        (
            "SELECT tp_timestamp - '1 day' FROM app_log",
            "there is no function for -(TIMESTAMP, STRING_LITERAL)",
            "cast a value to the type that is meant, such as x::BIGINT or '1 day'::INTERVAL",
        ),
        (
            "SELECT unnest('[1]'::JSON)",
            "UNNEST() can only be applied to lists, structs and NULL, not JSON",
            "a list of JSON becomes one by a cast, such as: unnest(x::JSON[])",
        ),
        (
            "SELECT family(level) FROM app_log",
            '"family" expects an IP address, not text',
            "cast it to one, such as: tp_source_ip::INET",
        ),
        (
            """PIVOT (SELECT 1 AS n FROM (SELECT '{"k": 1}'::JSON AS j) WHERE true AND j->>'k' = '1') ON n""",
            'failed to cast value to numerical: {"k":1} when casting from source column j',
            "an arrow of JSON binds weaker than AND and =, so write (column ->> 'key')",
        ),
        (
            "SELECT 'AWS Internal'::INET",
            'failed to convert string "AWS Internal" to inet: Expected an IP address',
            "TRY_CAST(x AS INET) gives null for what is no address",
        ),
        (
            "SELECT avg(x::DOUBLE) FROM (SELECT unnest(['1', 'n/a']) AS x)",
            "could not convert string 'n/a' to DOUBLE when casting from source column x",
            "try_cast(x AS DOUBLE) is null where a value does not fit",
        ),
        (
            """SELECT 1 FROM (SELECT '{"path": "/a"}'::JSON AS http) WHERE http.path = '/a'""",
            'malformed JSON at byte 0 of input: unexpected character.  Input: "/a"',
            "JSON is compared with JSON; x->>'name' takes the value as text, x.name does not",
        ),
        (
            "SELECT min(x) first FROM (SELECT 1 AS x)",
            'syntax error at or near "first"',
            '"first" is a keyword; as an alias it needs AS: AS first',
        ),
        ("SELECT (x FROM (SELECT 1 AS x)", 'syntax error at or near "FROM"', ""),
    ],
)
def test_it_is_told_in_plain_words(session: Session, sql: str, message: str, hint: str) -> None:
    told = failure(session, sql)
    assert (told.message, told.hint) == (message, hint)


@pytest.mark.parametrize(
    ("sql", "rest"),
    [
        ("SELECT 1 FROM app_log WHERE level = 'a' AND body ->> 'k' = 'v'", "->> 'k' = 'v'"),
        ("SELECT 1 FROM app_log WHERE level = body->>'k'", "->>'k'"),
        ("SELECT 1 FROM app_log WHERE body->>'a' = 'b' OR body->>'k' IS NULL", "->>'k' IS NULL"),
        ("SELECT 1 FROM app_log WHERE NOT body->>'k' = 'v'", "->>'k' = 'v'"),
        ("SELECT 1 FROM app_log WHERE level LIKE body->>'k'", "->>'k'"),
        ("SELECT 1 FROM app_log WHERE level IN ('a') AND body->'j'->>'k' = 'v'", "->'j'->>'k' = 'v'"),
        ("SELECT 1 FROM app_log WHERE body->'k' IS NOT NULL", "->'k' IS NOT NULL"),
        ("SELECT count(*) FILTER (WHERE level = 'é' AND body->>'k' = 'v') FROM app_log", "->>'k' = 'v') FROM app_log"),
        ("EXPLAIN SELECT 1 FROM app_log WHERE level = 'a'\nAND body->>'k' = 'v'", "->>'k' = 'v'"),
        ("DESCRIBE SELECT 1 FROM app_log a JOIN app_log b ON a.level = b.body->>'k'", "->>'k'"),
    ],
)
def test_an_arrow_that_takes_more_than_was_meant_is_refused(session: Session, sql: str, rest: str) -> None:
    told = failure(session, sql)
    assert "binds weaker than AND and comparisons" in told.message
    assert told.hint.startswith("put brackets around it")
    assert told.place is not None
    assert told.place.text[told.place.column - 1 :] == rest


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM app_log WHERE level = 'a' AND (body ->> 'k') = 'v'",
        "SELECT 1 FROM app_log WHERE body ->> 'k' = 'v' AND level = 'a'",
        "SELECT 1 FROM app_log WHERE body ->> 'k' IS NULL",
        "SELECT 1 FROM app_log WHERE body['k'] ->> 'l' LIKE 'v%'",
        "SELECT list_filter([1, 2], x -> x > 1 AND x < 3), list_transform(['a'], x -> x IS NULL)",
        "SELECT '->>' WHERE 1 = 1 AND 'a ->> b' <> ''",
    ],
)
def test_other_arrows_and_lambdas_are_left_alone(session: Session, sql: str) -> None:
    session.run(sql)


@pytest.mark.parametrize(("sql", "word"), [("SELECT 1\0; SELECT 2", "NUL"), ("SELECT '\udcff'", "not UTF-8")])
def test_a_text_that_duckdb_would_read_in_part_is_refused(session: Session, sql: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        session.run(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "/* why */ EXPLAIN SELECT 1",
        "-- why\nEXPLAIN -- how\n ANALYZE /* what */ SELECT 1",
        "EXPLAIN (SELECT 1)",
        "EXPLAIN (ANALYZE, FORMAT json) (SELECT 1)",
    ],
)
def test_comments_may_stand_around_explain(session: Session, sql: str) -> None:
    assert session.run(sql).columns == ("explain_key", "explain_value")


@pytest.mark.parametrize("before", ["", "/* /* */ SELECT 1 -- */\n", "/* */ ANALYZE\n"])
def test_what_is_explained_must_only_read(session: Session, before: str) -> None:
    with pytest.raises(UsageError, match="CREATE does not"):
        session.run(f"EXPLAIN {before}CREATE TABLE x (a INT)")


def test_a_type_that_no_other_program_knows_is_told_when_rows_are_taken(session: Session) -> None:
    with pytest.raises(QueryError) as caught:
        session.run("SELECT 42::VARIANT").table()
    assert caught.value.hint == "cast it to VARCHAR"
