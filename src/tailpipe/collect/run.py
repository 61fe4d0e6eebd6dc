"""The run of a partition: lock it, plan, execute the plan, and summarise the result."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date

from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.read import PartitionState
from tailpipe.catalog.run_record import RunFacts
from tailpipe.collect import events
from tailpipe.collect.execute import Executed, Steps, execute
from tailpipe.collect.identity import is_same
from tailpipe.collect.job import Job
from tailpipe.collect.packing import estimated_bytes, fetched_bytes, recipe_print
from tailpipe.collect.planner import Planned, listing_error, plan_job
from tailpipe.collect.summary import facts_of, summarise, summarise_failure
from tailpipe.collect.types import check_columns
from tailpipe.errors import StorageError, TailpipeError
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import dropped_days
from tailpipe.model.source import Source

_SHARE = 0.1
"""Parquet takes a tenth of the logs, or less."""


def run_partition(job: Job) -> Steps[events.Summary]:
    """Collect one partition. Units that fail are rolled back and reported; the others are committed."""
    begun = time.monotonic()
    done: Executed | None = None
    run_id: int | None = None

    def facts(error: BaseException | None = None) -> RunFacts:
        return facts_of(job, done, time.monotonic() - begun, error)

    try:
        with job.catalog.writer(job.address) as writer, writer.ending(facts):
            free = writer.check_space()
            state = job.catalog.state(job.address)
            check_columns(job.table, state)
            recipe = recipe_print(job.partition, job.table)
            planned = _plan(job, writer, state, free)
            # A cycle that has found nothing to do is one more idle check of the last run in the history.
            is_idle = job.request.is_cycle and planned.plan.is_empty and not planned.problems
            if is_idle and writer.fold_idle(job.request.command):
                idle = summarise(job, planned, Executed(planned), state.coverage, _stale_since(job, state, recipe))
                _acknowledge(job, is_whole=idle.is_done)
                return replace(idle, seconds=time.monotonic() - begun)
            done = yield from execute(job, writer, planned, state)
            run_id = writer.run_id
            if done.error is not None:
                raise done.error
            coverage = writer.finish(
                "failed" if done.failed or done.bad or done.changed else "done",
                done.planned.plan.noted,
                None if planned.plan.is_empty else done.closing,
                recipe if done.committed else None,
                facts(),
            )
    except StorageError:
        raise  # a full disk is full for the others too
    except TailpipeError as error:
        return replace(summarise_failure(job, error, done), run=run_id, seconds=time.monotonic() - begun)
    stale_since = _stale_since(job, state, recipe, is_new=bool(done.committed))
    summary = summarise(job, planned, done, coverage, stale_since)
    _acknowledge(job, is_whole=summary.is_done)
    return replace(summary, run=run_id, seconds=time.monotonic() - begun)


def _stale_since(job: Job, state: PartitionState, recipe: str, *, is_new: bool = False) -> date | None:
    """The oldest day of rows of another config that this run, which `is_new` if it committed any, has not overwritten.

    Of deleted days nothing is here, and overwriting skips them.
    """
    is_deleted = state.first_date is None and bool(dropped_days(state.coverage.values()))
    if state.recipe in (None, recipe) or is_deleted:
        return None
    request = job.request
    days = [entry.unit.day for entry in state.ledger if entry.unit.day and entry.source in job.sources]
    deleted = dropped_days(state.coverage.values()).last or date.min  # requesting them would bring them back
    here = [day for day in (*days, state.first_date, state.last_date) if day and day > deleted]
    if is_new and request.overwrite:  # without a window undated files are read whole
        here = [day for day in here if not job.window.touches(day) and (request.window or day in days)]
    return min(here, default=None if is_new else request.today)


def _acknowledge(job: Job, *, is_whole: bool) -> None:
    """Report the committed artifacts to the sources; what they do then has no effect on the rows."""
    sources = [one for one in job.sources.values() if type(one).acknowledge is not Source.acknowledge]
    if not sources:
        return
    known = {entry.uri: entry for entry in job.catalog.state(job.address).ledger}

    def is_collected(artifact: Artifact) -> bool:
        entry = known.get(artifact.uri)
        return entry is not None and is_same(artifact, entry)

    for source in sources:
        try:
            source.acknowledge(is_collected, is_whole=is_whole)
        except TailpipeError as error:
            job.emit(events.Warned(job.address, error.with_hint))


def _plan(job: Job, writer: Writer, state: PartitionState, free: int) -> Planned:
    """Plan the run and report what it has to do; a run that cannot be planned is recorded as failed."""
    try:
        planned = plan_job(job, state, job.engine.prepare)
        if planned.problems and not job.request.skip_bad_artifacts:
            raise listing_error(planned.problems)
    except Exception:
        writer.begin_run(job.window, {}, job.request.command)
        raise
    items = [item for unit in planned.plan.units for item in unit.artifacts]
    job.emit(events.Planned(job.address, len(planned.plan.units), len(items), sum(map(fetched_bytes, items))))
    size = sum(map(estimated_bytes, items))
    if free < size * _SHARE and job.landing is None:
        what = f"the disk may fill up: {free / 1e6:,.0f} MB free, {size / 1e6:,.0f} MB of logs to collect"
        job.emit(events.Warned(job.address, what))
    return planned
