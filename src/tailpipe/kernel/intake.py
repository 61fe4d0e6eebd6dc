"""Intake: open the artifacts of a task in order, and distinguish damage to one from a fault of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import BinaryIO

from tailpipe.errors import ChangedError, PluginError, TailpipeError
from tailpipe.kernel.feed import Batch, Failed
from tailpipe.kernel.progress import Progress
from tailpipe.kernel.task import Fault, Task
from tailpipe.kernel.watch import GONE, watched
from tailpipe.model.artifact import Artifact
from tailpipe.model.meter import Meter
from tailpipe.model.option import secrets_in
from tailpipe.model.redaction import Redactor
from tailpipe.model.source import Content
from tailpipe.unpack.unpack import Member, Unpacking, UnpackLimits

Open = Callable[[Artifact], Content]
"""How a task opens an artifact."""


class Intake:
    """The artifacts of a task, each with how far it was read; `failed` are known to be damaged, and why.

    If artifacts are read `as_files`, each is whole, or it is not there yet.
    """

    def __init__(
        self, task: Task, failed: Mapping[int, Fault], meter: Meter | None = None, *, as_files: bool = False
    ) -> None:
        self.task = task
        self.meter = meter or Meter()
        self.plain: BinaryIO | None = None
        """The stream of the artifact in hand, if it can seek; the bytes of a member that is not packed."""
        self._as_files = as_files
        self.progress = [Progress(reading, fault=failed.get(place)) for place, reading in enumerate(task.readings)]

    def each(
        self, read: Callable[[int, Open], Iterator[Batch]], drop: Callable[[int], None]
    ) -> Iterator[Batch | Failed]:
        """Read each artifact; if one turns out to be damaged, `drop` what is held of it and report it."""
        places = iter(enumerate(self.progress))
        for source, shares in groupby(self.task.shares, key=lambda share: share.source):
            some = islice(places, sum(len(share.readings) for share in shares))
            chosen = [(place, progress) for place, progress in some if progress.fault is None]
            with source.opener([progress.reading.artifact for _, progress in chosen]) as open_:
                for place, progress in chosen:
                    try:
                        yield from read(place, open_)
                        progress.end()
                    except PluginError:
                        raise  # no fault of the artifact
                    except (*GONE, TailpipeError) as problem:
                        if isinstance(problem, TailpipeError):
                            reason = problem.with_hint
                        else:
                            reason = f'cannot read "{progress.reading.artifact.uri}": {problem.strerror or problem}'
                        redact = Redactor(secrets_in(source))
                        progress.fault = Fault(redact(reason), is_changed=isinstance(problem, ChangedError))
                        if not self.task.keeps_damaged:
                            drop(place)
                            yield Failed(place, progress.fault)

    def members(self, place: int, open_: Open) -> Iterator[Member]:
        """The members of an artifact, one after the other."""
        progress = self.progress[place]
        limits, artifact = self.task.limits, progress.reading.artifact
        spill = self.task.spill
        with watched(artifact, self.meter.timed("fetch", open_)) as (stream, watch):
            self.plain = stream if stream.seekable() else None
            watch.is_packed = self._as_files
            unpacking = Unpacking(
                stream,
                artifact.uri,
                limits=UnpackLimits(chunk_bytes=limits.chunk_bytes, max_artifact_bytes=limits.artifact_bytes),
                spool_dir=Path(spill) if spill else None,
                meter=self.meter,
            )
            for member in unpacking:
                watch.is_packed |= member.is_packed
                yield member
            for skipped in unpacking.skipped:
                progress.note(f"skipped {skipped.reason}")
