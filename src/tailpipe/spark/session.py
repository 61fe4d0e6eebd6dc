"""The Spark session: how it is started, and how it ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.config.settings import SparkSettings
from tailpipe.errors import SparkError
from tailpipe.frozen import frozen
from tailpipe.spark.archive import ClassArchive
from tailpipe.spark.cluster import check_master
from tailpipe.spark.conf import JAVA_OPTIONS, is_local, spark_conf
from tailpipe.spark.daemon import TASKS_ONLY
from tailpipe.spark.gateway import Launch, connect, is_plain, java_command, launch, spark_home
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
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_STOP_SECONDS = 20


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
    return Starter(settings, cache=cache, log=log, env=env, java_options=java_options).open()


@frozen
class _Setup:
    """What a start of Spark needs to know."""

    conf: Mapping[str, str]
    variables: Mapping[str, str | None]
    scratch: Path
    archive: ClassArchive | None
    is_direct: bool
    """Whether Java is started here and not by Spark's scripts."""


@dataclass
class Starter:
    """Starts Spark as `open_context` says; its Java can be started ahead, while there is other work to do.

    If it `is_for_tasks`, no DataFrames with functions of a user run on it. If it `is_lean`, no row enters the
    heap of an executor.
    """

    settings: SparkSettings
    cache: Path
    log: Path
    env: Mapping[str, str] | None = None
    java_options: str | None = None
    is_for_tasks: bool = False
    is_lean: bool = False
    archive: ClassArchive | None = field(default=None, init=False)
    """The class archive for the Java that was started last, if it was started here and may use one."""
    _ahead: tuple[_Setup, Launch] | None = field(default=None, init=False)

    def prepare(self) -> None:
        """Start Java without waiting, if Spark will run in its own Java on this machine; `open` reports what fails."""
        if self._ahead is not None or _has_java() or not is_local(self.settings.master):
            return
        with interrupts_held() as held, contextlib.suppress(SparkError, OSError):
            setup = self._set_up()
            if setup.is_direct:
                self._ahead = setup, self._launched(setup)
        if held:
            self.cancel()
            raise KeyboardInterrupt

    @property
    def is_ahead(self) -> bool:
        """Whether a Java was started ahead and is not used yet."""
        return self._ahead is not None

    def cancel(self) -> None:
        """End a Java that was started ahead and is not used."""
        if self._ahead is not None:
            (setup, started), self._ahead = self._ahead, None
            started.cancel()
            shutil.rmtree(setup.scratch, ignore_errors=True)

    def open(self) -> SparkContext:
        """Start Spark, or go on with what was started ahead."""
        try:
            from pyspark import SparkContext
        except ImportError as error:
            raise SparkError(f"Spark cannot be imported: {error}", hint="pip install tailpipe again") from error
        if is_running():
            self.cancel()
            return SparkContext.getOrCreate()
        (setup, started), self._ahead = self._ahead or (self._set_up(), None), None
        self.archive = setup.archive if setup.is_direct else None
        log_to(self.log)
        with environment(setup.variables), output_to(self.log), interrupts_held() as held:
            context = self._start(setup, started)
        vars(context._gateway)["scratch"] = setup.scratch
        vars(context._gateway)["has_event_log"] = setup.conf.get("spark.eventLog.enabled") == "true"
        # It would print a traceback when the JVM is killed.
        vars(context._accumulatorServer)["handle_error"] = log_error
        if held:
            stop_context(context)
            raise KeyboardInterrupt
        return context

    def _start(self, setup: _Setup, started: Launch | None) -> SparkContext:
        """Start Spark; if its Java does not come up, start it in the way of PySpark and without the archive."""
        used = setup.archive.use if setup.archive else ""
        is_direct = setup.is_direct and not _has_java()
        try:
            try:
                started = started or (self._launched(setup) if is_direct else None)
                return _context(setup.conf, used or self.java_options or "", started)
            except SparkError:
                is_answer = not is_direct or (started is not None and started.process.poll() is None)
                if started is not None:
                    started.cancel()
                if is_answer and not used:  # Spark refuses its settings: it would do so again
                    raise
                context = _context(setup.conf, self.java_options or "")
        except SparkError as error:
            raise SparkError(error.message, hint=f"its own words are in {self.log}") from error
        if setup.archive is not None and used:
            setup.archive.drop()
        return context

    def _set_up(self) -> _Setup:
        settings, env = self.settings, os.environ if self.env is None else self.env
        check_user(os.geteuid())
        check_master(settings.master)
        cache = writable_cache(self.cache)
        self.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch = _scratch_of_java() or make_scratch(cache / "spark").path
        log4j = write_log4j(self.log)
        conf = spark_conf(settings, scratch=scratch, log4j=log4j, is_lean=self.is_lean)
        if settings.archive and not is_local(settings.master):
            from tailpipe.spark.shipping import shipping_conf  # late, because few collections ship anything

            conf = {**shipping_conf(cache), **conf}
        variables = _variables(conf, env, cache) | {TASKS_ONLY: "1" if self.is_for_tasks else None}
        is_direct = is_local(settings.master) and is_plain(settings, env, spark_home())
        has_archive = self.java_options is None and settings.class_archive and is_local(settings.master)
        java_home = Path(str(variables["JAVA_HOME"]))
        archive = ClassArchive.of(java_home, cache, is_direct=is_direct) if has_archive else None
        return _Setup(conf, variables, scratch, archive, is_direct)

    def _launched(self, setup: _Setup) -> Launch:
        used = setup.archive.use if setup.archive else ""
        options = f"{setup.conf[JAVA_OPTIONS]} {used or self.java_options or ''}"
        home = spark_home()
        command = java_command(
            Path(str(setup.variables["JAVA_HOME"])), home, setup.conf["spark.driver.memory"], options
        )
        return launch(command, log=self.log, scratch=setup.scratch, variables=setup.variables, home=home)


