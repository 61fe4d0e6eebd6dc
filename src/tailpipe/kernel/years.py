"""Years of times that have none, as in `Dec 10 06:55:46`: decided for each artifact once, from its last line backwards.

The last line has the latest year in which it is not later than its artifact. Each line before it has the year that
brings it next to the one behind it: from December to January the year changes, and small disorder changes nothing.
No line is later than its artifact, and the 29th of February is in a leap year.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

from tailpipe.kernel.task import Decided

_Ints = npt.NDArray[np.int64]
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FIRSTS = np.cumsum([0, *_LENGTHS])
_YEAR = 366
_LEAP_DAY = 59
_DISORDER = 7
"""So many days a line may be out of order."""
_DAYS_OF = np.full(1300, -1)
"""The day of a leap year, from 0, of each month and day, as 100 · month + day; -1 for what is none."""
for _month, _length in enumerate(_LENGTHS, 1):
    _DAYS_OF[100 * _month + 1 : 100 * _month + 1 + _length] = _FIRSTS[_month - 1] + np.arange(_length)


@dataclass
class _Stretches:
    """The lines of one artifact so far, in stretches within which the year does not change."""

    latest: date
    ordinals: list[int] = field(default_factory=list)
    """Of the first line of each."""
    numbers: list[int] = field(default_factory=list)
    """How many years it lies behind the first stretch."""
    newest: list[int] = field(default_factory=list)
    """Its latest day."""
    is_leap: list[bool] = field(default_factory=list)
    """Whether it has a 29th of February."""
    last: int = -1
    """The day of the last line."""
    used: list[int] = field(default_factory=list)
    """The years that rows have got."""

    def add(self, ordinals: _Ints, days: _Ints) -> None:
        """Take more lines that have a day."""
        before = np.concatenate([[self.last if self.last >= 0 else days[0]], days[:-1]])
        steps = days - before
        turns = np.where(steps < -_YEAR // 2, 1, np.where(steps > _YEAR - _DISORDER, -1, 0))
        is_start = (turns != 0) | (steps < -_DISORDER)
        is_start[0] |= self.last < 0
        number = self.numbers[-1] if self.numbers else 0
        starts = np.flatnonzero(is_start)
        if len(starts) == 0 or starts[0] > 0:  # the stretch before goes on
            some = days[: starts[0] if len(starts) else len(days)]
            self.newest[-1] = max(self.newest[-1], int(some.max()))
            self.is_leap[-1] |= bool((some == _LEAP_DAY).any())
        if len(starts):
            self.ordinals += ordinals[starts].tolist()
            self.numbers += (number + np.cumsum(turns)[starts]).tolist()
            self.newest += np.maximum.reduceat(days, starts).tolist()
            self.is_leap += np.logical_or.reduceat(days == _LEAP_DAY, starts).tolist()
        self.last = int(days[-1])

    def years(self) -> list[int]:
        """The year of each stretch, as far as is known."""
        limit = self.latest + timedelta(days=1)
        year = limit.year if _date(limit.year, self.last) <= limit else limit.year - 1
        limit += timedelta(days=_DISORDER)
        found = []
        year -= self.numbers[-1]
        for number, newest in zip(reversed(self.numbers), reversed(self.newest), strict=True):
            while _date(year + number, newest) > limit:
                year -= 1
            found.append(year + number)
        found.reverse()
        leaps = [year for year, is_leap in zip(found, self.is_leap, strict=True) if is_leap]
        back = next((n for n in range(9) if all(_is_leap(year - n) for year in leaps)), 0)
        return [year - back for year in found]


class Years:
    """The years of a task's artifacts, batch by batch.

    `latest` is the date of which no line of an artifact is later. What is known after a batch may turn out wrong with
    a later one: then `wrong` tells it, and the task has to be run again with that as `decided`.
    """

    def __init__(self, latest: Sequence[date], decided: Mapping[int, Decided]) -> None:
        self._latest = latest
        self._decided = decided
        self._known: dict[int, _Stretches] = {}
        self.rows: dict[int, Counter[int]] = {}
        """For each artifact, how many lines have got each year."""

    def dates(self, artifacts: _Ints, ordinals: _Ints, month_days: _Ints) -> npt.NDArray[np.datetime64]:
        """The date of each line, given as 100 · month + day, or -1 for none; lines of an artifact are in order."""
        days = _DAYS_OF[np.clip(month_days, 0, len(_DAYS_OF) - 1)]
        years = np.zeros(len(days), np.int64)
        found = np.full(len(days), "NaT", "datetime64[D]")
        places = np.flatnonzero(days >= 0)
        if not len(places):
            return found
        for some in np.split(places, np.flatnonzero(np.diff(artifacts[places])) + 1):
            artifact = int(artifacts[some[0]])
            years[some] = self._years(artifact, ordinals[some], days[some])
            numbers, counts = np.unique(years[some], return_counts=True)
            counter = self.rows.setdefault(artifact, Counter())
            counter.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
        has_day = days >= 0
        leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
        inside = days - ((days > _LEAP_DAY) & ~leap)
        first = (years - 1970).astype("datetime64[Y]").astype("datetime64[D]")
        found[has_day] = (first + inside)[has_day]
        return found

    def _years(self, artifact: int, ordinals: _Ints, days: _Ints) -> _Ints:
        if artifact in self._decided:
            return _year_of(self._decided[artifact], ordinals)
        known = self._known.setdefault(artifact, _Stretches(self._latest[artifact]))
        known.add(ordinals, days)
        years = known.years()
        known.used += years[len(known.used) :]
        return _year_of(Decided(tuple(known.ordinals), tuple(known.used)), ordinals)

    def wrong(self) -> dict[int, Decided]:
        """What is known now of the artifacts some of whose lines have got other years."""
        found = {}
        for artifact, known in self._known.items():
            years = known.years()
            if years != known.used:
                found[artifact] = Decided(tuple(known.ordinals), tuple(years))
        return found


def _year_of(decided: Decided, ordinals: _Ints) -> _Ints:
    """The year of each line."""
    numbers = np.searchsorted(np.array(decided.ordinals), ordinals, side="right") - 1
    years: _Ints = np.array(decided.years, np.int64)[np.maximum(numbers, 0)]
    return years


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _date(year: int, day: int) -> date:
    """The day of a leap year in any year; the 29th of February may be the 1st of March."""
    return date(year, 1, 1) + timedelta(days=day - (day > _LEAP_DAY and not _is_leap(year)))
