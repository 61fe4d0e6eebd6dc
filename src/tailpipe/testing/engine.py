"""An engine for tests: the kernel's tasks in this process, without Spark."""

from __future__ import annotations

import itertools
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tailpipe.errors import SparkError
from tailpipe.kernel.engine import PrintTask
from tailpipe.model.ledger import Span
from tailpipe.model.meter import Spent

if TYPE_CHECKING:  # a test that only checks a plugin loads no DuckDB
    from tailpipe.kernel.carry import CarriedFile, Carry
    from tailpipe.kernel.compact import Compaction
    from tailpipe.kernel.dedupe import Dedupe, Deduped
    from tailpipe.kernel.delivery import Depots
    from tailpipe.kernel.task import Outcome, Staging, Task
    from tailpipe.model.staged import StagedFile

__all__ = ["InProcessEngine"]

T = TypeVar("T")


class InProcessEngine:
    """An engine for tests: runs the kernel's tasks one after the other in this process, without Java.

    It gives the rows, ids, accounts and errors that Spark gives, and tries a task that raises as often. It has no
    limits of memory or time, and does not prove that a source can be pickled; `check_plugin` does. With `depots` its
    tasks work in private directories below `scratch` and put their files into stores, as on a cluster.
    """

    ATTEMPTS = 4
    """How often a task is tried, as with the default Spark master."""

    def __init__(self, depots: Depots | None = None, scratch: Path | None = None) -> None:
        self._numbers = itertools.count()
        self._depots: Depots = depots or {}
        self._scratch = scratch or Path(tempfile.gettempdir())

    @property
    def shares_disk(self) -> bool:
        """Whether tasks see the disk of the driver; with stores they behave as if they did not."""
        return not self._depots

    def prepare(self) -> None:
        """Start nothing: it has nothing to start."""

    def expect(self, stores: Iterable[str]) -> None:
        """Check nothing: its tasks run on this machine."""

    def prints(self, tasks: Sequence[PrintTask]) -> dict[tuple[str, Span], str | None]:
        """Return prints of contents, by URI and part."""
        from tailpipe.kernel.prints import read_prints

        found: dict[tuple[str, Span], str | None] = {}
        for source, artifact, spans in tasks:
            prints = self._try(partial(read_prints, source, artifact, spans))
            found.update({(artifact.uri, span): text for span, text in prints.items()})
        return found

    def sample(self, tasks: Sequence[Task]) -> list[dict[str, str]]:
        """Return the types of undeclared fields that the beginning of each task's artifacts shows."""
        from tailpipe.kernel.sample import sample

        return [self._try(partial(sample, task)) for task in tasks]

    @property
    def cores(self) -> int:
        """How many tasks would run at the same time: two, so that work is divided as it is elsewhere."""
        return 2

    @property
    def started(self) -> Spent | None:
        """Nothing is started."""
        return None

    def blockers(self) -> frozenset[int]:
        """No job waits for others: each runs in the thread that wants it."""
        return frozenset()

    def cpu_seconds(self) -> float:
        """There are no other processes."""
        return 0.0

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        """Stage the files of each task, and return its number and the outcomes of its shares."""
        from tailpipe.kernel.delivery import run_there

        for number, task in enumerate(tasks):

            def attempt(task: Task = task, number: int = number) -> tuple[Outcome, ...]:
                places = (self._of_attempt(share.staging, number) for share in task.shares)
                return run_there(task.at(*places), self._depots, *self._private(number))

            yield number, self._try(attempt)

    def carry(self, tasks: Sequence[Carry]) -> list[tuple[StagedFile, ...]]:
        """Stage the rows of live files that a replacement keeps."""
        from tailpipe.kernel.delivery import carry_there

        return [self._stage(carry_there, task, number) for number, task in enumerate(tasks)]

    def dedupe(self, tasks: Sequence[Dedupe]) -> list[Deduped]:
        """Stage files again without their duplicates."""
        from tailpipe.kernel.delivery import dedupe_there

        return [self._stage(dedupe_there, task, number) for number, task in enumerate(tasks)]

    def compact(self, tasks: Sequence[Compaction]) -> list[tuple[StagedFile, ...]]:
        """Stage the rows of each task's files in files of the right size."""
        from tailpipe.kernel.delivery import compact_there

        return [self._stage(compact_there, task, number) for number, task in enumerate(tasks)]

    def misplaced(self, files: Sequence[CarriedFile], column: str, kind: str) -> list[str]:
        """Return the paths of files in which some row's value of the column is not the file's index."""
        from tailpipe.kernel.delivery import misplaced_there

        return self._try(lambda: misplaced_there(files, column, kind, self._depots, self._private(0)[0]))

    def close(self) -> None:
        """End what the engine has started: nothing."""

    def _stage(self, work: Callable[[Any, Depots, Path, str], T], task: Any, number: int) -> T:
        """Do work that writes files."""
        return self._try(
            lambda: work(
                replace(task, staging=self._of_attempt(task.staging, number)), self._depots, *self._private(number)
            )
        )

    def _private(self, number: int) -> tuple[Path, str]:
        """A directory and a name that no other attempt uses."""
        attempt = f"{number:05d}-{next(self._numbers)}"
        return self._scratch / f"tailpipe-task-{uuid.uuid4().hex}", attempt

    def _of_attempt(self, staging: Staging | None, number: int) -> Staging | None:
        """Names that no other attempt uses."""
        if staging is None:
            return None
        return replace(staging, prefix=f"{staging.prefix}-{number:05d}-{next(self._numbers)}")

    def _try(self, attempt: Callable[[], T]) -> T:
        for left in reversed(range(self.ATTEMPTS)):
            try:
                return attempt()
            except Exception as error:
                if not left:
                    kind = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
                    raise SparkError(f"a job failed: {kind}: {str(error).partition(chr(10))[0]}") from error
        raise AssertionError
