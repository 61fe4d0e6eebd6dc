"""From a partition to its plan: list the sources, decide how each artifact has changed, and plan the units."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from tailpipe.catalog.read import PartitionState
from tailpipe.collect import events
from tailpipe.collect.events import DatedNames, UnavailableArtifacts, UnlistedDays, UnmatchedFiles
from tailpipe.collect.identity import NOBODY, decide, needs
from tailpipe.collect.item import WorkItem
from tailpipe.collect.job import Job
from tailpipe.collect.listing import is_permission, list_source
from tailpipe.collect.plan import Plan, SourceState
from tailpipe.collect.planning import plan_units
from tailpipe.collect.scope import check_clock, goes_on, listing
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.frozen import frozen
from tailpipe.kernel.engine import Engine
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet, dropped_days, first_day
from tailpipe.model.host import Host, qualified
from tailpipe.model.ledger import UNREADABLE, LedgerEntry, Span, Unit
from tailpipe.model.meter import Meter
from tailpipe.model.request import Collect
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.plugin.listing import ListingRun, within_listing_run

Counts = tuple[int, int, int]
"""Artifacts, requests and folders."""


@frozen
class Planned:
    """A plan, and what was seen on the way to it."""

    plan: Plan
    listed: int
    unmatched_files: tuple[UnmatchedFiles, ...]
    unavailable_artifacts: tuple[UnavailableArtifacts, ...] = ()
    unlisted_days: tuple[UnlistedDays, ...] = ()
    dated_names: tuple[DatedNames, ...] = ()
    lost: DaySet = NO_DAYS
    """Dates whose rows are lost for good: no source lists their logs any more."""
    problems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What could not be listed, by source."""

    def rest(self, failed: Collection[str], done: Collection[Unit]) -> Planned:
        """The plan without artifacts that have failed in this run, by URI, and without the units that are done."""
        return replace(self, plan=self.plan.rest(failed, done))


def plan_job(job: Job, state: PartitionState, prepare: Callable[[], None] = lambda: None) -> Planned:
    """The plan of a run of a partition; nothing is changed. `prepare` is called as soon as there may be work."""
    job.emit(events.Started(job.address, "listing"))
    others = {source.name for source in job.partition.sources} - job.sources.keys()
    with job.meter("plan"):
        planned = plan_partition(
            job.sources,
            job.table,
            state,
            job.request,
            job.engine,
            others,
            lambda count: job.emit(events.Listing(job.address, *count)),
            prepare,
            job.meter,
            job.catalog.database.layout.listings,
        )
    return planned if state.first_date is None else replace(planned, unlisted_days=())


def listing_error(problems: Mapping[str, Sequence[str]]) -> TailpipeError:
    """The error if a part of a source cannot be listed: any of its days might be incomplete."""
    found = [problem for some in problems.values() for problem in some]
    more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
    way = "change its permissions, or " if is_permission(found[0]) else ""
    return TailpipeError(found[0] + more, hint=f"{way}collect the rest with --skip-bad-artifacts")


def plan_partition(
    sources: Mapping[str, Source],
    table: Table,
    state: PartitionState,
    request: Collect,
    engine: Engine,
    others: Collection[str] = (),
    count: Callable[[Counts], None] = lambda _: None,
    prepare: Callable[[], None] = lambda: None,
    meter: Meter | None = None,
    notes: Path | None = None,
) -> Planned:
    """The plan of a run of these sources; the partition's `others` take no part.

    `count` is called with what was listed so far, and `prepare` with the first artifact that the ledger does not know.
    Contents are read only where names and times do not tell. `notes` is where sources remember their listings.
    """
    since = first_day(known for name, known in state.coverage.items() if name in {*sources, *others})
    states = [
        SourceState(
            name,
            state.coverage.get(name, Coverage()),
            lists_all=source.lists_all,
            overlap_days=source.overlap_days + source.remembered_days,
            dropped=NO_DAYS if name in state.coverage else dropped_days(state.coverage.values()),
            since=since,
        )
        for name, source in sources.items()
    ]
    check_clock(state.partition, states, request)
    listed: list[WorkItem] = []
    unmatched: list[UnmatchedFiles] = []
    unavailable: list[UnavailableArtifacts] = []
    unlisted_days: list[UnlistedDays] = []
    dated_names: list[DatedNames] = []
    problems: dict[str, tuple[str, ...]] = {}
    progress = _ListingProgress(count, prepare, {entry.uri: entry.size for entry in state.ledger})
    for name, days in listing(states, request, state.lost).items():
        progress.before, progress.now = len(listed), (len(listed), 0, 0)
        state_of = next(one for one in states if one.name == name)
        run = ListingRun(request.now, notes, goes_on(state_of, request, days), progress.requested)
        with (meter or Meter())("list"), within_listing_run(run):
            found = list_source(
                sources[name], table, days, today=request.today, count=progress.seen, noticed=progress.noticed
            )
        listed += found.listed
        unmatched += [found.unmatched_files] if found.unmatched_files else []
        unavailable += found.unavailable_artifacts
        unlisted_days += [found.unlisted_days] if found.unlisted_days else []
        dated_names += [found.dated_names] if found.dated_names else []
        problems |= {name: found.problems} if found.problems else {}
    if len(sources) > 1:
        _refuse_shared(listed)
    ledger = _disowned(state.ledger, {*sources, *others}, state.host)
    items = _decided(sources, listed, ledger, engine, request.now, state.host)
    plan = plan_units(states, items, request, ledger=ledger, lost=state.lost)
    plan = plan.uncovered(problems) if problems else plan
    lost = _lost(state, plan) if state.lost and not (request.window or others) else NO_DAYS
    return Planned(
        plan,
        len(listed),
        tuple(unmatched),
        tuple(unavailable),
        tuple(unlisted_days),
        tuple(dated_names),
        lost,
        problems,
    )


