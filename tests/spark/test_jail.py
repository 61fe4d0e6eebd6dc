"""The jail on Spark: the attempts that DuckDB refuses, and each of the walls behind them alone."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tailpipe.errors import TailpipeError, UsageError
from tailpipe.model.partition import Schema
from tailpipe.query.on_spark import SparkQueries, frame_of
from tailpipe.query.session import Session
from tailpipe.spark.jail import checked_frame, jailed_session
from tests.sampling import sampled
from tests.unit.query.attempts import (
    ATTEMPTS,
    LITERALS,
    SECRET,
    SLY,
    TABLE,
    VARIABLE,
    bytes_of,
    filled,
    literal_text,
    make_home,
    make_snapshot,
)

REFLECT = f"reflect('java.lang.System', 'getenv', '{VARIABLE}')"
RAW = [
    *(f"SELECT * FROM {name}.`{{outside}}/secret.csv`" for name in ("text", "csv", "json", "parquet", "binaryFile")),
    "WITH a AS (SELECT * FROM text.`{outside}/secret.csv`) SELECT 1",
    "WITH a AS (SELECT 1) SELECT * FROM ours, text.a",
    "SELECT * FROM ours WHERE level IN (SELECT value FROM text.`{outside}/secret.csv`)",
    "SELECT (SELECT max(value) FROM text.`{outside}/secret.csv`)",
    "SELECT * FROM ours VERSION AS OF 1",
    "SELECT * FROM theirs",
    "SELECT * FROM global_temp.theirs",
    "SELECT * FROM default.ours",
    f"SELECT {REFLECT}",
    f"SELECT try_{REFLECT}",
    f"SELECT system.builtin.{REFLECT}",
    f"SELECT * FROM ours WHERE {REFLECT} = 'x'",
    f"SELECT * FROM ours ORDER BY {REFLECT}",
    f"SELECT sum(n) OVER w FROM ours WINDOW w AS (ORDER BY {REFLECT})",
    f"SELECT count(*) FILTER (WHERE {REFLECT} = 'x') FROM ours",
    f"SELECT * FROM (SELECT level, n FROM ours) PIVOT (max({REFLECT}) FOR level IN ('info'))",
    f"SELECT transform(array(1), x -> {REFLECT})",
    f"SELECT * FROM VALUES ({REFLECT})",
    f"SELECT * FROM ours LATERAL VIEW explode(array({REFLECT})) t AS x",
    f"SELECT n FROM ours GROUP BY n HAVING max({REFLECT}) = 'x'",
    f"SELECT * FROM ours JOIN ours o ON {REFLECT} = 'x'",
    f"SELECT n FROM ours LIMIT length({REFLECT})",
    f"SELECT CASE WHEN true THEN {REFLECT} END",
    f"SELECT * FROM explode(array({REFLECT}))",
    "SELECT current_user()",
    "SELECT current_user",
    "SELECT user",
    "SELECT session_user",
    "SELECT current_catalog",
    "SELECT current_database",
    "SELECT n FROM ours WHERE user = 'x'",
    "SELECT input_file_name() FROM ours",
    "SELECT version()",
    "SELECT * FROM range(3)",
    "SELECT * FROM sql_keywords()",
    "SELECT * FROM ours TABLESAMPLE (10 PERCENT)",
    "SELECT /*+ BROADCAST(ours) */ n FROM ours",
    "SELECT * FROM IDENTIFIER('text.`{outside}/secret.csv`')",
    "SELECT IDENTIFIER('abs')(1)",
    "SELECT TRANSFORM (level) USING 'cat {outside}/secret.csv' FROM ours",
    "SELECT ?",
    "SELECT :x",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "SET spark.sql.runSQLOnFiles = true",
    "SET",
    "RESET",
    "ADD FILE '{outside}/secret.csv'",
    "DECLARE VARIABLE x STRING DEFAULT 'a'",
    "CREATE TEMPORARY VIEW ours AS SELECT 1",
    "CREATE TABLE x (a INT) USING csv LOCATION '{outside}'",
    "DROP VIEW ours",
    "INSERT OVERWRITE DIRECTORY '{outside}/out' USING csv SELECT 1",
    "WITH a AS (SELECT 1) INSERT OVERWRITE DIRECTORY '{outside}/out' USING csv SELECT * FROM a",
    "FROM ours INSERT OVERWRITE DIRECTORY '{outside}/out' USING csv SELECT *",
    "CACHE TABLE ours",
    "EXPLAIN SELECT 1",
    "DESCRIBE ours",
    "SHOW TABLES",
    "SELECT 1; SELECT 2",
]
"""Statements of Spark that no translation gives."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("jail"))


@pytest.fixture(scope="module")
def session(home: Path) -> Iterator[Session]:
    odd = Schema(name="odd", where=f"level <> '${{env:{VARIABLE}}}' AND level = 'info'")
    with Session(make_snapshot(home), {"app_log": TABLE}, schemas=[odd]) as session:
        yield session


