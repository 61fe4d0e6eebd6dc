"""The plan of a run as plain data: what was asked for, the units to do, and what is left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Literal

from tailpipe.catalog.identity import Decision
from tailpipe.errors import UsageError
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered
from tailpipe.model.window import Window

__all__ = ["Ask", "Cause", "Plan", "PlannedArtifact", "Skip", "SourceState", "UnitPlan", "kind_of"]

Cause = Literal["overwritten", "lost dates", "other dates", "replaced", "new", "asked again", "grown"]
"""Why an artifact is read; the first of them that holds for any of its artifacts names the unit."""


@dataclass(frozen=True)
class Ask:
    """What the user wants of a run; without a window it goes on from the frontier.

    `oldest` is the first day that the partition keeps: without a window nothing older is requested. `is_open`
    says that the window has no end of its own: it reaches up to now, and later runs go on from there. With
    `fill` a run without a window takes the days too that nobody has requested, from the oldest one on.
    """

    now: datetime
    window: Window | None = None
    overwrite: bool = False
    oldest: date | None = None
    is_open: bool = False
    fill: bool = False

    @classmethod
    def parse(
        cls, start: str | None, end: str | None, *, now: datetime, overwrite: bool = False, fill: bool = False
    ) -> Ask:
        """What the words of the command line ask for."""
        if fill and (overwrite or start is not None or end is not None):
            other = "--overwrite" if overwrite else "--from" if start is not None else "--to"
            raise UsageError(
                f"--fill cannot be combined with {other}",
                hint="--fill fetches the days between the oldest one and now that were never requested",
            )
        window = None if start is end is None else Window.parse(start, end, now=now)
        return cls(now, window, overwrite, is_open=start is not None and end is None, fill=fill)

    @property
    def today(self) -> date:
        """The day that has not ended yet, in UTC."""
        return self.now.astimezone(UTC).date()


@dataclass(frozen=True)
class SourceState:
    """A source that takes part in the run, and what is known of its days.

    `dropped` are days that the partition dropped before it had this source, and `since` is the oldest day that
    any of its sources covers or is to bring.

    `lists_all` is true for a source that lists so cheaply that each run may look at all its days;
    another is asked only for what is missing and for the last `overlap_days`.
    """

    name: str
    coverage: Coverage = field(default_factory=Coverage)
    lists_all: bool = True
    overlap_days: int = 2
    dropped: DaySet = NO_DAYS
    since: date | None = None


@dataclass(frozen=True)
class PlannedArtifact:
    """An artifact to read, from `start_byte` on, numbering its rows from `start_ordinal` on.

    If it `is_anew`, the rows that it left before go in the same commit. `dates` are those to which the
    rows of an undated artifact are cut; a dated one is taken whole. An artifact that goes on has taken,
    in the end, these dates and those that it had taken before.
    """

    decision: Decision
    cause: Cause
    start_byte: int = 0
    start_ordinal: int = 0
    is_anew: bool = False
    dates: DaySet | None = None


@dataclass(frozen=True)
class UnitPlan:
    """One transaction: what to read, what goes with it, what stays, and which days are covered then.

    An *append* takes nothing away; a *replace* takes away all that the unit has; a *rewrite* takes away
    the rows of `drops` and carries over those of `keeps`. `restores` are lost dates that are whole again.
    """

    unit: Unit
    kind: Literal["append", "replace", "rewrite"]
    reason: str
    artifacts: tuple[PlannedArtifact, ...]
    drops: tuple[LedgerEntry, ...] = ()
    keeps: tuple[LedgerEntry, ...] = ()
    covers: tuple[Covered, ...] = ()
    restores: DaySet = NO_DAYS

    def without(self, spoilt: Sequence[PlannedArtifact]) -> UnitPlan:
        """The plan once these artifacts cannot be read: what they had left before stays, and nothing is covered."""
        kept = tuple(one.decision.entry for one in spoilt if one.decision.entry is not None)
        drops = tuple(entry for entry in self.drops if entry not in kept)
        keeps = (*self.keeps, *kept)
        sources = {one.decision.source for one in spoilt}
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


@dataclass(frozen=True)
class Skip:
    """An artifact that is not read, and why."""

    source: str
    uri: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """All that a run has to do, in this order, and what it leaves alone.

    `asks` and `frontiers` are recorded (`Coverage.ask`, `Coverage.advance`) before the first unit, so that the
    next run completes this one if it is interrupted; `noted` entries and the `closing` days, which need no
    unit, after the last one.
    """

    units: tuple[UnitPlan, ...] = ()
    skipped: tuple[Skip, ...] = ()
    asks: Mapping[str, DaySet] = field(default_factory=dict)
    noted: tuple[LedgerEntry, ...] = ()
    closing: tuple[Covered, ...] = ()
    frontiers: Mapping[str, date] = field(default_factory=dict)

    @property
    def reasons(self) -> dict[str, int]:
        """How many artifacts are not read, by reason."""
        return dict(Counter(one.reason for one in self.skipped))

    @property
    def is_empty(self) -> bool:
        """Whether the workspace already has all that was asked for."""
        return not (self.units or self.noted or self.closing or self.frontiers)

    def uncovered(self, sources: Collection[str]) -> Plan:
        """The plan if these sources may have more than they have listed: it covers none of their days."""
        if not sources:
            return self
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
            artifacts = tuple(one for one in unit.artifacts if one.decision.artifact.uri not in failed)
            is_whole = len(artifacts) == len(unit.artifacts)
            if unit.unit not in done and artifacts and (is_whole or (unit.unit.pack and unit.kind == "append")):
                units.append(replace(unit, artifacts=artifacts))
        return replace(self, units=tuple(units))

    def closing_without(self, sources: Collection[str]) -> tuple[Covered, ...]:
        """The closing days if packs of these sources have failed: such a source closes none."""
        return tuple(one for one in self.closing if one.source not in sources)
