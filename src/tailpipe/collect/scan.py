"""What a scan reads: the tasks of a window as if all of it were collected anew, with the ids that rows have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tailpipe.catalog.catalog import Catalog
from tailpipe.collect.listing import is_permission, released
from tailpipe.collect.packing import Recipe, pieces_of
from tailpipe.collect.planner import plan_partition
from tailpipe.collect.types import known_types, sampled_types
from tailpipe.errors import TailpipeError
from tailpipe.kernel.engine import Engine
from tailpipe.kernel.task import Limits, Task
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
    sources = {source.name: source for source in partition.sources}
    state = catalog.state(partition.address)
    with released(sources.values(), warn):
        planned = plan_partition(sources, table, state, replace(request, overwrite=True), engine)
    for problem in (one for some in planned.problems.values() for one in some):
        hint = "a scan cannot skip files"
        raise TailpipeError(problem, hint=f"change its permissions; {hint}" if is_permission(problem) else hint)
    types = known_types(state.columns, table)
    recipe = Recipe(partition, table, sources, types, request.now, Limits())
    tasks = [piece.task for unit in planned.plan.units for piece in pieces_of(recipe, unit, "", "scan")]
    types = sampled_types(engine.sample(tasks), types, partition, table)
    return [replace(task.without_staging(), types=types) for task in tasks]
