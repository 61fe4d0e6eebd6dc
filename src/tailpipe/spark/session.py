"""The Spark session: quiet, bound to this machine unless told otherwise, and in UTC."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.errors import SparkError
from tailpipe.kernel.scratch import make_scratch
from tailpipe.model.redacting import RedactingFormatter
from tailpipe.model.settings import SparkSettings
from tailpipe.spark.cluster import check_master
from tailpipe.spark.java import check_user, find_java

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = [
    "PROTECTION",
    "is_alive",
    "is_local",
    "is_running",
    "open_context",
    "session_of",
    "spark_conf",
    "stop_context",
]

PROTECTION = ("spark.authenticate", "spark.network.crypto.enabled", "spark.io.encryption.enabled")
"""What must hold on a cluster before a secret travels over its network."""
_TRIES = 4
_STOP_SECONDS = 20
_OPTIONS = "spark.driver.extraJavaOptions"
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


def spark_conf(settings: SparkSettings, *, scratch: Path, log4j: Path) -> dict[str, str]:
    """The properties of Spark; what the workspace's `conf` says wins.

    The JVM only plans and places: the rows never enter it. So it gets little memory, a simple collector
    and no second compiler, which makes it start sooner.
    """
    given = {key: str(value) for key, value in settings.conf.items()}
    lean = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    options = f"-Dlog4j2.configurationFile={log4j.as_uri()} {lean} {given.pop(_OPTIONS, '')}".strip()
    conf = {
        "spark.master": _with_tries(settings.master),
        "spark.app.name": "tailpipe",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": settings.driver_memory or "1g",
        _OPTIONS: options,
        "spark.sql.session.timeZone": "UTC",
        "spark.speculation": "false",
        "spark.python.worker.reuse": "true",
        "spark.eventLog.enabled": "false",
        "spark.sql.timeType.enabled": "true",  # for the columns of that type in our files
        # Work that is larger travels through a file, and credentials are a part of it.
        "spark.broadcast.UDFCompressionThreshold": "1g",
    }
    if is_local(settings.master):
        conf |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.authenticate": "true",  # other users of this machine reach 127.0.0.1 too
            "spark.local.dir": str(scratch),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),  # else it is made wherever we are called
        }
    else:  # the work is done in Python, beside the heap
        conf |= {
            "spark.executor.memory": "1g",
            "spark.executor.memoryOverhead": "2g",
            "spark.executorEnv.PYTHONSAFEPATH": "1",
            # A cancelled task that does not end, such as a large join, is ended with its executor.
            "spark.task.reaper.enabled": "true",
            "spark.task.reaper.killTimeout": "60s",
        }
    if re.match(r"yarn|k8s:", settings.master):  # these make up the secret that it takes
        conf |= dict.fromkeys(PROTECTION, "true")
    return {**conf, **given}


def is_local(master: str) -> bool:
    """Whether all of it runs on this machine, in one process tree."""
    return re.match(r"local($|\[)", master) is not None


def _with_tries(master: str) -> str:
    """A local master that tries a task again: it does so only if it is told."""
    match = re.fullmatch(r"local(?:\[([^,\]]+)\])?", master)
    return f"local[{match[1] or 1},{_TRIES}]" if match else master


def open_context(
    settings: SparkSettings, *, cache: Path, log: Path, env: Mapping[str, str] | None = None
) -> SparkContext:
    """Start Spark. Whatever it has to say goes to the log file, also what its processes print.

    Its SQL is not started: jobs do without it, and it takes as long as the rest (ADR 0014). A Spark that the
    process has already is taken as it is, with its own log.
    """
    try:
        from pyspark import SparkConf, SparkContext
    except ImportError as error:
        raise SparkError(f"Spark cannot be imported: {error}", hint="pip install tailpipe again") from error
    if is_running():
        return SparkContext.getOrCreate()
    check_user(os.geteuid())
    check_master(settings.master)
    surroundings = os.environ if env is None else env
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    log4j = _write_log4j(log)
    _log_to(log)
    scratch = _scratch_of_java() or make_scratch(cache / "spark").path
    conf = spark_conf(settings, scratch=scratch, log4j=log4j)
    try:
        with _environment(_variables(conf, surroundings, cache)), _output_to(log), _interrupts_held() as held:
            context = SparkContext.getOrCreate(SparkConf().setAll(list(conf.items())))
    except Exception as error:
        raise SparkError(f"Spark did not start: {_first_line(error)}", hint=f"its own words are in {log}") from error
    vars(context._gateway)["scratch"] = scratch
    # It would print a traceback when the JVM is killed.
    vars(context._accumulatorServer)["handle_error"] = _log_error
    if held:
        stop_context(context)
        raise KeyboardInterrupt
    return context


def session_of(context: SparkContext) -> SparkSession:
    """Spark's SQL and DataFrames on top of a context; the same session each time."""
    from pyspark.sql import SparkSession

    return SparkSession.builder.config(conf=context.getConf()).getOrCreate()


