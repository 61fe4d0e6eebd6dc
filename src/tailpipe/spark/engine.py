"""The engine of collecting: the kernel's work as Spark jobs, one task of ours to one of Spark's."""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tailpipe.catalog.layout import Layout
from tailpipe.errors import SparkError
from tailpipe.kernel.engine import PrintTask
from tailpipe.kernel.task import Outcome, Share, Staging, Task
from tailpipe.model.connection import Connection
from tailpipe.model.ledger import Span
from tailpipe.model.meter import Meter, Spent
from tailpipe.model.option import secrets_in
from tailpipe.model.redaction import REDACTOR
from tailpipe.model.settings import SparkSettings
from tailpipe.model.source import Source
from tailpipe.model.staged import StagedFile
from tailpipe.spark.background import make_later
from tailpipe.spark.jobs import Attempt, Work, stream_job
from tailpipe.spark.preflight import check_cluster, task_memory
from tailpipe.spark.processes import cpu_seconds
from tailpipe.spark.session import (
    PROTECTION,
    Starter,
    is_alive,
    is_local,
    is_running,
    java_process,
    leave_context,
    session_of,
    stop_context,
)

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from tailpipe.kernel.carry import CarriedFile, Carry
    from tailpipe.kernel.compact import Compaction
    from tailpipe.kernel.dedupe import Dedupe, Deduped

__all__ = ["SparkEngine", "check_secrets"]

T = TypeVar("T")

_PRINTS_TO_A_TASK = 64
_TASK_BYTES = 64 * 1024 * 1024
_FILES_TO_A_TASK = 256
"""How many files are looked at, or put together, by one task of Spark: small ones take less time than a task does."""


def check_secrets(sources: Iterable[Source], master: str, conf: Mapping[str, str]) -> None:
    """Raise if a source holds a secret and the cluster does not keep it from those who listen."""
    missing = [name for name in PROTECTION if conf.get(name) != "true"]
    if is_local(master) or not missing:
        return
    for source in sources:
        for field in fields(source):
            value = getattr(source, field.name)
            if isinstance(value, Connection) and value.holds_secrets:
                raise SparkError(
                    f"{value.address} holds secrets, and the cluster {master} does not protect them on their way",
                    hint=f"set {', '.join(missing)} there and in conf, or use a profile or a role of its hosts",
                )
        if secrets_in(source):
            raise SparkError(
                f"source {source.name or source.type} holds secrets, and the cluster {master} does not protect them on"
                " their way",
                hint=f"set {', '.join(missing)} there and in conf",
            )


def _of_attempt(staging: Staging, attempt: Attempt) -> Staging:
    """Names that no other attempt uses, and the worker's local disk for what does not fit into memory."""
    local = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0] or tempfile.gettempdir()
    spill = Path(local, f"tailpipe-spill-{attempt}")
    return replace(staging, prefix=f"{staging.prefix}-{attempt}", spill=str(spill))


def _run(templates: Sequence[Task], memory: str | None, payload: bytes, attempt: Attempt) -> bytes:
    """Run a kernel task."""
    from tailpipe.kernel.run import run_task

    task = _unpacked(templates, payload)
    if task.limits.memory is None:
        task = replace(task, limits=replace(task.limits, memory=memory))
    places = (_of_attempt(share.staging, attempt) for share in task.shares if share.staging is not None)
    return pickle.dumps(run_task(task.at(*places)))


def _sample(templates: Sequence[Task], payload: bytes, _: Attempt) -> bytes:
    """Look at a sample of a kernel task."""
    from tailpipe.kernel.sample import sample

    return pickle.dumps(sample(_unpacked(templates, payload)))


def _unpacked(templates: Sequence[Task], payload: bytes) -> Task:
    """A task of what tasks have in common, which travels once, and of what it has alone.

    Templates hold the sources, credentials among them, as shares without artifacts; rows name those by number.
    """
    number, shares = pickle.loads(payload)  # noqa: S301 - our own bytes, from our own driver
    template: Task = templates[number]
    made = []
    for place, partition, readings, staging in shares:
        source = template.shares[place].source
        REDACTOR.learn(secrets_in(source))
        made.append(Share(partition, source, readings, staging))
    return replace(template, shares=tuple(made))


def _restage(work: Callable[[Any], Any], payload: bytes, attempt: Attempt) -> bytes:
    """Do work that stages again what is staged or live."""
    task = pickle.loads(payload)  # noqa: S301
    return pickle.dumps(work(replace(task, staging=_of_attempt(task.staging, attempt))))


def _compact(memory: str | None, payload: bytes, attempt: Attempt) -> bytes:
    from tailpipe.kernel.compact import compact_files

    moved = (replace(task, staging=_of_attempt(task.staging, attempt)) for task in pickle.loads(payload))  # noqa: S301
    return pickle.dumps([compact_files(task, memory) for task in moved])


