"""Planning: which units a run must do and in which order, and what it leaves alone and why.

A run asks `scope.listing` which days each source has to list, lets `identity` decide what became of the
listed artifacts, and then gets its plan from `plan_units`. Nothing here reads a clock, a disk or a catalog.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import get_args

from tailpipe.catalog.identity import NOBODY, Decision
from tailpipe.catalog.plan import Ask, Cause, Plan, PlannedArtifact, Skip, SourceState, UnitPlan, kind_of
from tailpipe.catalog.scope import Scope, listing, moved_frontiers, scope_of
from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered

__all__ = ["UNFINISHED", "WRITTEN", "plan_units"]

PACK_BYTES = 1_000_000_000
"""About how much of undated artifacts makes a unit."""

UNFINISHED = "ends in an unfinished line"
"""Why an artifact is skipped that has more than was taken of it: somebody may be writing that line."""

WRITTEN = "is still being written"
"""Why a copy is skipped beside the log that it is made of: it cannot be read to its end, or the log is not cut yet."""

_NOT_READ = {
    "repeated": "listed twice",
    "copied": "a compressed copy of a listed file",
    "unfinished": WRITTEN,
}

_CAUSES: tuple[Cause, ...] = get_args(Cause)


def plan_units(
    sources: Sequence[SourceState],
    decisions: Sequence[Decision],
    ask: Ask,
    *,
    ledger: Sequence[LedgerEntry] = (),
    lost: Mapping[Unit, DaySet] | None = None,
) -> Plan:
    """What a run has to do about the artifacts that were listed and decided upon.

    Each artifact is planned once or skipped with a reason. Carrying out the plan and planning again, at
    the same `now`, gives an empty plan, unless everything is to be overwritten. After an interruption
    a plan without a window contains what is left of this one. Where a unit wants all its sources, none is
    waited for of which the ledger says that it is NOBODY.
    """
    lost = lost or {}
    entries = _by_unit(ledger, decisions)
    scopes = {source.name: scope_of(source, ask) for source in sources}
    asked = {name: days & scopes[name].wanted for name, days in listing(sources, ask, lost).items()}
    groups, skipped, noted = _sort_out(decisions, scopes, ask, _redone(scopes, ask, entries, lost))
    groups = {
        unit: [_cut(one, unit, lost.get(unit, NO_DAYS), scopes) for one in group] for unit, group in groups.items()
    }
    builder = _Builder(sources, ask, asked, entries, lost)
    units = tuple(builder.build(unit, groups[unit]) for unit in _order(groups, sources, ask))
    planned = DaySet.of(unit.unit.day for unit in units if unit.unit.day)
    moved = moved_frontiers(sources, ask)
    return Plan(
        units,
        (*skipped, *_left(units, decisions, scopes)),
        {name: days for name, scope in scopes.items() if (days := scope.unasked | (planned & asked[name]))},
        (*noted, *_corrected(units, ledger, scopes, moved, ask)),
        tuple(_closing(sources, ask, asked, planned)),
        moved,
    )


def _by_unit(ledger: Iterable[LedgerEntry], decisions: Iterable[Decision]) -> dict[Unit, list[LedgerEntry]]:
    """The entries of each unit; one that was listed belongs to the source that lists it now."""
    owners = {one.entry.identity: one.source for one in decisions if one.entry is not None and one.fate != "repeated"}
    entries: dict[Unit, list[LedgerEntry]] = defaultdict(list)
    for entry in ledger:
        owner = owners.get(entry.identity, entry.source)
        entries[entry.unit].append(entry if owner == entry.source else replace(entry, source=owner))
    return entries


def _redone(
    scopes: Mapping[str, Scope],
    ask: Ask,
    entries: Mapping[Unit, Sequence[LedgerEntry]],
    lost: Mapping[Unit, DaySet],
) -> dict[Unit, Cause]:
    """The units that are collected again whole.

    A date that was dropped is made good only once somebody has asked for it; then it is no longer
    dropped, so that a plain run completes what an interrupted one has begun.
    """
    redone: dict[Unit, Cause] = {}
    for unit, dates in lost.items():
        owners = {entry.source for entry in entries.get(unit, ())} - {NOBODY}
        if ask.window is None and not owners <= scopes.keys():
            continue
        taking_part = owners & scopes.keys()
        for owner in taking_part:
            dates = scopes[owner].restorable(unit, dates)
        if taking_part and dates:
            redone[unit] = "lost dates"
    for unit, known in entries.items() if ask.overwrite else ():
        for entry in known:
            held = entry.taken if unit.day is None else DaySet.of([unit.day])
            if entry.source in scopes and held & scopes[entry.source].wanted:
                redone[unit] = "overwritten"
    return redone


def _sort_out(
    decisions: Iterable[Decision], scopes: Mapping[str, Scope], ask: Ask, redone: Mapping[Unit, Cause]
) -> tuple[dict[Unit, list[PlannedArtifact]], list[Skip], list[LedgerEntry]]:
    """What to take by units, what to skip, and of that what to note down."""
    groups: dict[Unit, list[PlannedArtifact]] = defaultdict(list)
    unpacked: list[PlannedArtifact] = []
    skipped, noted = [], []
    for decision in decisions:
        unit = _unit(decision)
        taken = _take(decision, unit, scopes[decision.source], ask, redone)
        if isinstance(taken, PlannedArtifact):
            (unpacked if unit is None else groups[unit]).append(taken)
            continue
        skipped.append(Skip(decision.source, decision.artifact.uri, taken))
        if (entry := decision.noted()) is not None:
            noted.append(entry)
    return groups | _packs(unpacked), skipped, noted


def _cut(one: PlannedArtifact, unit: Unit, lost: DaySet, scopes: Mapping[str, Scope]) -> PlannedArtifact:
    """An artifact of a Day that is done again, without those of its lost dates that nobody asks for: they would be
    there in part, because other Days have rows of them too."""
    unasked = lost - scopes[one.decision.source].restorable(unit, lost)
    if one.cause not in ("lost dates", "overwritten") or one.dates is not None or not unasked:
        return one
    return replace(one, dates=EVERY_DAY - unasked)


def _unit(decision: Decision) -> Unit | None:
    """The unit that an artifact belongs to; None if it has no date and is not in a pack yet."""
    if decision.entry is not None:
        return decision.entry.unit
    return None if decision.artifact.day is None else Unit(day=decision.artifact.day)


def _take(
    decision: Decision, unit: Unit | None, scope: Scope, ask: Ask, redone: Mapping[Unit, Cause]
) -> PlannedArtifact | str:
    """How to read an artifact, or the reason not to."""
    entry, day = decision.entry, unit.day if unit is not None else None
    dates = scope.dates if day is None else None
    if decision.fate in _NOT_READ:
        return _NOT_READ[decision.fate]
    if unit is not None and unit in redone:
        return PlannedArtifact(decision, redone[unit], is_anew=entry is not None, dates=scope.anew(entry, dates))
    if day is not None and day not in scope.wanted:
        return scope.why_not(day, ask)
    if decision.fate == "replaced":
        return PlannedArtifact(decision, "replaced", is_anew=True, dates=scope.anew(entry, dates))
    if entry is not None and day is None and entry.left_out & scope.dates:
        return PlannedArtifact(decision, "other dates", is_anew=True, dates=scope.anew(entry, dates))
    if not decision.has_news:
        return UNFINISHED if entry is not None and entry.unread_bytes else "unchanged"
    if entry is None:
        return PlannedArtifact(decision, "new", dates=dates)
    if decision.fate == "asked_again":
        if _is_settled(decision, entry, scope.source):
            return "complete when it was last asked for"
        is_run = decision.artifact.kind == "run"
        return PlannedArtifact(
            decision,
            "asked again",
            decision.start_byte,
            decision.start_ordinal,
            is_anew=is_run,
            dates=scope.anew(entry, dates) if is_run else dates,
        )
    if day is None and ask.window is not None and ask.window.widened().end <= entry.as_of:
        return "has grown since the window"
    return PlannedArtifact(decision, "grown", decision.start_byte, decision.start_ordinal, dates=dates)


def _is_settled(decision: Decision, entry: LedgerEntry, source: SourceState) -> bool:
    """Whether a range or run was complete when it was taken: its day was over, and late rows had come."""
    if decision.artifact.day is None:
        return False
    days = 1 if decision.artifact.kind == "run" else 1 + source.overlap_days
    return entry.as_of >= datetime.combine(decision.artifact.day, time(), UTC) + timedelta(days=days)


def _packs(artifacts: Iterable[PlannedArtifact]) -> dict[Unit, list[PlannedArtifact]]:
    """Units of undated artifacts, the newest first; each is named after its first artifact."""
    packs: dict[Unit, list[PlannedArtifact]] = {}
    room = 0
    for one in sorted(artifacts, key=_newest_first):
        size = one.decision.artifact.size or 0
        if not packs or size > room:
            name = f"{one.decision.origin}\0{one.decision.generation}".encode()
            pack = packs.setdefault(Unit(pack=hashlib.blake2b(name, digest_size=8).hexdigest()), [])
            room = PACK_BYTES
        pack.append(one)
        room -= size
    return packs


def _newest_first(one: PlannedArtifact) -> tuple[float, str]:
    modified = one.decision.artifact.modified
    return -modified.timestamp() if modified else float("inf"), one.decision.artifact.uri


def _order(groups: Mapping[Unit, Sequence[PlannedArtifact]], sources: Iterable[SourceState], ask: Ask) -> list[Unit]:
    """Days from the newest known one forward, then the older ones backward, then the packs."""
    pivot = _pivot(sources, ask)
    days = sorted(unit.day for unit in groups if unit.day)
    forward = [Unit(day=day) for day in days if day >= pivot]
    backward = [Unit(day=day) for day in reversed(days) if day < pivot]
    packs = [unit for unit in groups if unit.day is None]
    packs.sort(key=lambda unit: min(map(_newest_first, groups[unit])))
    return forward + backward + packs


def _pivot(sources: Iterable[SourceState], ask: Ask) -> date:
    """The newest day up to which the sources were followed: what windows with an end have brought is no beginning."""
    done = NO_DAYS
    for source in sources:
        frontier = source.coverage.frontier
        if frontier is not None:
            followed = DaySet.span(date.min, min(frontier, ask.today))
            done |= (source.coverage.covered | source.coverage.dropped) & followed
    return done.last or date.max


@dataclass(frozen=True)
class _Builder:
    """Makes a unit's plan from the artifacts that it takes."""

    sources: Sequence[SourceState]
    ask: Ask
    asked: Mapping[str, DaySet]
    entries: Mapping[Unit, Sequence[LedgerEntry]]
    lost: Mapping[Unit, DaySet]

    def build(self, unit: Unit, artifacts: Sequence[PlannedArtifact]) -> UnitPlan:
        drops = tuple(one.decision.entry for one in artifacts if one.is_anew and one.decision.entry)
        gone = {entry.identity for entry in drops}
        keeps = tuple(entry for entry in self.entries.get(unit, ()) if entry.identity not in gone)
        covers = tuple(
            _covered(source, DaySet.of([unit.day]), self.ask)
            for source in self.sources
            if unit.day and unit.day in self.asked[source.name]
        )
        return UnitPlan(
            unit,
            kind_of(drops, keeps),
            self._reason(unit, artifacts),
            tuple(artifacts),
            drops,
            keeps if drops else (),
            covers,
            self._restores(unit, artifacts, keeps),
        )

    def _reason(self, unit: Unit, artifacts: Iterable[PlannedArtifact]) -> str:
        cause = min((one.cause for one in artifacts), key=_CAUSES.index)
        if cause != "new" or unit.day is None:
            return "undated artifacts" if cause == "new" else cause
        names = {one.decision.source for one in artifacts if one.cause == "new"}
        if all(unit.day in one.coverage.covered for one in self.sources if one.name in names):
            return "late artifacts" if unit.day < self.ask.today else "new artifacts"
        pivot = _pivot(self.sources, self.ask)
        return "missing day" if unit.day < pivot != date.max else "new day"

    def _restores(self, unit: Unit, artifacts: Sequence[PlannedArtifact], keeps: Iterable[LedgerEntry]) -> DaySet:
        is_redone = any(one.cause in ("lost dates", "overwritten") for one in artifacts)
        taking_part = {NOBODY, *(source.name for source in self.sources)}
        if not is_redone or {entry.source for entry in keeps} - taking_part:
            return NO_DAYS
        dates = self.lost.get(unit, NO_DAYS)
        for one in artifacts:
            dates = dates if one.dates is None else dates & one.dates
        return dates


