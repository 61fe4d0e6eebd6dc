"""Pack the artifacts of a unit into tasks: many small ones together, about as much work in each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tailpipe.catalog.plan import PlannedArtifact, UnitPlan
from tailpipe.kernel.task import Limits, Reading, Staging, Task
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


def fetched_bytes(one: PlannedArtifact) -> int:
    """How many bytes a source will give of an artifact, packed as they are."""
    size = one.decision.artifact.size or 0
    return size if one.decision.artifact.is_compressed else max(0, size - one.start_byte)


def estimated_bytes(one: PlannedArtifact) -> int:
    """About how many bytes that is when it is unpacked."""
    return fetched_bytes(one) * (_RATIO if one.decision.artifact.is_compressed else 1)


def tasks_of(recipe: Recipe, unit: UnitPlan, directory: str, prefix: str) -> list[Task]:
    """The tasks of a unit, the largest first; the artifacts of a source keep their order."""
    tasks: list[Task] = []
    for name, source in recipe.sources.items():
        chosen = [one for one in unit.artifacts if one.decision.source == name]
        for number, bundle in enumerate(_bundles(chosen)):
            tasks.append(_task(recipe, source, bundle, Staging(directory, f"{prefix}-{name}-{number}")))
    return sorted(tasks, key=lambda task: -sum(reading.artifact.size or 0 for reading in task.readings))


def batches(units: Sequence[UnitPlan]) -> list[list[UnitPlan]]:
    """Units that one job does together: the first alone, so that there is soon something to query, then more."""
    found: list[list[UnitPlan]] = []
    room, most = 0, 1
    for unit in units:
        size = sum(estimated_bytes(one) for one in unit.artifacts)
        if not found or len(found[-1]) >= most or room < size:
            found.append([])
            room, most = BATCH_BYTES, 1 if len(found) == 1 else min(64, most * 4)
        found[-1].append(unit)
        room -= size
    return found


def _bundles(artifacts: Sequence[PlannedArtifact]) -> list[list[PlannedArtifact]]:
    total = sum(estimated_bytes(one) for one in artifacts)
    share = total / max(1, round(total / TASK_BYTES)) if total else 1
    bundles: list[list[PlannedArtifact]] = []
    filled = 0.0
    for one in artifacts:
        size = estimated_bytes(one)
        if not bundles or (filled and filled + size / 2 > share):
            bundles.append([])
            filled = 0
        bundles[-1].append(one)
        filled += size
    return bundles


def _task(recipe: Recipe, source: Source, bundle: Sequence[PlannedArtifact], staging: Staging) -> Task:
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


def _reading(one: PlannedArtifact) -> Reading:
    decision = one.decision
    is_known = decision.entry is not None and decision.entry.identity == (decision.origin, decision.generation)
    known = decision.entry if is_known else None
    return Reading(
        artifact=decision.artifact,
        origin=decision.origin,
        generation=decision.generation,
        since_bytes=one.start_byte,
        since_ordinals=one.start_ordinal,
        days=one.dates,
        is_closed=decision.is_closed,
        known_bytes=known.committed_bytes if known else 0,
        known_print=known.tail_print if known else None,
        known_modified=known.modified if known else None,
    )
