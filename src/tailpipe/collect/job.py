"""What the steps of a run share: the partition, what is requested of it, and the catalog and engine to work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.collect import events
from tailpipe.frozen import frozen
from tailpipe.kernel.engine import Engine
from tailpipe.kernel.task import Limits
from tailpipe.model.meter import Meter
from tailpipe.model.partition import Partition
from tailpipe.model.request import Collect
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.model.window import LOOKBACK, Window

if TYPE_CHECKING:  # most workspaces have no store
    from tailpipe.catalog.commit import Committed, Transaction
    from tailpipe.model.staged import Staged
    from tailpipe.stores.landing import Landing

Emit = Callable[[events.Event], None]


class Pushes(Protocol):
    """Brings commits of a run to stores; all is called under the lock of the partition."""

    def after_commit(self, writer: Writer) -> None:
        """Called after each commit; it must not raise."""

    def landing(self, partition: str) -> Landing | None:
        """How units land whose files tasks put into the store; None if tasks share a disk with this process."""

    def after_landing(self, writer: Writer, landed: Committed, staged: Staged) -> None:
        """Called after each commit of a landing."""

    def overtaken(self, writer: Writer, transaction: Transaction, staged: Staged) -> bool:
        """Whether a commit was refused because other hosts have taken its artifacts since they were listed."""


@frozen
class Job:
    """One partition that a run collects."""

    partition: Partition
    table: Table
    catalog: Catalog
    engine: Engine
    request: Collect
    """What was requested of all partitions; nothing older than this one keeps."""
    emit: Emit = lambda _: None
    limits: Limits = field(default_factory=Limits)
    pushes: Pushes | None = None
    meter: Meter = field(default_factory=Meter)

    @cached_property
    def address(self) -> str:
        """The partition's name."""
        return self.partition.address

    def __post_init__(self) -> None:
        oldest = self.partition.oldest(self.request.now)
        object.__setattr__(self, "request", replace(self.request, oldest=oldest))

    @cached_property
    def landing(self) -> Landing | None:
        """How its units land if tasks put their files into a store."""
        return self.pushes.landing(self.address) if self.pushes else None

    @cached_property
    def sources(self) -> Mapping[str, Source]:
        """The sources that take part, by name."""
        return {source.name: source for source in self.partition.sources if self.request.source in (None, source.name)}

    @property
    def window(self) -> Window:
        """The span of time that the run is recorded with."""
        request = self.request
        return request.window or Window(request.now - LOOKBACK, request.now)
