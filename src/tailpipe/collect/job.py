"""What the steps of a run share: the partition, what is requested of it, and the catalog and engine to work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.collect import events
from tailpipe.collect.packing import Recipe
from tailpipe.frozen import frozen
from tailpipe.kernel.engine import Engine
from tailpipe.kernel.task import Limits
from tailpipe.model.meter import Meter
from tailpipe.model.partition import Partition
from tailpipe.model.request import CollectRequest
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.model.window import LOOKBACK, Window

if TYPE_CHECKING:  # most workspaces have no store
    from tailpipe.catalog.commit import Committed, Transaction
    from tailpipe.model.staged import Staged
    from tailpipe.stores.landing import Landing

__all__ = ["Emit", "Job", "Landings", "Options", "Pushes", "Working"]

Emit = Callable[[events.Event], None]


class Working(Protocol):
    """Opens the catalog for a verb, and the engine that runs its jobs; `emit` gets what the engine tells."""

    def __call__(
        self, emit: Emit = ..., *, is_read_only: bool = False
    ) -> AbstractContextManager[tuple[Catalog, Engine]]:
        """Both, until the verb ends."""
        ...


class Pushes(Protocol):
    """Pushes what a run has committed; all is called under the lock of the partition."""

    def after_commit(self, writer: Writer) -> None:
        """Called after each commit; a failure of it must not show."""
        ...

    def overtaken(self, writer: Writer, transaction: Transaction, staged: Staged) -> bool:
        """Whether a commit was refused because other hosts have taken its artifacts since they were listed."""
        ...


class Landings(Protocol):
    """Gives the way in which the transactions of a partition land in its store."""

    def landing(self, partition: str) -> Landing | None:
        """None if the partition has no store."""
        ...

    def after_landing(self, writer: Writer, landed: Committed, staged: Staged) -> None:
        """Called after each commit, under the lock of the partition."""
        ...


@frozen
class Options:
    """What was requested, for all partitions alike."""

    request: CollectRequest
    skip_bad_artifacts: bool = False
    source: str | None = None
    command: str = ""
    limits: Limits = field(default_factory=Limits)
    pushes: Pushes | None = None
    """What pushes after each commit."""
    landings: Landings | None = None
    """How units land whose files tasks put into a store; None if tasks share a disk with this process."""
    is_cycle: bool = False
    """Whether this is one of many runs of a process: their SQL was checked, and those without news are one run."""


@frozen
class Job:
    """One partition that a run collects."""

    partition: Partition
    table: Table
    catalog: Catalog
    engine: Engine
    options: Options
    emit: Emit
    meter: Meter = field(default_factory=Meter)

    @cached_property
    def address(self) -> str:
        """The partition's name."""
        return self.partition.address

    @cached_property
    def landing(self) -> Landing | None:
        """How its units land if tasks put their files into a store."""
        return self.options.landings.landing(self.address) if self.options.landings else None

    @cached_property
    def sources(self) -> Mapping[str, Source]:
        """The sources that take part, by name."""
        return {source.name: source for source in self.partition.sources if self.options.source in (None, source.name)}

    @cached_property
    def request(self) -> CollectRequest:
        """What is requested of this partition: nothing older than it keeps."""
        return replace(self.options.request, oldest=self.partition.oldest(self.options.request.now))

    @property
    def window(self) -> Window:
        """The span of time that the run is recorded with."""
        request = self.options.request
        return request.window or Window(request.now - LOOKBACK, request.now)

    def recipe(self, types: Mapping[str, str]) -> Recipe:
        """What the tasks of the partition have in common."""
        return Recipe(self.partition, self.table, self.sources, dict(types), self.request.now, self.options.limits)
