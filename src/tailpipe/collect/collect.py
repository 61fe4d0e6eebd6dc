"""Collect partitions in one session of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tailpipe.catalog.catalog import Catalog
from tailpipe.collect import events
from tailpipe.collect.check import check_sql
from tailpipe.collect.conduct import conduct
from tailpipe.collect.job import Emit, Job, Options
from tailpipe.collect.listing import released
from tailpipe.collect.planner import Planned, plan_job
from tailpipe.collect.run import run_partition
from tailpipe.config.config import Config
from tailpipe.kernel.engine import Engine
from tailpipe.model.partition import Partition
from tailpipe.model.table import Table

__all__ = ["collect", "preview"]

Chosen = Sequence[tuple[Partition, Table]]


def collect(
    config: Config, chosen: Chosen, catalog: Catalog, engine: Engine, options: Options, emit: Emit
) -> events.Report:
    """Collect the chosen partitions. One that cannot be collected does not keep the others from it."""
    if not options.is_cycle:
        check_sql(config, chosen)
    emit(events.Opened(len(chosen)))
    jobs = (Job(partition, table, catalog, engine, options, emit) for partition, table in chosen)
    return events.Report(tuple(conduct((run_partition(job) for job in jobs), engine)))


def preview(
    chosen: Chosen, catalog: Catalog, engine: Engine, options: Options, warn: Callable[[str], None] = lambda _: None
) -> list[tuple[Partition, Planned]]:
    """What collecting would do; nothing is changed."""
    jobs = [Job(partition, table, catalog, engine, options, lambda _: None) for partition, table in chosen]
    with released([source for job in jobs for source in job.sources.values()], warn):
        return [(job.partition, plan_job(job, catalog.state(job.address))) for job in jobs]
