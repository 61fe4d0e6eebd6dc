"""Pack the artifacts of a unit into tasks: many small ones together, about as much work in each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, repeat

from tailpipe.collect.item import WorkItem
from tailpipe.collect.plan import UnitPlan
from tailpipe.kernel.task import Limits, Reading, Staging, Task
from tailpipe.model.packing import fill
from tailpipe.model.partition import Partition
from tailpipe.model.source import Source
from tailpipe.model.table import Table

__all__ = ["Recipe", "batches", "estimated_bytes", "fetched_bytes", "recipe_print", "tasks_of"]

TASK_BYTES = 160 * 1024 * 1024
"""About how many raw bytes a task reads."""
BATCH_BYTES = 4 * 1024 * 1024 * 1024
_RATIO = 8
"""About how much larger a compressed log is when it is read."""


@dataclass(frozen=True)
class Recipe:
    """What the tasks of a partition have in common."""

    partition: Partition
    table: Table
    sources: Mapping[str, Source]
    types: Mapping[str, str]
    now: datetime
    limits: Limits


def recipe_print(partition: Partition, table: Table) -> str:
    """A print of all in the config that decides what becomes of a row."""
    formats = {source.name: source.format for source in partition.sources}
    parts = repr((table, formats, partition.filter, partition.tp_index, partition.dedupe_key))
    return hashlib.blake2b(parts.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def fetched_bytes(one: WorkItem) -> int:
    """How many bytes a source will give of an artifact, packed as they are."""
    size = one.artifact.size or 0
    return size if one.artifact.is_compressed else max(0, size - one.offset_bytes)


def estimated_bytes(one: WorkItem) -> int:
    """About how many bytes that is when it is unpacked."""
    return fetched_bytes(one) * (_RATIO if one.artifact.is_compressed else 1)


def tasks_of(recipe: Recipe, unit: UnitPlan, directory: str, prefix: str) -> list[Task]:
    """The tasks of a unit, the largest first; the artifacts of a source keep their order."""
    tasks: list[Task] = []
    for name, source in recipe.sources.items():
        chosen = [one for one in unit.artifacts if one.source == name]
        for number, bundle in enumerate(_bundles(chosen)):
            tasks.append(_task(recipe, source, bundle, Staging(directory, f"{prefix}-{name}-{number}")))
    return sorted(tasks, key=lambda task: -sum(reading.artifact.size or 0 for reading in task.readings))


def batches(units: Sequence[UnitPlan]) -> list[list[UnitPlan]]:
    """Units that one job does together: the first alone, so that there is soon something to query, then more."""
    return fill(units, lambda unit: sum(map(estimated_bytes, unit.artifacts)), BATCH_BYTES, counts=_growing())


def _growing() -> Iterator[int]:
    return chain((1, 4, 16), repeat(64))


def _bundles(items: Sequence[WorkItem]) -> list[list[WorkItem]]:
    total = sum(map(estimated_bytes, items))
    share = total / max(1, round(total / TASK_BYTES)) if total else 1
    return fill(items, estimated_bytes, share, fraction=0.5)


def _task(recipe: Recipe, source: Source, bundle: Sequence[WorkItem], staging: Staging) -> Task:
    format_ = source.format or recipe.table.format
    assert format_ is not None  # noqa: S101 - the config was refused without one
    return Task(
        partition=recipe.partition.address,
        table=recipe.table,
        source=source,
        format=format_,
        readings=tuple(_reading(one) for one in bundle),
        ingested_at=recipe.now,
        filter=recipe.partition.filter,
        tp_index=recipe.partition.tp_index,
        types=recipe.types,
        limits=recipe.limits,
        staging=staging,
    )


def _reading(item: WorkItem) -> Reading:
    is_known = item.entry is not None and item.entry.identity == item.identity
    known = item.entry if is_known else None
    return Reading(
        artifact=item.artifact,
        origin=item.origin,
        generation=item.generation,
        offset_bytes=item.offset_bytes,
        offset_rows=item.offset_rows,
        days=item.dates,
        is_closed=item.is_closed,
        committed_bytes=known.committed_bytes if known else 0,
        committed_print=known.tail_print if known else None,
        committed_modified=known.modified if known else None,
    )
