"""Lines: artifacts of text, split into lines and parsed in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from tailpipe.kernel.batch import LineParser, Lines
from tailpipe.kernel.feed import Batch, Failed
from tailpipe.kernel.intake import Intake
from tailpipe.kernel.progress import Progress
from tailpipe.kernel.task import Task
from tailpipe.kernel.unpack import Member

__all__ = ["LineFeed"]


class LineFeed:
    """Reads artifacts line by line; lines of several artifacts are parsed together."""

    def __init__(self, task: Task, parser: LineParser, failed: Mapping[int, str]) -> None:
        self._task = task
        self._parser = parser
        self._intake = Intake(task, failed)
        self._runs: list[Lines] = []
        self._size = 0
        self.progress: Sequence[Progress] = self._intake.progress

    def events(self) -> Iterator[Batch | Failed]:
        """Batches of about `batch_bytes`."""
        yield from self._intake.events(self._read, self._drop)
        yield from self._parse()

    def _drop(self, place: int) -> None:
        self._runs = [run for run in self._runs if run.artifact != place]

    def _parse(self) -> Iterator[Batch]:
        if self._runs:
            runs, size, self._runs, self._size = self._runs, self._size, [], 0
            yield Batch(self._parser.parse(runs), size, {run.artifact for run in runs})

    def _read(self, place: int, members: Iterator[Member]) -> Iterator[Batch]:
        progress = self._intake.progress[place]
        rest = b""
        number = 0
        for member in members:
            for chunk in member.chunks():
                data = rest + chunk
                end = data.rfind(b"\n") + 1
                rest = data[end:]
                progress.take(data[:end])
                texts = data[:end].decode("utf-8", "replace").split("\n")[:-1]
                yield from self._emit(place, texts, number, end)
                number += len(texts)
        if rest and progress.reading.is_closed:
            progress.take(rest)
            yield from self._emit(place, [rest.decode("utf-8", "replace")], number, len(rest))
            number += 1
        elif rest:
            progress.unread_bytes = len(rest)
        progress.committed_ordinals = number

    def _emit(self, place: int, texts: list[str], number: int, size: int) -> Iterator[Batch]:
        since = self._task.readings[place].since_ordinals
        pairs = [(t, n) for n, t in enumerate(texts, number + 1) if t.strip() and n > since]
        if pairs:
            self._runs.append(
                Lines(pa.array([t for t, _ in pairs], pa.string_view()), np.array([n for _, n in pairs]), place)
            )
        self._size += size
        if self._size >= self._task.limits.batch_bytes:
            yield from self._parse()
