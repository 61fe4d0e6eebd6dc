"""What a run needs of an engine: the work on artifacts. Spark is the one that people get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tailpipe.catalog.identity import Prints
from tailpipe.kernel.carry import Carry
from tailpipe.kernel.dedupe import Dedupe, Deduped
from tailpipe.kernel.task import Outcome, Task
from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import Span
from tailpipe.model.source import Source
from tailpipe.model.staged import StagedFile

__all__ = ["Engine", "PrintTask"]

PrintTask = tuple[Source, Artifact, tuple[Span, ...]]
"""Prints of parts of its content that are wanted of an artifact."""


class Engine(Protocol):
    """Does the work on artifacts, in parallel. Answers come in the order of the tasks."""

    def prints(self, tasks: Sequence[PrintTask]) -> Prints:
        """Prints of contents, by URI and part."""
        ...

    def run(self, tasks: Sequence[Task], progress: Callable[[int], None]) -> list[Outcome]:
        """Stage the files of each task; `progress` hears how many are done."""
        ...

    def sample(self, tasks: Sequence[Task]) -> list[dict[str, str]]:
        """The types of undeclared fields, as the beginning of each task's artifacts shows them."""
        ...

    def carry(self, tasks: Sequence[Carry]) -> list[tuple[StagedFile, ...]]:
        """Stage again what stays of live files."""
        ...

    def dedupe(self, tasks: Sequence[Dedupe]) -> list[Deduped]:
        """Stage again what stays of staged files that hold duplicates."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...
