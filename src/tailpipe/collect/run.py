"""The run of a partition: batch by batch, and in a batch unit by unit; each is committed whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

from tailpipe.catalog.catalog import Catalog, Ended, Writer
from tailpipe.catalog.plan import Ask, Plan, PlannedArtifact, UnitPlan
from tailpipe.catalog.planning import UNFINISHED
from tailpipe.catalog.scope import not_requested, open_days
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.collect import events
from tailpipe.collect.duplicates import asked_again, leave_out, same_events
from tailpipe.collect.engine import Engine
from tailpipe.collect.packing import Recipe, batches, estimated_bytes, fetched_bytes, recipe_print, tasks_of
from tailpipe.collect.planner import Planned, plan_partition
from tailpipe.collect.types import known_types, long_numbers, needs_sample, sampled_types, unfilled_columns
from tailpipe.collect.unit import UnitWork
from tailpipe.errors import CommitError, TailpipeError
from tailpipe.kernel.dedupe import Dedupe
from tailpipe.kernel.key_limit import within_limit
from tailpipe.kernel.outputs import output_columns
from tailpipe.kernel.task import Limits, Outcome
from tailpipe.kernel.undeclared import widened
from tailpipe.model.artifact import Accounts
from tailpipe.model.ledger import Unit
from tailpipe.model.partition import Partition
from tailpipe.model.source import Source
from tailpipe.model.staged import Sample
from tailpipe.model.table import Table
from tailpipe.model.window import LOOKBACK, Window

__all__ = ["Options", "PartitionRun"]

Emit = Callable[[events.Event], None]
_SHARE = 0.1
_ROUNDS = 5
"""How often a unit is run again because its fields turned out to be wider."""
_TO_FRACTIONS = ("bigint", "double")
_LISTINGS = 5
"""How often a run lists its sources because artifacts were rotated or replaced before they were read."""


@dataclass(frozen=True)
class Options:
    """What a person asked for, for all partitions alike."""

    ask: Ask
    skip_bad_artifacts: bool = False
    source: str | None = None
    command: str = ""
    limits: Limits = field(default_factory=Limits)


@dataclass
class PartitionRun:
    """One partition on its way through a run."""

    partition: Partition
    table: Table
    catalog: Catalog
    engine: Engine
    options: Options
    emit: Emit
    committed: list[events.Committed] = field(default_factory=list)
    failed: dict[Unit, events.Failed] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    hopeless: set[str] = field(default_factory=set)
    """The artifacts, by URI, that were left out or whose units have failed: another listing does not mend them."""
    unlisted: list[str] = field(default_factory=list)
    """What of the sources could not be listed, and why."""
    open: set[str] = field(default_factory=set)
    """The sources of packs that have failed: they may have more of any day."""
    waiting: set[str] = field(default_factory=set)
    """The sources of packs without artifacts that have changed, in this round."""
    nulls: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    filled: set[str] = field(default_factory=set)
    is_stale: bool = False
    unfinished: int = 0
    fetched: int = 0
    """Bytes that the batches before this one have read."""

    @property
    def address(self) -> str:
        """The partition's name."""
        return self.partition.address

    def plan(self) -> Planned:
        """What the run would do; nothing is changed."""
        self.emit(events.Started(self.address, "listing"))
        state = self.catalog.state(self.address)
        sources = self._sources()
        others = {source.name for source in self.partition.sources} - sources.keys()
        planned = plan_partition(
            sources,
            self.table,
            state,
            self._ask,
            self.engine,
            others,
            lambda count: self.emit(events.Listing(self.address, count)),
        )
        return planned if self._is_empty else replace(planned, beside=())

    @property
    def _is_empty(self) -> bool:
        return self.catalog.first_date(self.address) is None

    @property
    def _ask(self) -> Ask:
        """What is asked of this partition: nothing older than it keeps."""
        return replace(self.options.ask, oldest=self.partition.oldest(self.options.ask.now))

    def run(self) -> events.Summary:
        """Do all of it. Units that fail are rolled back and told; the others are there."""
        with self.catalog.writer(self.address) as writer:
            writer.check_space()
            planned = self._planned(writer)
            plan = planned.plan
            artifacts = [one for unit in plan.units for one in unit.artifacts]
            fetched = sum(map(fetched_bytes, artifacts))
            self.emit(events.Planned(self.address, len(plan.units), len(artifacts), fetched))
            if plan.is_empty:
                writer.note_run(self._window(), "failed" if self.unlisted else "done", self.options.command)
            else:
                self._warn_of_space(sum(map(estimated_bytes, artifacts)))
                self._carry_out(writer, plan)
            recipe = recipe_print(self.partition, self.table)
            if self.committed:
                writer.note_recipe(recipe)
            self.is_stale = not self.committed and writer.recipe() not in (None, recipe)
            writer.clean()
        return self._summary(planned)

    def _planned(self, writer: Writer) -> Planned:
        try:
            planned = self.plan()
            self._accept(planned.problems)
        except Exception:
            writer.note_run(self._window(), "failed", self.options.command)
            raise
        return planned

    def _accept(self, problems: Mapping[str, Sequence[str]]) -> None:
        """Raise if a part of a source cannot be listed: any of its days might be incomplete."""
        found = [problem for some in problems.values() for problem in some]
        if found and not self.options.skip_bad_artifacts:
            more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
            raise TailpipeError(
                found[0] + more, hint="change its permissions, or collect the rest with --skip-bad-artifacts"
            )
        self.unlisted = found

    def _warn_of_space(self, size: int) -> None:
        """Tell it beforehand if what will be written might not fit; parquet takes a tenth of the logs, or less."""
        free = self.catalog.free_bytes()
        if free < size * _SHARE:
            told = f"{free / 1e6:,.0f} MB are left on the disk, and {size / 1e6:,.0f} MB of logs are to be collected"
            self.emit(events.Warned(self.address, told))

    def _carry_out(self, writer: Writer, plan: Plan) -> None:
        writer.begin_run(self._window(), plan.asks, self.options.command, plan.frontiers)
        outcome: Ended = "interrupted"
        try:
            plan = self._rounds(writer, plan)
            closing = plan.closing_without(self.open | self.waiting)
            if plan.noted or closing or not plan.units:
                writer.note(plan.noted, closing)
            is_whole = not (self.failed or self.bad or self.unlisted or self.changed)
            outcome = "done" if is_whole else "failed"
        except Exception:
            outcome = "failed"
            raise
        finally:
            writer.end_run(outcome)

    def _rounds(self, writer: Writer, plan: Plan) -> Plan:
        """Do all units. If artifacts have changed since they were listed, list and plan again: the last plan."""
        for left in reversed(range(_LISTINGS)):
            self.changed.clear()
            self.waiting.clear()
            self.types = self._types(plan)
            for batch in batches(plan.units):
                self._batch(writer, batch, is_last=not left)
            if not self.changed or not left:
                break
            done = {Unit.from_key(one.unit) for one in self.committed} if self.options.ask.overwrite else set()
            planned = self.plan()
            self._accept(planned.problems)
            plan = planned.plan.rest(self.hopeless, done)
        return plan

    def _types(self, plan: Plan) -> dict[str, str]:
        """The types of undeclared fields: those of the files that are there, or what a sample shows."""
        types = known_types(self.catalog.column_sets(partition=self.address), self.table)
        if not plan.units or not needs_sample(self.table, types):
            return sampled_types((), types, self.partition, self.table)
        recipe = self._recipe(types)
        tasks = tasks_of(recipe, plan.units[0], "", "sample")
        return sampled_types(self.engine.sample(tasks), types, self.partition, self.table)

    def _recipe(self, types: Mapping[str, str]) -> Recipe:
        now, limits = self.options.ask.now, self.options.limits
        return Recipe(self.partition, self.table, self._sources(), dict(types), now, limits)

    def _batch(self, writer: Writer, units: Sequence[UnitPlan], *, is_last: bool) -> None:
        works: list[UnitWork] = []
        try:
            for unit in units:
                works.append(UnitWork(unit, writer.begin(unit.unit, unit.kind)))  # noqa: PERF401 - some may be begun
            self._work(works)
            self.fetched += sum(fetched_bytes(one) for unit in units for one in unit.artifacts)
            while works:
                if works[0].changed and not works[0].is_patient:
                    self._put_off(works[0], is_last=is_last)
                elif self.options.skip_bad_artifacts and (spoilt := works[0].spoilt):
                    self._do_without(writer, works[0], spoilt, is_last=is_last)
                else:
                    self._commit(works[0])
                works.pop(0)
        finally:
            for work in works:  # after a failure or an interrupt: nothing of them stays
                work.transaction.abort()

    def _put_off(self, work: UnitWork, *, is_last: bool) -> None:
        """Roll a unit back that another listing may mend; the last time that is a failure."""
        work.transaction.abort()
        if work.errors and not self.options.skip_bad_artifacts:
            self._fail(work.plan, work.errors)
        elif is_last:
            self._fail(work.plan, [f"{reason}: the next run takes it" for reason in work.changed])
        else:
            self.changed += work.changed

    def _do_without(
        self, writer: Writer, work: UnitWork, spoilt: Sequence[tuple[PlannedArtifact, str]], *, is_last: bool
    ) -> None:
        """Do a unit again without artifacts whose rows would go and not come again."""
        work.transaction.abort()
        self.bad += [error for _, error in spoilt]
        self.hopeless |= {one.decision.artifact.uri for one, _ in spoilt}
        plan = work.plan.without([one for one, _ in spoilt])
        if plan.artifacts:
            self._batch(writer, [plan], is_last=is_last)

    def _work(self, works: Sequence[UnitWork]) -> None:
        """Run the tasks of all units, and those again whose fields need wider types than were known."""
        pending = list(works)
        for round_ in range(_ROUNDS):
            recipe = self._recipe(self.types)
            for work in pending:
                work.tasks = tasks_of(recipe, work.plan, str(work.transaction.staging), f"r{round_}")
            self._run(pending)
            before = dict(self.types)
            pending = [work for work in pending if self._widen(work.outcomes)]
            if fractions := [name for name, kind in self.types.items() if (before.get(name), kind) == _TO_FRACTIONS]:
                self._keep_digits(fractions)
                pending = list(works)  # those that fit may hold numbers that a double would change
            if not pending:
                break
        else:
            raise TailpipeError(f"the fields of {self.address} have no stable types", hint="declare their columns")
        rewrites = [work for work in works if work.plan.kind == "rewrite"]
        keyed = [work for work in works if work.keyed_files]

        def rejected(work: UnitWork) -> Mapping[str, Path]:
            return self.catalog.rejected_files(self.address, work.plan.unit)

        if keyed:
            found = [list(asked_again(work, self._live(work.plan.unit), rejected(work).values())) for work in keyed]
            self._leave_out(keyed, found)
        if rewrites:
            tasks = [work.carry(self._live(work.plan.unit), self.address, rejected(work).values()) for work in rewrites]
            carried = self.engine.carry(tasks)
            for work, files in zip(rewrites, carried, strict=True):
                work.carried = files

    def _leave_out(self, works: Sequence[UnitWork], tasks: Sequence[Sequence[Dedupe]]) -> None:
        """Have duplicates looked for, in one job for all units, and leave them out."""
        answers = iter(self.engine.dedupe([task for some in tasks for task in some]))
        for work, some in zip(works, tasks, strict=True):
            leave_out(work, self.address, some, [next(answers) for _ in some])

    def _run(self, works: Sequence[UnitWork]) -> None:
        tasks = [task for work in works for task in work.tasks]
        batch = sum(fetched_bytes(one) for work in works for one in work.plan.artifacts)
        sizes = list(accumulate((sum(one.artifact.size or 0 for one in task.readings) for task in tasks), initial=0))

        def tell(done: int) -> None:  # tasks begin in their order, so it is about the first of them that are done
            read = batch * sizes[min(done, len(tasks))] // (sizes[-1] or 1)
            self.emit(events.Progress(self.address, done, len(tasks), self.fetched + read))

        outcomes = iter(self.engine.run(tasks, tell))
        for work in works:
            work.outcomes = [next(outcomes) for _ in work.tasks]

    def _widen(self, outcomes: Sequence[Outcome]) -> bool:
        for outcome in outcomes:
            for one in outcome.widenings:
                if within_limit(self.types, one.field):
                    self.types[one.field] = widened(self.types.get(one.field), one.type) or one.type
        return any(outcome.widenings for outcome in outcomes)

    def _keep_digits(self, fields: Sequence[str]) -> None:
        """Make text of fields that were whole numbers and get fractions, if live files hold numbers beyond a double."""
        outputs = output_columns(self.table, self.types)
        names = {one.name: field for field in fields for one in outputs if field in (one.name, one.source)}
        for name in long_numbers(self.catalog.snapshot(partition=self.address), names):
            self.types[names[name]] = "varchar"

    def _commit(self, work: UnitWork) -> None:
        unit = work.plan.unit
        if work.errors and not self.options.skip_bad_artifacts:
            work.transaction.abort()
            self._fail(work.plan, work.errors)
            return
        dates = sorted({file.tp_date for file in work.files if file.tp_date})
        if self.partition.dedupe_key and dates:
            snapshot = self.catalog.snapshot(partition=self.address, dates=(dates[0], dates[-1]))
            self._leave_out([work], [list(same_events(work, snapshot, self.partition.dedupe_key))])
        retires: tuple[str, ...] = ()
        if work.plan.kind == "rewrite":
            retires = tuple(file.path for file in self._live(unit).files)
            retires += tuple(self.catalog.rejected_files(self.address, unit))
        try:
            told = work.transaction.commit(work.staged(self.options.ask.now, retires)).problem
        except CommitError as error:
            self._fail(work.plan, [error.message])
            return
        if told:
            self.emit(events.Warned(self.address, told))
        self.bad += work.errors
        self.hopeless |= work.bad_uris
        self.changed += work.changed
        self.waiting |= work.changed_sources
        self.samples += work.samples
        self.filled.update(*(outcome.filled for outcome in work.outcomes))
        accounts = sum((result.accounts for _, result in work.results), Accounts())
        for _, result in work.results:
            self.unfinished += result.unread_bytes > 0
            self.nulls.update(result.nulls)
            self.noticed.update(result.notes)
        taken = len(work.results) - len(work.errors) - len(work.changed)
        done = events.Committed(self.address, str(unit), taken, accounts, work.plan.reason)
        self.committed.append(done)
        self.emit(done)

    def _live(self, unit: Unit) -> Snapshot:
        """The live files of one unit; a partition may have a hundred thousand others."""
        return self.catalog.snapshot(partition=self.address, unit=unit)

    def _fail(self, plan: UnitPlan, reasons: Sequence[str]) -> None:
        unit = plan.unit
        self.hopeless |= {one.decision.artifact.uri for one in plan.artifacts}
        self.open |= {one.decision.source for one in plan.artifacts} if unit.pack else set()
        self.failed[unit] = events.Failed(self.address, str(unit), tuple(reasons))
        self.emit(self.failed[unit])

    def _sources(self) -> Mapping[str, Source]:
        return {source.name: source for source in self.partition.sources if self.options.source in (None, source.name)}

    def _window(self) -> Window:
        ask = self.options.ask
        return ask.window or Window(ask.now - LOOKBACK, ask.now)

    def _summary(self, planned: Planned) -> events.Summary:
        skipped = planned.plan.reasons
        known, now = self.catalog.coverage(self.address), self.options.ask.now
        return events.Summary(
            partition=self.address,
            committed=tuple(self.committed),
            failed=tuple(self.failed.values()),
            bad_artifacts=(*self.unlisted, *self.bad),
            changed_artifacts=tuple(self.changed),
            skipped=skipped,
            refused=planned.refused,
            withheld=planned.withheld,
            beside=planned.beside if self._is_empty else (),
            listed=planned.listed,
            nulls=dict(self.nulls),
            noticed=dict(self.noticed),
            unfilled=unfilled_columns(self._sources().values(), self.table, self.filled),
            is_stale=self.is_stale,
            samples=tuple(self.samples[:20]),
            unfinished=self.unfinished + skipped.get(UNFINISHED, 0),
            gaps=open_days(known, self.partition, now),
            not_requested=not_requested(known, self.partition, now),
            lost=planned.lost,
        )
