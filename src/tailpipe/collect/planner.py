"""From a partition to its plan: list the sources, decide how each artifact has changed, and plan the units."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tailpipe.catalog.read import PartitionState
from tailpipe.collect import events
from tailpipe.collect.events import DatedNames, UnavailableArtifacts, UnlistedDays, UnmatchedFiles
from tailpipe.collect.identity import NOBODY, decide, needs
from tailpipe.collect.item import WorkItem
from tailpipe.collect.job import Job
from tailpipe.collect.listing import Listing, is_permission, list_source
from tailpipe.collect.plan import Plan, SourceState
from tailpipe.collect.planning import plan_units
from tailpipe.collect.scope import check_clock, goes_on, listing
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.frozen import frozen
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet, dropped_days, first_day
from tailpipe.model.host import Host, qualified
from tailpipe.model.ledger import UNREADABLE, LedgerEntry, Span, Unit
from tailpipe.plugin.listing import ListingRun, within_listing_run


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
    with job.meter("plan"):
        planned = plan_partition(job, state, prepare, job.catalog.database.layout.listings)
    return planned if state.first_date is None else replace(planned, unlisted_days=())


def listing_error(problems: Mapping[str, Sequence[str]]) -> TailpipeError:
    """The error if a part of a source cannot be listed: any of its days might be incomplete."""
    found = [problem for some in problems.values() for problem in some]
    more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
    way = "change its permissions, or " if is_permission(found[0]) else ""
    return TailpipeError(found[0] + more, hint=f"{way}collect the rest with --skip-bad-artifacts")


def plan_partition(
    job: Job, state: PartitionState, prepare: Callable[[], None] = lambda: None, notes: Path | None = None
) -> Planned:
    """The plan of a run; contents are read only where names and times do not suffice.

    `prepare` is called with the first artifact that the ledger does not know. `notes` is where sources remember their
    listings.
    """
    request, sources = job.request, job.sources
    names = {source.name for source in job.partition.sources}
    since = first_day(known for name, known in state.coverage.items() if name in names)
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
    listings: dict[str, Listing] = {}
    progress = _ListingProgress(job, prepare, {entry.uri: entry.size for entry in state.ledger})
    for name, days in listing(states, request, state.lost).items():
        progress.before, progress.now = len(listed), (len(listed), 0, 0)
        state_of = next(one for one in states if one.name == name)
        run = ListingRun(request.now, notes, goes_on(state_of, request, days), progress.requested)
        with job.meter("list"), within_listing_run(run):
            listings[name] = list_source(
                sources[name], job.table, days, today=request.today, count=progress.seen, noticed=progress.noticed
            )
        listed += listings[name].listed
    if len(sources) > 1:
        _refuse_shared(listed)
    ledger = _disowned(state.ledger, names, state.host)
    items = _decided(job, listed, ledger, state.host)
    problems = {name: one.problems for name, one in listings.items() if one.problems}
    plan = plan_units(states, items, request, ledger=ledger, lost=state.lost)
    plan = plan.uncovered(problems) if problems else plan
    lost = _lost(state, plan) if state.lost and not request.window and names == sources.keys() else NO_DAYS
    found = listings.values()
    return Planned(
        plan,
        len(listed),
        tuple(one.unmatched_files for one in found if one.unmatched_files),
        tuple(artifacts for one in found for artifacts in one.unavailable_artifacts),
        tuple(one.unlisted_days for one in found if one.unlisted_days),
        tuple(one.dated_names for one in found if one.dated_names),
        lost,
        problems,
    )


@dataclass
class _ListingProgress:
    """Counts the artifacts of all sources, and the requests and folders of the current one.

    `prepare` is called with the first artifact that is new, or has grown.
    """

    job: Job
    prepare: Callable[[], None]
    known: Mapping[str | None, int | None]
    """The sizes of the artifacts in the ledger, by URI."""
    before: int = 0
    """How many artifacts the sources before this one have listed."""
    now: tuple[int, int, int] = (0, 0, 0)
    """Artifacts, requests and folders."""
    is_prepared: bool = False

    def seen(self, artifacts: int) -> None:
        self.now = (self.before + artifacts, *self.now[1:])
        self.job.emit(events.Listing(self.job.address, *self.now))

    def requested(self, requests: int, folders: int) -> None:
        self.now = (self.now[0], requests, folders)
        self.job.emit(events.Listing(self.job.address, *self.now))

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


def _decided(job: Job, listed: list[WorkItem], ledger: Sequence[LedgerEntry], host: Host) -> tuple[WorkItem, ...]:
    """The listed artifacts with their fates; their contents are read if names and times do not suffice."""
    artifacts = {(one.source, one.artifact.uri): one.artifact for one in listed}
    prints: dict[tuple[str, Span], str | None] = {}
    while requests := needs(listed, ledger, prints, now=job.request.now, host=host):
        tasks = [(job.sources[one.source], artifacts[one.source, one.uri], one.spans) for one in requests]
        prints |= job.engine.prints(tasks)
    unreadable = {uri: problem for (uri, span), problem in prints.items() if span == UNREADABLE and problem}
    for place, one in enumerate(listed):
        if problem := unreadable.get(one.artifact.uri):
            listed[place] = replace(one, artifact=replace(one.artifact, problem=problem))
    return decide(listed, ledger, prints, now=job.request.now, host=host)
