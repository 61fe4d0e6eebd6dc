"""What collecting and compacting need of an engine: the kernel's jobs, done in parallel. The product's is Spark."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import Span
from tailpipe.model.meter import Spent
from tailpipe.model.source import Source

if TYPE_CHECKING:  # whoever runs a job loads what it needs
    from tailpipe.kernel.carry import CarriedFile, Carry
    from tailpipe.kernel.compact import Compaction
    from tailpipe.kernel.dedupe import Dedupe, Deduped
    from tailpipe.kernel.task import Outcome, Task
    from tailpipe.model.staged import StagedFile

PrintTask = tuple[Source, Artifact, tuple[Span, ...]]
"""An artifact, and the parts of its content whose prints are requested."""


class Engine(Protocol):
    """Runs jobs. Each method is one job: a list of tasks, and an answer for each, in the order of the tasks.

    Tasks that stage files have a prefix of their own each. A task that raises is tried again, under names that no
    other attempt uses, and what a failed attempt has staged is in no answer. If all attempts fail the job raises
    `SparkError` with the cause. Bad data raises nothing: it is part of an answer.
    """

    def prepare(self) -> None:
        """Start what the next job needs, without waiting for it: there will probably be one."""

    def expect(self, stores: Iterable[str]) -> None:
        """Take note of the stores that the jobs of a run put files into: hosts are checked for all of them at once."""

    def prints(self, tasks: Sequence[PrintTask]) -> dict[tuple[str, Span], str | None]:
        """Return prints of contents, by URI and part."""

    def sample(self, tasks: Sequence[Task]) -> list[dict[str, str]]:
        """Return the types of undeclared fields that the beginning of each task's artifacts shows."""

    @property
    def shares_disk(self) -> bool:
        """Whether tasks see the disk of this process; if not, those with a place put their files into a store."""

    @property
    def cores(self) -> int:
        """How many tasks run at the same time."""

    @property
    def started(self) -> Spent | None:
        """What it took to start what the engine works with; None if nothing was started."""

    def blockers(self) -> frozenset[int]:
        """Return the threads whose jobs hold the task slots that another job waits for; called by any thread."""

    def cpu_seconds(self) -> float:
        """How much CPU time its other processes on this machine have used so far."""

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        """Stage the files of each task. As soon as one is done, return its number and the outcomes of its shares.

        Closing the iterator ends the job.
        """

    def carry(self, tasks: Sequence[Carry]) -> list[tuple[StagedFile, ...]]:
        """Stage the rows of live files that a replacement keeps."""

    def dedupe(self, tasks: Sequence[Dedupe]) -> list[Deduped]:
        """Stage files again without their duplicates."""

    def compact(self, tasks: Sequence[Compaction]) -> list[tuple[StagedFile, ...]]:
        """Stage the rows of each task's files in files of the right size."""

    def misplaced(self, files: Sequence[CarriedFile], column: str, kind: str) -> list[str]:
        """Return the paths of files in which some row's value of the column is not the file's index."""

    def close(self) -> None:
        """End what the engine has started."""
