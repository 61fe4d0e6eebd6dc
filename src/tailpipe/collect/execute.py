"""Execute a plan: batch by batch, and in a batch unit by unit; each unit is committed atomically."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from tailpipe.catalog.catalog import Ended, Writer
from tailpipe.catalog.read import PartitionState
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.collect import events
from tailpipe.collect.duplicates import leave_out, repeated_events, same_events
from tailpipe.collect.item import WorkItem
from tailpipe.collect.job import Job
from tailpipe.collect.packing import batches, fetched_bytes, tasks_of
from tailpipe.collect.plan import Plan, UnitPlan
from tailpipe.collect.planner import Planned, check_problems, plan_job
from tailpipe.collect.types import is_widened, keep_digits, known_types, needs_sample, sampled_types
from tailpipe.collect.unit import UnitOutcome, UnitWork
from tailpipe.errors import CommitError, StorageError, TailpipeError
from tailpipe.kernel.dedupe import Dedupe
from tailpipe.model.staged import Covered

__all__ = ["Executed", "execute"]

_ROUNDS = 5
"""How often a unit is run again because its fields turned out to be wider."""
_LISTINGS = 5
"""How often a run lists its sources because artifacts were rotated or replaced before they were read."""


@dataclass(frozen=True)
class Executed:
    """What came of a plan: the last plan, all units, those of its last round, and the error that ended it early."""

    planned: Planned
    units: tuple[UnitOutcome, ...] = ()
    round: tuple[UnitOutcome, ...] = ()
    error: TailpipeError | None = None

    @property
    def committed(self) -> tuple[events.Committed, ...]:
        """The units that are there since."""
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
    def changed(self) -> tuple[str, ...]:
        """Which artifacts were no longer what the last listing had said."""
        return tuple(reason for one in self.round for reason in one.changed)

    @property
    def outcome(self) -> Ended:
        """How the run ended: whether all that was planned is there."""
        return "failed" if self.error or self.failed or self.bad or self.changed else "done"

    @property
    def closing(self) -> tuple[Covered, ...] | None:
        """The days that are covered without a unit; None if there is nothing to note."""
        plan = self.planned.plan
        failed = {source for one in self.units for source in one.open_sources}
        waiting = {source for one in self.round for source in one.waiting}
        days = plan.closing_without(failed | waiting)
        return days if plan.noted or days or not plan.units else None


def execute(job: Job, writer: Writer, planned: Planned, state: PartitionState) -> Executed:
    """Do all units of a plan. An error ends it early; what was committed before stays.

    If artifacts have changed since they were listed, it lists and plans again.
    """
    units: list[UnitOutcome] = []
    current = _Round.of(job, writer, state, planned.plan)
    begun = 0
    try:
        for left in reversed(range(_LISTINGS)):
            begun = len(units)
            # Closed at once if this is interrupted, so that open transactions are rolled back under the lock.
            with closing(current.run(is_first=not begun, is_last=not left)) as outcomes:
                for one in outcomes:
                    units.append(one)  # noqa: PERF402 - those before an error are kept
            if not left or not any(one.changed for one in units[begun:]):
                break
            state = job.catalog.state(job.address)
            planned = _plan_again(job, state, units)
            current = _Round.of(job, writer, state, planned.plan, current.fetched)
    except StorageError:
        raise
    except TailpipeError as error:
        return Executed(planned, tuple(units), error=error)
    return Executed(planned, tuple(units), tuple(units[begun:]))


def _plan_again(job: Job, state: PartitionState, units: Sequence[UnitOutcome]) -> Planned:
    """The plan after another listing, without what has failed, and when all is overwritten without what is done."""
    planned = plan_job(job, state)
    check_problems(planned, is_strict=not job.options.skip_bad_artifacts)
    is_done = (one.plan.unit for one in units if isinstance(one.event, events.Committed))
    hopeless = frozenset[str]().union(*(one.hopeless for one in units))
    return planned.rest(hopeless, set(is_done) if job.request.overwrite else set())


@dataclass
class _Round:
    """The units of one plan on their way; types widen as fields are met, and the bytes read add up."""

    job: Job
    writer: Writer
    plan: Plan
    batches: Sequence[Sequence[UnitPlan]]
    types: dict[str, str]
    is_sampled: bool
    """Whether nothing is known of undeclared fields yet, so that a sample has to show their types."""
    fetched: int = 0
    is_last: bool = False

    @classmethod
    def of(cls, job: Job, writer: Writer, state: PartitionState, plan: Plan, fetched: int = 0) -> _Round:
        """The round of a plan, with the types of undeclared fields that the files of the partition have."""
        types = known_types(state.columns, job.table)
        known = sampled_types((), types, job.partition, job.table)
        return cls(job, writer, plan, batches(plan.units), known, needs_sample(job.table, types), fetched)

    def run(self, *, is_first: bool, is_last: bool) -> Generator[UnitOutcome, None, None]:
        """What became of each unit, as soon as it is settled; the first round records what the run sets out to do."""
        job, self.is_last = self.job, is_last
        if is_first:
            requests = {} if self.plan.is_empty else self.plan.requests
            self.writer.begin_run(job.window, requests, job.options.command, self.plan.frontiers)
        if self.is_sampled and self.batches:
            samples = job.engine.sample(tasks_of(job.recipe({}), self.batches[0][0], "", "sample"))
            self.types = sampled_types(samples, {}, job.partition, job.table)
        for units in self.batches:
            begun = self.writer.begin_all((unit.unit, unit.kind) for unit in units)
            yield from self._batch([UnitWork(*pair) for pair in zip(units, begun, strict=True)])

    def _batch(self, works: list[UnitWork]) -> Iterator[UnitOutcome]:
        """Do units whose transactions have begun, in one job."""
        try:
            self._work(works)
            self.fetched += sum(fetched_bytes(item) for work in works for item in work.plan.artifacts)
            while works:
                yield from self._settle(works[0])
                works.pop(0)
        finally:
            for work in works:  # after a failure or an interrupt: nothing of them stays
                work.transaction.abort()

    def _settle(self, work: UnitWork) -> Iterator[UnitOutcome]:
        """Commit a unit, put it off until another listing, do it without some artifacts, or fail."""
        is_strict = not self.job.options.skip_bad_artifacts
        if work.changed and not work.is_patient:
            work.transaction.abort()
            if work.errors and is_strict:
                yield self._failed(work.plan, work.errors)
            elif self.is_last:
                yield self._failed(work.plan, [f"{reason}: the next run takes it" for reason in work.changed])
            else:
                yield UnitOutcome(work.plan, changed=tuple(work.changed))
        elif not is_strict and (spoilt := work.spoilt):
            yield from self._do_without(work, spoilt)
        elif work.errors and is_strict:
            work.transaction.abort()
            yield self._failed(work.plan, work.errors)
        else:
            yield self._commit(work)

    def _do_without(self, work: UnitWork, spoilt: Sequence[tuple[WorkItem, str]]) -> Iterator[UnitOutcome]:
        """Do a unit again without artifacts whose rows would go and not come again."""
        work.transaction.abort()
        uris = frozenset(item.artifact.uri for item, _ in spoilt)
        yield UnitOutcome(work.plan, bad=tuple(error for _, error in spoilt), hopeless=uris)
        plan = work.plan.without([item for item, _ in spoilt])
        if plan.artifacts:
            yield from self._batch([UnitWork(plan, self.writer.begin(plan.unit, plan.kind))])

    def _work(self, works: Sequence[UnitWork]) -> None:
        """Run the tasks of all units, and those again whose fields need wider types than were known."""
        job, pending = self.job, list(works)
        for round_ in range(_ROUNDS):
            recipe = job.recipe(self.types)
            for work in pending:
                work.tasks = tasks_of(recipe, work.plan, str(work.transaction.staging), f"r{round_}")
            self._run(pending)
            before = dict(self.types)
            pending = [work for work in pending if is_widened(self.types, work.outcomes)]
            if pending and keep_digits(self.types, before, job.table, self._all_live):
                pending = list(works)  # those that fit may hold numbers that a double would change
            if not pending:
                break
        else:
            raise TailpipeError(f"could not settle the column types of {job.address}", hint="declare its columns")
        self._drop_repeated([work for work in works if work.keyed_files])
        self._carry([work for work in works if work.plan.kind == "rewrite"])

    def _run(self, works: Sequence[UnitWork]) -> None:
        job, tasks = self.job, [task for work in works for task in work.tasks]
        batch = sum(fetched_bytes(item) for work in works for item in work.plan.artifacts)
        sizes = list(accumulate((sum(one.artifact.size or 0 for one in task.readings) for task in tasks), initial=0))

        def progress(done: int) -> None:  # tasks begin in their order, so it is about the first of them that are done
            read = batch * sizes[min(done, len(tasks))] // (sizes[-1] or 1)
            job.emit(events.Progress(job.address, done, len(tasks), self.fetched + read))

        outcomes = iter(job.engine.run(tasks, progress))
        for work in works:
            work.outcomes = [next(outcomes) for _ in work.tasks]

    def _drop_repeated(self, works: Sequence[UnitWork]) -> None:
        """Leave out events that the units have already."""
        if works:
            tasks = [list(repeated_events(work, self._live(work), self._rejected(work).values())) for work in works]
            self._leave_out(works, tasks)

    def _carry(self, works: Sequence[UnitWork]) -> None:
        """Stage again what stays of files of which other rows go."""
        if works:
            job = self.job
            tasks = [work.carry(self._live(work), job.address, self._rejected(work).values()) for work in works]
            for work, files in zip(works, job.engine.carry(tasks), strict=True):
                work.carried = files

    def _leave_out(self, works: Sequence[UnitWork], tasks: Sequence[Sequence[Dedupe]]) -> None:
        """Have duplicates looked for, in one job for all units, and leave them out."""
        answers = iter(self.job.engine.dedupe([task for some in tasks for task in some]))
        for work, some in zip(works, tasks, strict=True):
            leave_out(work, self.job.address, some, [next(answers) for _ in some])

    def _commit(self, work: UnitWork) -> UnitOutcome:
        job = self.job
        dates = sorted({file.tp_date for file in work.files if file.tp_date})
        if job.partition.dedupe_key and dates:
            snapshot = job.catalog.snapshot(partition=job.address, dates=(dates[0], dates[-1]))
            self._leave_out([work], [list(same_events(work, snapshot, job.partition.dedupe_key))])
        retires: tuple[str, ...] = ()
        if work.plan.kind == "rewrite":
            retires = (*(file.path for file in self._live(work).files), *self._rejected(work))
        done, staged = work.outcome(job.address), work.staged(job.request.now, retires)
        try:
            problem = work.transaction.commit(staged).problem
        except CommitError as error:
            return self._failed(work.plan, [error.message])
        if problem:
            job.emit(events.Warned(job.address, problem))
        if done.event is not None:
            job.emit(done.event)
        return done

    def _failed(self, plan: UnitPlan, reasons: Sequence[str]) -> UnitOutcome:
        event = events.Failed(self.job.address, str(plan.unit), tuple(reasons))
        self.job.emit(event)
        return UnitOutcome(plan, event, hopeless=frozenset(item.artifact.uri for item in plan.artifacts))

    def _live(self, work: UnitWork) -> Snapshot:
        """The live files of one unit; a partition may have a hundred thousand others."""
        return self.job.catalog.snapshot(partition=self.job.address, unit=work.plan.unit)

    def _all_live(self) -> Snapshot:
        return self.job.catalog.snapshot(partition=self.job.address)

    def _rejected(self, work: UnitWork) -> Mapping[str, Path]:
        return self.job.catalog.rejected_files(self.job.address, work.plan.unit)