def _misplaced(column: str, kind: str, payload: bytes, _: Attempt) -> bytes:
    from tailpipe.kernel.compact import misplaced

    return pickle.dumps(misplaced(pickle.loads(payload), column, kind))  # noqa: S301


def _print(sources: Sequence[Source], payload: bytes, _: Attempt) -> bytes:
    from tailpipe.kernel.prints import read_prints

    found: dict[tuple[str, Span], str | None] = {}
    for number, artifact, spans in pickle.loads(payload):  # noqa: S301
        prints = read_prints(sources[number], artifact, spans)
        found.update({(artifact.uri, span): text for span, text in prints.items()})
    return pickle.dumps(found)


class SparkEngine:
    """Works on a Spark that is started by the first job that needs it.

    `staging` is the directory that the hosts of a cluster must share with this one; `wait_seconds` is how long a
    cluster may take to start its first executor, and `log` is where Spark writes what it has to say.
    """

    def __init__(
        self,
        start: Callable[[], SparkContext],
        staging: Path | None = None,
        wait_seconds: float = 120,
        log: Path | None = None,
        end: Callable[[SparkContext], None] = stop_context,
        starter: Starter | None = None,
    ) -> None:
        self._start = start
        self._end = end
        self._starter = starter
        self._log = log
        self._staging = staging
        self._wait_seconds = wait_seconds
        self._context: SparkContext | None = None
        self._is_borrowed = False
        self._failure: SparkError | None = None
        self._started: Spent | None = None

    @classmethod
    def of(
        cls,
        settings: SparkSettings,
        layout: Layout,
        cache: Path,
        starting: Callable[[], None],
        *,
        is_last: bool = False,
    ) -> SparkEngine:
        """The engine of a workspace; `starting` is called before Spark is started.

        If it `is_last`, the process ends with its work, and a Spark on this machine is not waited for.
        """

        starter = Starter(settings, cache=cache, log=layout.spark_log, is_for_tasks=is_last)

        def start() -> SparkContext:
            starting()
            return starter.open()

        def leave(context: SparkContext) -> None:
            leave_context(context)
            if sys.exc_info()[0] is None:  # whoever interrupts a run, or sees it fail, expects nothing to go on
                make_later(starter.archive, cache)

        end = leave if is_last else stop_context
        return cls(start, layout.staging, settings.wait_seconds, layout.spark_log, end, starter)

    def prepare(self) -> None:
        """Start Java for the job that is about to come, without waiting for it."""
        if self._starter is not None and self._context is None and self._failure is None:
            self._starter.prepare()

    @property
    def context(self) -> SparkContext:
        """Spark, started if it was not yet; a cluster is checked before it gets work."""
        if self._failure is not None:
            raise self._failure  # it would only fail again, and take its time
        if self._context is not None and not is_alive(self._context):
            self.close()  # it died between two jobs, so nothing is lost
        if self._context is None:
            try:
                self._is_borrowed = is_running()
                meter = Meter()
                with meter("start"):
                    self._context = self._start()
                self._started = meter.spent["start"].plus(Spent(cpu=self.cpu_seconds()))
                if self._staging is not None and not is_local(str(self._context.master)):
                    check_cluster(self._context, self._staging, self._wait_seconds)
            except SparkError as error:
                self._failure = error
                raise
        return self._context

    @property
    def session(self) -> SparkSession:
        """Spark's SQL and DataFrames, for what others do with them."""
        return session_of(self.context)

    def prints(self, tasks: Sequence[PrintTask]) -> dict[tuple[str, Span], str | None]:
        """Prints of contents, by URI and part."""
        sources: list[Source] = []
        rows = []
        for source, artifact, spans in tasks:
            if source not in sources:
                sources.append(source)
            rows.append((sources.index(source), artifact, spans))
        self._protect(sources)
        bundles = [rows[i : i + _PRINTS_TO_A_TASK] for i in range(0, len(rows), _PRINTS_TO_A_TASK)]
        found: dict[tuple[str, Span], str | None] = {}
        for answer in self._answers([pickle.dumps(bundle) for bundle in bundles], partial(_print, sources)):
            found.update(answer)
        return found

    @property
    def started(self) -> Spent | None:
        """What it took to start Spark."""
        return self._started

    def cpu_seconds(self) -> float:
        """How much CPU time the processes of Spark on this machine have used so far."""
        java = java_process(self._context) if self._context is not None else None
        return cpu_seconds(java) if java is not None else 0.0

    @property
    def cores(self) -> int:
        """How many tasks run at the same time."""
        return max(1, int(self.context.defaultParallelism))

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        """Stage the files of each task."""
        self._protect(share.source for task in tasks for share in task.shares)
        templates, payloads = _parted(tasks)
        return self._stream(payloads, partial(_run, templates, self._memory()))

    def sample(self, tasks: Sequence[Task]) -> list[dict[str, str]]:
        """The types of undeclared fields, as the beginning of each task's artifacts shows them."""
        self._protect(share.source for task in tasks for share in task.shares)
        templates, payloads = _parted(tasks)
        return self._answers(payloads, partial(_sample, templates))

    def carry(self, tasks: Sequence[Carry]) -> list[tuple[StagedFile, ...]]:
        """Stage again what stays of live files."""
        from tailpipe.kernel.carry import carry_rows

        return self._answers([pickle.dumps(task) for task in tasks], partial(_restage, carry_rows))

    def dedupe(self, tasks: Sequence[Dedupe]) -> list[Deduped]:
        """Stage again what stays of staged files that hold duplicates."""
        from tailpipe.kernel.dedupe import drop_duplicates

        return self._answers([pickle.dumps(task) for task in tasks], partial(_restage, drop_duplicates))

    def compact(self, tasks: Sequence[Compaction]) -> list[tuple[StagedFile, ...]]:
        """Stage the rows of each task's files in right-sized ones."""
        bundles = _bundled(tasks, lambda task: max(len(task.files), task.size * _FILES_TO_A_TASK // _TASK_BYTES))
        payloads = [pickle.dumps(bundle) for bundle in bundles]
        return [files for answer in self._answers(payloads, partial(_compact, self._memory())) for files in answer]

    def misplaced(self, files: Sequence[CarriedFile], column: str, kind: str) -> list[str]:
        """The paths of files whose index is not the value of the column in all of their rows."""
        payloads = [pickle.dumps(bundle) for bundle in _bundled(files, lambda _: 1)]
        return [path for answer in self._answers(payloads, partial(_misplaced, column, kind)) for path in answer]

    def _protect(self, sources: Iterable[Source]) -> None:
        """Refuse to send a secret to where others may listen."""
        context = self.context
        if not is_local(str(context.master)):
            check_secrets(sources, str(context.master), dict(context.getConf().getAll()))

    def _answers(self, payloads: Sequence[bytes], work: Work) -> list[Any]:
        """What came of a job, in the order of its tasks."""
        answers = dict(self._stream(payloads, work))
        return [answers[number] for number in range(len(payloads))]

    def _stream(self, payloads: Sequence[bytes], work: Work) -> Generator[tuple[int, Any], None, None]:
        """What came of each task, when it is done. If Spark dies of a job, the next one starts it anew."""
        context = self.context
        try:
            for number, answer in stream_job(context, payloads, work):
                yield number, pickle.loads(answer)  # noqa: S301
        except SparkError as error:
            if not is_alive(context, after=1):  # its connections end before the process does
                self.close()
            log = str(self._log) if self._log is not None else "the log of Spark"  # where the traceback is
            raise SparkError(error.message, hint=error.hint.replace("the log of Spark", log)) from error

    def _memory(self) -> str | None:
        return None if is_local(str(self.context.master)) else task_memory(self.context)

    def close(self) -> None:
        """End Spark, if it was started here: one that was there before has other users, such as a DataFrame."""
        if self._starter is not None:
            self._starter.cancel()
        if self._context is not None:
            context, self._context = self._context, None
            if not self._is_borrowed or not is_alive(context):
                self._end(context)


def _bundled(items: Sequence[T], weight: Callable[[T], int]) -> list[list[T]]:
    """Small things together, in their order, up to so many to a bundle."""
    bundles: list[list[T]] = []
    room = 0
    for item in items:
        if not bundles or weight(item) > room:
            bundles.append([])
            room = _FILES_TO_A_TASK
        bundles[-1].append(item)
        room -= weight(item)
    return bundles


def _parted(tasks: Sequence[Task]) -> tuple[tuple[Task, ...], list[bytes]]:
    """What tasks have in common, which travels with the work, and what tells them apart, which travels as rows."""
    templates: dict[int, Task] = {}
    sources: dict[int, list[Source]] = {}
    payloads = []
    for task in tasks:
        bare = replace(task, shares=())
        number = next((number for number, known in templates.items() if known == bare), len(templates))
        templates.setdefault(number, bare)
        known = sources.setdefault(number, [])
        rows = []
        for share in task.shares:
            if share.source not in known:
                known.append(share.source)
            rows.append((known.index(share.source), share.partition, share.readings, share.staging))
        payloads.append(pickle.dumps((number, rows)))
    made = (
        replace(template, shares=tuple(Share("", source, ()) for source in sources[number]))
        for number, template in templates.items()
    )
    return tuple(made), payloads
