"""Planning: which units a run must do and in which order, and what it leaves alone and why.

The planner lists the days of `scope.listing`, lets `identity` decide how the listed artifacts have changed, and then
gets its plan from `plan_units`. Nothing here reads a clock, a disk or a catalog.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import count
from typing import get_args

from tailpipe.collect.identity import NOBODY
from tailpipe.collect.item import Cause, WorkItem
from tailpipe.collect.plan import Plan, Skip, SourceState, UnitPlan, kind_of
from tailpipe.collect.remains import remaining
from tailpipe.collect.scope import Scope, listing, moved_frontiers, scope_of
from tailpipe.frozen import frozen
from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.packing import fill
from tailpipe.model.request import Collect
from tailpipe.model.staged import Covered

PACK_BYTES = 1_000_000_000
"""About how much of undated artifacts makes a unit."""

UNFINISHED = "ends in an unfinished line"
"""Why an artifact is skipped that has more than was taken of it: that line may still be written."""

WRITTEN = "is still being written"
"""Why the copy of a listed log is skipped: it cannot be read to its end, or the log is not cut yet."""

COMPLETE = "complete when last requested: use --overwrite"
"""Why a range or a run is not requested again: its day was over by then, and late events had come."""

_NOT_READ = {"repeated": "listed twice", "copied": "a compressed copy of a listed file", "unfinished": WRITTEN}

_CAUSES: tuple[Cause, ...] = get_args(Cause)


def plan_units(
    sources: Sequence[SourceState],
    items: Sequence[WorkItem],
    request: Collect,
    *,
    ledger: Sequence[LedgerEntry] = (),
    lost: Mapping[Unit, DaySet] | None = None,
) -> Plan:
    """The plan of a run for the artifacts that were listed and decided upon.

    Each artifact is planned once or skipped with a reason. Executing the plan and planning again, at the same `now`,
    gives an empty plan, unless everything is to be overwritten. After an interruption a plan without a window contains
    the rest of this one. A unit that needs all its sources does not wait for NOBODY.
    """
    lost = lost or {}
    entries = _by_unit(ledger, items)
    scopes = {source.name: scope_of(source, request) for source in sources}
    requested = {name: days & scopes[name].wanted for name, days in listing(sources, request, lost).items()}
    redone = _redone(scopes, request, entries, lost) if lost or request.overwrite else {}
    groups, unpacked, skipped, noted = _sort_out(items, scopes, request, redone)
    groups |= _packs(unpacked, entries)
    groups |= {unit: _cut(groups[unit], unit, lost[unit], scopes) for unit in redone if unit in groups and unit in lost}
    pivot = _pivot(sources, request)
    builder = _Builder(sources, request, requested, entries, lost, pivot)
    units = tuple(builder.build(unit, groups[unit]) for unit in _order(groups, pivot))
    planned = DaySet.of(unit.unit.day for unit in units if unit.unit.day)
    moved = moved_frontiers(sources, request)
    return Plan(
        units,
        (*skipped, *remaining(units, items, scopes, redone, entries, lost)),
        {name: days for name, scope in scopes.items() if (days := scope.unrequested | (planned & requested[name]))},
        (*noted, *_corrected(units, ledger, scopes, moved, request)),
        tuple(_closing(sources, request, requested, planned)),
        moved,
    )


def _by_unit(ledger: Iterable[LedgerEntry], items: Iterable[WorkItem]) -> dict[Unit, list[LedgerEntry]]:
    """The entries of each unit; one that was listed belongs to the source that lists it now."""
    owners = {one.entry.identity: one.source for one in items if one.entry is not None and one.fate != "repeated"}
    entries: dict[Unit, list[LedgerEntry]] = defaultdict(list)
    for entry in ledger:
        owner = owners.get(entry.identity, entry.source)
        entries[entry.unit].append(entry if owner == entry.source else replace(entry, source=owner))
    return entries


def _redone(
    scopes: Mapping[str, Scope],
    request: Collect,
    entries: Mapping[Unit, Sequence[LedgerEntry]],
    lost: Mapping[Unit, DaySet],
) -> dict[Unit, Cause]:
    """The units that are collected again from the beginning, and why.

    A date that was dropped is restored only once it was requested; then it is no longer dropped, so that a plain run
    completes what an interrupted one has begun.
    """
    redone: dict[Unit, Cause] = {}
    for unit, dates in lost.items():
        owners = {entry.source for entry in entries.get(unit, ())} - {NOBODY}
        if request.window is None and not owners <= scopes.keys():
            continue
        taking_part = owners & scopes.keys()
        for owner in taking_part:
            dates = scopes[owner].restorable(unit, dates)
        if taking_part and dates:
            redone[unit] = "lost dates"
    for unit, known in entries.items() if request.overwrite else ():
        for entry in known:
            held = entry.taken if unit.day is None else DaySet.of([unit.day])
            if entry.source in scopes and held & scopes[entry.source].wanted:
                redone[unit] = "overwritten"
    return redone


def _sort_out(
    items: Iterable[WorkItem], scopes: Mapping[str, Scope], request: Collect, redone: Mapping[Unit, Cause]
) -> tuple[dict[Unit, list[WorkItem]], list[WorkItem], list[Skip], list[LedgerEntry]]:
    """The artifacts to take by units, those for new packs, those to skip, and the entries to update."""
    groups: dict[Unit, list[WorkItem]] = defaultdict(list)
    unpacked: list[WorkItem] = []
    skipped, noted = [], []
    for item in items:
        # One without a date is not in a pack yet.
        unit = None if item.artifact.day is None else Unit(day=item.artifact.day)
        unit = item.entry.unit if item.entry is not None else unit
        taken = _take(item, unit, scopes[item.source], request, redone)
        if isinstance(taken, WorkItem):
            (unpacked if unit is None else groups[unit]).append(taken)
            continue
        skipped.append(Skip(item.source, item.artifact.uri, taken, item.artifact.day))
        if (entry := item.noted()) is not None:
            noted.append(entry)
    return groups, unpacked, skipped, noted


def _cut(group: Iterable[WorkItem], unit: Unit, lost: DaySet, scopes: Mapping[str, Scope]) -> list[WorkItem]:
    """The artifacts of a unit that is done again, without those of its lost dates that are not requested.

    These would be restored in part, because other Days have rows of them too.
    """
    cut = []
    for one in group:
        unrequested = lost - scopes[one.source].restorable(unit, lost)
        cut.append(replace(one, dates=EVERY_DAY - unrequested) if unrequested and one.dates is None else one)
    return cut


def _take(
    item: WorkItem, unit: Unit | None, scope: Scope, request: Collect, redone: Mapping[Unit, Cause]
) -> WorkItem | str:
    """How to read an artifact, or the reason not to."""
    entry, day = item.entry, unit.day if unit is not None else None
    dates = scope.dates if day is None else None
    if item.fate in _NOT_READ:
        return _NOT_READ[item.fate]
    if unit is not None and unit in redone:
        return item.reread(redone[unit], scope.reread(entry, dates))
    if day is not None and day not in scope.wanted:
        return scope.why_not(day, request)
    if item.fate == "replaced":
        return item.reread("replaced", scope.reread(entry, dates))
    if entry is not None and day is None and entry.left_out & scope.dates:
        return item.reread("other dates", scope.reread(entry, dates))
    if not item.has_news:
        return UNFINISHED if entry is not None and entry.unread_bytes else "unchanged"
    if entry is None:
        return replace(item, cause="new", dates=dates)
    if item.fate == "requested_again":
        if _is_settled(item, entry, scope.source):
            return COMPLETE
        if item.artifact.kind == "run":
            return item.reread("requested again", scope.reread(entry, dates))
        return replace(item, cause="requested again", dates=dates)
    if day is None and request.window is not None and request.window.widened().end <= entry.as_of:
        return "has grown since the window"
    return replace(item, cause="grown", dates=dates)


def _is_settled(item: WorkItem, entry: LedgerEntry, source: SourceState) -> bool:
    """Whether a range or run was complete when it was taken: its day was over, and late rows had come."""
    if item.artifact.day is None:
        return False
    days = 1 if item.artifact.kind == "run" else 1 + source.overlap_days
    return entry.as_of >= datetime.combine(item.artifact.day, time(), UTC) + timedelta(days=days)


def _packs(items: Iterable[WorkItem], known: Container[Unit]) -> dict[Unit, list[WorkItem]]:
    """New units of undated artifacts, the newest first, each named after its first artifact.

    A known unit may have that name: it was committed without this artifact, which could not be read then.
    """
    packs = {}
    for pack in fill(sorted(items, key=_newest_first), lambda one: one.artifact.size or 0, PACK_BYTES):
        name = f"{pack[0].origin}\0{pack[0].generation}"
        salted = (f"{name}\0{number}" if number else name for number in count())
        units = (Unit(pack=hashlib.blake2b(one.encode(), digest_size=8).hexdigest()) for one in salted)
        packs[next(unit for unit in units if unit not in known)] = pack
    return packs


def _newest_first(one: WorkItem) -> tuple[float, str]:
    modified = one.artifact.modified
    return -modified.timestamp() if modified else float("inf"), one.artifact.uri


def _order(groups: Mapping[Unit, Sequence[WorkItem]], pivot: date) -> list[Unit]:
    """Days from the newest known one forward, then the older ones backward, then the packs."""
    days = sorted(unit.day for unit in groups if unit.day)
    forward = [Unit(day=day) for day in days if day >= pivot]
    backward = [Unit(day=day) for day in reversed(days) if day < pivot]
    packs = [unit for unit in groups if unit.day is None]
    packs.sort(key=lambda unit: min(map(_newest_first, groups[unit])))
    return forward + backward + packs


def _pivot(sources: Iterable[SourceState], request: Collect) -> date:
    """The newest day up to which the sources were followed: what windows with an end have brought is no beginning."""
    done = NO_DAYS
    for source in sources:
        frontier = source.coverage.frontier
        if frontier is not None:
            followed = DaySet.span(date.min, min(frontier, request.today))
            done |= (source.coverage.covered | source.coverage.dropped) & followed
    return done.last or date.max


@frozen
class _Builder:
    """Makes a unit's plan from the artifacts that it takes."""

    sources: Sequence[SourceState]
    request: Collect
    requested: Mapping[str, DaySet]
    entries: Mapping[Unit, Sequence[LedgerEntry]]
    lost: Mapping[Unit, DaySet]
    pivot: date

    def build(self, unit: Unit, artifacts: Sequence[WorkItem]) -> UnitPlan:
        drops = tuple(one.entry for one in artifacts if one.is_reread and one.entry)
        gone = {entry.identity for entry in drops}
        keeps = tuple(entry for entry in self.entries.get(unit, ()) if entry.identity not in gone)
        covers = tuple(
            _covered(source, DaySet.of([unit.day]), self.request)
            for source in self.sources
            if unit.day and unit.day in self.requested[source.name]
        )
        return UnitPlan(
            unit,
            kind_of(drops, keeps),
            self._reason(unit, artifacts),
            tuple(artifacts),
            drops,
            keeps if drops else (),
            covers,
            self._restores(unit, artifacts, keeps) if unit in self.lost else NO_DAYS,
        )

    def _reason(self, unit: Unit, artifacts: Iterable[WorkItem]) -> str:
        cause = min((one.cause for one in artifacts), key=_CAUSES.index)
        if cause != "new" or unit.day is None:
            return "undated artifacts" if cause == "new" else cause
        names = {one.source for one in artifacts if one.cause == "new"}
        if all(unit.day in one.coverage.covered for one in self.sources if one.name in names):
            return "late artifacts" if unit.day < self.request.today else "new artifacts"
        return "missing day" if unit.day < self.pivot != date.max else "new day"

    def _restores(self, unit: Unit, artifacts: Sequence[WorkItem], keeps: Iterable[LedgerEntry]) -> DaySet:
        is_redone = any(one.cause in ("lost dates", "overwritten") for one in artifacts)
        taking_part = {NOBODY, *(source.name for source in self.sources)}
        if not is_redone or {entry.source for entry in keeps} - taking_part:
            return NO_DAYS
        dates = self.lost[unit]
        for one in artifacts:
            dates = dates if one.dates is None else dates & one.dates
        return dates


