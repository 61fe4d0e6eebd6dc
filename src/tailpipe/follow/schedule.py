"""When each job of the loop is due: intervals, wake-ups, back-off and jobs that hang. Pure: the time is a parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tailpipe.frozen import frozen

COLLECT, MAINTAIN, PUSH, DETECT = "collect", "maintenance", "push", "detect"
_QUICK = 1.0
"""Seconds between two runs of a partition that file changes have woken."""
_QUICK_RUNS = 60
"""After so many of them in a row, the time between them doubles, up to the interval of polling."""
_QUIET = {PUSH: 300.0, DETECT: 60.0}
"""How often tasks come without news, in seconds: alerts and pushes that have failed are tried again."""


@frozen
class Paces:
    """The intervals of the loop, in seconds."""

    every: float = 10.0
    maintain: float = 600.0
    push: float = 60.0
    detect: float = 10.0
    longest_backoff: float = 300.0
    stuck: float = 600.0
    """A job that takes longer counts as stuck; the others go on without it."""
    starved: float = 30.0
    """If jobs wait so long for task slots that stuck ones hold, one of those is interrupted."""
    engine_idle: float = 900.0
    """After so long without work the engine is closed."""

    def of(self, kind: str) -> float:
        """The interval of a kind of job."""
        return {COLLECT: self.every, MAINTAIN: self.maintain, PUSH: self.push, DETECT: self.detect}[kind]


@dataclass
class Turn:
    """A job that is repeated: the collection of one partition, or a task for all of them."""

    kind: str
    partition: str
    due: float
    begun: float | None = None
    """Since when it runs; None if it does not."""
    last_begun: float = float("-inf")
    failures: int = 0
    """How often it has failed in a row."""
    streak: int = 0
    """How many woken runs in a row have brought something."""
    is_woken: bool = False
    is_stuck: bool = False
    is_suspect: bool = False
    """Whether it was interrupted because it kept the others waiting: until it succeeds, it runs next to them."""

    @property
    def name(self) -> str:
        """The partition, or the kind of a task."""
        return self.partition or self.kind


@dataclass
class Schedule:
    """All turns. A partition that fails is tried again after a time of its own, which doubles."""

    paces: Paces
    turns: list[Turn] = field(default_factory=list)

    @classmethod
    def of(cls, partitions: Iterable[str], paces: Paces, now: float, tasks: Iterable[str] = ()) -> Schedule:
        """A schedule in which every partition is due now, and the tasks after their intervals."""
        turns = [Turn(COLLECT, name, now) for name in partitions]
        return cls(paces, [*turns, *(Turn(kind, "", now + paces.of(kind)) for kind in tasks)])

    def renew(self, partitions: Iterable[str], paces: Paces, now: float, tasks: Iterable[str] = ()) -> None:
        """Go on with another config: new partitions are due now, those that have failed too."""
        known = {(turn.kind, turn.partition): turn for turn in self.turns}
        fresh = Schedule.of(partitions, paces, now, tasks).turns
        self.turns = [known.pop((turn.kind, turn.partition), turn) for turn in fresh]
        self.turns += [turn for turn in known.values() if turn.begun is not None]  # until it has ended
        self.paces = paces
        for turn in self.turns:
            turn.failures, turn.due = 0, min(turn.due, now + paces.of(turn.kind))

    def next(self, now: float) -> Turn | None:
        """The job to do now: of those that are due the one that waits longest."""
        waiting = [turn for turn in self.turns if turn.begun is None and turn.due <= now]
        return min(waiting, key=lambda turn: (turn.due, turn.last_begun), default=None)

    def delay(self, now: float) -> float | None:
        """How long nothing is due; None if nothing will be."""
        times = [turn.due for turn in self.turns if turn.begun is None]
        return max(0.0, min(times) - now) if times else None

    def begin(self, turn: Turn, now: float) -> None:
        """The job runs from now on."""
        turn.begun = turn.last_begun = now
        turn.is_woken, turn.is_stuck = False, turn.is_suspect

    def end(self, turn: Turn, now: float, *, is_done: bool, has_news: bool = False, was_woken: bool = False) -> None:
        """The job has ended: when is it due again?"""
        begun = turn.begun if turn.begun is not None else now
        turn.begun, turn.is_stuck = None, False
        if not is_done:
            turn.failures, turn.streak = turn.failures + 1, 0
            turn.due = now + self.backoff(turn)
            return
        turn.failures, turn.is_suspect = 0, False
        turn.streak = turn.streak + 1 if has_news and was_woken else (turn.streak if has_news else 0)
        turn.due = max(now, begun + max(self.paces.of(turn.kind), _QUIET.get(turn.kind, 0.0)))
        if turn.is_woken:
            self.wake(turn, now)

    def wake(self, turn: Turn, now: float) -> None:
        """There is something to do: it is due soon. One that runs comes again after that; one that has failed waits."""
        turn.is_woken = True
        if turn.begun is None and not turn.failures:
            quick = min(self.paces.every, _QUICK * 2.0 ** min(turn.streak // _QUICK_RUNS, 30))
            pause = quick if turn.kind == COLLECT else self.paces.of(turn.kind)
            turn.due = min(turn.due, max(now, turn.last_begun + pause))

    def wake_partitions(self, partitions: Iterable[str], now: float) -> None:
        """Files of partitions have changed."""
        names = set(partitions)
        for turn in self.turns:
            if turn.kind == COLLECT and turn.partition in names:
                self.wake(turn, now)

    def wake_tasks(self, now: float) -> None:
        """There are new rows."""
        for turn in self.turns:
            if turn.kind in (PUSH, DETECT):
                self.wake(turn, now)

    def backoff(self, turn: Turn) -> float:
        """How long a job that has failed waits: its interval, doubled with each failure; longer if it blocks others."""
        pace = max(1.0, self.paces.of(turn.kind), 4 * self.paces.starved if turn.is_suspect else 0.0)
        return min(max(pace, self.paces.longest_backoff), pace * 2.0 ** min(turn.failures - 1, 30))

    def find_stuck(self, now: float) -> list[Turn]:
        """The jobs that have become stuck since the last time."""
        running = [(turn, turn.begun) for turn in self.turns if turn.begun is not None and not turn.is_stuck]
        found = [turn for turn, begun in running if now - begun >= self.paces.stuck]
        for turn in found:
            turn.is_stuck = True
        return found