def _context(conf: Mapping[str, str], java_options: str, started: Launch | None = None) -> SparkContext:
    """The context, in a Java that was started, or in one that PySpark starts now or has started before."""
    from pyspark import SparkConf, SparkContext

    options = f"{conf[JAVA_OPTIONS]} {java_options}".rstrip()
    made = SparkConf().setAll([*conf.items(), (JAVA_OPTIONS, options)])
    try:
        if SparkContext._gateway is None:
            gateway = connect(made) if started is None else started.connect()
            _convert_numpy(gateway, is_wanted=False)
            SparkContext._ensure_initialized(gateway=gateway)
            for name, value in made.getAll() if started else ():  # as `spark-submit` does with what it is given
                gateway.jvm.System.setProperty(name, value)
        return SparkContext.getOrCreate(made)
    except Exception as error:
        _forget_gateway()
        lines = str(error).strip().splitlines()
        raise SparkError(f"Spark did not start: {lines[0] if lines else type(error).__name__}") from error


def _convert_numpy(gateway: JavaGateway, *, is_wanted: bool) -> None:
    """Whether numpy's numbers may be given to Java: to recognise them, PySpark imports numpy, pandas and much else."""
    from py4j.protocol import INPUT_CONVERTER

    wanted = [one for one in INPUT_CONVERTER if is_wanted or not type(one).__name__.startswith("Numpy")]
    gateway._gateway_client.converters = wanted


def session_of(context: SparkContext) -> SparkSession:
    """Spark's SQL and DataFrames on top of a context; the same session each time."""
    from pyspark.sql import SparkSession

    _convert_numpy(context._gateway, is_wanted=True)
    return SparkSession.builder.config(conf=context.getConf()).getOrCreate()


def stop_context(context: SparkContext) -> None:
    """End Spark, also one that does not answer any more."""

    def stop() -> None:
        from pyspark.sql import SparkSession

        session = SparkSession._instantiatedSession
        with contextlib.suppress(Exception):  # the JVM is gone already
            (context if session is None else session).stop()

    _convert_numpy(context._gateway, is_wanted=True)  # this process may use its Java for a Spark of its own
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
            process.stdin.close()  # it ends when its input does
        process.wait()
    _forget_gateway()


def leave_context(context: SparkContext) -> None:
    """End Spark at once, because this process ends: what it holds on this machine is scratch.

    A Spark on a cluster is stopped in the usual way, so that its executors are given back; so is one with an event log,
    which would stay `.inprogress`.
    """
    process = getattr(context._gateway, "proc", None)
    if process is None or not is_local(str(context.master)):
        stop_context(context)
        return
    facts = vars(context._gateway)
    if facts.get("has_event_log"):
        stop_context(context)
    else:
        vars(context._accumulatorServer)["handle_error"] = lambda *_: None  # it would report that the JVM is gone
    process.kill()
    process.wait()
    scratch: Path | None = facts.get("scratch")
    _forget_gateway()
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)


def is_running() -> bool:
    """Whether this process has a Spark already: there can be one only, so all who want it share it."""
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


def is_alive(context: SparkContext, *, after: float = 0) -> bool:
    """Whether Spark's Java process still runs after so many seconds; true if another program started it."""
    process = getattr(context._gateway, "proc", None)
    if process is None:
        return True
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        return True
    return False


def _forget_gateway() -> None:
    """Forget the Java process that is gone, which PySpark would use for as long as this process lives."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    for name in ("_gateway", "_jvm", "_active_spark_context"):
        setattr(SparkContext, name, None)
    SparkSession._instantiatedSession = None


def _has_java() -> bool:
    """Whether this process has a Java of Spark already: it is used again."""
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._gateway is not None


def _scratch_of_java() -> Path | None:
    """Where the Java process of an earlier Spark keeps its things: it goes on with that for as long as it lives."""
    if not _has_java():
        return None
    from pyspark import SparkContext

    # Not by its attribute: a gateway takes names that it does not know for those of Java.
    scratch: Path | None = vars(SparkContext._gateway).get("scratch")
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
        # Another Spark, or one of Spark Connect, would not fit the package that is imported here.
        "SPARK_HOME": None,
        "SPARK_REMOTE": None,
    }
    if env.get("LC_ALL") in ("C", "POSIX"):  # Java could not open a path that is not plain ASCII
        found["LC_ALL"] = "C.UTF-8"
    if is_local(conf["spark.master"]):
        found |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": None}
    return found