def _corrected(
    units: Iterable[UnitPlan],
    ledger: Iterable[LedgerEntry],
    scopes: Mapping[str, Scope],
    moved: Mapping[str, date],
    request: Collect,
) -> list[LedgerEntry]:
    """The ranges and runs that were taken while the clock was ahead, corrected to the time of this run.

    Otherwise they would count as complete once the clock has got to that time.
    """
    planned = {one.entry.identity for unit in units for one in unit.artifacts if one.entry}
    return [
        replace(entry, as_of=request.now)
        for entry in ledger
        if entry.kind in ("range", "run") and entry.as_of > request.now
        if entry.source in scopes and entry.source in moved and entry.identity not in planned
    ]


def _closing(
    sources: Iterable[SourceState], request: Collect, requested: Mapping[str, DaySet], planned: DaySet
) -> list[Covered]:
    """The days of each source that the listing alone covers."""
    closing = []
    for source in sources:
        settled = DaySet.span(date.min, request.today - timedelta(days=source.overlap_days + 1))
        uncovered = requested[source.name] - source.coverage.covered
        days = uncovered | (requested[source.name] & source.coverage.unsettled & settled)
        if days := days - planned:
            closing.append(_covered(source, days, request))
    return closing


def _covered(source: SourceState, days: DaySet, request: Collect) -> Covered:
    return Covered(source.name, days, request.today - timedelta(days=source.overlap_days))
