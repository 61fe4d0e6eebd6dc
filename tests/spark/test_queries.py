"""The same statement on Spark and on DuckDB gives the same answer: names, types and rows."""

from __future__ import annotations

import _thread
import re
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from uuid import UUID

import pytest
from pyspark.sql import SparkSession

from tailpipe.errors import TailpipeError, TimeLimitError, UsageError
from tailpipe.model.partition import Schema
from tailpipe.model.table import Column, Table
from tailpipe.query.limit import TimeLimit
from tailpipe.query.on_spark import SparkQueries, _in_thread, frame_of
from tailpipe.query.session import Session
from tests.sampling import sampled
from tests.unit.query.support import Files

UNLIMITED = TimeLimit(None, lambda: None)
TABLE = Table(
    name="app_log",
    columns=[
        Column("flag", "boolean"),
        Column("tiny", "tinyint"),
        Column("n", "integer"),
        Column("big", "bigint"),
        Column("ubig", "ubigint"),
        Column("real", "double"),
        Column("text", "varchar"),
        Column("raw", "blob"),
        Column("day", "date"),
        Column("clock", "time"),
        Column("span", "interval"),
        Column("id", "uuid"),
        Column("body", "json"),
        Column("address", "inet"),
        Column("price", "decimal(18,3)"),
        Column("words", "varchar[]"),
        Column("place", "struct(port integer, tags varchar[])"),
        Column("later", "varchar"),
        Column("level", "varchar"),
    ],
)
ROWS = """
  SELECT i % 3 = 0 AS flag, (i % 100)::TINYINT AS tiny, CASE WHEN i % 7 = 0 THEN NULL ELSE i END::INTEGER AS n,
    i::BIGINT * 3000000000 AS big, (18446744073709551615 - i)::UBIGINT AS ubig, i / 8.0::DOUBLE AS real,
    CASE i % 4 WHEN 0 THEN 'ü' WHEN 1 THEN NULL ELSE 'w' || (i % 5) END AS text, ('x' || i)::BLOB AS raw,
    DATE '2024-01-01' + (i % 40)::INTEGER AS day, TIME '00:00:01' + to_seconds(i) AS clock,
    (i || ' days 02:00:00')::VARCHAR AS span, '00000000-0000-4000-8000-' || lpad(i::VARCHAR, 12, '0') AS id,
    '{"a": ' || i || ', "b": {"c": "v' || i % 3 || '"}}' AS body, '10.0.' || i % 3 || '.1' AS address,
    (i / 4.0)::DECIMAL(18,3) AS price, ['a', 'b' || i % 2] AS words, {'port': i::INTEGER, 'tags': ['t']} AS place,
    'info' AS level,
    'id-' || i AS tp_id, TIMESTAMP '2024-01-31 10:00' + to_minutes(i) AS tp_timestamp, DATE '2024-01-31' AS tp_date
  FROM range(200) t(i)
"""
STATEMENTS = [
    "SELECT count(*), count(n), sum(n), min(big), max(ubig) FROM app_log",
    "FROM app_log ORDER BY tp_id LIMIT 3",
    "SELECT text, count(*) AS times FROM tailpipe.app_log GROUP BY ALL ORDER BY ALL",
    "SELECT text, n FROM app_log ORDER BY n DESC, tp_id LIMIT 5",
    "SELECT n // 7 AS whole, n / 8 AS part, n % 7 AS rest FROM app_log WHERE n > 190 ORDER BY n",
    "SELECT tp_id, span, id, body, address, raw, clock FROM app_log ORDER BY tp_timestamp LIMIT 4",
    "SELECT body->>'$.a' AS a, body->'b'->>'c' AS c FROM app_log ORDER BY tp_timestamp LIMIT 4",
    "SELECT words[1] AS one, words[2] AS two, len(words) AS size FROM app_log ORDER BY tp_timestamp LIMIT 2",
    "SELECT count(*) FROM app_log WHERE list_contains(words, 'b1')",
    "SELECT place.port AS port, place.tags[1] AS tag FROM app_log ORDER BY port LIMIT 3",
    "SELECT word, count(*) AS times FROM (SELECT unnest(words) AS word FROM app_log) GROUP BY word ORDER BY word",
    "SELECT date_trunc('hour', tp_timestamp) AS hour, count(*) AS n FROM app_log GROUP BY 1 ORDER BY 1",
    "SELECT strftime(tp_timestamp, '%Y-%m-%d %H:%M') AS at FROM app_log ORDER BY tp_timestamp LIMIT 2",
    "SELECT count(*) FROM app_log WHERE tp_timestamp >= TIMESTAMP '2024-01-31 12:00' - INTERVAL 1 HOUR",
    "SELECT day + INTERVAL 1 DAY AS next FROM app_log ORDER BY tp_timestamp LIMIT 1",
    "SELECT avg(real) AS mean, sum(price) AS total, max(price) AS most FROM app_log",
    "SELECT count(*) FILTER (WHERE flag) AS yes, count(DISTINCT text) AS words FROM app_log",
    "WITH a AS (SELECT flag, max(n) AS top FROM app_log GROUP BY flag) SELECT * FROM a ORDER BY flag",
    "SELECT a.tp_id FROM app_log a JOIN recent.app_log b USING (tp_id) ORDER BY a.tp_id LIMIT 3",
    "SELECT n, row_number() OVER (PARTITION BY flag ORDER BY n DESC) AS rank FROM app_log QUALIFY rank = 1 ORDER BY n",
    "SELECT CASE WHEN text IS NULL THEN '-' ELSE upper(text) END AS t, count(*) FROM app_log GROUP BY 1 ORDER BY 1",
    "SELECT coalesce(text, '') || '!' AS t FROM app_log WHERE text ILIKE 'W%' ORDER BY tp_id LIMIT 3",
    "SELECT count(*) FROM app_log WHERE id = '00000000-0000-4000-8000-000000000007' OR regexp_matches(text, '^w[12]$')",
    "SELECT arg_max(text, big) AS last, string_agg(tiny::VARCHAR, ',' ORDER BY tiny) AS all FROM app_log WHERE n < 5",
    "SELECT * EXCLUDE (raw, place) FROM app_log WHERE later IS NULL ORDER BY tp_id LIMIT 2",
    "SELECT n, sum(n) OVER w AS a, lag(n) OVER w AS b FROM app_log WHERE n < 9"
    " WINDOW w AS (PARTITION BY flag ORDER BY n) ORDER BY n",
    "SELECT n FROM app_log WHERE n IN (SELECT n FROM app_log WHERE NOT flag) AND n BETWEEN 3 AND 9 OR n & 3 = 5"
    " ORDER BY n",
    "SELECT a.n FROM app_log a LEFT JOIN app_log b ON a.n = b.n + 190 WHERE b.n IS NOT NULL ORDER BY a.n",
    "SELECT flag, n FROM app_log WHERE n < 9 GROUP BY GROUPING SETS ((flag), (n), ()) ORDER BY ALL",
    "SELECT n FROM app_log WHERE n < 9 EXCEPT SELECT n FROM app_log WHERE n > 5 ORDER BY n LIMIT 3 OFFSET 1",
    "SELECT n, w FROM app_log, unnest(words) u(w) WHERE n < 3 ORDER BY ALL",
    "SELECT word FROM (SELECT unnest(words) AS word FROM app_log WHERE n < 3) t GROUP BY word HAVING count(*) > 1",
    "SELECT flag, count(*) FROM app_log a WHERE EXISTS (FROM app_log b WHERE b.n = a.n + 1) GROUP BY flag ORDER BY ALL",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT n FROM r ORDER BY n",
    "WITH app_log AS (SELECT n + 1 AS n FROM app_log WHERE n < 4) SELECT app_log.n FROM app_log ORDER BY n",
    "WITH unused AS (SELECT max(n) FROM app_log) SELECT '%${jndi:ldap://x}' LIKE '%${jndi:%' AS a, DISTINCT_ON.n FROM"
    " (SELECT min(n) AS n FROM app_log) AS DISTINCT_ON",
    "SELECT DISTINCT flag, CASE WHEN n > 3 THEN 'a' ELSE 'b' END AS c, -n % 2 AS d FROM app_log WHERE n < 9"
    " ORDER BY ALL",
    "SELECT trim(text) AS a, split_part(text, 'w', 2) AS b, contains(text, 'w') AS c, lpad(text, 4, '-') AS d,"
    " md5(text) AS e, sha256(text) AS f, left(text, 1) AS g, substring(text, 1, 1) AS h, reverse(text) AS i"
    " FROM app_log WHERE n < 9 AND text LIKE 'w%' ORDER BY tp_id",
    "SELECT year(day) AS a, quarter(day) AS b, hour(tp_timestamp) AS c, last_day(day) AS d, make_date(2024, 1, 2) AS e,"
    " strptime('2024-01-02', '%Y-%m-%d') AS f, greatest(n, 5) AS g, nullif(n, 3) AS h, abs(-n) AS i, sqrt(n) AS j"
    " FROM app_log WHERE n < 9 ORDER BY n",
    "SELECT median(n) AS a, stddev_samp(n) AS b, bool_or(flag) AS c, arg_min(text, n) AS d, round(var_pop(n), 9) AS e,"
    " ntile(2) OVER (ORDER BY count(*)) AS f FROM app_log WHERE n < 9",
    "SELECT 1 AS one, NULL AS nothing, 'x' AS x",
    "SELECT n FROM app_log WHERE n < 3 UNION ALL SELECT -1 ORDER BY n",
    # what the two mean different things by
    "SELECT price / 7 AS a, n / 1024.0 AS b, 1.0 / 3 AS c FROM app_log WHERE n > 190 ORDER BY n",
    "SELECT round(avg(price), 12) AS a, round(avg(DISTINCT price), 12) AS b FROM app_log",
    "SELECT price::INT AS a, (n / 7)::BIGINT AS b, real::INT AS c, 2.5::INT AS d FROM app_log WHERE n > 180 ORDER BY n",
    "WITH a AS (SELECT n / 8 AS part, tp_id FROM app_log) SELECT part::INT AS a FROM a ORDER BY tp_id LIMIT 9",
    "SELECT (body->>'a')::INT + 1 AS a, TRY_CAST(text AS INT) AS b FROM app_log ORDER BY tp_timestamp LIMIT 4",
    "SELECT words[-1] AS last, words[9] AS none, place.tags[1] AS tag, [[1, 2]][1][2] AS deep FROM app_log"
    " ORDER BY tp_timestamp LIMIT 1",
    "SELECT list_contains([text], 'none') AS a, list_filter(words, x -> x > 'a') AS b FROM app_log ORDER BY n LIMIT 9",
    "SELECT tp_timestamp AT TIME ZONE 'Europe/Berlin' AS a, tp_timestamp AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo'"
    " AS b FROM app_log ORDER BY tp_timestamp LIMIT 2",
    "SELECT t AT TIME ZONE 'Asia/Tokyo' AS u FROM (SELECT tp_timestamp AT TIME ZONE 'UTC' AS t FROM app_log)"
    " ORDER BY u LIMIT 1",
    "SELECT dayname(day) AS a, monthname(day) AS b FROM app_log ORDER BY tp_timestamp LIMIT 9",
    "SELECT date_diff('hour', tp_timestamp, TIMESTAMP '2024-01-31 13:00:30') AS a,"
    " date_diff('month', day, DATE '2024-03-01') AS b FROM app_log ORDER BY tp_timestamp LIMIT 99",
    "SELECT regexp_matches(text, 'W1', 'i') AS a, regexp_replace(text, '[w3]', '_', 'g') AS b FROM app_log"
    " ORDER BY tp_timestamp LIMIT 9",
    r"SELECT 'a%' LIKE 'a\%' AS a, 'a\b' LIKE 'a\%' AS b, 'a%' LIKE 'a!%' ESCAPE '!' AS c",
    """SELECT body->>'x-id' AS a, body->>'p.q' AS b, body->>'$."p.q"' AS c, body->'l'->0->>'m' AS d,"""
    """ (body->'l')->>0 AS e, body->'s'->>0 AS f, body->>0 AS g"""
    """ FROM (SELECT '{"x-id":"a","p.q":"b","p":{"q":"no"},"l":[{"m":1}],"s":"[7]"}' AS body)""",
    "SELECT max(tp_timestamp) - TIMESTAMP '2024-01-29' AS a, TIMESTAMP '2024-01-29 11:00' - min(tp_timestamp) AS b,"
    " min(tp_timestamp) - max(tp_timestamp) AS c, NULL::TIMESTAMP - max(tp_timestamp) AS d FROM app_log",
    "SELECT TRY_CAST(t AS INT) AS a, TRY_CAST(t AS BIGINT) AS b, TRY_CAST(big AS INT) AS c FROM app_log,"
    " (VALUES ('12.7'), ('-2.5'), ('1e3'), ('x'), ('9e9'), (' 7 '), (NULL)) v(t) WHERE n = 1 ORDER BY t",
    "SELECT TRY_CAST(body->>'f' AS INT) AS a, TRY_CAST(body->>'g' AS INT) AS b FROM (SELECT '{\"f\":1000.0}' AS body)",
    "WITH Few AS (SELECT n FROM app_log WHERE n < 3) SELECT count(*) FROM few",
    "SELECT tailpipe.app_log.n FROM tailpipe.app_log WHERE tp_timestamp < now() ORDER BY 1 LIMIT 1",
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    files = Files(tmp_path_factory.mktemp("queries") / "internal")
    files.add(f"FROM ({ROWS}) WHERE tp_timestamp < TIMESTAMP '2024-01-31 12:00'")
    files.add(f"SELECT *, 'new'::VARCHAR AS later FROM ({ROWS}) WHERE tp_timestamp >= TIMESTAMP '2024-01-31 12:00'")
    recent = Schema(name="recent", where="n > 100 AND text = 'w3'")
    with Session(files.snapshot(), {"app_log": TABLE}, schemas=[recent]) as made:
        yield made


@pytest.fixture(scope="module")
def queries(session: Session, spark: SparkSession) -> SparkQueries:
    return SparkQueries(session, lambda: spark)


@pytest.mark.parametrize("sql", sampled(STATEMENTS, 4))
def test_spark_and_duckdb_agree(session: Session, queries: SparkQueries, sql: str) -> None:
    ours = session.run(sql)
    columns, types, rows = ours.columns, ours.types, list(ours.rows)
    theirs = queries.run(sql)
    assert theirs.columns == columns
    assert theirs.types == types
    assert list(theirs.rows) == rows
    assert rows


HOSTILE = "it's -- $who ; /* \\ ${env:HOME} `x` \" SELECT\n:name ? \u00fc\U0001f600 \\u0027"
PARAMETERS: list[tuple[str, dict[str, object]]] = [
    ("SELECT count(*) FROM app_log WHERE text = $who", {"who": "w3"}),
    ("SELECT n, $who AS who FROM app_log WHERE n < 3 ORDER BY n", {"who": HOSTILE}),
    ("SELECT count(*) FROM app_log WHERE text = $who OR n = 1", {"who": "' OR 'a' = 'a"}),
    ("SELECT n + $less AS a, real * $part AS b FROM app_log WHERE n < 5 ORDER BY n", {"less": -3, "part": 1.5}),
    ("SELECT count(*) FROM app_log WHERE day >= $day AND n > $n", {"day": date(2024, 1, 9), "n": "7"}),
    ("SELECT count(*) FROM app_log WHERE day >= $day", {"day": "2024-01-09"}),
    (
        "SELECT count(*) FROM app_log WHERE tp_timestamp >= $at AND flag = $flag",
        {"at": datetime(2024, 1, 31, 12, 0, 0, 5, UTC), "flag": True},
    ),
    ("SELECT count(*) FROM app_log WHERE price < $price", {"price": Decimal("12.250")}),
    ("SELECT count(*) FROM app_log WHERE id = $id", {"id": UUID("00000000-0000-4000-8000-000000000007")}),
    ("SELECT count(*) FROM app_log WHERE list_contains($all, text)", {"all": ["w1", "w3"]}),
    ("SELECT count(*) FROM app_log WHERE text IN $all AND n NOT IN $some", {"all": ["w1", "w3"], "some": [1, 2]}),
    ("SELECT count(*) FROM app_log WHERE $none IS NULL", {"none": None}),
    ("SELECT n FROM app_log ORDER BY n LIMIT $rows", {"rows": 2}),
    ("SELECT count(*) FROM app_log WHERE text = $WHO AND $Who <> 'x'", {"who": "w3"}),
]


@pytest.mark.parametrize(("sql", "params"), PARAMETERS)
def test_spark_and_duckdb_agree_on_parameters(
    session: Session, queries: SparkQueries, sql: str, params: dict[str, object]
) -> None:
    ours = session.run(sql, params)
    columns, types, rows = ours.columns, ours.types, list(ours.rows)
    theirs = queries.run(sql, params)
    assert (theirs.columns, theirs.types, list(theirs.rows)) == (columns, types, rows)
    assert rows


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, 'the parameter "who" has no value'),
        ({"who": "a", "whoo": "b"}, 'the statement has no parameter "whoo"'),
        ({"who": b"a"}, "cannot be passed to Spark: bytes"),
        ({"who": "a\x00123"}, "cannot be passed to Spark: text with the character NUL"),
    ],
)
def test_parameters_that_spark_cannot_have_are_refused(
    queries: SparkQueries, params: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        queries.run("SELECT count(*) FROM app_log WHERE raw = $who", params)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT nope FROM app_log", "nope"),
        ("SELECT n FROM app_log WHERE address::inet <<= '10.0.0.0/8'::inet", "inet may return another result on Spark"),
        ("SELECT body->>'$.b[-1]' FROM app_log", "this path of JSON may return another result on Spark"),
        ("SELECT body->>'/b/c' FROM app_log", "this path of JSON may return another result on Spark"),
        ("SELECT body->>'$..c' FROM app_log", "this path of JSON may return another result on Spark"),
        ("SELECT body->>text FROM app_log", "this path of JSON may return another result on Spark"),
        ("SELECT n FROM app_log WHERE flag AND body->>'a' = '1'", "binds weaker"),
        ("SELECT * FROM elsewhere", "elsewhere"),
        ("SELECT * FROM read_csv('/etc/passwd')", "a query reads what was collected"),
        ("SELECT reflect('java.lang.System', 'getenv')", "reflect"),
        ("DESCRIBE app_log", "only SELECT statements run on Spark"),
        ("COPY app_log TO '/tmp/x'", "only SELECT statements run on Spark"),
        ("SELECT FROM WHERE", "cannot be translated"),
        ("SELECT list(n ORDER BY n) FROM app_log", "array_agg may return another result on Spark"),
        ("SELECT dayofweek(day) FROM app_log", "day_of_week may return another result on Spark"),
        ("SELECT hash(n) FROM app_log", "hash may return another result on Spark"),
        (
            "SELECT DISTINCT ON (flag) flag, n FROM app_log ORDER BY flag, n",
            "DISTINCT ON may return another result on Spark",
        ),
        ("SELECT count(*) FROM app_log WHERE text ~ 'w'", "~ may return another result on Spark"),
        ("SELECT regexp_replace(text, 'w', 'v') FROM app_log", "regexp_replace of the first match"),
        ("SELECT regexp_extract(text, 'W', 0, 'i') FROM app_log", "cannot be translated"),
        ("SELECT substring(text, -1) FROM app_log", "a part of a text"),
        ("SELECT left(text, -1) FROM app_log", "a part of a text"),
        ("SELECT words[1:1] FROM app_log", "a part of a list"),
        ("SELECT text LIKE level FROM app_log", "LIKE with a pattern"),
        ("SELECT real::VARCHAR FROM app_log", "as text may return another result on Spark"),
        ("SELECT price // 2 FROM app_log", "// of numbers"),
        ("SELECT body->'b' FROM app_log", "-> as a value"),
        ("SELECT strftime(day, '%U') FROM app_log", "this format of times"),
        ("SELECT date_diff('week', day, day) FROM app_log", "date_diff('week', …)"),
        ("SELECT a AT TIME ZONE 'UTC' AS a FROM (SELECT tp_timestamp AS a FROM app_log)", "which has two meanings"),
        ("SELECT extract(dow FROM day) FROM app_log", "extract(dow …)"),
        ("SELECT day - DATE '2024-01-01' FROM app_log", "what Spark gave is of another type"),
    ],
)
def test_what_spark_may_not_do_is_refused(queries: SparkQueries, sql: str, message: str) -> None:
    with pytest.raises(TailpipeError, match=re.escape(message)):
        queries.run(sql)


