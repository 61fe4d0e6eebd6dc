"""Collect several partitions at once: each takes its own steps, and their tasks run in shared jobs."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from tailpipe.collect.batch import Batch
from tailpipe.collect.events import Summary
from tailpipe.collect.execute import Steps
from tailpipe.collect.packing import BATCH_BYTES, pack, task_bytes
from tailpipe.errors import StorageError, TailpipeError
from tailpipe.kernel.engine import Engine
from tailpipe.kernel.task import Outcome, Task

_JOB_BYTES = BATCH_BYTES // 16
"""Once a job reads this much, no further partition is begun for it."""
_OPEN = 64
"""How many partitions may be under way at a time, each with its lock."""


def conduct(partitions: Iterable[Steps[Summary]], engine: Engine) -> list[Summary]:
    """Run all partitions to their end, and return their summaries, in their order.

    Whatever ends this early, such as an interrupt, ends those under way too: open transactions are rolled back.
    """
    conductor = _Conductor(iter(partitions), engine)
    try:
        while ready := conductor.ready():
            conductor.run([(run, run.batch) for run in ready if run.batch is not None])
    finally:
        for run in conductor.runs:
            run.steps.close()
    summaries = [run.summary for run in conductor.runs if run.summary is not None]
    if len(summaries) < len(conductor.runs):
        raise AssertionError("a partition waits for outcomes that no job brings")
    return summaries


@dataclass
class _Run:
    """A partition under way; `batch` is to be run next."""

    steps: Steps[Summary]
    batch: Batch | None = None
    summary: Summary | None = None

    def go_on(self, error: TailpipeError | None = None) -> None:
        """Let it go on until it waits for outcomes, or is done. An error is raised where it waits."""
        if self.summary is not None or (self.batch is not None and error is None):
            return  # it is done, or what it waits for comes with the next job
        self.batch = None
        try:
            self.batch = next(self.steps) if error is None else self.steps.throw(error)
        except StopIteration as end:
            self.summary = end.value


@dataclass
class _Conductor:
    waiting: Iterator[Steps[Summary]]
    engine: Engine
    runs: list[_Run] = field(default_factory=list)

    def ready(self) -> list[_Run]:
        """The partitions with a batch to run; more are begun while that is little."""
        while True:
            ready = [run for run in self.runs if run.batch is not None]
            if len(ready) >= _OPEN or sum(run.batch.size for run in ready if run.batch) >= _JOB_BYTES:
                return ready
            steps = next(self.waiting, None)
            if steps is None:
                return ready
            self.runs.append(run := _Run(steps))
            run.go_on()

    def run(self, wanted: Sequence[tuple[_Run, Batch]]) -> None:
        """Run batches in one job. If it fails, each is run alone: one of them may be the cause."""
        for run, batch in wanted:
            if run.batch is batch:
                run.batch = None
        try:
            cores = self.engine.cores
        except TailpipeError as error:  # Spark does not start, for none of them
            for run, _ in wanted:
                run.go_on(error)
            return
        try:
            self._job(wanted, cores)
        except _JobFailed as failed:
            if len(wanted) == 1:
                wanted[0][0].go_on(failed.reason)
                return
            for run, batch in wanted:
                if batch.rest is not None:
                    self.run([(run, batch.rest)])

    def _job(self, wanted: Sequence[tuple[_Run, Batch]], cores: int) -> None:
        """Run the tasks of batches, and let a partition continue whenever it has new outcomes."""
        size = task_bytes(sum(batch.size for _, batch in wanted), cores)
        pieces = [(owner, number, piece) for owner in wanted for number, piece in enumerate(owner[1].pieces(size))]
        packed = pack([piece for _, _, piece in pieces], size)
        tasks = [
            replace(pieces[places[0]][2].template, shares=tuple(pieces[place][2].share for place in places))
            for places in packed
        ]
        with closing(self._answers(tasks)) as answers:
            for run, batch in wanted:
                if batch.rest is None:  # it has nothing to read
                    run.go_on()
            for task, outcomes in answers:
                arrived: dict[int, tuple[tuple[_Run, Batch], list[tuple[int, Outcome, float]]]] = {}
                read = sum(pieces[place][2].size for place in packed[task])
                for place, outcome in zip(packed[task], outcomes, strict=True):
                    owner, number, piece = pieces[place]
                    share = piece.size / read if read else 1 / len(outcomes)
                    arrived.setdefault(id(owner[0]), (owner, []))[1].append((number, outcome, share))
                for (run, batch), some in arrived.values():
                    batch.take(some, outcomes[0].spent)
                    run.go_on()

    def _answers(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        """Yield the engine's answers; wrap its errors, so that they differ from errors of the partitions."""
        try:
            yield from self.engine.run(tasks)
        except StorageError:
            raise
        except TailpipeError as error:
            raise _JobFailed(error) from error


class _JobFailed(Exception):  # noqa: N818 - a signal inside this file
    def __init__(self, reason: TailpipeError) -> None:
        super().__init__(reason)
        self.reason = reason
