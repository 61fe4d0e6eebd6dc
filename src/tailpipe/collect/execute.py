"""Execute a plan: batch by batch, and in a batch unit by unit; each unit is committed atomically."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.commit import Committed
from tailpipe.catalog.read import PartitionState
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.collect import events
from tailpipe.collect.batch import Batch
from tailpipe.collect.duplicates import events_of_other_units, leave_out, repeated_events, same_events
from tailpipe.collect.item import WorkItem
from tailpipe.collect.job import Job
from tailpipe.collect.packing import batches, fetched_bytes, pieces_of
from tailpipe.collect.plan import Plan, UnitPlan
from tailpipe.collect.planner import Planned, listing_error, plan_job
from tailpipe.collect.types import has_open_types, is_widened, keep_digits, known_types, sampled_types
from tailpipe.collect.unit import UnitOutcome, UnitWork
from tailpipe.errors import CommitError, ConflictError, StorageError, TailpipeError
from tailpipe.frozen import frozen
from tailpipe.kernel.dedupe import Dedupe
from tailpipe.kernel.task import Fault
from tailpipe.model.coverage import NO_DAYS, DaySet
from tailpipe.model.staged import Covered, Staged

if TYPE_CHECKING:  # most workspaces have no store
    from tailpipe.stores.landing import Landing

T = TypeVar("T")

_ROUNDS = 5
"""How often a unit is run again because its fields turned out to be wider."""
_LISTINGS = 5
"""How often a run lists its sources because artifacts were rotated or replaced before they were read."""


@frozen
class Executed:
    """A plan that was executed: the last plan, all units, those of its last round, and the error that ended it."""

    planned: Planned
    units: tuple[UnitOutcome, ...] = ()
    round: tuple[UnitOutcome, ...] = ()
    error: TailpipeError | None = None

    @property
    def committed(self) -> tuple[events.Committed, ...]:
        """The units that were committed."""
        return tuple(one.event for one in self.units if isinstance(one.event, events.Committed))

    @property
    def failed(self) -> tuple[events.Failed, ...]:
        """The units that were rolled back, each with its last reasons."""
        found = {one.plan.unit: one.event for one in self.units if isinstance(one.event, events.Failed)}
        return tuple(found.values())

    @property
    def bad(self) -> tuple[str, ...]:
        """What could not be listed or read, and why."""
        unlisted = (problem for some in self.planned.problems.values() for problem in some)
        return (*unlisted, *(reason for one in self.units for reason in one.bad))

    @property
    def damaged(self) -> DaySet:
        """The dates of which undated artifacts that cannot be read are known to have rows."""
        return DaySet.union(one.damaged for one in self.units)

    @property
    def changed(self) -> tuple[str, ...]:
        """Which artifacts were no longer what the last listing had said."""
        return tuple(reason for one in self.round for reason in one.changed)

    @property
    def closing(self) -> tuple[Covered, ...] | None:
        """The days that are covered without a unit; None if nothing is to be recorded."""
        plan = self.planned.plan
        packs = [one.plan for one in self.units if isinstance(one.event, events.Failed) and one.plan.unit.pack]
        failed = {item.source for pack in packs for item in pack.artifacts}  # they may have more of any day
        waiting = {source for one in self.round for source in one.waiting}
        days = plan.closing_without(failed | waiting, self.damaged)
        return days if plan.noted or days or not plan.units else None


Steps = Generator[Batch | None, None, T]
"""A partition on its way: it yields a batch to be run, and None while it waits for the outcomes of its next unit."""


def execute(job: Job, writer: Writer, planned: Planned, state: PartitionState) -> Steps[Executed]:
    """Do all units of a plan. An error ends it early; what was committed before stays.

    If artifacts have changed since they were listed, it lists and plans again.
    """
    units: list[UnitOutcome] = []
    current = _Round(job, writer, state, planned.plan, units)
    begun = 0
    try:
        for left in reversed(range(_LISTINGS)):
            begun = len(units)
            yield from current.run(is_first=not begun, is_last=not left)
            if not left or not any(one.changed for one in units[begun:]):
                break
            state = job.catalog.state(job.address)
            planned = _plan_again(job, state, units)
            current = _Round(job, writer, state, planned.plan, units, current.fetched)
    except StorageError:
        raise
    except TailpipeError as error:
        return Executed(planned, tuple(units), error=error)
    return Executed(planned, tuple(units), tuple(units[begun:]))


def _plan_again(job: Job, state: PartitionState, units: Sequence[UnitOutcome]) -> Planned:
    """The plan after another listing, without what has failed, and when all is overwritten without what is done."""
    planned = plan_job(job, state)
    if planned.problems and not job.request.skip_bad_artifacts:
        raise listing_error(planned.problems)
    is_done = (one.plan.unit for one in units if one.is_committed)
    hopeless = frozenset[str]().union(*(one.hopeless for one in units))
    return planned.rest(hopeless, set(is_done) if job.request.overwrite else set())


@dataclass
class _Round:
    """The units of one plan on their way; types widen as fields are met, and the bytes read add up."""

    job: Job
    writer: Writer
    state: PartitionState
    plan: Plan
    outcomes: list[UnitOutcome]
    """Of each unit, as soon as it is settled."""
    fetched: int = 0
    types: dict[str, str] = field(default_factory=dict)
    is_last: bool = False

    def run(self, *, is_first: bool, is_last: bool) -> Steps[None]:
        """Do all units; the first round records what the run plans to do."""
        job, self.is_last = self.job, is_last
        known = known_types(self.state.columns, job.table)
        self.types = sampled_types((), known, job.partition, job.table)
        if is_first:
            requests = {} if self.plan.is_empty else self.plan.requests
            self.writer.begin_run(job.window, requests, job.request.command, self.plan.frontiers)
            if job.landing is not None and not self.plan.is_empty:
                job.landing.begin(self.writer)
        is_open = has_open_types(job.table)
        is_stepwise = is_open or bool(job.partition.dedupe_key)
        # Packs that read artifacts again come last: by then it is known which dates wait for damaged artifacts.
        last = [unit for unit in self.plan.units if unit.unit.day is None and unit.kind != "append"]
        first = [unit for unit in self.plan.units if unit.unit.day is not None or unit.kind == "append"]
        chosen = [*batches(first, is_stepwise=is_stepwise), *batches(last, is_stepwise=is_stepwise)]
        if is_open and not known and chosen:
            pieces = pieces_of(job, {}, chosen[0][0], "", "sample")
            self.types = sampled_types(job.engine.sample([one.task for one in pieces]), {}, job.partition, job.table)
        for planned in chosen:
            held = self.held
            units = [unit for one in planned if (unit := one.holding(held)).artifacts] if held else planned
            yield from self._batch(units, is_stepwise=is_stepwise)

    def _batch(self, units: Sequence[UnitPlan], *, is_stepwise: bool) -> Steps[None]:
        """Do units, each in a transaction.

        They are settled in their order, each as soon as its outcomes are there, or all at the end of the job if one
        of them may have to be run again or is compared with what is stored.
        """
        size = sum(fetched_bytes(item) for unit in units for item in unit.artifacts)
        begun = zip(units, self.writer.begin_all((unit.unit, unit.kind) for unit in units), strict=True)
        landing = self.job.landing
        works = [UnitWork(unit, one, landing.place(one) if landing else None) for unit, one in begun]
        # The rows of events and of what is rewritten are compared with stored rows, or with those of other units.
        is_compared = any(
            unit.kind == "rewrite" or any(item.artifact.kind == "range" for item in unit.artifacts) for unit in units
        )
        try:
            if is_stepwise or is_compared:
                yield from self._run_all(works)
            else:
                yield self._begin(works, "r0")
            self.fetched += size
            while works:
                while not works[0].is_run:
                    yield None
                yield from self._settle(works[0])
                works.pop(0)
        finally:
            for work in works:  # after a failure or an interrupt: nothing of them stays
                work.transaction.abort()

    def _begin(self, works: Sequence[UnitWork], prefix: str) -> Batch:
        return Batch(self.job, dict(self.types), list(works), prefix, self.fetched, not self.outcomes)

    def _run_all(self, works: Sequence[UnitWork]) -> Steps[None]:
        """Run the tasks of all units, and those again whose fields need wider types than were known."""
        job, pending = self.job, list(works)
        for round_ in range(_ROUNDS):
            yield self._begin(pending, f"r{round_}")
            while not all(work.is_run for work in pending):
                yield None
            before = dict(self.types)
            pending = [work for work in pending if is_widened(self.types, work.outcomes)]
            if pending and keep_digits(self.types, before, job):
                pending = list(works)  # those that fit may hold numbers that a double would change
            if not pending:
                break
        else:
            raise TailpipeError(f"could not settle the column types of {job.address}", hint="declare its columns")
        self._drop_repeated([work for work in works if work.keyed_files])
        self._carry([work for work in works if work.plan.kind == "rewrite"])

    def _settle(self, work: UnitWork) -> Steps[None]:
        """Commit a unit, put it off until another listing, do it without some artifacts, or fail."""
        is_strict, is_pack = not self.job.request.skip_bad_artifacts, work.plan.unit.day is None
        is_divisible = not is_strict or is_pack
        results, left_out = work.results, work.left_out()
        # A Day lands whole; of a pack the other artifacts may be committed before those that have changed.
        is_patient = is_pack and work.plan.kind == "append" and any(one.fault is None for _, one in results)
        # The rows that these have left before would go, and not come again.
        spoilt = [(item, one.fault) for item, one in results if one.fault and item.is_reread]
        if left_out.changed and not is_patient:
            work.transaction.abort()
            if left_out.bad and is_strict:
                self._fail(work.plan, left_out.bad)
            elif self.is_last:
                self._fail(work.plan, [f"{reason}; the next run collects it" for reason in left_out.changed])
            else:
                self.outcomes.append(UnitOutcome(work.plan, changed=left_out.changed))
        elif is_divisible and spoilt:
            yield from self._do_without(work, spoilt)
        elif left_out.bad and not is_divisible:
            work.transaction.abort()
            self._fail(work.plan, left_out.bad)
        elif is_pack and all(one.fault for _, one in results):
            work.transaction.abort()
            self.outcomes.append(left_out)
        elif is_pack and is_strict and (dates := self.held | left_out.damaged) and self._overlaps(work, dates):
            # The rows of the dates that wait come later, with the damaged artifacts.
            work.transaction.abort()
            self.outcomes.append(left_out)
            plan = work.plan.without([item for item, one in results if one.fault]).holding(self.held)
            yield from self._batch([plan], is_stepwise=True)
        else:
            self._commit(work)

    @property
    def held(self) -> DaySet:
        """The dates that wait: rows of them are in damaged artifacts without a day, and a day lands whole."""
        is_strict = not self.job.request.skip_bad_artifacts
        return DaySet.union(one.damaged for one in self.outcomes) if is_strict else NO_DAYS

    def _overlaps(self, work: UnitWork, dates: DaySet) -> bool:
        """Whether a pack has rows of these dates, which wait, in artifacts that were not taken before."""
        is_met = any(file.tp_date in dates for file in work.files if file.tp_date)
        return is_met and work.plan.holding(dates) != work.plan

    def _do_without(self, work: UnitWork, spoilt: Sequence[tuple[WorkItem, Fault]]) -> Steps[None]:
        """Do a unit again without artifacts whose rows would go and not come again."""
        work.transaction.abort()
        uris = frozenset(item.artifact.uri for item, _ in spoilt)
        bad, damaged = tuple(fault.reason for _, fault in spoilt), work.left_out().damaged
        self.outcomes.append(UnitOutcome(work.plan, bad=bad, hopeless=uris, damaged=damaged))
        plan = work.plan.without([item for item, _ in spoilt])
        if plan.artifacts:
            yield from self._batch([plan], is_stepwise=True)

    def _drop_repeated(self, works: Sequence[UnitWork]) -> None:
        """Skip events that the units already have."""
        if works:
            tasks = [list(repeated_events(work, self._live(work), self._rejected(work))) for work in works]
            self._leave_out(works, tasks)

    def _carry(self, works: Sequence[UnitWork]) -> None:
        """Stage again what stays of files of which other rows go."""
        if works:
            job = self.job
            tasks = [work.carry(self._live(work), job.address, self._rejected(work)) for work in works]
            for work, files in zip(works, job.engine.carry(tasks), strict=True):
                work.carried = files

    def _leave_out(self, works: Sequence[UnitWork], tasks: Sequence[Sequence[Dedupe]]) -> None:
        """Find duplicates, in one job for all units, and drop them."""
        if not any(tasks):
            return
        answers = iter(self.job.engine.dedupe([task for some in tasks for task in some]))
        for work, some in zip(works, tasks, strict=True):
            leave_out(work, self.job.address, some, [next(answers) for _ in some])

    def _commit(self, work: UnitWork) -> None:
        job = self.job
        dates = sorted({file.tp_date for file in work.files if file.tp_date})
        key = job.partition.dedupe_key
        if dates and (key or work.keyed_files):
            snapshot = self._seen(job.catalog.snapshot(partition=job.address, dates=(dates[0], dates[-1])))
            self._leave_out([work], [list(events_of_other_units(work, snapshot))])
            self._leave_out([work], [list(same_events(work, snapshot, key)) if key else []])
        retires: tuple[str, ...] = ()
        if work.plan.kind == "rewrite":
            rejected = job.catalog.rejected_paths(job.address, work.plan.unit)
            retires = (*(file.path for file in self._live(work).files), *rejected)
        if job.request.overwrite and (reason := self._loss(work)):
            work.transaction.abort()
            self._fail(work.plan, [reason], is_refused=True)
            return
        done, staged = work.outcome(job.address), work.staged(job.request.now, retires)
        try:
            with job.meter("commit"):
                committed = (
                    self._land(job.landing, work, staged) if job.landing else work.transaction.commit(staged, job.meter)
                )
        except (CommitError, ConflictError) as error:
            pushes = job.pushes
            # Another host was quicker: after another listing it can be done; after the last one it has failed.
            is_late = isinstance(error, ConflictError) or (
                pushes is not None and pushes.overtaken(self.writer, work.transaction, staged)
            )
            if is_late and not self.is_last:
                self.outcomes.append(UnitOutcome(work.plan, changed=(error.message,)))
            else:
                self._fail(work.plan, [error.message])
            return
        if committed.problem:
            job.emit(events.Warned(job.address, committed.problem))
        if done.event is not None:
            job.emit(done.event)
        self.outcomes.append(done)
        # Days without files are pushed with later ones, or at the end: the log needs no entry for each.
        if job.pushes is not None and job.landing is None and (committed.files or committed.retired):
            with job.meter("push"):
                job.pushes.after_commit(self.writer)

    def _loss(self, work: UnitWork) -> str:
        """Why a unit is not overwritten: dates of it would have no rows any more. Empty if nothing is lost."""
        request = self.job.request
        if request.accept_loss or not work.plan.drops or work.accounts.duplicate:
            return ""
        before = [file for file in self._live(work).files if file.tp_date]
        kept = {file.tp_date for file in (*work.files, *work.carried) if file.role == "data"}
        gone = [file for file in before if file.tp_date not in kept]
        if not gone:
            return ""
        rows, days = sum(file.rows for file in gone), DaySet.of(file.tp_date for file in gone)
        went = ", ".join(f"{count:,} {what}" for what, count in work.accounts.elsewhere.items())
        now = f"; of what was read: {went}" if went else "; nothing was read"
        return f"overwriting would leave no rows of {days}, which has {rows:,}{now}; to accept this: --accept-loss"

    def _land(self, landing: Landing, work: UnitWork, staged: Staged) -> Committed:
        """Commit a unit whose files are in the store."""
        job = self.job
        landed = landing.commit(self.writer, work.transaction, staged, job.meter)
        if job.pushes is not None:
            job.pushes.after_landing(self.writer, landed, staged)
        return landed

    def _fail(self, plan: UnitPlan, reasons: Sequence[str], *, is_refused: bool = False) -> None:
        event = events.Failed(self.job.address, str(plan.unit), tuple(reasons), is_refused)
        self.job.emit(event)
        uris = frozenset(item.artifact.uri for item in plan.artifacts)
        self.outcomes.append(UnitOutcome(plan, event, hopeless=uris))

    def _live(self, work: UnitWork) -> Snapshot:
        """The live files of one unit; a partition may have a hundred thousand others."""
        return self._seen(self.job.catalog.snapshot(partition=self.job.address, unit=work.plan.unit))

    def _seen(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot as tasks can read it."""
        return snapshot if self.job.landing is None else self.job.landing.remote(snapshot)

    def _rejected(self, work: UnitWork) -> list[str]:
        return self._seen(self.job.catalog.rejected_snapshot(self.job.address, work.plan.unit)).paths()
