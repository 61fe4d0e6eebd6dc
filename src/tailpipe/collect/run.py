"""The run of a partition: lock it, plan, execute the plan, and summarise what came of it."""

from __future__ import annotations

import time
from dataclasses import replace

from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.read import PartitionState
from tailpipe.collect import events
from tailpipe.collect.execute import Executed, Steps, execute
from tailpipe.collect.job import Job, Options
from tailpipe.collect.packing import estimated_bytes, fetched_bytes, recipe_print
from tailpipe.collect.planner import Planned, check_problems, plan_job
from tailpipe.collect.summary import summarise, summarise_failure
from tailpipe.collect.types import check_columns
from tailpipe.errors import StorageError, TailpipeError

__all__ = ["Options", "run_partition"]

_SHARE = 0.1
"""Parquet takes a tenth of the logs, or less."""


def run_partition(job: Job) -> Steps[events.Summary]:
    """Collect one partition. Units that fail are rolled back and reported; the others are committed."""
    begun = time.monotonic()
    summary = yield from _run(job)
    return replace(summary, seconds=time.monotonic() - begun)


def _run(job: Job) -> Steps[events.Summary]:
    done: Executed | None = None
    try:
        with job.catalog.writer(job.address) as writer, writer.ending():
            free = writer.check_space()
            state = job.catalog.state(job.address)
            check_columns(job.table, state.table_columns)
            recipe = recipe_print(job.partition, job.table)
            planned = _plan(job, writer, state, free)
            done = yield from execute(job, writer, planned, state)
            if done.error is not None:
                raise done.error
            coverage = writer.finish(
                done.outcome,
                done.planned.plan.noted,
                None if planned.plan.is_empty else done.closing,
                recipe if done.committed else None,
            )
    except StorageError:
        raise  # a full disk is full for the others too
    except TailpipeError as error:
        return summarise_failure(job, error, done)
    is_stale = not done.committed and state.recipe not in (None, recipe)
    return summarise(job, planned, done, coverage, is_stale=is_stale)


def _plan(job: Job, writer: Writer, state: PartitionState, free: int) -> Planned:
    """Plan the run and report what it has to do; a run that cannot be planned is recorded as failed."""
    try:
        planned = plan_job(job, state, job.engine.prepare)
        check_problems(planned, is_strict=not job.options.skip_bad_artifacts)
    except Exception:
        writer.note_run(job.window, "failed", job.options.command)
        raise
    items = [item for unit in planned.plan.units for item in unit.artifacts]
    job.emit(events.Planned(job.address, len(planned.plan.units), len(items), sum(map(fetched_bytes, items))))
    size = sum(map(estimated_bytes, items))
    if free < size * _SHARE and job.landing is None:
        what = f"{free / 1e6:,.0f} MB are left on the disk, and {size / 1e6:,.0f} MB of logs are to be collected"
        job.emit(events.Warned(job.address, what))
    return planned