def test_what_spark_lacks_is_told_with_the_translation(queries: SparkQueries) -> None:
    with pytest.raises(TailpipeError, match="Spark rejected the statement") as refused:
        queries.run("SELECT n AS k FROM app_log WHERE k > 3").rows  # noqa: B018
    assert refused.value.hint.endswith("SELECT `n` AS `k` FROM `app_log` AS `app_log` WHERE `k` > 3")


def test_a_table_is_a_dataframe(session: Session, spark: SparkSession, tmp_path: Path) -> None:
    frame = frame_of(session, "app_log", lambda: spark)
    assert frame.count() == 200
    assert frame.columns[-1] == "tp_usernames"
    assert frame_of(session, "recent.app_log", lambda: spark).count() == len(
        list(session.run("FROM recent.app_log").rows)
    )
    with pytest.raises(UsageError, match="table not found: app_lag"):
        frame_of(session, "app_lag", lambda: spark)


def test_the_snippet_of_the_page_runs(
    session: Session, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs/clients.md").read_text(encoding="utf-8")
    (snippet,) = (one for one in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if ".spark(" in one)
    stopped: list[object] = []
    monkeypatch.setattr(SparkSession, "stop", lambda self: stopped.append(self))  # the others want to go on
    workspace = SimpleNamespace(spark=lambda name: frame_of(session, name, lambda: spark))
    exec(compile(snippet, "docs/clients.md", "exec"), {"workspace": workspace})
    assert "level='info', count=200" in capsys.readouterr().out
    assert len(stopped) == 1


def test_ctrl_c_is_heard_while_rows_are_awaited() -> None:
    is_over, was_over = Event(), Event()

    def wait() -> None:
        is_over.wait(0.2)  # by then it is awaited
        _thread.interrupt_main()
        if not is_over.wait(20):
            was_over.set()

    with pytest.raises(KeyboardInterrupt):
        _in_thread(wait, UNLIMITED)
    is_over.set()
    assert not was_over.is_set()  # it did not wait for the end
    with pytest.raises(ZeroDivisionError):
        _in_thread(lambda: 1 / 0, UNLIMITED)
    assert _in_thread(lambda: 42, UNLIMITED) == 42


def test_a_time_limit_cancels_the_job(session: Session, spark: SparkSession) -> None:
    limited = SparkQueries(session, lambda: spark)
    limited.limit.seconds = 1.0
    # Spark does not interrupt a task inside a loop of joined rows: it must end by itself, or it works on beside all
    # later tests.
    work = "upper(repeat(concat(t0.text, t1.text, t2.text), 40))"
    slow = f"SELECT sum(length({work})) FROM app_log t0, app_log t1, app_log t2"
    with pytest.raises(TimeLimitError, match="stopped at the time limit of 1 s"):
        limited.run(slow)
    tracker = spark.sparkContext.statusTracker()
    until = time.monotonic() + 120
    while tracker.getActiveJobsIds():
        assert time.monotonic() < until
        time.sleep(0.1)
