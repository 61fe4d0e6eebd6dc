"""The engine of collecting: the kernel's work as Spark jobs, one task of ours to one of Spark's."""

from __future__ import annotations

import pickle
import sys
import threading
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tailpipe.catalog.layout import Layout
from tailpipe.config.settings import SparkSettings
from tailpipe.errors import SparkError
from tailpipe.kernel.delivery import Depot, Depots, stores_of
from tailpipe.kernel.engine import PrintTask
from tailpipe.kernel.task import Outcome, Task
from tailpipe.model.connection import Connection
from tailpipe.model.ledger import Span
from tailpipe.model.meter import Meter, Spent
from tailpipe.model.option import secrets_in
from tailpipe.model.source import Source
from tailpipe.model.staged import StagedFile
from tailpipe.model.store import Store
from tailpipe.spark.background import make_later
from tailpipe.spark.conf import PROTECTION, is_local
from tailpipe.spark.jobs import Work
from tailpipe.spark.names import named, partitions_in
from tailpipe.spark.probe import Software, here
from tailpipe.spark.running import OnContext
from tailpipe.spark.session import Starter, is_running, leave_context, stop_context
from tailpipe.spark.submitted import as_submitted
from tailpipe.spark.work import Around, compact, find_misplaced, parted, print_parts, restage, run, sample

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from tailpipe.kernel.carry import CarriedFile, Carry
    from tailpipe.kernel.compact import Compaction
    from tailpipe.kernel.dedupe import Dedupe, Deduped
    from tailpipe.spark.connect import OnConnect
    from tailpipe.spark.object_source import Destination

T = TypeVar("T")

_PRINTS_TO_A_TASK = 64
_TASK_BYTES = 64 * 1024 * 1024
_FILES_TO_A_TASK = 256
"""How many files are looked at, or put together, by one task of Spark: small ones take less time than a task does."""


def check_secrets(
    users: Iterable[Source | Store | Destination], master: str, conf: Mapping[str, str], *, is_private: bool = True
) -> None:
    """Raise if a source or store holds a secret and the cluster, or the way to it, is open to those who listen."""
    is_open = not is_local(conf.get("spark.master", master))
    missing = [name for name in PROTECTION if is_open and conf.get(name) != "true"]
    if is_private and not missing:
        return
    todo = f"set {', '.join(missing)} there and in conf" if missing else "add /;use_ssl=true to the address in remote"
    for source in users:
        for one in fields(source):
            value = getattr(source, one.name)
            if isinstance(value, Connection) and value.holds_secrets:
                raise SparkError(
                    f"{value.address} holds secrets, and the cluster {master} does not encrypt its traffic",
                    hint=f"{todo}, or use a profile or a role of its hosts",
                )
        if isinstance(source, Source) and secrets_in(source):
            raise SparkError(
                f"source {source.name or source.type} holds secrets, and the cluster {master} does not protect them on"
                " their way",
                hint=todo,
            )


