"""Sources: the mechanisms that get logs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import BinaryIO, ClassVar

from tailpipe.model.artifact import Artifact
from tailpipe.model.format import Format
from tailpipe.model.names import check_partition_name
from tailpipe.model.option import Declared, label, option
from tailpipe.model.window import Window

__all__ = ["Source"]


class Source(Declared, ABC):
    """Lists artifacts and gives the bytes of one; a subclass is a type of source.

    It transfers and retries, and never changes the data. A source is pickled to the workers that read.
    """

    type: ClassVar[str] = ""
    lists_all: ClassVar[bool] = False
    """Whether listing is so cheap that every run may look at all days, and so finds each late artifact."""
    envelope: ClassVar[bool] = False
    """Whether its lines are envelopes around the events of an API; the format reads the messages in them."""
    name: str = label(
        "Name of the source inside its partition; its type if not given.", default="", check=check_partition_name
    )
    format: Format | None = option("Format of the logs, if not the table's own.", default=None)

    @abstractmethod
    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """What there is to collect for the window; an artifact without a day is always listed."""

    @abstractmethod
    def open(self, artifact: Artifact) -> BinaryIO:
        """The artifact's bytes, as they lie at the source."""