def _left(units: Iterable[UnitPlan], decisions: Iterable[Decision], scopes: Mapping[str, Scope]) -> list[Skip]:
    """The artifacts of units that are done again which their source no longer lists."""
    found = {decision.entry.identity for decision in decisions if decision.entry is not None}
    return [
        Skip(entry.source, entry.uri or entry.origin, "no longer listed: its rows stay")
        for unit in units
        for entry in unit.keeps
        if entry.identity not in found and entry.source in scopes
    ]


def _corrected(
    units: Iterable[UnitPlan],
    ledger: Iterable[LedgerEntry],
    scopes: Mapping[str, Scope],
    moved: Mapping[str, date],
    ask: Ask,
) -> list[LedgerEntry]:
    """The ranges and runs that were taken while the clock was ahead, with the latest time at which that can have been.

    As they stand they would count as complete once the clock has got there.
    """
    planned = {one.decision.entry.identity for unit in units for one in unit.artifacts if one.decision.entry}
    return [
        replace(entry, as_of=ask.now)
        for entry in ledger
        if entry.kind in ("range", "run") and entry.as_of > ask.now
        if entry.source in scopes and entry.source in moved and entry.identity not in planned
    ]


def _closing(sources: Iterable[SourceState], ask: Ask, asked: Mapping[str, DaySet], planned: DaySet) -> list[Covered]:
    """The days that are covered by nothing but the listing, for each source."""
    closing = []
    for source in sources:
        settled = DaySet.span(date.min, ask.today - timedelta(days=source.overlap_days + 1))
        uncovered = asked[source.name] - source.coverage.covered
        days = uncovered | (asked[source.name] & source.coverage.unsettled & settled)
        if days := days - planned:
            closing.append(_covered(source, days, ask))
    return closing


def _covered(source: SourceState, days: DaySet, ask: Ask) -> Covered:
    return Covered(source.name, days, ask.today - timedelta(days=source.overlap_days))
