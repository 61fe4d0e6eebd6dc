"""Pack the artifacts of units into tasks: large units in several tasks, small ones together in one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat

from tailpipe.collect.item import WorkItem
from tailpipe.collect.job import Job
from tailpipe.collect.plan import UnitPlan
from tailpipe.frozen import frozen
from tailpipe.kernel.delivery import Place
from tailpipe.kernel.task import Reading, Share, Staging, Task
from tailpipe.model.packing import fill
from tailpipe.model.partition import Partition
from tailpipe.model.table import Table

_MEGABYTE = 1024 * 1024
TASK_BYTES = 160 * _MEGABYTE
"""About how many raw bytes a task reads at most."""
LEAST_TASK_BYTES = 8 * _MEGABYTE
"""Less than this is not worth a task of its own: starting one takes as long as reading it."""
_TASKS_TO_A_CORE = 2
"""So many tasks to a core let the driver commit the first units while the others are read."""
JOINT_BYTES = 32 * _MEGABYTE
"""Larger pieces have a task of their own: their rows are written as they come."""
BATCH_BYTES = 4 * 1024 * _MEGABYTE
FIRST_ALONE_BYTES = 4 * LEAST_TASK_BYTES
"""A run over more than this does its first unit alone, so that there is soon something to query."""
_BATCH_UNITS = 128
_UNKNOWN_BYTES = 1 * _MEGABYTE
_RATIO = 8
"""About how much larger a compressed log is when it is read."""


@frozen
class Piece:
    """A share of a unit on its way into a task; `size` is about how many bytes it reads."""

    template: Task
    share: Share
    size: int
    is_alone: bool = False
    """Whether it must have a task of its own."""

    @property
    def task(self) -> Task:
        """The task for this share alone."""
        return replace(self.template, shares=(self.share,))

    def fits(self, other: Piece) -> bool:
        """Whether one task can make the rows of both."""
        mine, its = self.share.source, other.share.source
        is_alike = type(mine) is type(its) and (not mine.yields_events or mine == its)
        return is_alike and self.template == other.template


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
    """About how many bytes of an artifact are read when it is unpacked."""
    return fetched_bytes(one) * (_RATIO if one.artifact.is_compressed else 1)


def _weight(one: WorkItem) -> int:
    """About how many bytes an artifact has when it is unpacked; a guess if the source does not report its size."""
    return estimated_bytes(one) if one.artifact.size is not None else _UNKNOWN_BYTES


def unit_bytes(unit: UnitPlan) -> int:
    """About how many bytes a unit reads."""
    return sum(map(_weight, unit.artifacts))


def task_bytes(total: int, cores: int) -> int:
    """About how many bytes each task of a job reads, so that every core has some."""
    tasks = max(-(-total // TASK_BYTES), min(total // LEAST_TASK_BYTES, cores * _TASKS_TO_A_CORE), 1)
    return max(1, -(-total // tasks))


def pieces_of(
    job: Job,
    types: Mapping[str, str],
    unit: UnitPlan,
    directory: str,
    prefix: str,
    size: int = TASK_BYTES,
    place: Place | None = None,
) -> list[Piece]:
    """The shares of a unit, each of about that size; the artifacts of a source keep their order."""
    pieces: list[Piece] = []
    for name, source in job.sources.items():
        chosen = [one for one in unit.artifacts if one.source == name]
        total = sum(map(_weight, chosen))
        part = total / max(1, round(total / size)) if total else 1
        format_ = source.format or job.table.format
        assert format_ is not None  # noqa: S101 - the config was refused without one
        template = Task(
            table=job.table,
            format=format_,
            shares=(),
            ingested_at=job.request.now,
            filter=job.partition.filter,
            tp_index=job.partition.tp_index,
            types=types,
            limits=job.limits,
        )
        for number, items in enumerate(fill(chosen, _weight, part, fraction=0.5)):
            staging = Staging(directory, f"{prefix}-{name}-{number}", place=place)
            share = Share(job.address, source, tuple(map(_reading, items)), staging)
            pieces.append(Piece(template, share, sum(map(_weight, items))))
    return pieces


def pack(pieces: Sequence[Piece], size: int) -> list[list[int]]:
    """Which pieces each task reads, by number: small ones that fit together share a task of about that size.

    Those that must be alone come first, then the tasks in the order of their units, of each unit the largest first.
    """
    tasks: list[list[int]] = []
    kinds: list[tuple[Piece, list[int]]] = []  # the small pieces that could be one task, by their kind
    for number, piece in enumerate(pieces):
        if piece.is_alone or piece.size > min(JOINT_BYTES, size):
            tasks.append([number])
            continue
        numbers = next((numbers for first, numbers in kinds if first.fits(piece)), None)
        if numbers is None:
            kinds.append((piece, numbers := []))
        numbers.append(number)
    for _, numbers in kinds:
        tasks += fill(numbers, lambda number: pieces[number].size, size, fraction=0.5)
    known: dict[str | int, int] = {}
    # For each piece, the number of the first piece of its unit: each unit has a directory of its own.
    firsts = [
        known.setdefault(piece.share.staging.directory if piece.share.staging else number, number)
        for number, piece in enumerate(pieces)
    ]
    sizes = {task[0]: sum(pieces[number].size for number in task) for task in tasks}
    return sorted(tasks, key=lambda task: (not pieces[task[0]].is_alone, firsts[task[0]], -sizes[task[0]]))


def batches(units: Sequence[UnitPlan], *, is_stepwise: bool) -> list[list[UnitPlan]]:
    """Units that one job does together.

    If it goes step by step, because a unit can change how those after it are read, the first is done alone, then more.
    """
    counts = chain((1, 4, 16), repeat(64)) if is_stepwise else repeat(_BATCH_UNITS)
    return fill(units, unit_bytes, BATCH_BYTES, counts=counts)


def _reading(item: WorkItem) -> Reading:
    known = item.entry if item.entry is not None and item.entry.identity == item.identity else None
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
