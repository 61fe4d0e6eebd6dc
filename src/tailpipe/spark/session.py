"""The Spark session: quiet, bound to this machine unless told otherwise, and in UTC."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.errors import SparkError
from tailpipe.model.settings import SparkSettings
from tailpipe.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_session", "session_conf"]

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
"""


def session_conf(settings: SparkSettings, *, local_dir: Path, log4j: Path) -> dict[str, str]:
    """The properties of the session; what the workspace's `conf` says wins.

    The JVM only plans and places: the rows never enter it. So it gets little memory, a simple collector
    and no second compiler, which makes it start sooner.
    """
    lean = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    conf = {
        "spark.master": settings.master,
        "spark.app.name": "tailpipe",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": settings.driver_memory or "1g",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log4j} {lean}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",  # it would put several tasks into one
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.speculation": "false",
        "spark.python.worker.reuse": "true",
        "spark.local.dir": str(local_dir),
        "spark.eventLog.enabled": "false",
    }
    if is_local(settings.master):
        conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return {**conf, **{key: str(value) for key, value in settings.conf.items()}}


def is_local(master: str) -> bool:
    """Whether all of it runs on this machine, in one process tree."""
    return master.startswith("local")


def open_session(
    settings: SparkSettings, *, cache: Path, log: Path, env: Mapping[str, str] | None = None
) -> SparkSession:
    """Start Spark. Whatever it has to say goes to the log file, also what its processes print."""
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkError(f"Spark cannot be imported: {error}", hint="pip install tailpipe again") from error
    local_dir = cache / "spark"
    for directory in (local_dir, log.parent):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    log4j = cache / "log4j2.properties"
    log4j.write_text(_LOG4J.format(log=log))
    os.environ["JAVA_HOME"] = str(find_java(os.environ if env is None else env, cache))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if is_local(settings.master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder
    for key, value in session_conf(settings, local_dir=local_dir, log4j=log4j).items():
        builder = builder.config(key, value)
    try:
        with _stderr_to(log):
            return builder.getOrCreate()
    except Exception as error:
        raise SparkError(f"Spark did not start: {_first_line(error)}", hint=f"its own words are in {log}") from error


@contextlib.contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Processes that are started meanwhile print into the log for as long as they live."""
    sys.stderr.flush()
    kept = os.dup(2)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(target, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(target)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
