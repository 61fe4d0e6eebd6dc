"""The plan of a run as plain data: the units to do, and what is left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import date
from typing import Literal

from tailpipe.collect.item import WorkItem
from tailpipe.frozen import frozen
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered


@frozen
class SourceState:
    """A source that takes part in the run, and what is known of its days.

    `dropped` are days that the partition dropped before it had this source, and `since` is the oldest day that
    any of its sources covers or is to bring.

    `lists_all` is true for a source that lists so cheaply that each run may look at all its days;
    another is requested only what is missing and for the last `overlap_days`.
    """

    name: str
    coverage: Coverage = field(default_factory=Coverage)
    lists_all: bool = True
    overlap_days: int = 2
    dropped: DaySet = NO_DAYS
    since: date | None = None


@frozen
class UnitPlan:
    """One transaction: what to read, what goes with it, what stays, and which days are covered then.

    An *append* takes nothing away; a *replace* takes away all that the unit has; a *rewrite* takes away
    the rows of `drops` and carries over those of `keeps`. `restores` are lost dates that are whole again.
    """

    unit: Unit
    kind: Literal["append", "replace", "rewrite"]
    reason: str
    artifacts: tuple[WorkItem, ...]
    drops: tuple[LedgerEntry, ...] = ()
    keeps: tuple[LedgerEntry, ...] = ()
    covers: tuple[Covered, ...] = ()
    restores: DaySet = NO_DAYS

    def holding(self, dates: DaySet) -> UnitPlan:
        """The plan without rows of these dates, if it is a pack: they wait for an artifact that cannot be read."""
        if self.unit.day is not None:
            return self
        artifacts = tuple(one for item in self.artifacts if (one := item.holding(dates)) is not None)
        if artifacts == self.artifacts:
            return self
        drops = tuple(one.entry for one in artifacts if one.is_reread and one.entry is not None)
        keeps = (*self.keeps, *(entry for entry in self.drops if entry not in drops))
        return replace(
            self,
            kind=kind_of(drops, keeps),
            artifacts=artifacts,
            drops=drops,
            keeps=keeps if drops else (),
            restores=self.restores - dates,
        )

    def without(self, spoilt: Sequence[WorkItem]) -> UnitPlan:
        """The plan once these artifacts cannot be read: what they had left before stays, and nothing is covered."""
        kept = tuple(one.entry for one in spoilt if one.entry is not None)
        drops = tuple(entry for entry in self.drops if entry not in kept)
        keeps = (*self.keeps, *kept)
        sources = {one.source for one in spoilt}
        return replace(
            self,
            kind=kind_of(drops, keeps),
            artifacts=tuple(one for one in self.artifacts if one not in spoilt),
            drops=drops,
            keeps=keeps if drops else (),
            covers=tuple(one for one in self.covers if one.source not in sources),
            restores=NO_DAYS,
        )


def kind_of(drops: Sequence[LedgerEntry], keeps: Sequence[LedgerEntry]) -> Literal["append", "replace", "rewrite"]:
    """An API forgets: what it no longer gives of a range stays, and so the rest is carried over."""
    is_carried = bool(keeps) or any(entry.kind == "range" for entry in drops)
    return ("rewrite" if is_carried else "replace") if drops else "append"


@frozen
class Skip:
    """An artifact that is not read, and why."""

    source: str
    uri: str
    reason: str
    day: date | None = None


@frozen
class Plan:
    """All that a run has to do, in this order, and what it leaves alone.

    `requests` and `frontiers` are recorded (`Coverage.request`, `Coverage.advance`) before the first unit, so that the
    next run completes this one if it is interrupted; `noted` entries and the `closing` days, which need no
    unit, after the last one.
    """

    units: tuple[UnitPlan, ...] = ()
    skipped: tuple[Skip, ...] = ()
    requests: Mapping[str, DaySet] = field(default_factory=dict)
    noted: tuple[LedgerEntry, ...] = ()
    closing: tuple[Covered, ...] = ()
    frontiers: Mapping[str, date] = field(default_factory=dict)

    @property
    def reasons(self) -> dict[str, int]:
        """How many artifacts are not read, by reason."""
        return dict(Counter(one.reason for one in self.skipped))

    @property
    def is_empty(self) -> bool:
        """Whether the workspace already has all that was requested."""
        return not (self.units or self.noted or self.closing or self.frontiers)

    def uncovered(self, sources: Collection[str]) -> Plan:
        """The plan if these sources may have more than they have listed: it covers none of their days."""
        return replace(
            self,
            units=tuple(
                replace(unit, covers=tuple(one for one in unit.covers if one.source not in sources), restores=NO_DAYS)
                for unit in self.units
            ),
            closing=tuple(one for one in self.closing if one.source not in sources),
        )

    def rest(self, failed: Collection[str], done: Collection[Unit]) -> Plan:
        """The plan without artifacts that have failed in this run, by URI, and without the units that are done.

        A Day lands whole or not at all; of a pack the other artifacts are taken.
        """
        units = []
        for unit in self.units:
            artifacts = tuple(one for one in unit.artifacts if one.artifact.uri not in failed)
            is_whole = len(artifacts) == len(unit.artifacts)
            if unit.unit not in done and artifacts and (is_whole or (unit.unit.pack and unit.kind == "append")):
                units.append(replace(unit, artifacts=artifacts))
        return replace(self, units=tuple(units))

    def closing_without(self, sources: Collection[str], dates: DaySet = NO_DAYS) -> tuple[Covered, ...]:
        """The closing days if packs of these sources have failed, which close none, and these dates wait."""
        closing = (replace(one, days=one.days - dates) for one in self.closing if one.source not in sources)
        return tuple(one for one in closing if one.days)
