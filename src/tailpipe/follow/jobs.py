"""The jobs of the loop over a workspace: collect a partition, maintain, push, detect; one engine is kept for all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from tailpipe.collect.events import Event, Summary
from tailpipe.config.config import choose_ready
from tailpipe.errors import SparkError
from tailpipe.follow.loop import TaskResult
from tailpipe.follow.schedule import DETECT, MAINTAIN, PUSH
from tailpipe.follow.worker import Stopped
from tailpipe.home.home import Home
from tailpipe.kernel.engine import Engine
from tailpipe.model.selector import select
from tailpipe.operations.collect import Collect, collect, maintain
from tailpipe.operations.detect import Detect, begin_detections, deliver, detect
from tailpipe.operations.push import Push, push
from tailpipe.operations.trial import check_config_sql

ShouldStop = Callable[[], bool]


class KeptEngine(Engine, Protocol):
    """An engine that is kept between jobs, and works again after it was closed."""

    jobs: int
    """How many jobs it has begun."""

    @property
    def is_running(self) -> bool:
        """Whether there is something to close."""


class WorkspaceJobs:
    """The jobs over the workspace of `open_home`, with an engine that is started by the first job that needs it."""

    def __init__(
        self,
        open_home: Callable[[], Home],
        request: Collect,
        *,
        is_detecting: bool = False,
        make_engine: Callable[[Home], KeptEngine] | None = None,
    ) -> None:
        self._open = open_home
        self._request = request
        self._is_detecting = is_detecting
        self._make_engine = make_engine
        self._engine: KeptEngine | None = None
        self._earlier_jobs = 0
        self._lock = threading.Lock()
        self._units: dict[str, set[str]] = {}
        """The units to compact: those that were committed since the last time."""
        self.is_pushed = True
        """Whether the last push succeeded."""
        self.home = self._opened()

    @property
    def partitions(self) -> Sequence[str]:
        """The selected partitions."""
        return select(self._request.partitions, list(self.home.config.partitions))

    @property
    def tasks(self) -> Sequence[str]:
        """The tasks that this config has."""
        stores = any(self.home.stores.of(name) for name in self.partitions)
        return [MAINTAIN, *([PUSH] if stores and self._request.push else []), *([DETECT] if self._is_detecting else [])]

    @property
    def has_engine(self) -> bool:
        """Whether the engine that was made here runs; one that was given to the workspace is not closed here."""
        engine = self._engine
        return engine is not None and engine.is_running

    @property
    def engine_jobs(self) -> int:
        """How many jobs the engines that were made here have begun."""
        engine = self._engine
        return self._earlier_jobs + (0 if engine is None else engine.jobs)

    @property
    def blockers(self) -> frozenset[int]:
        """The threads whose jobs hold the task slots of the engine that another job waits for."""
        engine = self.home.engine
        return frozenset() if engine is None else engine.blockers()

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The local paths of the sources, by partition: their changes wake the loop."""
        found = {}
        for name in self.partitions:
            sources = self.home.config.partitions[name].sources
            chosen = [one for one in sources if self._request.source in (None, one.name)]
            found[name] = tuple(path for one in chosen for path in one.watched_paths)
        return found

    def collect(self, partition: str, *, should_stop: ShouldStop) -> Summary:
        """Collect one partition, with the guarantees of a single run."""
        home = self._ready(self.home)
        try:
            now, one = datetime.now(UTC), [partition]
            request = replace(self._request, now=now, partitions=one, maintain=False, push=False, is_cycle=True)
            report = collect(home, request, _stopping(should_stop))
        except SparkError:
            self.close_engine()  # it may be in any state
            raise
        (summary,) = report.partitions
        with self._lock:
            if summary.units:
                self._units.setdefault(partition, set()).update(summary.units)
        return summary

    def do(self, kind: str, *, should_stop: ShouldStop) -> TaskResult:
        """Do a task for all partitions."""
        home = self._ready(self.home)
        return {MAINTAIN: self._maintain, PUSH: self._push, DETECT: self._detect}[kind](home, should_stop)

    def reload(self) -> None:
        """Read the config again; a Spark that it starts in another way is closed."""
        before, fresh = self.home, self._opened()
        self.home = fresh
        if before.settings.workspace.spark != fresh.settings.workspace.spark or (
            before.settings.location != fresh.settings.location
        ):
            self.close_engine()

    def close_engine(self) -> None:
        """Close the engine; the next job starts it again."""
        with self._lock:
            engine, self._engine = self._engine, None
            if engine is not None:
                self._earlier_jobs += engine.jobs
                if self.home.engine is engine:
                    self.home.engine = None
        if engine is not None:
            engine.close()

    def _opened(self) -> Home:
        """The workspace, once its config is known to be good."""
        home = self._open()
        select(self._request.partitions, list(home.config.partitions))
        choose_ready(home.config, home.tables, self._request.partitions, self._request.source)
        check_config_sql(home)
        if self._is_detecting:
            begin_detections(home)
        return home

    def _ready(self, home: Home) -> Home:
        """The workspace with the engine that is kept."""
        with self._lock:
            if home.engine is None:
                if self._engine is None:
                    self._engine = self._make_engine(home) if self._make_engine else home.spark(is_kept=True)
                home.engine = self._engine
        return home

    def _maintain(self, home: Home, should_stop: ShouldStop) -> TaskResult:
        with self._lock:
            units, self._units = self._units, {}
        names = [name for name in self.partitions if name in units or name in home.config.partitions]
        wanted = {name: frozenset(units.get(name, ()) if self._request.compact else ()) for name in names}
        done = maintain(home, wanted, _stopping(should_stop))
        files, made = sum(one.compacted_files for one in done.values()), sum(one.new_files for one in done.values())
        rows = sum(one.expired_rows for one in done.values())
        words = [f"compacted {files:,} files into {made:,}"] if files else []
        words += [f"expired {rows:,} rows"] if rows else []
        warnings = (warning for one in done.values() for warning in one.warnings)
        problems = [warning for warning in warnings if warning.startswith("maintenance failed")]
        if problems:
            with self._lock:
                for name, some in units.items():
                    self._units.setdefault(name, set()).update(some)
        counts = {"files": files, "new_files": made, "expired_rows": rows}
        return TaskResult(", ".join(words), counts, problem="; ".join(problems[:1]))

    def _push(self, home: Home, _: ShouldStop) -> TaskResult:
        reports = push(home, Push(list(self.partitions)))
        failed = [f"{one.partition}: {one.failure}" for one in reports if one.failure]
        self.is_pushed = not failed
        unpushed = sum(one.unpushed_commits for one in reports)
        return TaskResult(counts={"unpushed_commits": unpushed}, problem="; ".join(failed[:1]))

    def _detect(self, home: Home, _: ShouldStop) -> TaskResult:
        run, hits = detect(home, Detect(datetime.now(UTC))), dict[tuple[str, str], int]()
        delivered = deliver(home)
        for one in run.results:
            if one.hits:
                hits[one.detection.name, one.detection.severity] = len(one.hits)
        words = [f"{n:,} new hit{'s' * (n != 1)} of {name} ({severity})" for (name, severity), n in hits.items()]
        failed = [f'detection "{one.detection.name}" failed: {one.failure}' for one in run.results if one.failure]
        counts = {"hits": sum(hits.values()), "alerts_sent": delivered.sent, "alerts_waiting": len(delivered.waiting)}
        return TaskResult("; ".join(words), counts, hits, "; ".join(failed[:1]))


def _stopping(should_stop: ShouldStop) -> Callable[[Event], None]:
    """Ends a run at its next event once the loop is to stop: between two commits, not inside of one."""

    def emit(_: Event) -> None:
        if should_stop():
            raise Stopped

    return emit
