"""A batch: units of one partition whose tasks run in one job, maybe together with those of other partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tailpipe.collect import events
from tailpipe.collect.job import Job
from tailpipe.collect.packing import FIRST_ALONE_BYTES, Piece, fetched_bytes, pieces_of, unit_bytes
from tailpipe.collect.unit import UnitWork
from tailpipe.kernel.task import Outcome
from tailpipe.model.meter import Spent


@dataclass
class Batch:
    """Units whose transactions have begun. `fetched` are the bytes that were read of the partition before them."""

    job: Job
    types: Mapping[str, str]
    """Of undeclared fields."""
    works: Sequence[UnitWork]
    prefix: str
    """Of the names of staged files: another one for each time that a unit is run."""
    fetched: int = 0
    is_first: bool = False
    """Whether nothing of the partition can be queried yet."""
    _owners: list[tuple[UnitWork, int]] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)
    _done: set[int] = field(default_factory=set)
    _bytes: int = 0

    @property
    def size(self) -> int:
        """About how many bytes its tasks read."""
        return sum(unit_bytes(work.plan) for work in self.works)

    def pieces(self, size: int) -> list[Piece]:
        """What its tasks read, in pieces of about that size or less; the pieces of a unit follow each other."""
        found: list[Piece] = []
        self._owners.clear()
        self._done.clear()
        for place, work in enumerate(self.works):
            directory = str(work.transaction.staging)
            made = pieces_of(self.job, self.types, work.plan, directory, self.prefix, size, work.place)
            work.begin([piece.share for piece in made])
            self._owners += [(work, number) for number in range(len(made))]
            is_alone = self.is_first and not place and self.size > FIRST_ALONE_BYTES
            found += [replace(piece, is_alone=is_alone) for piece in made]
        self._sizes = [piece.size for piece in found]
        self._bytes = sum(fetched_bytes(item) for work in self.works for item in work.plan.artifacts)
        return found

    def take(self, arrived: Sequence[tuple[int, Outcome, float]], spent: Mapping[str, Spent]) -> None:
        """Take the outcomes of pieces of a task, each with its part of what the task has spent, and report progress."""
        for number, outcome, part in arrived:
            self.job.meter.add({phase: one.times(part) for phase, one in spent.items()})
            work, place = self._owners[number]
            work.take(place, outcome)
            self._done.add(number)
        read = self._bytes * sum(self._sizes[number] for number in self._done) // (sum(self._sizes) or 1)
        done, pieces = len(self._done), len(self._sizes)
        self.job.emit(events.Progress(self.job.address, done, pieces, self.fetched + read))

    @property
    def rest(self) -> Batch | None:
        """The batch of the units that still lack outcomes, to be run again; None if there are none."""
        if not (works := [work for work in self.works if not work.is_run]):
            return None
        return replace(self, works=works, prefix=f"{self.prefix}a", _owners=[], _sizes=[], _done=set())
