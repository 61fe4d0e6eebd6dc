"""The loop: has jobs done when they are due, and reacts to their results."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from tailpipe.collect.events import Summary
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.errors import ConfigError, TailpipeError
from tailpipe.follow.news import Collected, Failing, News, Recovered, Reloaded, TaskDone
from tailpipe.follow.schedule import COLLECT, Paces, Schedule, Turn
from tailpipe.follow.status import Status
from tailpipe.follow.worker import Result, Stopped, Worker
from tailpipe.model.redaction import REDACTOR

_MOST_WORKERS = 9
"""One for each job that hangs, and one that goes on; with more, the others wait for one of them."""
_LONGEST_SLEEP = 60.0
_LOOK = 5.0
"""Seconds between two looks at whether stuck jobs keep the others from task slots."""


@dataclass(frozen=True)
class TaskResult:
    """What a task has done: in words, and as numbers; `hits` by detection and severity."""

    what: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    hits: dict[tuple[str, str], int] = field(default_factory=dict)
    problem: str = ""


class Jobs(Protocol):
    """What the loop has done. All but `reload` and `close_engine` are called in threads, one at a time as a rule."""

    @property
    def partitions(self) -> Sequence[str]:
        """The selected partitions."""

    @property
    def tasks(self) -> Sequence[str]:
        """The tasks that this config has."""

    @property
    def has_engine(self) -> bool:
        """Whether the engine holds something that can be closed."""

    @property
    def engine_jobs(self) -> int:
        """How many jobs the engine has begun."""

    @property
    def blockers(self) -> frozenset[int]:
        """The threads whose jobs hold the task slots of the engine that another job waits for."""

    def collect(self, partition: str, *, should_stop: Callable[[], bool]) -> Summary:
        """Collect one partition."""

    def do(self, kind: str, *, should_stop: Callable[[], bool]) -> TaskResult:
        """Do a task for all partitions."""

    def reload(self) -> None:
        """Read the config again; if it is broken, raise and go on with the one before."""

    def close_engine(self) -> None:
        """Close the engine; the next job starts it again."""


class Sleep(Protocol):
    """Sleeps until a time is over or something happens; returns the partitions whose files have changed."""

    def wait(self, seconds: float | None) -> set[str]:
        """Sleep so long at most."""

    def ring(self) -> None:
        """Wake it; called by any thread."""


@dataclass
class Loop:
    """Runs until it is stopped. Only its own thread touches the schedule; other threads ring."""

    jobs: Jobs
    paces: Paces
    sleep: Sleep
    report: Callable[[News], None] = lambda _: None
    status: Status = field(default_factory=Status)
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    alive: Callable[[], float | None] = lambda: None
    """Called in each round; after how many seconds it wants to be called again."""
    watch: Callable[[], None] = lambda: None
    """Called when the partitions have changed."""
    is_stopping: bool = False
    must_reload: bool = False

    def __post_init__(self) -> None:
        self.schedule = Schedule.of(self.jobs.partitions, self.paces, self.clock(), self.jobs.tasks)
        self._results: queue.SimpleQueue[Result] = queue.SimpleQueue()
        self._workers: list[Worker] = []
        self._woken: set[str] = set()
        self._fresh = set(self.jobs.partitions)
        self._last_work, self._engine_jobs = self.clock(), 0
        self._starved_since: float | None = None
        self.rounds = 0
        self.status.set(begun=self.now())
        self.status.choose(self.jobs.partitions)

    def stop(self) -> None:
        """End after the running commit; may be called by a signal handler."""
        self.is_stopping = True
        self.sleep.ring()

    def reload(self) -> None:
        """Read the config again before the next job; may be called by a signal handler."""
        self.must_reload = True
        self.sleep.ring()

    def run(self) -> None:
        """Go on until it is stopped."""
        self.watch()
        while not self.is_stopping:
            self.round()
        self.status.set(is_stopping=True)

    def round(self) -> None:
        """One round: take results, begin what is due, and sleep until something happens."""
        self.rounds += 1
        self._take_results()
        if self.must_reload:
            self._reload()
        now = self.clock()
        for hanging in self.schedule.find_stuck(now):
            self._stuck(hanging)
        self._free_slots(now)
        while not self.is_stopping and (worker := self._free()) and (turn := self.schedule.next(now)):
            self._begin(worker, turn, now)
        self._close_idle_engine(now)
        changed = self.sleep.wait(self._seconds(now))
        self.schedule.wake_partitions(changed, self.clock())

    def end(self, *, patience: float, cut: float) -> bool:
        """Wait for the jobs that run: so long until they are interrupted, and so long after it; whether all ended."""
        for worker in self._workers:
            worker.dismiss()
        until = self.clock() + patience
        for worker in self._workers:
            worker.join(max(0.0, until - self.clock()))
        for worker in self._workers:
            if not worker.join(0):
                worker.interrupt()
        until = self.clock() + cut
        for worker in self._workers:
            worker.join(max(0.0, until - self.clock()))
        self._take_results()
        return all(worker.join(0) for worker in self._workers)

    def _free(self) -> Worker | None:
        """A worker that waits. There is one; another comes if that hangs."""
        if any(not turn.is_stuck for _, turn in self._busy()):
            return None
        for worker in self._workers:
            if worker.turn is None and not worker.was_interrupted:
                return worker
        if len(self._workers) >= _MOST_WORKERS:
            return None
        self._workers.append(Worker(self._done))
        return self._workers[-1]

    def _busy(self) -> list[tuple[Worker, Turn]]:
        return [(worker, turn) for worker in self._workers if (turn := worker.turn) is not None]

    def _done(self, result: Result) -> None:
        self._results.put(result)
        self.sleep.ring()

    def _begin(self, worker: Worker, turn: Turn, now: float) -> None:
        if turn.is_woken:
            self._woken.add(turn.name)
        self.schedule.begin(turn, now)

        if turn.kind == COLLECT:
            worker.give(turn, lambda: self.jobs.collect(turn.partition, should_stop=lambda: self.is_stopping))
        else:
            worker.give(turn, lambda: self.jobs.do(turn.kind, should_stop=lambda: self.is_stopping))

    def _take_results(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._take(self._results.get_nowait())
        idle = [worker for worker in self._workers if worker.turn is None]
        kept = next((worker for worker in idle if not worker.was_interrupted), None)
        for worker in idle:
            if worker is not kept:  # one that has hung and came back
                worker.dismiss()
                self._workers.remove(worker)

    def _take(self, result: Result) -> None:
        turn, value, error = result.turn, result.value, _problem(result)
        was_failing = turn.failures > 0 or turn.is_stuck
        was_woken = turn.name in self._woken
        self._woken.discard(turn.name)
        if isinstance(result.error, Stopped):
            if self.is_stopping:
                turn.begun = None
                return
            turn.is_suspect = True
        has_news = isinstance(value, Summary) and value.accounts.read > 0
        self.schedule.end(turn, self.clock(), is_done=not error, has_news=has_news, was_woken=was_woken)
        if isinstance(value, Summary):
            self._count(value, error)
        elif turn.kind == COLLECT:
            self._count(Summary(turn.partition, error=error), error)
        else:
            self.status.task(turn.kind, error)
        if isinstance(value, TaskResult):
            self.status.add_hits(value.hits)
            if value.what:
                self.report(TaskDone(turn.kind, value.what, value.counts))
        if error:
            self.report(Failing(turn.name, error, self.schedule.backoff(turn), turn.failures))
        elif was_failing:
            self.report(Recovered(turn.name))

    def _count(self, summary: Summary, error: str) -> None:
        """Let the status know what a run has brought."""
        name, known = summary.partition, self.status.state.partitions.get(summary.partition)
        self._fresh.discard(name)
        if not self._fresh:
            self.status.set(is_ready=True)
        if known is None:  # the config no longer has it
            return
        self.status.change(
            name,
            accounts=known.accounts + summary.accounts,
            bytes=known.bytes + summary.bytes,
            artifacts=known.artifacts + sum(one.artifacts for one in summary.committed),
            runs=known.runs + 1,
            failures=known.failures + bool(error),
            seconds=known.seconds + summary.seconds,
            last_seconds=summary.seconds,
            last_success=known.last_success if error else self.now(),
            error=error,
            is_stuck=False,
        )
        if summary.committed:
            self.schedule.wake_tasks(self.clock())
            if summary.accounts.read:
                self.report(Collected(summary))

    def _stuck(self, turn: Turn) -> None:
        seconds = self.schedule.paces.stuck
        error = f"running for {seconds:.0f} s"
        if turn.kind == COLLECT:
            self.status.change(turn.partition, is_stuck=True)
            self._fresh.discard(turn.partition)
        else:
            self.status.task(turn.kind, error)
        self.report(Failing(turn.name, error, is_stuck=True))

    def _free_slots(self, now: float) -> None:
        """Interrupt the stuck jobs that hold the task slots for which others have waited for long."""
        blockers = self.jobs.blockers if len(self._busy()) > 1 else frozenset()
        hanging = [worker for worker, turn in self._busy() if turn.is_stuck and worker.ident in blockers]
        if not hanging:
            self._starved_since = None
        elif self._starved_since is None:
            self._starved_since = now
        elif now - self._starved_since >= self.schedule.paces.starved:
            self._starved_since = None
            for worker in hanging:
                worker.interrupt()

    def _reload(self) -> None:
        self.must_reload = False
        try:
            self.jobs.reload()
        except TailpipeError as problem:
            self.status.set(config_error=REDACTOR(problem.message))
            self.report(Reloaded(len(self.jobs.partitions), _words(problem)))
            return
        self.schedule.renew(self.jobs.partitions, self.paces, self.clock(), self.jobs.tasks)
        self.status.set(config_error="", tasks={})
        self.status.choose(self.jobs.partitions)
        self._fresh &= set(self.jobs.partitions)
        self.watch()
        self.report(Reloaded(len(self.jobs.partitions)))

    def _close_idle_engine(self, now: float) -> None:
        is_busy, begun = bool(self._busy()), self.jobs.engine_jobs
        if begun != self._engine_jobs:  # also by a run that brought nothing, such as requests to a service
            self._last_work = now
            self._engine_jobs = self._engine_jobs if is_busy else begun
        if is_busy or not self.jobs.has_engine or now - self._last_work < self.schedule.paces.engine_idle:
            return
        self.jobs.close_engine()

    def _seconds(self, now: float) -> float:
        """How long nothing can happen by itself."""
        times = [_LONGEST_SLEEP, self.alive(), self.schedule.paces.engine_idle if self.jobs.has_engine else None]
        if len(self._busy()) > 1:  # one hangs
            times.append(min(_LOOK, self.schedule.paces.starved))
        if self._free() is not None:
            times.append(self.schedule.delay(now))
        hanging = [turn.begun for turn in self.schedule.turns if turn.begun is not None and not turn.is_stuck]
        times += [begun + self.schedule.paces.stuck - now for begun in hanging]
        return max(0.0, min(one for one in times if one is not None))


def _words(problem: TailpipeError) -> str:
    """What is wrong and where, in a few lines."""
    if isinstance(problem, ConfigError):
        return render_diagnostics(problem.diagnostics).rstrip()
    return REDACTOR(problem.with_hint)


def _problem(result: Result) -> str:
    """What is wrong, in one line; empty if nothing is."""
    value, error = result.value, result.error
    if isinstance(error, TailpipeError):
        return REDACTOR(error.with_hint)
    if isinstance(error, Stopped):
        return "interrupted: it did not end, and held the task slots that other partitions waited for"
    if error is not None:
        return REDACTOR(f"{type(error).__name__}: {error}")
    if isinstance(value, TaskResult):
        return value.problem
    if isinstance(value, Summary) and not value.is_done:
        reasons = [value.error, *(reason for one in value.failed for reason in one.reasons)]
        reasons += [*value.bad_artifacts, *value.changed_artifacts]
        return REDACTOR(next(filter(None, reasons), "failed"))
    return ""
