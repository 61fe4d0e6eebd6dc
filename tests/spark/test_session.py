"""The session: what it is made of, and how it behaves once it is there."""

from __future__ import annotations

import logging
import signal
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailpipe.catalog.layout import Layout
from tailpipe.config.settings import SparkSettings
from tailpipe.spark.conf import is_local, spark_conf
from tailpipe.spark.engine import SparkEngine
from tailpipe.spark.surroundings import log_to

HERE = Path("/somewhere/with blanks")


def conf(**settings: object) -> dict[str, str]:
    made = SparkSettings(**settings)  # type: ignore[arg-type]
    return spark_conf(made, scratch=HERE / "scratch", log4j=HERE / "log4j2.properties")


def test_executors_of_tasks_get_a_lean_java_unless_the_config_gives_them_options() -> None:
    name, made = "spark.executor.extraJavaOptions", partial(spark_conf, scratch=HERE, log4j=HERE)
    cluster = SparkSettings(master="spark://head:7077")
    assert "-XX:TieredStopAtLevel=1" in made(cluster, is_lean=True)[name]
    assert name not in made(cluster)  # queries work in the heap
    own = SparkSettings(master="spark://head:7077", conf={name: "-XX:+UseZGC"})
    assert made(own, is_lean=True)[name] == "-XX:+UseZGC"
    assert name not in made(SparkSettings(), is_lean=True)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[*,4]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("spark://host:7077", "spark://host:7077"),
        ("yarn", "yarn"),
    ],
)
def test_a_local_master_tries_again_unless_it_is_told_not_to(given: str, made: str) -> None:
    assert conf(master=given)["spark.master"] == made


def test_a_local_session_is_bound_to_this_machine_and_a_cluster_is_not() -> None:
    assert conf()["spark.driver.bindAddress"] == conf()["spark.driver.host"] == "127.0.0.1"
    assert conf()["spark.authenticate"] == "true"
    assert "spark.driver.host" not in conf(master="spark://host:7077")
    assert "spark.local.dir" not in conf(master="spark://host:7077")
    assert [is_local(one) for one in ("local", "local[2,4]", "local-cluster[1,1,1024]", "yarn")] == [
        True,
        True,
        False,
        False,
    ]


def test_the_conf_of_the_workspace_wins_and_keeps_our_logging() -> None:
    given = {"spark.ui.enabled": "true", "spark.driver.extraJavaOptions": "-Dmine=1"}
    made = conf(conf=given, driver_memory="3g")
    assert made["spark.ui.enabled"] == "true"
    assert made["spark.driver.memory"] == "3g"
    options = made["spark.driver.extraJavaOptions"].split()
    assert options[0] == "-Dlog4j2.configurationFile=file:///somewhere/with%20blanks/log4j2.properties"
    assert options[-1] == "-Dmine=1"


def test_a_session_is_quiet_in_utc_and_without_a_page(spark: SparkSession) -> None:
    context = spark.sparkContext
    assert context.uiWebUrl is None
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert context.getConf().get("spark.driver.host") == "127.0.0.1"
    assert context.master == "local[2,4]"


def test_a_session_leaves_our_answer_to_an_interrupt(spark: SparkSession) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_spark_that_is_there_already_is_used_and_goes_on_afterwards(spark: SparkSession, tmp_path: Path) -> None:
    settings, layout = SparkSettings(master="local[1]"), Layout.of(tmp_path / "ws")
    engine = SparkEngine.of(settings, layout, tmp_path / "cache", lambda: None)
    assert engine.context is spark.sparkContext
    assert not layout.spark_log.parent.exists()  # it keeps its own log
    engine.close()
    assert spark.range(3).count() == 3


def test_a_new_log_takes_the_place_of_the_last_one_and_of_no_handler_of_others(
    spark: SparkSession, spark_log: Path
) -> None:
    logger, others = logging.getLogger("py4j"), logging.NullHandler()
    logger.addHandler(others)
    try:
        log_to(spark_log)
        assert others in logger.handlers
        files = [one.baseFilename for one in logger.handlers if isinstance(one, logging.FileHandler)]
        assert files == [str(spark_log)]
    finally:
        logger.removeHandler(others)


def test_the_log_of_spark_is_a_file_for_nobody_else(spark: SparkSession, spark_log: Path) -> None:
    assert "WARN" in spark_log.read_text()
    assert oct(spark_log.stat().st_mode)[-3:] == "600"


def test_nothing_is_left_where_we_were_called(spark: SparkSession) -> None:
    spark.sql("SHOW TABLES").collect()  # makes the directory of Spark's own tables
    assert not Path("spark-warehouse").exists()
    assert Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")).is_dir()


def test_there_is_one_session_however_many_workers_run_the_tests(
    spark: SparkSession, request: pytest.FixtureRequest
) -> None:
    is_of_many = hasattr(request.config, "workerinput")
    assert request.node.nodeid.endswith("@spark") == is_of_many
