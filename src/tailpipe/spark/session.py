"""The Spark session: quiet, bound to this machine unless told otherwise, and in UTC."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.errors import SparkError
from tailpipe.model.settings import SparkSettings
from tailpipe.spark.archive import ClassArchive
from tailpipe.spark.cluster import check_master
from tailpipe.spark.java import check_user, find_java
from tailpipe.spark.surroundings import (
    environment,
    interrupts_held,
    log_error,
    log_to,
    output_to,
    writable_cache,
    write_log4j,
)
from tailpipe.storage.scratch import make_scratch

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = [
    "PROTECTION",
    "end_java",
    "is_alive",
    "is_local",
    "is_running",
    "java_process",
    "leave_context",
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
    settings: SparkSettings,
    *,
    cache: Path,
    log: Path,
    env: Mapping[str, str] | None = None,
    java_options: str | None = None,
) -> SparkContext:
    """Start Spark. Whatever it has to say goes to the log file, also what its processes print.

    Its SQL is not started: jobs do without it, and it takes as long as the rest (ADR 0014). A Spark that the
    process has already is taken as it is, with its own log. `java_options` are further ones of the JVM; without
    them it uses the class archive, if there is one.
    """
    try:
        from pyspark import SparkContext
    except ImportError as error:
        raise SparkError(f"Spark cannot be imported: {error}", hint="pip install tailpipe again") from error
    if is_running():
        return SparkContext.getOrCreate()
    check_user(os.geteuid())
    check_master(settings.master)
    cache = writable_cache(cache)
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    log4j = write_log4j(log)
    log_to(log)
    scratch = _scratch_of_java() or make_scratch(cache / "spark").path
    conf = spark_conf(settings, scratch=scratch, log4j=log4j)
    variables = _variables(conf, os.environ if env is None else env, cache)
    has_archive = java_options is None and settings.class_archive
    archive = ClassArchive.of(Path(str(variables["JAVA_HOME"])), cache) if has_archive else None
    used = archive.use if archive else ""
    with environment(variables), output_to(log), interrupts_held() as held:
        try:
            context = _start(conf, used or java_options or "")
        except SparkError as error:
            if archive is None or not used:
                raise SparkError(error.message, hint=f"its own words are in {log}") from error
            archive.drop()
            context = _start(conf, "")
    vars(context._gateway)["scratch"] = scratch
    # It would print a traceback when the JVM is killed.
    vars(context._accumulatorServer)["handle_error"] = log_error
    if held:
        stop_context(context)
        raise KeyboardInterrupt
    return context


def _start(conf: Mapping[str, str], java_options: str) -> SparkContext:
    from pyspark import SparkConf, SparkContext

    options = f"{conf[_OPTIONS]} {java_options}".rstrip()
    try:
        return SparkContext.getOrCreate(SparkConf().setAll([*conf.items(), (_OPTIONS, options)]))
    except Exception as error:
        _forget_gateway()
        raise SparkError(f"Spark did not start: {_first_line(error)}") from error


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


def end_java(context: SparkContext) -> None:
    """End Spark and its Java process in their own time, and wait for it."""
    process = getattr(context._gateway, "proc", None)
    stop_context(context)
    if process is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()  # it goes when nobody can talk to it any more
        process.wait()
    _forget_gateway()


def leave_context(context: SparkContext) -> None:
    """End Spark at once, because this process ends: what it holds on this machine is scratch.

    A Spark on a cluster is stopped in the usual way, so that its executors are given back.
    """
    process = getattr(context._gateway, "proc", None)
    if process is None or not is_local(str(context.master)):
        stop_context(context)
        return
    vars(context._accumulatorServer)["handle_error"] = _no_error  # that the JVM goes is no surprise
    process.kill()
    process.wait()
    scratch: Path | None = getattr(context._gateway, "scratch", None)
    _forget_gateway()
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)


def _no_error(*_: object) -> None:
    """Nothing is wrong."""


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


def java_process(context: SparkContext) -> int | None:
    """The number of Spark's Java process; None if somebody else started it."""
    process = getattr(context._gateway, "proc", None)
    return None if process is None else int(process.pid)


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


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