@dataclass(eq=False)
class SparkEngine:
    """Works on a Spark that is started by the first job that needs it.

    `staging` is the directory that the hosts of a cluster must share with this one, unless `depot` gives the stores of
    all files, by name. `wait_seconds` is how long a cluster may take to start its first executor, and `log` is where
    Spark writes what it has to say.
    """

    start: Callable[[], SparkContext | OnConnect]
    staging: Path | None = None
    wait_seconds: float = 120
    log: Path | None = None
    end: Callable[[SparkContext], None] = stop_context
    starter: Starter | None = None
    depot: Callable[[str], Depot] | None = None
    shares_disk: bool = field(default=True, kw_only=True)
    """Whether tasks see the disk of this process: on this machine they do, on a cluster those without a store."""
    is_kept: bool = field(default=False, kw_only=True)
    started: Spent | None = field(default=None, init=False)
    """What it took to start Spark."""
    jobs: int = field(default=0, init=False)
    """How many jobs it has begun."""
    _running: OnContext | OnConnect | None = field(default=None, init=False)
    _ready: set[str | None] = field(default_factory=set, init=False)
    """The stores that the hosts were seen to use; None means the shared directory."""
    _expected: frozenset[str] = field(default=frozenset(), init=False)
    _software: Software | None = field(default=None, init=False)
    _is_borrowed: bool = field(default=False, init=False)
    _failure: SparkError | None = field(default=None, init=False)
    _threads: dict[str, int] = field(default_factory=dict, init=False)
    """The threads that wait for jobs, by the group of the job."""

    @classmethod
    def of(
        cls,
        settings: SparkSettings,
        layout: Layout,
        cache: Path,
        starting: Callable[[], None],
        *,
        is_last: bool = False,
        is_kept: bool = False,
        has_queries: bool = False,
        depot: Callable[[str], Depot] | None = None,
    ) -> SparkEngine:
        """The engine of a workspace; `starting` is called before Spark is started.

        If it `is_last`, the process ends with its work, and a Spark on this machine is not waited for. One that
        `is_kept` serves many operations of this process and nobody else, so it can be ended at once too. If it
        `has_queries`, executors work on rows in their heap.
        """

        settings, is_for_tasks = as_submitted(settings), is_last or is_kept
        is_lean = is_for_tasks and not has_queries
        starter = Starter(settings, cache=cache, log=layout.spark_log, is_for_tasks=is_for_tasks, is_lean=is_lean)

        def start() -> SparkContext | OnConnect:
            starting()
            if settings.remote is None:
                return starter.open()
            from tailpipe.spark.connect import open_connect  # late: few have its packages

            return open_connect(settings, cache=cache, log=layout.spark_log)

        def leave(context: SparkContext) -> None:
            leave_context(context)
            if sys.exc_info()[0] is None:  # whoever interrupts a run, or sees it fail, expects nothing to go on
                make_later(starter.archive, cache)

        end = leave if is_last else leave_context if is_kept else stop_context
        return cls(
            start,
            layout.staging,
            settings.wait_seconds,
            layout.spark_log,
            end,
            starter if settings.remote is None else None,
            depot,
            shares_disk=settings.remote is None and is_local(settings.master),
            is_kept=is_kept,
        )

    def prepare(self) -> None:
        """Start Java for the job that is about to come, without waiting for it."""
        if self.starter is not None and self._running is None and self._failure is None:
            self.starter.prepare()

    def expect(self, stores: Iterable[str]) -> None:
        """Check these stores together with the software of the hosts, so that one message names all that is wrong."""
        self._expected = frozenset(stores) if self.depot is not None else frozenset()

    @property
    def context(self) -> SparkContext:
        """The context of the driver, started if it was not yet."""
        return self._spark.context

    @property
    def _spark(self) -> OnContext | OnConnect:
        """Spark, started if it was not yet; a cluster is checked before it gets work."""
        if self._failure is not None:
            raise self._failure  # it would only fail again, and take its time
        if self._running is not None and not self._running.is_alive():
            self.close()  # it died between two jobs, so nothing is lost
        if self._running is None:
            try:
                was_running = is_running()
                meter = Meter()
                with meter("start"):
                    started = self.start()
                    from pyspark import SparkContext  # late: the start has imported it

                    self._running = OnContext(started, self.end) if isinstance(started, SparkContext) else started
                self._is_borrowed = was_running and isinstance(self._running, OnContext)
                self.started = meter.spent["start"].plus(Spent(cpu=self.cpu_seconds()))
                self._ready.clear()
            except SparkError as error:
                self._failed(error)
                raise
        return self._running

    def _failed(self, error: SparkError) -> None:
        """Remember that Spark cannot be used, for the other partitions of a run; one that is kept is tried again."""
        if not self.is_kept:
            self._failure = error

    def _around(self, sources: Iterable[Source | Destination] = (), uses: Iterable[str | None] = ()) -> Around:
        """What the tasks of a job share. Hosts are checked before the first job, secrets before each."""
        spark = self._spark
        if spark.is_local:
            return Around()
        uses = set(uses)
        expected = uses | self._expected
        known = {name: self.depot(name) for name in sorted(filter(None, expected)) if self.depot is not None}
        depots = {name: depot for name, depot in known.items() if name in uses}
        stores = [depot.store for depot in known.values()]
        check_secrets([*sources, *stores], spark.master, spark.properties(), is_private=spark.is_private)
        if self._software is None or expected - self._ready:
            staging = self.staging if None in expected - self._ready else None
            new = {name: depot for name, depot in known.items() if name not in self._ready}
            try:
                spark.check(staging, self.wait_seconds, new)
            except SparkError as error:
                self._failed(error)
                raise
            self._ready |= expected
            self._software = here()
        return Around(spark.task_memory(), depots, self._software)

    @property
    def session(self) -> SparkSession:
        """Spark's SQL and DataFrames, for what others do with them."""
        return self._spark.session

    def stores(self, names: Iterable[str]) -> Depots:
        """Stores for executors that read them themselves; the hosts are checked first."""
        return self._around(uses=names).stores

    def protect(self, destination: Destination) -> None:
        """Refuse to send the secrets of a destination to where others may listen."""
        self._around([destination])

    def prints(self, tasks: Sequence[PrintTask]) -> dict[tuple[str, Span], str | None]:
        """Prints of contents, by URI and part."""
        sources: list[Source] = []
        rows = []
        for source, artifact, spans in tasks:
            if source not in sources:
                sources.append(source)
            rows.append((sources.index(source), artifact, spans))
        work = partial(print_parts, sources, self._around(sources))
        bundles = [rows[i : i + _PRINTS_TO_A_TASK] for i in range(0, len(rows), _PRINTS_TO_A_TASK)]
        found: dict[tuple[str, Span], str | None] = {}
        for answer in self._answers([pickle.dumps(bundle) for bundle in bundles], work, "compare files"):
            found.update(answer)
        return found

    @property
    def is_running(self) -> bool:
        """Whether there is a Spark, or a Java for it, that can be closed."""
        return self._running is not None or (self.starter is not None and self.starter.is_ahead)

    def blockers(self) -> frozenset[int]:
        """The threads whose jobs hold the task slots that another job waits for. One that has just begun waits too."""
        spark, threads = self._running, dict(self._threads)
        if spark is None or len(threads) < 2:
            return frozenset()
        counts = spark.running_tasks(threads)
        return frozenset(threads[group] for group, count in counts.items() if count and not all(counts.values()))

    def cpu_seconds(self) -> float:
        """How much CPU time the processes of Spark on this machine have used so far."""
        return self._running.cpu_seconds() if self._running is not None else 0.0

    @property
    def cores(self) -> int:
        """How many tasks run at the same time."""
        return self._spark.cores

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        """Stage the files of each task."""
        shares = [share for task in tasks for share in task.shares]
        around = self._around((share.source for share in shares), stores_of(share.staging for share in shares))
        templates, payloads = parted(tasks)
        return self._stream(payloads, partial(run, templates, around), named("collect", _partitions(tasks)))

    def sample(self, tasks: Sequence[Task]) -> list[dict[str, str]]:
        """The types of undeclared fields, as the beginning of each task's artifacts shows them."""
        around = self._around(share.source for task in tasks for share in task.shares)
        templates, payloads = parted(tasks)
        return self._answers(payloads, partial(sample, templates, around), named("infer types", _partitions(tasks)))

    def carry(self, tasks: Sequence[Carry]) -> list[tuple[StagedFile, ...]]:
        """Stage again what stays of live files."""
        from tailpipe.kernel.delivery import carry_there

        return self._restaged(carry_there, tasks, "rewrite", (file.path for task in tasks for file in task.files))

    def dedupe(self, tasks: Sequence[Dedupe]) -> list[Deduped]:
        """Stage again what stays of staged files that hold duplicates."""
        from tailpipe.kernel.delivery import dedupe_there

        return self._restaged(dedupe_there, tasks, "remove duplicates", (path for task in tasks for path in task.live))

    def _restaged(
        self, work: Callable[..., Any], tasks: Sequence[Carry | Dedupe], step: str, paths: Iterable[str]
    ) -> list[Any]:
        around = self._around(uses=stores_of(task.staging for task in tasks))
        name = named(step, partitions_in(paths))
        return self._answers([pickle.dumps(task) for task in tasks], partial(restage, work, around), name)

    def compact(self, tasks: Sequence[Compaction]) -> list[tuple[StagedFile, ...]]:
        """Stage the rows of each task's files in right-sized ones."""
        bundles = _bundled(tasks, lambda task: max(len(task.files), task.size * _FILES_TO_A_TASK // _TASK_BYTES))
        payloads = [pickle.dumps(bundle) for bundle in bundles]
        around = self._around(uses=stores_of(task.staging for task in tasks))
        name = named("compact", partitions_in(file.path for task in tasks for file in task.files))
        return [files for answer in self._answers(payloads, partial(compact, around), name) for files in answer]

    def misplaced(self, files: Sequence[CarriedFile], column: str, kind: str) -> list[str]:
        """The paths of files whose index is not the value of the column in all of their rows."""
        payloads = [pickle.dumps(bundle) for bundle in _bundled(files, lambda _: 1)]
        around = self._around(uses=stores_of((), (file.path for file in files)))
        work = partial(find_misplaced, column, kind, around)
        name = named("check index", partitions_in(file.path for file in files))
        return [path for answer in self._answers(payloads, work, name) for path in answer]

    def _answers(self, payloads: Sequence[bytes], work: Work, name: str) -> list[Any]:
        """The answers of a job, in the order of its tasks."""
        answers = dict(self._stream(payloads, work, name))
        return [answers[number] for number in range(len(payloads))]

    def _stream(self, payloads: Sequence[bytes], work: Work, name: str) -> Generator[tuple[int, Any], None, None]:
        """The answer of each task when it is done. If a job ends Spark, the next one starts it again."""
        spark, group = self._spark, f"tailpipe-{uuid.uuid4().hex}"
        self._threads[group] = threading.get_ident()
        self.jobs += 1
        try:
            for number, answer in spark.stream(payloads, work, group, name):
                yield number, pickle.loads(answer)  # noqa: S301
        except SparkError as error:
            if not spark.is_alive(after=1):  # its connections end before the process does
                self.close()
            log = str(self.log) if self.log is not None else "the log of Spark"  # where the traceback is
            raise SparkError(error.message, hint=error.hint.replace("the log of Spark", log)) from error
        finally:
            self._threads.pop(group, None)

    def close(self) -> None:
        """End Spark, if it was started here: one that was there before has other users, such as a DataFrame."""
        if self.starter is not None:
            self.starter.cancel()
        if self._running is not None:
            running, self._running = self._running, None
            if not self._is_borrowed or not running.is_alive():
                running.end()


def _partitions(tasks: Iterable[Task]) -> list[str]:
    return [share.partition for task in tasks for share in task.shares]


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
