"""Queries on Spark over files in a bucket alone: fetched once, the same answers, and no credential in Spark."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailpipe.errors import TailpipeError
from tailpipe.model.store import Store
from tailpipe.model.window import Window
from tailpipe.query.on_spark import SparkQueries, frame_of
from tailpipe.storage.object_stores import open_objects
from tailpipe.stores.fetch import Limits
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Collect, Query, Workspace
from tests.aws.conftest import TestBucket, bucket, no_credentials
from tests.aws.server import ACCESS_KEY, SECRET_KEY, owner
from tests.reading.support import asked, give_store, move_out, requests_of

__all__ = ["bucket", "no_credentials"]

CONFIG = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}
partition "app" "local" {
  tp_index = "who"
  source "file" {
    paths       = ["%s"]
    file_layout = `%%{YEAR:year}-%%{MONTHNUM:month}-%%{MONTHDAY:day}.jsonl`
  }
}
"""
JANUARY = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 10, tzinfo=UTC))
STATEMENTS = (
    "SELECT count(*), sum(n), count(DISTINCT tp_id) FROM app",
    "SELECT who, max(n) FROM app WHERE tp_date >= DATE '2024-01-02' GROUP BY who ORDER BY who",
    "SELECT count(*) FROM app WHERE tp_index = 'w1'",
)
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


@pytest.fixture
def workspace(tmp_path: Path, bucket: TestBucket, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Three days with two indexes, in a bucket alone."""
    (tmp_path / "logs").mkdir()
    for day in (1, 2, 3):
        rows = ({"time": f"2024-01-0{day}T10:00:00Z", "n": day * 100 + n, "who": f"w{n % 2}"} for n in range(50))
        (tmp_path / "logs" / f"2024-01-0{day}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(tmp_path / "install"))
    config = tmp_path / "install" / "config" / "main.tpc"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG % (tmp_path / "logs"))
    store = Store(name="lake", location=f"s3://{bucket.name}/logs", connection=owner(bucket.url))
    opened = give_store(Workspace.open(engine=InProcessEngine()), store)
    assert opened.collect(Collect(datetime.now(UTC), JANUARY)).is_done
    assert move_out(opened.home.layout(), open_objects(store.location, store.connection)) == 6
    return opened


def test_spark_answers_over_files_of_a_bucket_as_duckdb_does(workspace: Workspace, spark: SparkSession) -> None:
    with workspace.session() as session:
        expected = [asked(session, sql) for sql in STATEMENTS]
    assert expected[0] == [(150, 33675, 150)]
    with workspace.session(Query(has_copies=False)) as session:
        queries = SparkQueries(session, lambda: spark)
        assert [list(queries.run(sql).rows) for sql in STATEMENTS] == expected


def test_only_the_files_that_a_statement_needs_are_fetched_and_once(workspace: Workspace, spark: SparkSession) -> None:
    one_day = "SELECT count(*) FROM app WHERE tp_date = DATE '2024-01-02'"
    for requests in ({"get": 2}, {}):
        with workspace.session(Query(has_copies=False)) as session:
            assert list(SparkQueries(session, lambda: spark).run(one_day).rows) == [(50,)]
            assert {kind: count for kind, count in requests_of(session).items() if count} == requests


def test_more_than_the_fetch_limit_is_refused_before_the_first_request(
    workspace: Workspace, spark: SparkSession
) -> None:
    with workspace.session(Query(has_copies=False, limits=Limits(fetch_bytes=1000))) as session:
        with pytest.raises(TailpipeError, match="the fetch limit of"):
            SparkQueries(session, lambda: spark).run(STATEMENTS[0])
        assert sum(requests_of(session).values()) == 0


def test_no_credential_of_the_store_gets_into_spark(workspace: Workspace, spark: SparkSession) -> None:
    with workspace.session(Query(has_copies=False)) as session:
        queries = SparkQueries(session, lambda: spark)
        assert list(queries.run(STATEMENTS[0]).rows) == [(150, 33675, 150)]
        frame = frame_of(session, "app", lambda: spark, workspace.home.bring)
        plan = frame._jdf.queryExecution().toString()
    told = [plan, *(str(row) for row in spark.sql("SET -v").collect()), str(spark.sparkContext.getConf().getAll())]
    assert spark.sparkContext._jvm is not None
    told += [str(spark.sparkContext._jvm.System.getProperties()), str(spark.sparkContext._jvm.System.getenv())]
    hadoop = spark.sparkContext._jsc.hadoopConfiguration().iterator()
    while hadoop.hasNext():
        told.append(str(hadoop.next()))
    assert frame.count() == 150
    for secret in (ACCESS_KEY, SECRET_KEY):
        assert [text for text in told if secret in text] == []
