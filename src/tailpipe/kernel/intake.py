"""Intake: open the artifacts of a task one after the other, and tell damage to one from a fault of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from tailpipe.errors import TailpipeError
from tailpipe.kernel.feed import Batch, Failed
from tailpipe.kernel.progress import Progress
from tailpipe.kernel.task import Task
from tailpipe.kernel.unpack import Member, Unpacking, UnpackLimits
from tailpipe.model.artifact import Artifact

__all__ = ["GONE", "Intake"]

GONE = (FileNotFoundError, PermissionError, IsADirectoryError)
"""What may happen to one artifact while all is well with the machine; any other OSError is a fault, and raises."""


class Intake:
    """The artifacts of a task, each with how far it was read; `failed` are known to be damaged, and why."""

    def __init__(self, task: Task, failed: Mapping[int, str]) -> None:
        self.task = task
        self.progress = [Progress(reading, error=failed.get(place)) for place, reading in enumerate(task.readings)]

    def events(
        self, read: Callable[[int, Iterator[Member]], Iterator[Batch]], drop: Callable[[int], None]
    ) -> Iterator[Batch | Failed]:
        """Read each artifact; if one turns out to be damaged, `drop` what is held of it and say so."""
        sound = [progress.reading.artifact for progress in self.progress if progress.error is None]
        with self.task.source.opener(sound) as open_:
            for place, progress in enumerate(self.progress):
                if progress.error is not None:
                    continue
                try:
                    yield from read(place, self._members(progress, open_))
                    progress.end()
                except (*GONE, TailpipeError) as problem:
                    uri, is_told = progress.reading.artifact.uri, isinstance(problem, TailpipeError)
                    reason = getattr(problem, "strerror", None) or str(problem)
                    progress.error = str(problem) if is_told else f'cannot read "{uri}": {reason}'
                    drop(place)
                    yield Failed(place)

    def _members(self, progress: Progress, open_: Callable[[Artifact], BinaryIO]) -> Iterator[Member]:
        limits, artifact = self.task.limits, progress.reading.artifact
        spill = self.task.staging.spill if self.task.staging else None
        with open_(artifact) as stream:
            unpacking = Unpacking(
                stream,
                artifact.uri,
                limits=UnpackLimits(chunk_bytes=limits.chunk_bytes, max_artifact_bytes=limits.artifact_bytes),
                spool_dir=Path(spill) if spill else None,
            )
            yield from unpacking
            for skipped in unpacking.skipped:
                progress.note(f"left out, {skipped.reason}")
