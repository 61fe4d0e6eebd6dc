"""Collect partitions in one session of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tailpipe.collect import events
from tailpipe.collect.check import check_sql
from tailpipe.collect.conduct import conduct
from tailpipe.collect.job import Job
from tailpipe.collect.listing import released
from tailpipe.collect.planner import Planned, plan_job
from tailpipe.collect.run import run_partition
from tailpipe.config.config import Config
from tailpipe.kernel.engine import Engine
from tailpipe.model.partition import Partition


def collect(config: Config, jobs: Sequence[Job], engine: Engine) -> events.Report:
    """Collect partitions. One that cannot be collected does not keep the others from it."""
    if not any(job.request.is_cycle for job in jobs):
        check_sql(config, [(job.partition, job.table) for job in jobs])
    for job in jobs[:1]:
        job.emit(events.Opened(len(jobs)))
    return events.Report(tuple(conduct((run_partition(job) for job in jobs), engine)))


def preview(jobs: Sequence[Job], warn: Callable[[str], None] = lambda _: None) -> list[tuple[Partition, Planned]]:
    """The plan of a collection; nothing is changed."""
    with released([source for job in jobs for source in job.sources.values()], warn):
        return [(job.partition, plan_job(job, job.catalog.state(job.address))) for job in jobs]
