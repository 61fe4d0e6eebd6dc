"""Scope: which days a run may take of each source, which of them it lists, and how it moves the frontier.

A run without a window continues from the frontier and finishes what was requested and is missing. Nothing here reads a
clock, a disk or a catalog.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from tailpipe.collect.plan import SourceState
from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet, dropped_days, first_day
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.partition import Partition
from tailpipe.model.request import Collect
from tailpipe.model.window import LOOKBACK

if TYPE_CHECKING:
    from tailpipe.catalog.overview import Overview

CLOCK_DAYS = 2
"""A clock that was ahead by up to this, and is right again, is no reason to stop."""


@frozen
class Scope:
    """What of a source may be taken: the days of dated artifacts, and the dates of rows.

    `recalled` are the dates that a Day of `wanted` restores if it lost them; its rows may have dates that were never
    requested, because a dated artifact is taken whole.
    """

    source: SourceState
    wanted: DaySet
    dates: DaySet
    recalled: DaySet = NO_DAYS

    @property
    def unrequested(self) -> DaySet:
        """The days that were never requested before, or that were dropped since."""
        coverage = self.source.coverage
        return (self.wanted - coverage.covered - coverage.missing) | (self.dates & coverage.dropped)

    def reread(self, entry: LedgerEntry | None, dates: DaySet | None) -> DaySet | None:
        """The dates to which an artifact is cut that is read again from its beginning: with those that it had."""
        if entry is None or dates is None:
            return dates
        return dates | (entry.taken - self.source.coverage.dropped)

    def restorable(self, unit: Unit, lost: DaySet) -> DaySet:
        """Those of the dates that a unit has lost which this run may bring back."""
        return lost & (self.dates | self.recalled if unit.day in self.wanted else self.dates)

    def why_not(self, day: date, request: Collect) -> str:
        """Why the artifacts of a day are left alone that is not wanted."""
        if day > request.today:
            return "is in the future"
        if request.window is not None or request.overwrite:
            return "outside the window"
        if request.oldest is not None and day < request.oldest:
            return "beyond the retention: use --from"
        if day in self.source.coverage.dropped or day in self.source.dropped:
            return "dropped: use --from"
        if self.source.since is not None and day >= self.source.since:
            return "not requested: use --from or --fill"
        return "before the first day: use --from"


def scope_of(source: SourceState, request: Collect) -> Scope:
    """What a run may take of a source."""
    past = DaySet.span(date.min, request.today)
    if request.window is not None:
        whole = request.window.widened()
        days = DaySet.span(whole.start.date(), whole.end.date() - timedelta(days=1))
        return Scope(source, days & past, days)
    kept = DaySet.span(request.oldest or date.min, date.max) - source.coverage.dropped - source.dropped
    if request.overwrite:
        dates = DaySet.span(_lookback(request), date.max) & kept
        return Scope(source, dates & past, dates)
    dates = source.coverage.requested | DaySet.span(_start(source, request), date.max)
    if request.fill and source.since is not None:
        dates |= DaySet.span(source.since, date.max)
    dates &= kept
    return Scope(source, dates & past, dates, kept)


def listing(sources: Iterable[SourceState], request: Collect, lost: Mapping[Unit, DaySet]) -> dict[str, DaySet]:
    """The days that each source has to list; artifacts without a date are always listed.

    A Day that lost dates is listed too if these are requested, although it may lie outside the window.
    """
    days = {}
    for source in sources:
        scope, coverage = scope_of(source, request), source.coverage
        requested = scope.wanted
        if request.window is None and not request.overwrite and not source.lists_all:
            recent = DaySet.span(_start(source, request) - timedelta(days=source.overlap_days), request.today)
            requested &= coverage.missing | coverage.unsettled | recent | (scope.wanted - coverage.known)
        recalled = DaySet.of(unit.day for unit in lost if unit.day and scope.restorable(unit, lost[unit]))
        days[source.name] = requested | recalled
    return days


def goes_on(source: SourceState, request: Collect, days: DaySet) -> bool:
    """Whether a run lists of a source only what it lists again anyway: the days since the last run, and its overlap.

    Then the run after it lists today again, and whatever this one has overlooked by then is found.
    """
    frontier = source.coverage.frontier
    if request.window is not None or request.overwrite or request.fill or frontier is None or days.first is None:
        return False
    return days.first >= min(frontier, request.today) - timedelta(days=source.overlap_days)


def moved_frontiers(sources: Iterable[SourceState], request: Collect) -> dict[str, date]:
    """The frontiers that a run moves: one without an end goes up to today.

    Overwriting the last 30 days is no way to leap over days that a plain run would have brought.
    """
    if not request.is_open:
        return {}
    moved = {}
    for source in sources:
        frontier = source.coverage.frontier
        is_late = frontier is not None and frontier < _lookback(request)
        is_leap = request.window is None and request.overwrite and is_late
        if frontier != request.today and not is_leap:
            moved[source.name] = request.today
    return moved


def check_clock(partition: str, sources: Iterable[SourceState], request: Collect) -> None:
    """Refuse to continue from days in the far future: the clock was wrong then, or it is now.

    A clock in the past would move the frontier back, and the run after its correction would fetch all days since.
    A day with --from means that the clock is right.
    """
    if request.window is not None:
        return
    newest = request.today
    firsts = [request.today]
    for source in sources:
        coverage = source.coverage
        newest = max(newest, coverage.frontier or newest, coverage.covered.last or newest)
        past = coverage.covered & DaySet.span(date.min, request.today)
        firsts.append(max(_lookback(request), past.last or date.min))
    if newest > request.today + timedelta(days=CLOCK_DAYS):
        raise TailpipeError(
            f"the clock says {request.today}, but {partition} was collected up to {newest}",
            hint=f"correct the clock; if it is right now, run: tailpipe collect {partition} --from {min(firsts)}",
        )


def open_days(coverage: Mapping[str, Coverage], partition: Partition | None, now: datetime) -> DaySet:
    """The gaps of all sources of a partition; what the config no longer names, be it a source or all, fills none."""
    if partition is None:
        return NO_DAYS
    known = [coverage.get(source.name, Coverage()) for source in partition.sources]
    kept = DaySet.span(partition.oldest(now) or date.min, date.max)
    return DaySet.union(one.gaps(now.astimezone(UTC).date()) for one in known) & kept


def missing_days(one: Overview, partition: Partition | None, now: datetime) -> DaySet:
    """The gaps of a partition, and the days that it has lost."""
    return open_days(one.coverage, partition, now) | one.lost


def not_requested(coverage: Mapping[str, Coverage], partition: Partition | None, now: datetime) -> DaySet:
    """The days since the oldest one of a partition that were never requested of one of its sources."""
    if partition is None:
        return NO_DAYS
    known = [coverage.get(source.name, Coverage()) for source in partition.sources]
    since = first_day(known)
    if since is None:
        return NO_DAYS
    found = DaySet.union(one.not_requested(since, now.astimezone(UTC).date()) for one in known)
    kept = DaySet.span(partition.oldest(now) or date.min, date.max)
    return (found & kept) - dropped_days(known)


def _start(source: SourceState, request: Collect) -> date:
    """Where a run without a window begins: at the frontier, or 30 days back if there is none."""
    frontier = source.coverage.frontier
    return _lookback(request) if frontier is None else min(frontier, request.today)


def _lookback(request: Collect) -> date:
    return (request.now - LOOKBACK).astimezone(UTC).date()
