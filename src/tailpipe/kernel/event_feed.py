"""Events: artifacts that a source yields as events, gathered into batches and parsed."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import cast

from tailpipe.errors import TailpipeError
from tailpipe.kernel.content import events_of
from tailpipe.kernel.events import BadEvent, EventRun, Gathering, bad_events, unescaped, with_events
from tailpipe.kernel.feed import Batch, Failed
from tailpipe.kernel.intake import Intake, Open
from tailpipe.kernel.progress import Progress
from tailpipe.kernel.task import Fault, Task
from tailpipe.model.event import Event
from tailpipe.model.meter import Meter
from tailpipe.model.parsing import LineParser

_FETCHED = 64
_EVENTS = 32_768
"""So many events, or a chunk of bytes, are Python objects at a time; then they are Arrow."""


class EventFeed:
    """Reads artifacts event by event; each message is what a line, or a record, is elsewhere."""

    def __init__(
        self,
        task: Task,
        parser: LineParser,
        failed: Mapping[int, Fault],
        *,
        fields: Mapping[str, str],
        is_json: bool,
        meter: Meter | None = None,
    ) -> None:
        self._is_json = is_json
        self._limits = task.limits
        self._columns = task.source.event_columns
        self._held = _Held(parser, self._columns, fields)
        self._intake = Intake(task, failed, meter)
        self.progress: Sequence[Progress] = self._intake.progress

    def events(self) -> Iterator[Batch | Failed]:
        """Batches of about `batch_bytes`."""
        yield from self._intake.each(self._read, self._held.drop)
        yield from self._held.parse()

    def _read(self, place: int, open_: Open) -> Iterator[Batch]:
        """Read from the beginning, also what was read before: events that are known are left out later."""
        progress, limits = self.progress[place], self._limits
        artifact = progress.reading.artifact
        gathering = Gathering(self._columns, place, artifact.uri, limits.line_bytes)
        total = 0
        for event in self._fetched(events_of(artifact, open_)):
            progress.committed_ordinals += 1
            gathering.add(event, progress.committed_ordinals)
            if gathering.size >= limits.chunk_bytes or len(gathering) >= (limits.batch_events or _EVENTS):
                total += gathering.size
                if total > limits.artifact_bytes:
                    raise TailpipeError(f'"{artifact.uri}" has more than {limits.artifact_bytes:,} bytes of events')
                self._hold(gathering)
                is_batch = self._held.size >= limits.batch_bytes or limits.batch_events is not None
                yield from self._held.parse() if is_batch else ()
        self._hold(gathering)

    def _fetched(self, events: Iterator[Event]) -> Iterator[Event]:
        """The events, taken some at a time, so that the time for it can be measured."""
        with closing(cast("Generator[Event, None, None]", events)):
            portion = min(_FETCHED, self._limits.batch_events or _FETCHED)
            take = self._intake.meter.timed("fetch", lambda: list(islice(events, portion)))
            while some := take():
                yield from some

    def _hold(self, gathering: Gathering) -> None:
        self._held.bad += gathering.bad
        gathering.bad = []
        if len(gathering):
            self._held.size += gathering.size
            run = gathering.run()
            self._held.runs.append(unescaped(run) if self._is_json else run)


@dataclass
class _Held:
    """What is read but not parsed yet: events of several artifacts wait to be parsed together."""

    parser: LineParser
    columns: Sequence[str]
    fields: Mapping[str, str]
    runs: list[EventRun] = field(default_factory=list)
    bad: list[BadEvent] = field(default_factory=list)
    size: int = 0

    def drop(self, artifact: int) -> None:
        """Let go of what is held of an artifact."""
        self.runs = [run for run in self.runs if run.messages.artifact != artifact]
        self.bad = [row for row in self.bad if row.artifact != artifact]

    def parse(self) -> Iterator[Batch]:
        """All of it as batches; nothing is held after."""
        runs, bad, size = self.runs, self.bad, self.size
        self.runs, self.bad, self.size = [], [], 0
        if runs:
            parsed = self.parser.parse([run.messages for run in runs])
            artifacts = {run.messages.artifact for run in runs}
            yield Batch(with_events(parsed, runs, self.columns), size, artifacts)
        if bad:
            fields = {**self.fields, **dict.fromkeys(self.columns, "VARCHAR")}
            yield Batch(bad_events(bad, fields), 0, {row.artifact for row in bad})
