"""Sources: the mechanisms that get logs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from tailpipe.model.event import Event, event_columns
from tailpipe.model.format import Format
from tailpipe.model.names import check_partition_name
from tailpipe.model.option import Declared, label, option
from tailpipe.model.window import Window

if TYPE_CHECKING:
    from tailpipe.model.artifact import Artifact

Content = BinaryIO | Iterator[bytes] | Iterator[Event]
"""What an artifact holds: a binary stream, pieces of bytes of any size, or events."""


class Source(Declared, ABC):
    """Lists artifacts and opens one; a subclass is a type of source.

    It transfers and retries, and never changes the data. A source is pickled to the workers that read.
    """

    type: ClassVar[str] = ""
    lists_all: ClassVar[bool] = False
    """Whether listing is so cheap that every run may look at all days, and so finds each late artifact."""
    layouts_of: ClassVar[str] = ""
    """Another type of source whose layouts of tables hold for this one too."""
    is_bucket: ClassVar[bool] = False
    """Whether its artifacts are objects in a bucket: a table's layout of `any_bucket` holds for them."""
    yields_events: ClassVar[bool] = False
    """Whether `open` yields events, not bytes; the format parses their messages. Its artifacts are ranges."""
    event_fields: ClassVar[tuple[str, ...]] = ()
    """The names that `fields` of its events may have."""
    overlap_days = 2
    """How many days before the last collected one are listed again, for what comes late; it may be an option."""
    remembered_days: ClassVar[int] = 0
    """How old what a source remembers of earlier listings may be: so many more days are listed again."""
    name: str = label(
        "Name of the source inside its partition; its type if not given.", default="", check=check_partition_name
    )
    format: Format | None = option("Format of the logs, if not the table's own.", default=None)

    @abstractmethod
    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """What there is to collect for the window; an artifact without a day is always listed."""

    @abstractmethod
    def open(self, artifact: Artifact) -> Content:
        """The artifact's bytes, as they are at the source, or its events.

        A generator is read a batch at a time, so that no artifact need fit into memory.
        """

    def opener(self, artifacts: Sequence[Artifact]) -> AbstractContextManager[Callable[[Artifact], Content]]:  # noqa: ARG002
        """How a task opens these artifacts, one after the other; a source may fetch the next ones meanwhile."""
        return nullcontext(self.open)

    def acknowledge(self, is_collected: Callable[[Artifact], bool], *, is_whole: bool) -> None:
        """Called after the commits of a run, for what may only happen then, such as deleting messages of a queue.

        It is called in the process that has listed the artifacts. `is_collected` says of an artifact whether the
        catalog has it as it was listed; `is_whole` that nothing has failed in the run. A run that is killed calls
        nothing, so whatever is not acknowledged must come again. An error is a warning: the rows are committed.
        """

    def release(self) -> None:
        """Called instead of `acknowledge` if nothing is collected, as by `source test` and `--dry-run`.

        What the listing has taken, such as messages of a queue, is given back. An error is a warning.
        """

    @property
    def watched_paths(self) -> tuple[str, ...]:
        """Local paths whose changes mean that there is something to collect, for `collect --follow`; none as a rule."""
        return ()

    @property
    def event_columns(self) -> tuple[str, ...]:
        """The fields that its rows have in addition to those of the format; none if it gives bytes."""
        return event_columns(self.event_fields) if self.yields_events else ()
