"""A loop whose clock stands still while a job runs and leaps while nothing does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from tailpipe.collect.events import Committed, Summary
from tailpipe.follow.loop import Loop, TaskResult
from tailpipe.follow.news import News
from tailpipe.follow.schedule import Paces
from tailpipe.model.artifact import Accounts

PACES = Paces(every=10, maintain=60, push=60, detect=10, stuck=100, engine_idle=900)


@dataclass
class Bell:
    """Sleeps without taking time: it moves the clock on, unless a job runs, which it waits for."""

    now: float = 0.0
    changed: set[str] = field(default_factory=set)
    is_busy: Callable[[], bool] = lambda: False
    _rung: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float | None) -> set[str]:
        if self.is_busy():
            self._rung.wait(10)
        elif not self._rung.is_set():
            self.now += seconds or 0.0
        self._rung.clear()
        changed, self.changed = self.changed, set()
        return changed

    def ring(self) -> None:
        self._rung.set()


@dataclass
class FakeJobs:
    """Jobs that answer what the test says: an exception is raised, anything else returned."""

    partitions: list[str]
    answers: dict[str, Callable[[], object]] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    has_engine: bool = True
    engine_jobs: int = 0
    blockers: frozenset[int] = frozenset()
    reloading: Callable[[], None] = lambda: None

    def collect(self, partition: str, *, should_stop: Callable[[], bool]) -> Summary:
        self.done.append(partition)
        answer = self.answers.get(partition, lambda: summary(partition))()
        assert isinstance(answer, Summary)
        return answer

    def do(self, kind: str, *, should_stop: Callable[[], bool]) -> TaskResult:
        self.done.append(kind)
        answer = self.answers.get(kind, TaskResult)()
        assert isinstance(answer, TaskResult)
        return answer

    def reload(self) -> None:
        self.reloading()

    def close_engine(self) -> None:
        self.has_engine = False
        self.done.append("close")


def summary(partition: str, rows: int = 0) -> Summary:
    accounts = Accounts(read=rows, kept=rows)
    units = (Committed(partition, "2024-01-31", 1, accounts, "new"),) if rows else ()
    return Summary(partition, units, bytes=10 * rows, seconds=0.5)


def looped(jobs: FakeJobs, paces: Paces = PACES) -> tuple[Loop, Bell, list[News]]:
    bell, told = Bell(), list[News]()
    loop = Loop(jobs, paces, bell, told.append, clock=bell, now=bell)
    bell.is_busy = lambda: any(one.turn is not None and not one.turn.is_stuck for one in loop._workers)
    return loop, bell, told


def until(loop: Loop, is_so: Callable[[], bool], rounds: int = 200) -> None:
    for _ in range(rounds):
        if is_so():
            return
        loop.round()
    raise AssertionError("it did not come to it")
