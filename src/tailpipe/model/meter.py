"""A meter: where the wall and CPU time of a piece of work goes, by phase."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

PHASES = ("start", "list", "plan", "fetch", "unpack", "parse", "write", "verify", "commit", "push", "compact")
"""The phases of a run, in the order in which they are reported."""


class Spent(NamedTuple):
    """Seconds of wall time, and of the CPU."""

    wall: float = 0.0
    cpu: float = 0.0

    def plus(self, other: Spent) -> Spent:
        """The sum of both."""
        return Spent(self.wall + other.wall, self.cpu + other.cpu)

    def times(self, share: float) -> Spent:
        """A share of it."""
        return Spent(self.wall * share, self.cpu * share)


def added(first: Mapping[str, Spent], second: Mapping[str, Spent]) -> dict[str, Spent]:
    """The sum of both, by phase."""
    return {phase: first.get(phase, Spent()).plus(second.get(phase, Spent())) for phase in {**first, **second}}


def ordered(spent: Mapping[str, Spent]) -> dict[str, Spent]:
    """The phases in the order in which they are reported."""
    return {phase: spent[phase] for phase in PHASES if phase in spent}


class Meter:
    """Adds up what the phases of one thread spend. A phase inside another is not counted for the outer one."""

    def __init__(self) -> None:
        self.spent: dict[str, Spent] = {}
        self._open: list[str] = []
        self._mark = (0.0, 0.0)

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """A context in which time is counted for the phase."""
        self._charge()
        self._open.append(phase)
        try:
            yield
        finally:
            self._charge()
            self._open.pop()

    def timed(self, phase: str, function: Callable[P, T]) -> Callable[P, T]:
        """The function, whose time is counted for the phase."""
        return self(phase)(function)

    def add(self, spent: Mapping[str, Spent]) -> None:
        """Count what others have spent."""
        self.spent = added(self.spent, spent)

    def _charge(self) -> None:
        """Count the time since the last change of phases for the one that is open."""
        now = (time.perf_counter(), time.process_time())
        if self._open:
            phase = self._open[-1]
            passed = Spent(now[0] - self._mark[0], now[1] - self._mark[1])
            self.spent[phase] = self.spent.get(phase, Spent()).plus(passed)
        self._mark = now
