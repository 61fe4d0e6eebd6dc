"""What a scan reads: the tasks of a window as if all of it were collected again, with the ids that rows have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tailpipe.catalog.catalog import Catalog
from tailpipe.collect.job import Job
from tailpipe.collect.listing import is_permission, released
from tailpipe.collect.packing import pieces_of
from tailpipe.collect.planner import plan_partition
from tailpipe.collect.types import known_types, sampled_types
from tailpipe.errors import TailpipeError
from tailpipe.kernel.engine import Engine
from tailpipe.kernel.task import Task
from tailpipe.model.partition import Partition
from tailpipe.model.request import Collect
from tailpipe.model.table import Table


def tasks_to_scan(
    partition: Partition,
    table: Table,
    catalog: Catalog,
    engine: Engine,
    request: Collect,
    warn: Callable[[str], None] = lambda _: None,
) -> list[Task]:
    """The tasks that replace the whole window, none of which stages anything; their fields have types."""
    job = Job(partition, table, catalog, engine, replace(request, overwrite=True))
    state = catalog.state(job.address)
    with released(job.sources.values(), warn):
        planned = plan_partition(job, state)
    for problem in (one for some in planned.problems.values() for one in some):
        hint = "a scan cannot skip files"
        raise TailpipeError(problem, hint=f"change its permissions; {hint}" if is_permission(problem) else hint)
    types = known_types(state.columns, table)
    tasks = [piece.task for unit in planned.plan.units for piece in pieces_of(job, types, unit, "", "scan")]
    types = sampled_types(engine.sample(tasks), types, partition, table)
    return [replace(task.without_staging(), types=types) for task in tasks]
