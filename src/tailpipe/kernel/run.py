"""Run a task: read its artifacts, shape their rows, and stage files or hand the rows on; everything is counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING

from tailpipe.errors import TailpipeError
from tailpipe.kernel.feed import Failed, Feed
from tailpipe.kernel.format_faults import blamed_on_query
from tailpipe.kernel.plan import Plan, plan_task, year_basis
from tailpipe.kernel.row_buffer import RowBuffer, RowCount
from tailpipe.kernel.shape import FILTERED, KEPT, OUT_OF_WINDOW, REJECTED
from tailpipe.kernel.stage import Stage
from tailpipe.kernel.stages import Stages
from tailpipe.kernel.task import Decided, Fault, Outcome, Reading, Result, Share, Task, Widening
from tailpipe.kernel.through import WriteThrough
from tailpipe.kernel.undeclared import widened
from tailpipe.model.artifact import Accounts
from tailpipe.model.assumed_years import AssumedYears
from tailpipe.model.coverage import NO_DAYS, DaySet
from tailpipe.model.meter import Meter
from tailpipe.model.parsing import Parsed
from tailpipe.model.staged import Sample
from tailpipe.sql.connection import connect, registered

if TYPE_CHECKING:
    import pyarrow as pa

_PACKED = 16
"""How many times as long as its artifact the text may be, as a rule."""
_UNKNOWN = 1 << 40
_ACCOUNTS = {KEPT: "kept", FILTERED: "filtered", REJECTED: "rejected", OUT_OF_WINDOW: "out_of_window"}


def run_task(task: Task) -> tuple[Outcome, ...]:
    """Stage the files of a task, and return the outcome of each share.

    Bad data comes back as values; only a fault of the infrastructure raises.
    """
    meter = Meter()
    failed: dict[int, Fault] = {}
    with meter("parse"):
        while True:
            stages = Stages(task.shares)
            run = TaskRun(task, failed, stages.only, meter)
            try:
                for counts in run.portions():
                    with meter("write"):
                        stages.write(run.buffer, counts, run.rejected)
                outcomes = run.outcomes(stages)
                break
            except _StartAgain as again:
                # Some rows of a damaged artifact are in files already, together with those of others.
                failed[again.artifact] = again.fault
                stages.discard()
            except OtherYearsError as other:
                task = replace(task, years=other.years)
                stages.discard()
            except BaseException:
                stages.discard()
                raise
            finally:
                run.close()
        if any(progress.fault for progress in run.feed.progress):
            outcomes = [_dated(task, share, one) for share, one in zip(task.shares, outcomes, strict=True)]
    return (replace(outcomes[0], spent=meter.spent), *outcomes[1:])


def _dated(task: Task, share: Share, outcome: Outcome) -> Outcome:
    """The outcome with the dates of undated artifacts that are damaged: other rows of these dates have to wait."""
    results = tuple(
        replace(one, fault=replace(one.fault, dates=_dates(task, share, one.reading)))
        if one.fault and not one.fault.is_changed and one.reading.artifact.day is None
        else one
        for one in outcome.results
    )
    return replace(outcome, results=results)


def _dates(task: Task, share: Share, reading: Reading) -> DaySet:
    """The dates of the rows that a damaged artifact has before the damage, as far as they can be read."""
    alone = replace(task, shares=(replace(share, readings=(reading,)),), years={}, keeps_damaged=True)
    run = TaskRun(with_years(alone), {})
    found: set[date] = set()
    try:
        for counts in run.portions():
            found |= {one.tp_date for one in counts if one.disposition == KEPT and one.tp_date is not None}
    except TailpipeError:
        pass  # what is known by then is known
    finally:
        run.close()
    return DaySet.of(found)


def with_years(task: Task) -> Task:
    """The task with the years of its artifacts, which are read for that beforehand.

    For callers that hand rows on and cannot take them back: without it, a row could get another year when the rest of
    its artifact is known. A task that is parsed in one go needs nothing.
    """
    size = sum(reading.artifact.size or _UNKNOWN for reading in task.readings)
    if not task.may_lack_years or size < task.limits.batch_bytes // _PACKED:
        return task
    run = TaskRun(task.without_staging(), {})
    try:
        for _ in run.portions():
            pass
    except OtherYearsError as other:
        return replace(task, years=other.years)
    except _StartAgain:
        pass
    finally:
        run.close()
    return task


def read_rows(task: Task) -> Iterator[pa.RecordBatch]:
    """The rows that `run_task` would keep, without writing anything.

    An artifact that turns out to be damaged after some of its rows were given raises: they cannot be
    taken back.
    """
    run = TaskRun(with_years(task), {})
    try:
        for _ in run.portions():
            yield from run.buffer.batches()
    except _StartAgain as again:
        raise TailpipeError(again.fault.reason) from None
    finally:
        run.close()


class _StartAgain(Exception):  # noqa: N818 - a signal between two functions of this file
    def __init__(self, artifact: int, fault: Fault) -> None:
        super().__init__(artifact, fault)
        self.artifact = artifact
        self.fault = fault


class OtherYearsError(TailpipeError):
    """The rest of an artifact has shown that times without a year have got a wrong one."""

    def __init__(self, years: Mapping[int, Decided]) -> None:
        super().__init__("times without a year lie in other years than their first lines show")
        self.years = years


@dataclass
class _Tally:
    """What has been counted of one artifact."""

    accounts: Accounts = field(default_factory=Accounts)
    left_out: DaySet = NO_DAYS
    nulls: dict[str, int] = field(default_factory=dict)


class TaskRun:
    """One attempt at a task: a buffer, a feed, and the counts so far.

    Rows may be written straight through to a `stage`, if it is the only one.
    """

    def __init__(
        self, task: Task, failed: Mapping[int, Fault], stage: Stage | None = None, meter: Meter | None = None
    ) -> None:
        self.task = task
        self.meter = meter or Meter()
        self.connection = connect(task.limits.memory, task.spill)
        self.plan: Plan = replace(plan_task(task, self.connection), meter=self.meter)
        self.years = self.plan.years()
        self.buffer = RowBuffer(self.connection, self.plan.shape, self.plan.references, self.plan.artifacts, self.years)
        self.feed: Feed = self.plan.feed(failed, self.connection)
        self.uris = [reading.artifact.uri for reading in task.readings]
        self.tallies = [_Tally() for _ in task.readings]
        self.samples_of: list[list[Sample]] = [[] for _ in task.shares]
        self.rejected: list[pa.Table | None] = []
        """The rejected rows of the current portion, for each share."""
        self.widenings: dict[str, str] = {}
        self.written: set[int] = set()
        self.prefixes = [prefix for share in task.shares for prefix in share.prefixes]
        self.through = WriteThrough(self.buffer, stage) if stage is not None else None

    def close(self) -> None:
        """Let go of the buffer and all it holds."""
        self.connection.close()

    def portions(self) -> Iterator[list[RowCount]]:
        """Fill the buffer and count its rows, repeatedly; the caller takes the rows between two portions."""
        size = 0
        inside: set[int] = set()
        for event in self.feed.events():
            if isinstance(event, Failed):
                if event.artifact in self.written:
                    raise _StartAgain(event.artifact, event.fault)
                self.buffer.forget(event.artifact)
                continue
            with blamed_on_query(self.plan.task.format, self.connection, event.parsed):
                self._shape(event.parsed)
            size += event.size
            inside.update(event.artifacts)
            if size >= self.task.limits.flush_bytes or self.task.limits.batch_events is not None:
                yield self._count()
                self.written |= inside
                size, inside = 0, set()
                self.buffer.clear()
        if self.years is not None and (wrong := self.years.wrong()):
            raise OtherYearsError({**self.task.years, **wrong})
        yield self._count()

    def _shape(self, parsed: Parsed) -> None:
        if self.plan.task.table.map_fields:
            with registered(self.connection, parsed.tables):
                self._widen(self.plan.new_fields(self.connection, parsed))
                parsed = self.plan.bounded(self.connection, parsed)
        if self.through is not None:
            with self.meter("write"):
                written, parsed = self.through.write(parsed)
            self.written |= written.keys()
            for artifact, count in written.items():
                self.tallies[artifact].accounts += Accounts(read=count, kept=count)
            if parsed.rows == 0:
                return
        with registered(self.connection, parsed.tables):
            before = self.buffer.rows
            self.buffer.add(parsed)
            if self.buffer.rows - before != parsed.rows:
                raise AssertionError(f"{parsed.rows} rows went in, {self.buffer.rows - before} came out")
            self._widen(self.plan.too_narrow(self.buffer, parsed))

    def _widen(self, kinds: Mapping[str, str]) -> None:
        for name, kind in kinds.items():
            self.widenings[name] = widened(self.widenings.get(name), kind) or kind

    def _count(self) -> list[RowCount]:
        counts = self.buffer.counts()
        for count in counts:
            tally = self.tallies[count.artifact]
            tally.accounts += Accounts(read=count.rows, **{_ACCOUNTS[count.disposition]: count.rows})
            if count.disposition == OUT_OF_WINDOW and count.tp_date is not None:
                tally.left_out |= DaySet.of([count.tp_date])
        for artifact, number, misfits in self.buffer.misfits(f"tp__disposition = {KEPT}"):
            nulls, name = self.tallies[artifact].nulls, self.plan.shape.outputs[number].name
            nulls[name] = nulls.get(name, 0) + misfits
        shares = [len(share.readings) for share in self.task.shares]
        self.rejected = self.buffer.rejected(self.uris, self.prefixes, shares)
        for samples, rejected in zip(self.samples_of, self.rejected, strict=True):
            room = self.task.limits.samples - len(samples)
            for row in rejected.slice(0, max(0, room)).to_pylist() if rejected is not None else ():
                position = f"{self.plan.noun} {row['ordinal']}"
                samples.append(Sample(row["artifact"], position, row["reason"], row["raw"] or ""))
        return counts

    @property
    def samples(self) -> list[Sample]:
        """Some of the rejected rows."""
        return [sample for some in self.samples_of for sample in some]

    def outcomes(self, stages: Stages) -> list[Outcome]:
        """The outcome of each share, with the kept rows as the footers of the files have them."""
        widenings = tuple(Widening(name, kind) for name, kind in sorted(self.widenings.items()))
        results = iter(self._results())
        made = []
        for number, share in enumerate(self.task.shares):
            stage, samples = stages.all[number], tuple(self.samples_of[number])
            own = tuple(islice(results, len(share.readings)))
            made.append(Outcome(tuple(stage.files), own, samples, widenings, frozenset(stage.filled)))
        return made

    def _results(self) -> Iterator[Result]:
        """The result of each artifact."""
        years = self.assumed_years()
        is_keyed = self.task.source.yields_events  # read from its beginning; known events are left out later
        progress_of = zip(self.task.readings, self.feed.progress, self.tallies, strict=True)
        for place, (reading, progress, tally) in enumerate(progress_of):
            result = Result(reading, notes=progress.notes, fault=progress.fault)
            if progress.fault is None:
                head, fingerprint = progress.prints
                result = replace(
                    result,
                    accounts=tally.accounts,
                    committed_bytes=0 if is_keyed else progress.committed_bytes,
                    committed_ordinals=(reading.offset_rows if is_keyed else 0) + progress.committed_ordinals,
                    unread_bytes=progress.unread_bytes,
                    fingerprint=fingerprint,
                    head=head,
                    left_out=tally.left_out,
                    nulls=tally.nulls,
                    years=years.get(place),
                )
            yield result

    def assumed_years(self) -> dict[int, AssumedYears]:
        """For each artifact with times that have no year, those that its rows have got."""
        rows, now = self.years.rows if self.years is not None else {}, self.task.ingested_at
        return {
            place: AssumedYears(year_basis(self.task.readings[place], now)[0], dict(counts))
            for place, counts in rows.items()
        }
