"""Feeds: the artifacts of a task as batches of parsed rows, whatever their format."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tailpipe.kernel.batch import Parsed
from tailpipe.kernel.progress import Progress

__all__ = ["Batch", "Failed", "Feed"]


@dataclass(frozen=True)
class Batch:
    """Rows that are shaped by one query; `size` is about how many bytes of text they had.

    `rescue` is asked for more rows once it is known which artifacts gave any: a damaged document gives none
    at first.
    """

    parsed: Parsed
    size: int
    artifacts: Collection[int]
    rescue: Callable[[Collection[int]], Parsed | None] | None = None


@dataclass(frozen=True)
class Failed:
    """An artifact could not be read to its end: the rows that it gave before must not be kept."""

    artifact: int


class Feed(Protocol):
    """Reads the artifacts of a task, in their order."""

    progress: Sequence[Progress]

    def events(self) -> Iterator[Batch | Failed]:
        """Batches, and failures between them."""
        ...
