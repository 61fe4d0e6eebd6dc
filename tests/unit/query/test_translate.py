"""Statements for Spark: no word of a statement is left where Spark expects a relation or a function."""

from __future__ import annotations

import re

import pytest

from tailpipe.errors import UsageError
from tailpipe.query.translate import Translated, to_spark, to_spark_condition

TABLES = {("tailpipe", "app_log"): "view_x_0", ("recent", "app_log"): "view_x_1"}


def translated(sql: str) -> Translated:
    return to_spark(sql, TABLES, default="tailpipe", prefix="cte_x")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("FROM app_log", "SELECT * FROM `view_x_0` AS `app_log`"),
        ("SELECT a.n FROM Recent.App_Log a", "SELECT `a`.`n` FROM `view_x_1` AS `a`"),
        ("SELECT recent.app_log.n FROM recent.app_log", "SELECT `app_log`.`n` FROM `view_x_1` AS `app_log`"),
        (
            "WITH app_log AS (SELECT n FROM app_log) SELECT app_log.n FROM app_log",
            "WITH `cte_x_0` AS (SELECT `n` FROM `view_x_0` AS `app_log`)"
            " SELECT `app_log`.`n` FROM `cte_x_0` AS `app_log`",
        ),
        (
            "WITH a AS (SELECT 1 AS x), b AS (WITH a AS (SELECT 2 AS x) FROM a) FROM a, B",
            "WITH `cte_x_0` AS (SELECT 1 AS `x`), `cte_x_2` AS (SELECT 2 AS `x`), `cte_x_1` AS"
            " (SELECT * FROM `cte_x_2` AS `a`) SELECT * FROM `cte_x_0` AS `a`, `cte_x_1` AS `B`",
        ),
        (
            "WITH RECURSIVE app_log AS (SELECT n FROM app_log UNION ALL SELECT n + 1 FROM app_log) FROM app_log",
            "WITH RECURSIVE `cte_x_0` AS (SELECT `n` FROM `view_x_0` AS `app_log` UNION ALL"
            " SELECT `n` + 1 FROM `cte_x_0` AS `app_log`) SELECT * FROM `cte_x_0` AS `app_log`",
        ),
        (
            "WITH a(y) AS (SELECT 1) SELECT (SELECT max(y) FROM a) FROM app_log t WHERE EXISTS (FROM a WHERE y = t.n)",
            "WITH `cte_x_0`(`y`) AS (SELECT 1) SELECT (SELECT MAX(`y`) FROM `cte_x_0` AS `a`) FROM `view_x_0` AS `t`"
            " WHERE EXISTS(SELECT * FROM `cte_x_0` AS `a` WHERE `y` = `t`.`n`)",
        ),
        ("SELECT 1 /* a */ -- b", "SELECT 1"),
        ("SELECT '${env:X}' || $$\\${y}$$", r"SELECT '$\u007benv:X}' || '\\$\u007by}'"),
        ("SELECT user.n FROM app_log AS user", "SELECT `user`.`n` FROM `view_x_0` AS `user`"),
    ],
)
def test_relations_have_names_that_the_statement_cannot_know(sql: str, expected: str) -> None:
    assert translated(sql).sql == expected


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ('SELECT * FROM text."/etc/passwd"', "text./etc/passwd"),
        ('WITH "/etc/passwd" AS (SELECT 1) SELECT * FROM text."/etc/passwd"', "text./etc/passwd"),
        ("WITH a AS (SELECT 1) SELECT * FROM tailpipe.a", "tailpipe.a"),
        ("WITH b AS (FROM a), a AS (SELECT 1) FROM b", "a"),
        ("WITH a AS (FROM a) FROM a", "a"),
        ("WITH unused AS (FROM elsewhere) FROM app_log", "elsewhere"),
        ("SELECT (WITH a AS (SELECT 1) FROM a) FROM a", "a"),
        ("FROM x.tailpipe.app_log", "x.tailpipe.app_log"),
        ("FROM view_x_0", "view_x_0"),
        ("FROM cte_x_0", "cte_x_0"),
        ("FROM app_log AT (VERSION => 1)", "app_log"),
    ],
)
def test_another_relation_is_refused_wherever_it_is_written(sql: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"there is no table {re.escape(name)}\n"):
        translated(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT reflect('a', 'b')",
        "SELECT a.reflect('b') FROM app_log a",
        "SELECT 'a'.reflect('b')",
        "SELECT current_user",
        "SELECT version()",
        "SELECT ?",
        "SELECT $1",
        "SELECT E'\\u0041'",
        "SELECT 'a' COLLATE nocase",
        "SELECT n::evil.type FROM app_log",
        "FROM app_log USING SAMPLE 10%",
        "FROM read_csv('x')",
        "SELECT f(x => 1)",
        "SELECT [x FOR x IN words] FROM app_log",
        'SELECT 1 AS "${env:X}"',
        'SELECT w FROM app_log, unnest(words) "u AS w --"(w)',
    ],
)
def test_what_is_on_no_list_is_refused(sql: str) -> None:
    with pytest.raises(UsageError, match="on Spark"):
        translated(sql)


def test_a_condition_is_checked_like_a_statement() -> None:
    assert to_spark_condition("level = '${env:X}'") == r"`level` = '$\u007benv:X}'"
    with pytest.raises(UsageError, match="reflect"):
        to_spark_condition("reflect('a', 'b') = 'c'")
    with pytest.raises(UsageError, match="table"):
        to_spark_condition('n IN (SELECT value FROM text."/etc/passwd")')


def test_messages_have_the_names_of_the_statement() -> None:
    columns = ", ".join(f"c{number} AS (SELECT 1)" for number in range(12))
    one = translated(f"WITH {columns} FROM c1, c11, recent.app_log")
    assert one.in_own_words(one.sql).endswith("FROM `c1` AS `c1`, `c11` AS `c11`, `recent.app_log` AS `app_log`")


@pytest.mark.parametrize(
    ("sql", "value", "expected"),
    [
        ("SELECT $x", "\\' OR 1=1 --", r"SELECT '\\\' OR 1=1 --'"),
        ("SELECT $X", "${env:HOME}", r"SELECT '$\u007benv:HOME}'"),
        ("SELECT '$x', $x", "$x", "SELECT '$x', '$x'"),
        ("SELECT $x", -5, "SELECT (-5)"),
        ("SELECT $x", True, "SELECT TRUE"),
        ("SELECT n IN $x FROM app_log", ["a", "b"], "SELECT `n` IN ('a', 'b') FROM `view_x_0` AS `app_log`"),
    ],
)
def test_a_value_becomes_a_literal_of_the_tree(sql: str, value: object, expected: str) -> None:
    found = to_spark(sql, TABLES, default="tailpipe", prefix="cte_x", params={"x": value})
    assert found.sql == expected


def test_a_parameter_without_a_value_is_never_left_to_spark() -> None:
    with pytest.raises(UsageError):
        translated("SELECT $x")