def stop_context(context: SparkContext) -> None:
    """End Spark, also one that does not answer any more."""

    def stop() -> None:
        from pyspark.sql import SparkSession

        session = SparkSession._instantiatedSession
        with contextlib.suppress(Exception):  # the JVM is gone already
            (context if session is None else session).stop()

    # Not in this thread: an interrupt may have cut short its talk with the JVM.
    thread = threading.Thread(target=stop, name="tailpipe-stop", daemon=True)
    thread.start()
    thread.join(_STOP_SECONDS)
    if not is_alive(context):
        _forget_gateway()


def is_running() -> bool:
    """Whether this process has a Spark already: there can be one only, so all who want it share it."""
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


def is_alive(context: SparkContext, *, after: float = 0) -> bool:
    """Whether the Java process of Spark is there after so many seconds; if somebody else started it, it is."""
    process = getattr(context._gateway, "proc", None)
    if process is None:
        return True
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        return True
    return False


def _forget_gateway() -> None:
    """PySpark would go on asking the process that is gone, for as long as this one lives."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    for name in ("_gateway", "_jvm", "_active_spark_context"):
        setattr(SparkContext, name, None)
    SparkSession._instantiatedSession = None


def _scratch_of_java() -> Path | None:
    """Where the Java process of an earlier Spark keeps its things: it goes on with that for as long as it lives."""
    from pyspark import SparkContext

    scratch: Path | None = getattr(SparkContext._gateway, "scratch", None)
    return scratch if scratch is not None and scratch.is_dir() else None


def _variables(conf: Mapping[str, str], env: Mapping[str, str], cache: Path) -> dict[str, str | None]:
    """The environment in which Spark starts; None takes a variable away."""
    python = conf.get("spark.pyspark.python")
    if not is_local(conf["spark.master"]):
        python = python or env.get("PYSPARK_PYTHON")
    found: dict[str, str | None] = {
        "JAVA_HOME": str(find_java(env, cache)),
        "PYSPARK_PYTHON": python or sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONSAFEPATH": "1",  # a worker imports nothing from the directory that someone happens to be in
        # Another Spark, or one that is asked from afar, would not fit the package that is imported here.
        "SPARK_HOME": None,
        "SPARK_REMOTE": None,
    }
    if env.get("LC_ALL") in ("C", "POSIX"):  # Java could not open a path that is not plain ASCII
        found["LC_ALL"] = "C.UTF-8"
    if is_local(conf["spark.master"]):
        found |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": None}
    return found


def _write_log4j(log: Path) -> Path:
    """The settings of Spark's logger, beside the log: each workspace has its own."""
    path = log.with_name("log4j2.properties")
    name = "".join(one if one.isascii() else f"\\u{ord(one):04x}" for one in str(log).replace("\\", "\\\\"))
    text = _LOG4J.format(log=name)
    if not path.exists() or path.read_text() != text:
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o600)
        draft.rename(path)
    return path


class _LogFile(logging.FileHandler):
    """A handler of ours, which may be taken away again; others that a logger has are somebody else's."""


def _log_to(log: Path) -> None:
    """The Python half of Spark writes into the same file, instead of to the terminal."""
    from pyspark.logger import PySparkLogger

    for name in ("py4j", "pyspark"):
        logger = logging.getLogger(name)
        logger.propagate = False
        for old in [one for one in logger.handlers if isinstance(one, _LogFile)]:
            logger.removeHandler(old)
            old.close()
        handler = _LogFile(log, delay=True)
        handler.setLevel(logging.INFO)  # below that, py4j writes down all that is sent, credentials among it
        handler.setFormatter(RedactingFormatter())
        logger.addHandler(handler)
    logging.getLogger().addFilter(_is_not_of_py4j)
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True  # they tell every failure, which is raised as well


def _log_error(*_: object) -> None:
    logging.getLogger("pyspark").exception("a connection to the JVM was lost")


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Lead aside what py4j logs in nobody's name, tracebacks among it."""
    if Path(record.pathname).parent.name != "py4j":
        return True
    logging.getLogger("py4j").handle(record)
    return False


@contextlib.contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    _set(changes)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextlib.contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Processes that are started meanwhile print into the log for as long as they live."""
    sys.stdout.flush()
    sys.stderr.flush()
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    kept = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    try:
        for descriptor in kept:
            os.dup2(target, descriptor)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor, before in kept.items():
            os.dup2(before, descriptor)
            os.close(before)
        os.close(target)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[list[int]]:
    """Keep interrupts until Spark is up: before that, its JVM would stay behind when we leave.

    It also takes back the handler that Spark puts in place, which talks to the JVM in the middle of
    another talk.
    """
    held: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield held
        return
    before = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield held
    finally:
        signal.signal(signal.SIGINT, before)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
