"""Spark Connect: tasks on a cluster whose driver is elsewhere, behind a server that takes DataFrames alone.

There are no RDDs, no accumulators and no Java process. A payload is a row, `repartitionById` gives each row a
task, and `mapInArrow` runs the same work as an RDD would. Answers come in the order of the tasks. How many tasks run at
once is counted by a job of short tasks.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import socket
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tailpipe.config.settings import SparkSettings
from tailpipe.errors import SparkError
from tailpipe.frozen import frozen
from tailpipe.kernel.delivery import Depots
from tailpipe.model.redacted_logging import log_redacted
from tailpipe.model.redaction import REDACTOR
from tailpipe.spark.jobs import Attempt, Work, failure_of, redact
from tailpipe.spark.preflight import Probe, Prober, check_hosts, memory_limit, unanswered
from tailpipe.spark.surroundings import log_to, output_to, writable_cache

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_CONNECT_SECONDS = 10
_RETRIES = 5
"""Of requests: with their pauses, 17 seconds. By default a client would try for ten minutes."""
_COUNTED = 64
"""As many tasks look for hosts and cores."""
_PORT = 15002
_ADDRESS = re.compile(r"sc://(\[[^\]]+\]|[^:/;]+)(?::(\d+))?")
_ANSWER = "number int, answer binary"
_INSTALL = 'pip install "tailpipe[connect]"'
_MASTER = "set master in the spark block instead of remote"
_HINT = "see its log; committed days stay, and the next collect continues from there"


@frozen
class _Place:
    """A Python process of a host, as a task sees it."""

    host: str
    executor: int
    process: int


def open_connect(settings: SparkSettings, *, cache: Path, log: Path) -> OnConnect:
    """Connect to the server of `remote`, and send it this environment if `archive` says so."""
    address = settings.remote or ""
    _check_reachable(address)
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    log_to(log)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it would write to the terminal
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # the error says so
    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession
    except ImportError as error:
        raise SparkError(f"Spark Connect requires further packages: {error}", hint=_INSTALL) from error
    if settings.remote_token is not None:
        REDACTOR.learn([settings.remote_token.reveal()])
    with _failures(address), output_to(log):
        session = SparkSession.builder.remote(_url(settings)).create()
        session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
        python = settings.conf.get("spark.sql.execution.pyspark.python", "")
        if settings.archive:
            from tailpipe.spark.shipping import pack_environment

            session.addArtifacts(f"{pack_environment(writable_cache(cache))}#env", archive=True)
            python = "./env/bin/python"
            session.conf.set("spark.sql.execution.pyspark.python", python)
        for name, value in settings.conf.items():
            session.conf.set(name, str(value))
    return OnConnect(session, address, python or "python3", settings.is_remote_private)


def _url(settings: SparkSettings) -> str:
    address = settings.remote or ""
    if settings.remote_token is None:
        return address
    return f"{address}{'' if '/' in address[5:] else '/'};token={settings.remote_token.reveal()}"


def _check_reachable(address: str) -> None:
    """Raise if nothing accepts a connection there: the client would try for minutes."""
    match = _ADDRESS.match(address)
    host, port = (match[1].strip("[]"), int(match[2] or _PORT)) if match else ("", 0)
    try:
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise SparkError(
            f"cannot reach the Spark Connect server {address} ({getattr(error, 'strerror', None) or error})",
            hint="start it, or correct remote in the spark block of the workspace",
        ) from error


@dataclass
class OnConnect:
    """A session of a Spark Connect server."""

    _session: Any
    master: str
    """The address of the server."""
    _python: str
    is_private: bool
    """Whether the connection is encrypted, or does not leave this machine."""
    _places: frozenset[_Place] = frozenset()

    @property
    def context(self) -> SparkContext:
        """There is none."""
        raise SparkError(f"the Spark context of {self.master} is not available to clients", hint=_MASTER)

    @property
    def session(self) -> SparkSession:
        """Not used: statements are checked by a Spark in this process, and views need one."""
        raise SparkError("DataFrames and --engine spark are not available with Spark Connect", hint=_MASTER)

    @property
    def is_local(self) -> bool:
        """It never is: even a server on this machine sees another environment."""
        return False

    @property
    def cores(self) -> int:
        """As many as were seen to run at once."""
        return len(self._counted())

    def properties(self) -> dict[str, str]:
        """Those of the server, if it shows them."""
        try:
            return {str(name): str(value) for name, value in dict(self._session.conf.getAll).items()}
        except _client_errors():  # some servers do not show them
            return {}

    def task_memory(self) -> str:
        """By the memory of executors, if the server shows it."""
        places = self._counted()
        executors = {(one.host, one.executor) for one in places}
        return memory_limit(self.properties(), max(1, len(places) // max(1, len(executors))))

    def check(self, staging: Path | None, wait_seconds: float, depots: Depots) -> None:
        """Check the hosts that answer; others are checked by their first task."""
        del wait_seconds  # the server decides how long executors may take to start
        check_hosts(self._probe_hosts, staging, depots)

    def stream(
        self, payloads: Sequence[bytes], work: Work, group: str, name: str
    ) -> Generator[tuple[int, bytes], None, None]:
        """Run one payload per task, as a DataFrame."""
        del name  # a client cannot name a job: Spark's pages show the tag
        if not payloads:
            return
        missing = set(range(len(payloads)))
        with _failures(self.master):
            self._session.addTag(group)  # of this thread
            try:
                for number, answer in self._rows(payloads, _worker(work)):
                    missing.discard(number)
                    yield number, answer
            except BaseException:
                with contextlib.suppress(*_client_errors()):  # it may be gone
                    self._session.interruptTag(group)
                raise
            finally:
                self._session.removeTag(group)
        if missing:
            raise SparkError(f"Spark returned {len(payloads) - len(missing)} of {len(payloads)} tasks", hint=_HINT)

    def running_tasks(self, groups: Iterable[str]) -> dict[str, int]:
        """Unknown: the server does not report it."""
        del groups
        return {}

    def is_alive(self, *, after: float = 0) -> bool:
        """Whether the server accepts connections, and knows the session."""
        del after
        try:
            _check_reachable(self.master)
            return bool(self._session.version)
        except SparkError:
            return False
        except _client_errors():
            return False

    def cpu_seconds(self) -> float:
        """Nothing runs here."""
        return 0.0

    def end(self) -> None:
        """Release the session."""
        with contextlib.suppress(*_client_errors()):  # the server is gone
            self._session.stop()

    def _rows(self, payloads: Sequence[bytes], mapped: Callable[..., Any]) -> Iterator[tuple[int, bytes]]:
        import pyarrow as pa

        numbers = pa.array(range(len(payloads)), pa.int32())
        table = pa.table({"number": numbers, "payload": pa.array(payloads, pa.binary())})
        rows = self._session.createDataFrame(table).repartitionById(len(payloads), "number")
        for row in rows.mapInArrow(mapped, _ANSWER).toLocalIterator():
            yield int(row[0]), bytes(row[1])

    def _probe_hosts(self, prober: Prober) -> list[Probe]:
        """Probes of the hosts: as many tasks as can run there, and more."""
        probes: dict[tuple[str, int], Probe] = {}
        for _, answer in self._probed(_probing(prober), max(2, 2 * len(self._counted()))):
            probe = Probe(**pickle.loads(answer))  # noqa: S301 - the answer of our own task
            probes[probe.host, probe.executor] = probe
        return list(probes.values())

    def _counted(self) -> frozenset[_Place]:
        if not self._places:
            self._places = frozenset(
                _Place(*pickle.loads(answer))  # noqa: S301
                for _, answer in self._probed(_counting(), _COUNTED)
            )
        return self._places

    def _probed(self, mapped: Callable[..., Any], count: int) -> list[tuple[int, bytes]]:
        try:
            return list(self._rows([b""] * count, mapped))
        except _client_errors() as error:
            raise unanswered(error, _spark_error(error, self.master).message, self._python) from error


def _client_errors() -> tuple[type[Exception], ...]:
    """The errors of a request: of the server, of the network, and of a connection that was closed."""
    from grpc import RpcError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    return (PySparkException, RpcError, OSError, ValueError)


def _worker(work: Work) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The work of a task, over the rows of one."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        log_redacted()
        context = cast("TaskContext", TaskContext.get())
        for batch in batches:
            for number, payload in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                try:
                    answer = work(payload, Attempt(number, context.taskAttemptId()))
                except Exception as error:
                    redact(error)  # Spark writes it to its log
                    raise
                columns = [pa.array([number], pa.int32()), pa.array([answer], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, names=["number", "answer"])

    return run


def _probing(prober: Prober) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The probe over the rows of a task. It travels by value: a host may lack tailpipe."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import pickle

        import pyarrow as pa

        for batch in batches:
            for number in batch.column(0).to_pylist():
                columns = [pa.array([number], pa.int32()), pa.array([pickle.dumps(prober([number])[0])], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, names=["number", "answer"])

    return run


def _counting() -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Where tasks run. They take a moment, so that each core gets one."""

    def probe(_: Iterable[int]) -> list[tuple[str, int, int]]:
        import os
        import platform
        import time

        time.sleep(0.02)
        return [(platform.node(), os.getppid(), os.getpid())]

    return _probing(cast("Prober", probe))


@contextlib.contextmanager
def _failures(address: str) -> Iterator[None]:
    """Raise what Spark and its client raise as one line."""
    try:
        yield
    except _client_errors() as error:
        raise _spark_error(error, address) from error


def _spark_error(error: Exception, address: str) -> SparkError:
    text = str(error)
    if "UNAVAILABLE" in text or "Retries exceeded" in text or type(error).__name__ == "RetriesExceeded":
        return SparkError(f"the Spark Connect server {address} does not answer", hint=_HINT)
    if found := re.search(r"CANNOT_MODIFY_(?:STATIC_)?CONFIG\S*\].*?\"?(spark\.[\w.]+)", text):
        return SparkError(
            f"the Spark Connect server {address} does not let clients set {found[1]}",
            hint="remove it from conf, or set it where the server is started",
        )
    if re.search(r"UNAUTHENTICATED|PERMISSION_DENIED|Invalid authentication", text):
        return SparkError(f"the Spark Connect server {address} rejected the login", hint="check remote_token")
    failure = failure_of(text)
    return SparkError(failure.message, hint=_HINT)
