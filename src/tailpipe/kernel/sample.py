"""Sample: the types of fields that a table leaves open, from the beginning of some of a task's artifacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tailpipe.kernel.feed import Batch
from tailpipe.kernel.plan import plan_task
from tailpipe.kernel.row_buffer import RowBuffer
from tailpipe.kernel.task import Reading, Share, Task
from tailpipe.kernel.undeclared import widened
from tailpipe.sql.casts import kind_of
from tailpipe.sql.connection import connect, registered

_ARTIFACTS = 16
_BYTES = 1024 * 1024


def sample(task: Task) -> dict[str, str]:
    """A type for each undeclared field, and for each column without one; a field without values has none yet.

    At most 16 artifacts are looked into, spread over all of them, and the first megabyte of each.
    """
    found: dict[str, str] = {}
    limits = replace(task.limits, chunk_bytes=_BYTES, batch_bytes=_BYTES)
    pairs = [(share, reading) for share in task.shares for reading in share.readings]
    for share, reading in _spread(pairs):
        fresh = replace(reading, offset_bytes=0, offset_rows=0, committed_print=None)
        alone = replace(share, readings=(fresh,), staging=None)
        for name, kind in _types(replace(task, shares=(alone,), limits=limits, types={})).items():
            found[name] = widened(found.get(name), kind) or kind
    return found


def _spread(readings: Sequence[tuple[Share, Reading]]) -> Sequence[tuple[Share, Reading]]:
    step = -(-len(readings) // _ARTIFACTS) or 1
    return readings[::step]


def _types(task: Task) -> dict[str, str]:
    """What the first batch shows."""
    with connect(task.limits.memory) as connection:
        plan = plan_task(task, connection)
        RowBuffer(connection, plan.shape, plan.references, plan.artifacts)  # it prepares the connection
        batch = next((event for event in plan.feed({}, connection).events() if isinstance(event, Batch)), None)
        if batch is None:
            return {}
        with registered(connection, batch.parsed.tables):
            found = plan.new_fields(connection, batch.parsed)
            # An expression may have another type, now that it is known which fields are whole numbers.
            given = plan_task(replace(task, types=found), connection).given(connection, batch.parsed)
            for number, output in enumerate(plan.shape.outputs):
                if not output.is_open:
                    continue
                if output.source is not None and given[number] in ("VARCHAR", "JSON"):
                    kind = plan.infer(connection, batch.parsed, output.source)
                else:
                    kind = kind_of(given[number]).name
                if kind is not None:
                    found[output.name] = kind
    return found
