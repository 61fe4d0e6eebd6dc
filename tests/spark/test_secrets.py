"""Secrets of connections: Spark carries them to its workers, and shows and keeps them nowhere."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tailpipe.catalog.catalog import Catalog
from tailpipe.collect.scan import tasks_to_scan
from tailpipe.config.config import Config
from tailpipe.kernel.task import Staging, Task
from tailpipe.model.connection import Connection
from tailpipe.model.option import Secret, option
from tailpipe.model.request import Collect
from tailpipe.plugins.core.sources import File
from tailpipe.spark.engine import SparkEngine
from tailpipe.spark.scan import scan_tasks
from tailpipe.testing import InProcessEngine
from tests.spark.test_scan import NOW, WINDOW
from tests.spark.worlds import days_back, read_config, write_config, write_logs

SECRET = "hunter2-is-the-key-to-the-vault"
ROWS = 2 * 2 * 60


class Vault(Connection):
    """A service with a key."""

    type = "vault"
    key: Secret | None = option("The key.", default=None)


class VaultFile(File):
    """Files for whose sake the key must be there."""

    type = "vault_file"
    connection: Vault = option("How to log in.", default=Vault())

    def open(self, *given: Any, **options: Any) -> Any:
        """The bytes, for those who have the key."""
        if self.connection.key is None or self.connection.key.reveal() != SECRET:
            raise PermissionError("no key")
        return super().open(*given, **options)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    write_logs(tmp_path / "logs", days_back(2, NOW))
    return read_config(write_config(tmp_path / "install", tmp_path / "logs"))


@pytest.fixture
def tasks(config: Config, tmp_path: Path) -> list[Task]:
    home = tmp_path / "ws"
    home.mkdir()
    partition = config.partitions["app_log.shop"]
    with Catalog.open(home) as catalog:
        ask = Collect(NOW, WINDOW)
        found = tasks_to_scan(partition, config.tables[partition.table], catalog, InProcessEngine(), ask)
    return [
        replace(task, shares=tuple(replace(share, source=_with_key(share.source)) for share in task.shares))
        for task in found
    ]


def _with_key(source: Any) -> VaultFile:
    given = {field.name: getattr(source, field.name) for field in fields(source)}
    return VaultFile(**given, connection=Vault(key=Secret(SECRET)))


def spellings(secret: str) -> list[bytes]:
    """The secret as it is, and as a part of something that was written in base64."""
    raw = secret.encode()
    return [raw, *(base64.b64encode(b"x" * shift + raw)[4 * bool(shift) : -4] for shift in range(3))]


def holds_secret(content: bytes) -> bool:
    return any(one in content for one in spellings(SECRET))


def files_with_secret(*directories: Path) -> list[Path]:
    found = (path for directory in directories for path in sorted(directory.rglob("*")) if path.is_file())
    return [path for path in found if holds_secret(path.read_bytes())]


@contextmanager
def everything_written_down(spark: SparkSession, events: Path) -> Iterator[None]:
    """Spark keeps an event log and logs at its lowest level."""
    context = spark.sparkContext
    jvm: Any = spark._jvm
    conf = context._jsc.sc().getConf().clone().set("spark.eventLog.compress", "false")
    uri = jvm.java.net.URI(events.as_uri())
    hadoop = context._jsc.hadoopConfiguration()
    events.mkdir()
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener("app", jvm.scala.Option.empty(), uri, conf, hadoop)
    loggers = [logging.getLogger(name) for name in ("py4j", "pyspark")]
    before = [logger.level for logger in loggers]
    listener.start()
    context._jsc.sc().addSparkListener(listener)
    context.setLogLevel("TRACE")
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
        context.setLogLevel("WARN")
        context._jsc.sc().listenerBus().waitUntilEmpty()
        context._jsc.sc().removeSparkListener(listener)
        listener.stop()


def places(spark: SparkSession, spark_log: Path, events: Path) -> Sequence[Path]:
    return (
        events,
        spark_log.parent,
        Path(str(spark.sparkContext._temp_dir)),
        vars(spark.sparkContext._gateway)["scratch"],
    )


def test_the_search_finds_a_secret(tmp_path: Path) -> None:
    for number, one in enumerate((b"", b"1", b"12", b"123")):
        (tmp_path / str(number)).write_bytes(base64.b64encode(one + SECRET.encode() + b"tail"))
    (tmp_path / "raw").write_bytes(b"\x80" + SECRET.encode())
    (tmp_path / "none").write_bytes(b"nothing")
    assert [path.name for path in files_with_secret(tmp_path)] == ["0", "1", "2", "3", "raw"]


def test_a_scan_shows_and_keeps_no_secret(
    spark: SparkSession,
    spark_log: Path,
    tasks: list[Task],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    events = tmp_path / "events"
    with everything_written_down(spark, events):
        frame = scan_tasks(spark, tasks)
        filtered = frame.where("number > 3").groupBy("tp_date").count()
        assert frame.count() == ROWS
        for one in (frame, filtered):
            execution: Any = one._jdf.queryExecution()
            plans = (execution.logical(), execution.analyzed(), execution.optimizedPlan(), execution.executedPlan())
            shown = [execution.toString(), execution.stringWithStats(), *(plan.toJSON() for plan in plans)]
            shown.append(execution.analyzed().collectLeaves().apply(0).options().asCaseSensitiveMap().toString())
            one.explain(True)
            one.explain("formatted")
            assert not holds_secret("\n".join(shown).encode())
        left = files_with_secret(*places(spark, spark_log, events))
    assert left == []
    assert files_with_secret(*places(spark, spark_log, events)) == []
    assert "SparkListenerJobEnd" in "".join(path.read_text() for path in events.rglob("*") if path.is_file())
    printed = capfd.readouterr()
    assert "== Physical Plan ==" in printed.out
    assert not holds_secret(f"{printed.out}{printed.err}".encode())


def test_a_job_of_collecting_keeps_no_secret(
    spark: SparkSession, spark_log: Path, tasks: list[Task], tmp_path: Path
) -> None:
    events, staging = tmp_path / "events", tmp_path / "staging"
    staging.mkdir()
    many = "x" * 2_000_000  # with so much in it, Spark would send the work through a file
    wide = [
        replace(task, filter=f"level <> '{many}'").at(Staging(str(staging), f"t{number}"))
        for number, task in enumerate(tasks)
    ]
    engine = SparkEngine(lambda: spark.sparkContext)
    with everything_written_down(spark, events):
        outcomes = dict(engine.run(wide))
        assert sum(outcome.accounts.kept for some in outcomes.values() for outcome in some) == ROWS
        left = files_with_secret(*places(spark, spark_log, events), staging)
    assert left == []
    assert files_with_secret(*places(spark, spark_log, events), staging) == []


def test_a_scan_of_many_artifacts_travels_in_memory(
    spark: SparkSession, spark_log: Path, tasks: list[Task], tmp_path: Path
) -> None:
    wide = [replace(task, filter=f"level <> '{'x' * 2_000_000}'") for task in tasks]
    assert scan_tasks(spark, wide).count() == ROWS
    assert files_with_secret(*places(spark, spark_log, tmp_path / "events")) == []
