"""Coverage: which days of a source are in the workspace, which are missing, dropped or not requested."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import date, time, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Literal, assert_never

from tailpipe.frozen import frozen
from tailpipe.model.window import Window

State = Literal["covered", "missing", "dropped"]

_LAST = date.max.toordinal()


@frozen
class DaySet:
    """A set of days, kept as spans that include both ends.

    The spans are sorted, separate and never empty, so that equal sets are equal. One that ends at `date.max` is open.
    """

    spans: tuple[tuple[date, date], ...] = ()

    def __post_init__(self) -> None:
        merged: list[tuple[int, int]] = []
        for first, last in sorted((first.toordinal(), last.toordinal()) for first, last in self.spans):
            if last < first:
                continue
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        spans = tuple((date.fromordinal(first), date.fromordinal(last)) for first, last in merged)
        object.__setattr__(self, "spans", spans)

    @classmethod
    def of(cls, days: Iterable[date]) -> DaySet:
        """The set of these days, given in any order."""
        return cls(tuple((day, day) for day in days))

    @classmethod
    def span(cls, first: date, last: date) -> DaySet:
        """All days from `first` to `last`, both included; none if `last` is before `first`."""
        return cls(((first, last),))

    @classmethod
    def touched(cls, window: Window) -> DaySet:
        """The days that a window touches."""
        last = (window.end - timedelta(microseconds=1)).date() if window.has_end else date.max
        return cls.span(window.start.date(), last)

    @classmethod
    def within(cls, window: Window) -> DaySet:
        """The days that a window contains completely."""
        first = window.start.date() if window.start.time() == time() else window.start.date() + timedelta(days=1)
        last = window.end.date() - timedelta(days=1) if window.has_end else date.max
        return cls.span(first, last)

    @classmethod
    def union(cls, sets: Iterable[DaySet]) -> DaySet:
        """The days that are in any of them."""
        return cls(tuple(span for one in sets for span in one.spans))

    @staticmethod
    @lru_cache(maxsize=64)
    def parse(text: str) -> DaySet:
        """The set that `str` has written as `text`."""
        ends = (span.partition("..") for span in text.split(", ") if span)
        return DaySet(tuple((date.fromisoformat(a), date.fromisoformat(b or a)) for a, _, b in ends))

    @property
    def first(self) -> date | None:
        """The oldest day, or None if there is none."""
        return self.spans[0][0] if self.spans else None

    @property
    def last(self) -> date | None:
        """The newest day, or None if there is none."""
        return self.spans[-1][1] if self.spans else None

    def __contains__(self, day: object) -> bool:
        if not isinstance(day, date):
            return False
        after = bisect_right(self.spans, (day, date.max))
        return after > 0 and day <= self.spans[after - 1][1]

    def __iter__(self) -> Iterator[date]:
        for first, last in self.spans:
            yield from map(date.fromordinal, range(first.toordinal(), last.toordinal() + 1))

    def __len__(self) -> int:
        return sum(last.toordinal() - first.toordinal() + 1 for first, last in self.spans)

    def __bool__(self) -> bool:
        return bool(self.spans)

    def __or__(self, other: DaySet) -> DaySet:
        return DaySet(self.spans + other.spans)

    def __and__(self, other: DaySet) -> DaySet:
        common, x, y = [], 0, 0
        while x < len(self.spans) and y < len(other.spans):
            (a, b), (c, d) = self.spans[x], other.spans[y]
            if max(a, c) <= min(b, d):
                common.append((max(a, c), min(b, d)))
            x, y = (x + 1, y) if b < d else (x, y + 1)
        return DaySet(tuple(common))

    def __sub__(self, other: DaySet) -> DaySet:
        edges = [(0, 0), *((a.toordinal(), b.toordinal()) for a, b in other.spans), (_LAST + 1, _LAST + 1)]
        holes = ((before[1] + 1, after[0] - 1) for before, after in pairwise(edges))
        days = ((date.fromordinal(first), date.fromordinal(last)) for first, last in holes if first <= last)
        return self & DaySet(tuple(days))

    def __str__(self) -> str:
        return _text(self.spans)


@lru_cache(maxsize=64)  # a Day of thousands of artifacts spells the same few many times
def _text(spans: tuple[tuple[date, date], ...]) -> str:
    return ", ".join(str(first) if first == last else f"{first}..{last}" for first, last in spans)


NO_DAYS = DaySet()
EVERY_DAY = DaySet.span(date.min, date.max)


@frozen
class Coverage:
    """What is known of the days of one source of a partition; no day has two states.

    A *covered* day was listed and all that it held is committed. A *missing* one was requested and is not done. A
    *dropped* one was deleted or has expired. A day without a state was never requested. `unsettled` days are covered,
    but are listed once more, because late artifacts may have come.

    `frontier` is the newest day that a run without an end has requested, where the next plain run continues; None if
    only windows with an end were requested.
    """

    covered: DaySet = field(default=NO_DAYS)
    missing: DaySet = field(default=NO_DAYS)
    dropped: DaySet = field(default=NO_DAYS)
    unsettled: DaySet = field(default=NO_DAYS)
    frontier: date | None = None

    def __post_init__(self) -> None:
        twice = (self.covered & self.missing) | (self.covered & self.dropped) | (self.missing & self.dropped)
        if twice:
            raise ValueError(f"days with two states: {twice}")
        if self.unsettled - self.covered:
            raise ValueError(f"unsettled days that are not covered: {self.unsettled - self.covered}")

    @classmethod
    def parse(cls, states: Mapping[str, str], frontier: str | None = None) -> Coverage:
        """The coverage whose sets of days and frontier are written as text."""
        days = {name: DaySet.parse(states.get(name, "")) for name in _SETS}
        return cls(**days, frontier=date.fromisoformat(frontier) if frontier else None)

    @property
    def known(self) -> DaySet:
        """All days that have a state."""
        return self.covered | self.missing | self.dropped

    @property
    def requested(self) -> DaySet:
        """The days that were requested and not dropped since."""
        return self.covered | self.missing

    def state(self, day: date) -> State | None:
        """The recorded state of a day, or None if it was never requested."""
        if day in self.covered:
            return "covered"
        if day in self.missing:
            return "missing"
        return "dropped" if day in self.dropped else None

    def gaps(self, today: date) -> DaySet:
        """The days that were requested and are not here: missing ones, and those that came after the frontier."""
        since = NO_DAYS if self.frontier is None else DaySet.span(min(self.frontier, today), today)
        return (self.missing | since) - self.covered - self.dropped

    def not_requested(self, since: date, today: date) -> DaySet:
        """The days from `since` on that were never requested and that no plain run reaches from the frontier."""
        return DaySet.span(since, min(self.frontier or today, today)) - self.known

    def after(self, operation: Operation) -> Coverage:
        """The coverage once an operation was applied."""
        covered, missing, dropped, unsettled = self.covered, self.missing, self.dropped, self.unsettled
        match operation:
            case Request(days):
                missing, unsettled = missing | (days - covered), unsettled | (covered & days)
                return replace(self, missing=missing, dropped=dropped - days, unsettled=unsettled)
            case Advance(today):
                # Days after today were requested while the clock was ahead: what was seen of them then says nothing,
                # and they are requested again when they come.
                past = DaySet.span(date.min, today)
                known = {"covered": covered & past, "missing": missing & past, "unsettled": unsettled & past}
                return replace(self, **known, frontier=today)
            case Cover(days, settled_before):
                unsettled = (unsettled - days) | (days & DaySet.span(settled_before, date.max))
                return Coverage(covered | days, missing - days, dropped - days, unsettled, self.frontier)
            case Lose(days):
                lost = covered & days
                return replace(self, covered=covered - lost, missing=missing | lost, unsettled=unsettled - lost)
            case Drop(days):
                return Coverage(covered - days, missing - days, dropped | days, unsettled - days, self.frontier)
            case Known(coverage):
                return coverage
            case _:
                assert_never(operation)


class _Change:
    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} {_SETTLED.join(map(str, vars(self).values()))}"


@frozen
class Request(_Change):
    """These days were requested: they are missing, or unsettled if they were covered."""

    days: DaySet


@frozen
class Advance(_Change):
    """A run without an end has begun on this day."""

    day: date


@frozen
class Cover(_Change):
    """These days are done; those before `settled_before` are not listed again."""

    days: DaySet
    settled_before: date


@frozen
class Lose(_Change):
    """Files of these days were lost: what was covered is missing."""

    days: DaySet


@frozen
class Drop(_Change):
    """These days were deleted or have expired."""

    days: DaySet


@frozen
class Known:
    """The whole coverage, whatever was known before: what manifests of the first format say."""

    coverage: Coverage

    def __str__(self) -> str:
        facts = {name: getattr(self.coverage, name) for name in (*_SETS, "frontier")}
        return "known " + "; ".join(f"{name} {fact}" for name, fact in facts.items() if fact)


Operation = Request | Advance | Cover | Lose | Drop | Known
"""A change of the coverage of one source. Its text is what catalogs and manifests hold: it never changes."""

_SETS = ("covered", "missing", "dropped", "unsettled")
_SETTLED = " settled before "


def parse_operation(text: str) -> Operation:
    """The operation that `str` has written as `text`; ValueError if it is none."""
    verb, _, rest = text.partition(" ")
    match verb:
        case "request":
            return Request(DaySet.parse(rest))
        case "advance":
            return Advance(date.fromisoformat(rest))
        case "cover":
            days, _, settled_before = rest.partition(_SETTLED)
            return Cover(DaySet.parse(days), date.fromisoformat(settled_before))
        case "lose":
            return Lose(DaySet.parse(rest))
        case "drop":
            return Drop(DaySet.parse(rest))
        case "known":
            facts = dict(fact.split(" ", 1) for fact in rest.split("; ") if fact)
            return Known(Coverage.parse(facts, facts.get("frontier")))
    raise ValueError(f'"{text}" is not a change of coverage')


def first_day(known: Iterable[Coverage]) -> date | None:
    """The oldest day that any source of a partition covers or is to bring; None if there is none."""
    return min((first for one in known if (first := one.requested.first) is not None), default=None)


def dropped_days(known: Iterable[Coverage]) -> DaySet:
    """The days that sources of a partition have dropped, and that no other one has or is to bring."""
    dropped = held = NO_DAYS
    for coverage in known:
        dropped |= coverage.dropped
        held |= coverage.covered | coverage.missing
    return dropped - held