@pytest.fixture(scope="module")
def queries(session: Session, spark: SparkSession) -> SparkQueries:
    return SparkQueries(session, lambda: spark)


@pytest.fixture(scope="module")
def jailed(spark: SparkSession) -> SparkSession:
    """A session in the jail with a view of ours, and one that is not offered."""
    jailed = jailed_session(spark)
    for name in ("ours", "theirs"):
        jailed.sql("SELECT 'info' AS level, 1 AS n").createOrReplaceTempView(name)
    return jailed


def told(queries: SparkQueries, sql: str) -> str:
    """All that somebody who asks gets to see."""
    try:
        answer = queries.run(sql)
        return f"{answer.columns} {list(answer.rows)}"
    except TailpipeError as error:
        return error.message + error.hint


def test_the_secret_is_there_to_be_found(spark: SparkSession, home: Path) -> None:
    """Without the jail, both ways lead to it: the tests below cannot pass for want of a secret."""
    frame = spark.newSession().sql(f"SELECT '${{env:{VARIABLE}}}' FROM text.`{home}/outside/secret.csv`")
    assert frame.first() == (SECRET,)


@pytest.mark.parametrize("sql", sampled(ATTEMPTS, 20))
def test_an_attempt_is_refused_and_changes_nothing(
    queries: SparkQueries, home: Path, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.chdir(home / "outside")
    before = bytes_of(home)
    with pytest.raises(TailpipeError) as caught:
        list(queries.run(filled(sql, home)).rows)
    assert SECRET not in caught.value.message + caught.value.hint
    assert bytes_of(home) == before


@pytest.mark.parametrize("sql", sampled(SLY, 20))
def test_no_answer_tells_a_secret(queries: SparkQueries, home: Path, sql: str) -> None:
    before = bytes_of(home)
    assert SECRET not in told(queries, filled(sql, home))
    assert bytes_of(home) == before


def test_literals_are_answered_as_they_are_written(queries: SparkQueries, home: Path) -> None:
    literals = [filled(literal, home) for literal in LITERALS]
    answer = queries.run(f"SELECT {', '.join(literals)}")
    assert list(answer.rows) == [tuple(map(literal_text, literals))]


@pytest.mark.parametrize("word", ["user", "session_user", "current_user", "current_schema", "current_role"])
def test_a_word_for_the_surroundings_is_not_answered(queries: SparkQueries, word: str) -> None:
    with pytest.raises(TailpipeError):
        queries.run(f"SELECT {word}")
    mine = getpass.getuser()
    with pytest.raises(TailpipeError):  # DuckDB means the alias, Spark the user of this machine
        queries.run(f"SELECT 'x' AS \"{word}\" FROM app_log WHERE \"{word}\" <> '{mine}'")
    answer = queries.run(f'SELECT "{word}" FROM (SELECT \'x\' AS "{word}")')
    assert list(answer.rows) == [("x",)]


def test_a_condition_of_a_schema_is_taken_as_it_is_written(queries: SparkQueries, session: Session) -> None:
    assert list(queries.run("SELECT count(*) FROM odd.app_log").rows) == [(3,)]
    frame = frame_of(session, "odd.app_log", lambda: queries._spark)
    assert SECRET not in frame._jdf.queryExecution().toString()
    assert frame.count() == 3


@pytest.mark.parametrize("sql", sampled(RAW, 20))
def test_spark_itself_says_what_a_text_means(jailed: SparkSession, home: Path, sql: str) -> None:
    before = bytes_of(home)
    with pytest.raises((UsageError, PySparkException)) as caught:
        checked_frame(jailed, filled(sql, home), ["ours"]).collect()
    assert SECRET not in str(caught.value)
    assert bytes_of(home) == before
    assert jailed.conf.get("spark.sql.runSQLOnFiles") == "false"
    assert checked_frame(jailed, "SELECT level FROM ours", ["ours"]).collect() == [("info",)]


def test_texts_are_not_filled_in_by_spark(jailed: SparkSession) -> None:
    text = f"${{env:{VARIABLE}}} ${{system:user.home}}"
    assert checked_frame(jailed, f"SELECT '{text}'", []).collect() == [(text,)]


def test_files_are_no_relations_in_the_jail(jailed: SparkSession, home: Path) -> None:
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        jailed.sql(f"SELECT * FROM text.`{home}/outside/secret.csv`")


def test_the_session_of_others_stays_as_it_is(spark: SparkSession, jailed: SparkSession) -> None:
    theirs = spark.newSession()
    theirs.conf.set("spark.sql.variable.substitute", "true")
    assert jailed_session(theirs).conf.get("spark.sql.variable.substitute") == "false"
    assert theirs.conf.get("spark.sql.variable.substitute") == "true"
    assert spark.conf.get("spark.sql.runSQLOnFiles") == "true"
    assert spark.conf.get("spark.sql.variable.substitute") == "true"


def test_the_tables_are_still_there(queries: SparkQueries) -> None:
    assert list(queries.run("SELECT count(*) FROM app_log").rows) == [(3,)]
