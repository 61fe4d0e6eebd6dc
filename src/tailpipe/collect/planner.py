"""From a partition to its plan: list the sources, find out what became of each artifact, and plan the units."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tailpipe.catalog.identity import NOBODY, Listed, Prints, decide, needs
from tailpipe.catalog.plan import Ask, Plan, SourceState
from tailpipe.catalog.planning import plan_units
from tailpipe.catalog.read import PartitionState
from tailpipe.catalog.scope import check_clock, listing
from tailpipe.collect.engine import Engine
from tailpipe.collect.events import Beside, Refused, Withheld
from tailpipe.collect.listing import list_source
from tailpipe.errors import UsageError
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet, dropped_days, first_day
from tailpipe.model.ledger import UNREADABLE, LedgerEntry, Span
from tailpipe.model.source import Source
from tailpipe.model.table import Table

__all__ = ["Planned", "plan_partition"]


@dataclass(frozen=True)
class Planned:
    """A plan, and what was seen on the way to it."""

    plan: Plan
    listed: int
    refused: tuple[Refused, ...]
    withheld: tuple[Withheld, ...] = ()
    beside: tuple[Beside, ...] = ()
    lost: DaySet = NO_DAYS
    """Dates whose rows are lost for good: no source lists their logs any more."""
    problems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What could not be listed, by source."""


def plan_partition(
    sources: Mapping[str, Source],
    table: Table,
    state: PartitionState,
    ask: Ask,
    engine: Engine,
    others: Collection[str] = (),
    count: Callable[[int], None] = lambda _: None,
) -> Planned:
    """What a run of these sources has to do; the partition's `others` take no part.

    `count` hears how many artifacts were listed so far. Contents are read only where names and times do not tell.
    """
    since = first_day(known for name, known in state.coverage.items() if name in {*sources, *others})
    states = [
        SourceState(
            name,
            state.coverage.get(name, Coverage()),
            lists_all=source.lists_all,
            overlap_days=getattr(source, "overlap_days", 2),
            dropped=NO_DAYS if name in state.coverage else dropped_days(state.coverage.values()),
            since=since,
        )
        for name, source in sources.items()
    ]
    check_clock(state.partition, states, ask)
    listed: list[Listed] = []
    refused: list[Refused] = []
    withheld: list[Withheld] = []
    beside: list[Beside] = []
    problems: dict[str, tuple[str, ...]] = {}
    for name, days in listing(states, ask, state.lost).items():
        found = list_source(sources[name], table, days, today=ask.today, count=_adding(count, len(listed)))
        listed += found.listed
        refused += [found.refused] if found.refused else []
        withheld += found.withheld
        beside += [found.beside] if found.beside else []
        problems |= {name: found.problems} if found.problems else {}
    _refuse_shared(listed)
    ledger = _disowned(state.ledger, {*sources, *others})
    prints = _prints(sources, listed, ledger, engine, ask.now)
    decisions = decide(_with_problems(listed, prints), ledger, prints, now=ask.now)
    plan = plan_units(states, decisions, ask, ledger=ledger, lost=state.lost).uncovered(problems)
    lost = NO_DAYS if ask.window or others else _lost(state, plan)
    return Planned(plan, len(listed), tuple(refused), tuple(withheld), tuple(beside), lost, problems)


def _adding(count: Callable[[int], None], before: int) -> Callable[[int], None]:
    """Counts on from those of the sources before."""
    return lambda seen: count(before + seen)


def _lost(state: PartitionState, plan: Plan) -> DaySet:
    """The dates with lost rows that a run which asks for all of them cannot bring back."""
    planned = {one.unit for one in plan.units}
    left = DaySet.union(dates for unit, dates in state.lost.items() if unit not in planned)
    return left - dropped_days(state.coverage.values())


def _disowned(ledger: Iterable[LedgerEntry], names: Collection[str]) -> tuple[LedgerEntry, ...]:
    """The ledger; what is from a source that the config no longer names is nobody's, and anyone's to go on with."""
    return tuple(entry if entry.source in names else replace(entry, source=NOBODY) for entry in ledger)


def _refuse_shared(listed: Iterable[Listed]) -> None:
    """A range belongs to one source: the events that a second one would give of it could not be told apart."""
    owners: dict[str, str] = {}
    for one in listed:
        owner = owners.setdefault(one.artifact.uri, one.source) if one.artifact.kind == "range" else one.source
        if owner != one.source:
            raise UsageError(
                f'the sources "{owner}" and "{one.source}" both read {one.artifact.uri}',
                hint="make one source of them, or put them into two partitions",
            )


def _with_problems(listed: Iterable[Listed], prints: Prints) -> list[Listed]:
    """What was listed, with the problems that were met when it was looked into."""
    found = {uri: problem for (uri, span), problem in prints.items() if span == UNREADABLE and problem}
    return [
        replace(one, artifact=replace(one.artifact, problem=found[one.artifact.uri]))
        if one.artifact.uri in found
        else one
        for one in listed
    ]


def _prints(
    sources: Mapping[str, Source], listed: list[Listed], ledger: Sequence[LedgerEntry], engine: Engine, now: datetime
) -> Prints:
    artifacts = {(one.source, one.artifact.uri): one.artifact for one in listed}
    prints: dict[tuple[str, Span], str | None] = {}
    while requests := needs(listed, ledger, prints, now=now):
        prints |= engine.prints([(sources[one.source], artifacts[one.source, one.uri], one.spans) for one in requests])
    return prints
