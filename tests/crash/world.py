"""A small world of logs: it knows what should be in the catalog, and what each next step is.

Steps are plain values, so that they can be sent to a process that will be killed while it does them.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal

StepKind = Literal["append", "grow", "replace", "rewrite", "compact", "delete", "clean"]
KINDS: tuple[StepKind, ...] = ("append", "grow", "replace", "rewrite", "compact", "delete", "clean")
FIRST = date(2024, 1, 10)


@dataclass(frozen=True)
class Taken:
    """An artifact that a step takes: from where, to where, and how its rows are accounted for."""

    origin: str
    generation: int
    since: int
    until: int
    kept: int
    rejected: int = 0


@dataclass(frozen=True)
class Step:
    """One transaction that a collector would make (or a clean-up), told completely."""

    number: int
    kind: StepKind
    unit: str = ""
    files: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Index, date and ids of each file."""
    taken: tuple[Taken, ...] = ()
    carried: int = 0
    rejected: int = 0
    dates: tuple[str, ...] = ()
    drops: tuple[tuple[str, int], ...] = ()


@dataclass
class Row:
    day: date
    index: str
    identifier: str
    is_live: bool = True


@dataclass
class Log:
    origin: str
    generation: int = 0
    rows: list[Row] = field(default_factory=list)
    rejected: int = 0

    @property
    def ordinals(self) -> int:
        return len(self.rows) + self.rejected


@dataclass
class World:
    """Units of logs; a step is made here and counts as done at once."""

    random: random.Random
    units: dict[date, list[Log]] = field(default_factory=dict)
    steps: int = 0
    logs: int = 0

    def rows(self) -> Counter[str]:
        """The ids that a query must give, each of them once."""
        return Counter(
            row.identifier for logs in self.units.values() for log in logs for row in log.rows if row.is_live
        )

    def next(self, kind: StepKind) -> Step:
        """Take the next step of this kind; where there is nothing to grow or replace yet, append."""
        self.steps += 1
        days = sorted(day for day, logs in self.units.items() if logs)
        if kind in ("grow", "replace", "rewrite") and not days:
            kind = "append"
        if kind == "append":
            return self._append(FIRST + timedelta(days=self.random.randrange(4)))
        if kind == "delete":
            return self._delete(FIRST + timedelta(days=self.random.randrange(-1, 4)))
        if kind in ("clean", "compact"):
            return Step(self.steps, kind)
        day = self.random.choice(days)
        if kind == "grow":
            return self._grow(day)
        return self._replace(day) if kind == "replace" else self._rewrite(day)

    def _append(self, day: date) -> Step:
        self.logs += 1
        log = Log(f"log-{self.logs}", rejected=self.random.choice((0, 0, 2)))
        self._add_rows(log, day, self.random.randrange(1, 6))
        self.units.setdefault(day, []).append(log)
        taken = Taken(log.origin, 0, 0, log.ordinals, len(log.rows), log.rejected)
        return Step(self.steps, "append", day.isoformat(), _files(log.rows), (taken,), 0, log.rejected)

    def _grow(self, day: date) -> Step:
        log = self.random.choice(self.units[day])
        since, before = log.ordinals, len(log.rows)
        self._add_rows(log, day, self.random.randrange(1, 4))
        fresh = log.rows[before:]
        taken = Taken(log.origin, log.generation, since, log.ordinals, len(fresh))
        return Step(self.steps, "grow", day.isoformat(), _files(fresh), (taken,))

    def _replace(self, day: date) -> Step:
        taken = []
        for log in self.units[day]:
            for row in log.rows:
                row.is_live = True
            if self.random.random() < 0.5:
                self._add_rows(log, day, 1)
            log.rejected = 0
            taken.append(Taken(log.origin, log.generation, 0, log.ordinals, len(log.rows)))
        rows = [row for log in self.units[day] for row in log.rows]
        return Step(self.steps, "replace", day.isoformat(), _files(rows), tuple(taken))

    def _rewrite(self, day: date) -> Step:
        """Put one log anew and carry all other rows of the unit over."""
        chosen = self.random.choice(self.units[day])
        carried = [row for log in self.units[day] if log is not chosen for row in log.rows if row.is_live]
        drops = ((chosen.origin, chosen.generation),)
        chosen.generation += 1
        chosen.rows, chosen.rejected = [], 0
        self._add_rows(chosen, day, self.random.randrange(1, 5))
        taken = Taken(chosen.origin, chosen.generation, 0, chosen.ordinals, len(chosen.rows))
        files = _files(carried + chosen.rows)
        return Step(self.steps, "rewrite", day.isoformat(), files, (taken,), len(carried), drops=drops)

    def _delete(self, day: date) -> Step:
        for logs in self.units.values():
            for log in logs:
                for row in log.rows:
                    row.is_live = row.is_live and row.day != day
        return Step(self.steps, "delete", dates=(day.isoformat(),))

    def _add_rows(self, log: Log, day: date, count: int) -> None:
        for _ in range(count):
            # Every second unit has one directory only, which is projected in another way.
            is_simple = day.toordinal() % 2 == 0
            when = day if is_simple else day - timedelta(days=self.random.randrange(2))
            index = "one" if is_simple else self.random.choice(("a b", "x=y/z", ""))
            log.rows.append(Row(when, index, f"{log.origin}/{log.generation}-{len(log.rows)}"))


def _files(rows: list[Row]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        groups.setdefault((row.index, row.day.isoformat()), []).append(row.identifier)
    return tuple((index, day, tuple(ids)) for (index, day), ids in sorted(groups.items()))