@dataclass
class _ListingProgress:
    """Counts the artifacts of all sources, and the requests and folders of the current one.

    `prepare` is called with the first artifact that is new, or has grown.
    """

    count: Callable[[Counts], None]
    prepare: Callable[[], None]
    known: Mapping[str | None, int | None]
    """The sizes of the artifacts in the ledger, by URI."""
    before: int = 0
    """How many artifacts the sources before this one have listed."""
    now: Counts = (0, 0, 0)
    is_prepared: bool = False

    def seen(self, artifacts: int) -> None:
        self.now = (self.before + artifacts, *self.now[1:])
        self.count(self.now)

    def requested(self, requests: int, folders: int) -> None:
        self.now = (self.now[0], requests, folders)
        self.count(self.now)

    def noticed(self, artifact: Artifact) -> None:
        if not self.is_prepared and self.known.get(artifact.uri, -1) != artifact.size:
            self.is_prepared = True
            self.prepare()


def _lost(state: PartitionState, plan: Plan) -> DaySet:
    """The dates with lost rows that a run which requests all of them cannot bring back."""
    planned = {one.unit for one in plan.units}
    left = DaySet.union(dates for unit, dates in state.lost.items() if unit not in planned)
    return left - dropped_days(state.coverage.values())


def _disowned(ledger: Iterable[LedgerEntry], names: Collection[str], host: Host) -> tuple[LedgerEntry, ...]:
    """The ledger, in which any source may continue the entries of sources that the config no longer has.

    A source of another host is another source, whatever its name is.
    """
    found = []
    for entry in ledger:
        source = entry.source if entry.source in names else NOBODY
        if entry.host is not None and not host.owns(entry.host):
            source = qualified(entry.source, entry.host)
        found.append(entry if source == entry.source else replace(entry, source=source))
    return tuple(found)


def _refuse_shared(listed: Iterable[WorkItem]) -> None:
    """Refuse a range of two sources: the events of the second one could not be distinguished from the first's."""
    owners: dict[str, str] = {}
    for one in listed:
        owner = owners.setdefault(one.artifact.uri, one.source) if one.artifact.kind == "range" else one.source
        if owner != one.source:
            raise UsageError(
                f'the sources "{owner}" and "{one.source}" both read {one.artifact.uri}',
                hint="merge them into one source, or use two partitions",
            )


def _decided(
    sources: Mapping[str, Source],
    listed: list[WorkItem],
    ledger: Sequence[LedgerEntry],
    engine: Engine,
    now: datetime,
    host: Host,
) -> tuple[WorkItem, ...]:
    """The listed artifacts with their fates; their contents are read if names and times do not suffice."""
    artifacts = {(one.source, one.artifact.uri): one.artifact for one in listed}
    prints: dict[tuple[str, Span], str | None] = {}
    while requests := needs(listed, ledger, prints, now=now, host=host):
        prints |= engine.prints([(sources[one.source], artifacts[one.source, one.uri], one.spans) for one in requests])
    unreadable = {uri: problem for (uri, span), problem in prints.items() if span == UNREADABLE and problem}
    for place, one in enumerate(listed):
        if problem := unreadable.get(one.artifact.uri):
            listed[place] = replace(one, artifact=replace(one.artifact, problem=problem))
    return decide(listed, ledger, prints, now=now, host=host)
