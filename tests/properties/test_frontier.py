"""Coverage and frontier against a naive model: whatever runs, fails or is deleted, both know the same of each day."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tailpipe.collect.identity import decide
from tailpipe.collect.item import WorkItem
from tailpipe.collect.plan import Plan, SourceState
from tailpipe.collect.planning import plan_units
from tailpipe.collect.scope import listing
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import (
    NO_DAYS,
    Advance,
    Cover,
    Coverage,
    DaySet,
    Drop,
    Request,
    State,
    dropped_days,
    first_day,
)
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.request import Collect
from tailpipe.model.staged import Covered
from tailpipe.model.window import Window
from tests.examples import examples

SOURCES = {"bucket": False, "files": True}
START = date(2024, 3, 10)
DAY = timedelta(days=1)


def between(first: date, last: date) -> set[date]:
    return {first + DAY * count for count in range((last - first).days + 1)}


@dataclass
class Sheet:
    """What a person would note down of a source: a word for each day, and how far it was followed."""

    states: dict[date, State] = field(default_factory=dict)
    frontier: date | None = None

    def of(self, *states: State) -> set[date]:
        return {day for day, found in self.states.items() if found in states}

    def plain(self, today: date) -> set[date]:
        """What a plain run brings: what is unfinished, and all days since the frontier."""
        first = today - 30 * DAY if self.frontier is None else min(self.frontier, today)
        return (self.of("missing") | between(first, today)) - self.of("dropped")

    def follow(self, today: date) -> None:
        """A run without an end has begun; days after it were seen by a clock that was ahead."""
        self.states = {day: state for day, state in self.states.items() if day <= today or state == "dropped"}
        self.frontier = today


@dataclass
class Naive:
    """The sheets of all sources, and which artifacts (a source, a day) are here."""

    sheets: dict[str, Sheet] = field(default_factory=dict)
    here: set[tuple[str, date]] = field(default_factory=set)

    def sheet(self, name: str) -> Sheet:
        gone = {day for one in self.sheets.values() for day in one.of("dropped")}
        held = {day for one in self.sheets.values() for day in one.of("covered", "missing")}
        fresh = Sheet(dict.fromkeys(gone - held, "dropped"))
        return self.sheets.setdefault(name, fresh)

    @property
    def first(self) -> date | None:
        return min((day for one in self.sheets.values() for day in one.of("covered", "missing")), default=None)

    def bring(self, wanted: dict[str, set[date]], failing: Collection[date]) -> None:
        """A day is committed whole, with what is new of all sources, or not at all."""
        for day in sorted({day for days in wanted.values() for day in days}):
            names = [name for name, days in wanted.items() if day in days]
            is_failed = day in failing and any((name, day) not in self.here for name in names)
            for name in names:
                if self.sheets[name].states.get(day) != "covered":
                    self.sheets[name].states[day] = "missing" if is_failed else "covered"
                if not is_failed:
                    self.here.add((name, day))

    def drop(self, days: Collection[date]) -> None:
        dated = {day for _, day in self.here}
        for sheet in self.sheets.values():
            sheet.states |= {day: "dropped" for day in days if day in sheet.states or day in dated}
        self.here = {(name, day) for name, day in self.here if day not in days}


@dataclass
class Catalog:
    """The least catalog that can carry out the plans of two sources with an artifact for each day."""

    coverage: dict[str, Coverage] = field(default_factory=dict)
    ledger: dict[str, LedgerEntry] = field(default_factory=dict)
    lost: dict[Unit, DaySet] = field(default_factory=dict)

    def plan(self, request: Collect, names: Iterable[str]) -> Plan:
        since, gone = first_day(self.coverage.values()), dropped_days(self.coverage.values())
        sources = [
            SourceState(
                name,
                self.coverage.get(name, Coverage()),
                SOURCES[name],
                dropped=NO_DAYS if name in self.coverage else gone,
                since=since,
            )
            for name in sorted(names)
        ]
        listed = [
            WorkItem(name, Artifact(f"{name}/{day}", 1, day=day, kind="object"))
            for name, days in listing(sources, request, self.lost).items()
            for day in days
        ]
        ledger = tuple(self.ledger.values())
        return plan_units(sources, decide(listed, ledger, {}, now=request.now), request, ledger=ledger, lost=self.lost)

    def run(self, request: Collect, names: Iterable[str], failing: Collection[date]) -> None:
        plan, gone = self.plan(request, names), dropped_days(self.coverage.values())
        for name in sorted({*plan.requests, *plan.frontiers}):
            known = self.coverage.get(name, Coverage(dropped=gone))
            known = known.after(Advance(plan.frontiers[name])) if name in plan.frontiers else known
            self.coverage[name] = known.after(Request(plan.requests.get(name, NO_DAYS)))
        for unit in plan.units:
            if unit.unit.day in failing:
                continue
            for one in unit.artifacts:
                uri, source = one.artifact.uri, one.source
                self.ledger[uri] = LedgerEntry(uri, source, unit.unit, request.now, uri=uri, kind="object", size=1)
            self.lost[unit.unit] = self.lost.get(unit.unit, NO_DAYS) - unit.restores
            self._cover(unit.covers)
        self._cover(plan.closing)

    def drop(self, days: DaySet) -> None:
        units = {entry.unit for entry in self.ledger.values()}
        dates = DaySet.of(unit.day for unit in units if unit.day and unit.day not in self.lost.get(unit, NO_DAYS))
        for unit in units:
            self.lost[unit] = self.lost.get(unit, NO_DAYS) | (days & DaySet.of([unit.day] if unit.day else []))
        for name, known in self.coverage.items():
            self.coverage[name] = known.after(Drop(days & (known.known | dates)))

    def _cover(self, covers: Iterable[Covered]) -> None:
        for one in covers:
            known = self.coverage.get(one.source, Coverage())
            self.coverage[one.source] = known.after(Cover(one.days, one.settled_before))


counts = st.integers(-45, 0)
failures = st.sets(st.integers(-45, 2), max_size=8) | st.just(set(range(-400, 3)))
sets = st.just(set(SOURCES)) | st.sets(st.sampled_from(sorted(SOURCES)), min_size=1)


class Following(RuleBasedStateMachine):
    """Plain runs, windows with and without an end, failures, deletions, and a clock that goes on and back."""

    def __init__(self) -> None:
        super().__init__()
        self.today, self.runs = START, 0
        self.catalog, self.naive = Catalog(), Naive()

    def _names(self, names: set[str]) -> set[str]:
        """Days that lost rows are made good by all their sources together; one alone is another story."""
        return set(SOURCES) if any(self.catalog.lost.values()) else names

    def _days(self, counts: Iterable[int]) -> set[date]:
        return {self.today + DAY * count for count in counts}

    def _request(self, window: Window | None = None, *, fill: bool = False) -> Collect:
        self.runs += 1
        now = datetime.combine(self.today, time(12), UTC) + timedelta(seconds=self.runs)
        return Collect(now, window, fill=fill)

    @rule(names=sets, failing=failures, is_filled=st.booleans())
    def plain_run(self, names: set[str], failing: set[int], *, is_filled: bool) -> None:
        names, days = self._names(names), self._days(failing)
        self.catalog.run(self._request(fill=is_filled), names, days)
        first, wanted = self.naive.first, {}
        for name in sorted(names):
            sheet = self.naive.sheet(name)
            unasked = between(first, self.today) if is_filled and first else set()
            wanted[name] = {day for day in sheet.plain(self.today) | unasked if day <= self.today} - sheet.of("dropped")
        for name in names:
            self.naive.sheets[name].follow(self.today)
        self.naive.bring(wanted, days)

    @rule(names=sets, failing=failures, first=counts, length=st.integers(0, 50), is_open=st.booleans())
    def window(self, names: set[str], failing: set[int], first: int, length: int, *, is_open: bool) -> None:
        names, days = self._names(names), self._days(failing)
        start = datetime.combine(self.today + DAY * first, time(), UTC)
        end = datetime.combine(self.today, time(12), UTC) if is_open else start + DAY * (length + 1)
        self.catalog.run(self._request(Window(start, end, is_open=is_open)), names, days)
        last = self.today if is_open else min(self.today, start.date() + DAY * length)
        for name in sorted(names):
            sheet = self.naive.sheet(name)
            if is_open:
                sheet.follow(self.today)
        self.naive.bring({name: between(start.date(), last) for name in names}, days)

    @rule(first=counts, length=st.integers(0, 10))
    def days_are_deleted(self, first: int, length: int) -> None:
        days = between(self.today + DAY * first, self.today + DAY * (first + length))
        self.catalog.drop(DaySet.of(days))
        self.naive.drop(days)

    @rule(count=st.integers(1, 40))
    def time_passes(self, count: int) -> None:
        self.today += DAY * count

    @rule(count=st.integers(1, 2))
    def clock_is_set_back(self, count: int) -> None:
        self.today -= DAY * count

    @invariant()
    def both_know_the_same(self) -> None:
        assert self.catalog.coverage.keys() == self.naive.sheets.keys()
        for name, sheet in self.naive.sheets.items():
            known = self.catalog.coverage[name]
            assert set(known.covered) == sheet.of("covered")
            assert set(known.missing) == sheet.of("missing")
            assert set(known.dropped) == sheet.of("dropped")
            assert known.frontier == sheet.frontier
            assert set(known.gaps(self.today)) == {
                day for day in sheet.plain(self.today) - sheet.of("covered") if sheet.frontier or day in sheet.states
            }

    @invariant()
    def what_nobody_requested_is_brought_by_filling(self) -> None:
        first = self.naive.first
        for name, sheet in self.naive.sheets.items() if first else ():
            known = self.catalog.coverage[name]
            unasked = set(known.not_requested(first or START, self.today))
            assert not unasked & sheet.states.keys()
            reached = sheet.plain(self.today) if sheet.frontier else set()
            assert unasked | sheet.states.keys() | reached >= between(first or START, self.today)


TestFollowing = Following.TestCase
TestFollowing.settings = settings(
    max_examples=examples(60), stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
