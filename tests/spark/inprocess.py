"""The engine without Spark: the same kernel, one task after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tailpipe.collect.engine import PrintTask
from tailpipe.kernel.carry import CarriedFile, Carry, carry_rows
from tailpipe.kernel.compact import Compaction, compact_files, misplaced
from tailpipe.kernel.dedupe import Dedupe, Deduped, drop_duplicates
from tailpipe.kernel.prints import read_prints
from tailpipe.kernel.run import run_task
from tailpipe.kernel.sample import sample
from tailpipe.kernel.task import Outcome, Task
from tailpipe.model.ledger import Span
from tailpipe.model.staged import StagedFile


class InProcess:
    """Does what `SparkEngine` does."""

    def prints(self, tasks: Sequence[PrintTask]) -> dict[tuple[str, Span], str | None]:
        return {
            (artifact.uri, span): text
            for source, artifact, spans in tasks
            for span, text in read_prints(source, artifact, spans).items()
        }

    def run(self, tasks: Sequence[Task], progress: Callable[[int], None]) -> list[Outcome]:
        outcomes = []
        for done, task in enumerate(tasks, 1):
            outcomes.append(run_task(task))
            progress(done)
        return outcomes

    def sample(self, tasks: Sequence[Task]) -> list[dict[str, str]]:
        return [sample(task) for task in tasks]

    def carry(self, tasks: Sequence[Carry]) -> list[tuple[StagedFile, ...]]:
        return [carry_rows(task) for task in tasks]

    def dedupe(self, tasks: Sequence[Dedupe]) -> list[Deduped]:
        return [drop_duplicates(task) for task in tasks]

    def compact(self, tasks: Sequence[Compaction]) -> list[tuple[StagedFile, ...]]:
        return [compact_files(task) for task in tasks]

    def misplaced(self, files: Sequence[CarriedFile], column: str, kind: str) -> list[str]:
        return misplaced(files, column, kind)

    def close(self) -> None:
        pass
