"""Lines: artifacts of text, split into lines and parsed in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.kernel.feed import BadRow, Batch, Failed, Held
from tailpipe.kernel.intake import Intake, Open
from tailpipe.kernel.progress import Progress
from tailpipe.kernel.task import Fault, Task
from tailpipe.model.format import ENCODINGS, Format
from tailpipe.model.meter import Meter
from tailpipe.model.parsing import LineParser, Lines
from tailpipe.plugin.arrow import chosen
from tailpipe.unpack.text import LineSplitter, Split, TextOptions


class LineFeed:
    """Reads artifacts line by line; lines of several artifacts are parsed together."""

    def __init__(
        self,
        task: Task,
        format: Format,
        parser: LineParser,
        failed: Mapping[int, Fault],
        *,
        fields: Mapping[str, str],
        meter: Meter | None = None,
    ) -> None:
        self._options = TextOptions(
            encoding=format.encoding or ENCODINGS[0],
            start=format.event_start,
            joining=format.joining,
            max_line_bytes=task.limits.line_bytes,
        )
        self._header_prefix = format.header_prefix
        self._date_prefix = format.date_prefix
        self._limits = task.limits
        self._held = Held(parser, fields)
        self._intake = Intake(task, failed, meter)
        self.progress: Sequence[Progress] = self._intake.progress

    def events(self) -> Iterator[Batch | Failed]:
        """Batches of about `batch_bytes`."""
        yield from self._intake.each(self._read, self._held.drop)
        yield from self._held.parse()

    def _read(self, place: int, open_: Open) -> Iterator[Batch]:
        progress = self.progress[place]
        reading = progress.reading
        ordinals = 0
        for member in self._intake.members(place, open_):
            # An archive is read from its beginning again, and what was taken of it is skipped. So is a file in which
            # a header may stand anywhere.
            start = 0 if member.name or self._header_prefix else reading.offset_bytes
            headers: list[str] = []
            splitter = LineSplitter(
                place,
                self._options,
                opening=member.opening,
                offset=start,
                ordinals=reading.offset_rows if start else ordinals,
                take=progress.take,
            )
            size = start
            for chunk in member.chunks(start, progress.take, progress.leap(start, member.opening)):
                size += len(chunk)
                yield from self._hold(progress, splitter.feed(chunk), headers)
            if not member.is_packed:
                progress.reach(size)
            rest = splitter.finish(is_complete=progress.is_closed or bool(member.name))
            yield from self._hold(progress, rest, headers)
            ordinals = progress.committed_ordinals = splitter.ordinals
            progress.unread_bytes = splitter.unread

    def _hold(self, progress: Progress, splits: Sequence[Split], headers: list[str]) -> Iterator[Batch]:
        """Hold what is new. `headers` are the header lines among those that are known."""
        for split in splits:
            place, since = split.lines.artifact, progress.reading.offset_rows
            lines = split.lines
            if since and len(lines.ordinals) and lines.ordinals[0] <= since:
                fresh = lines.ordinals > since
                known = chosen(lines.text, ~fresh)
                headers += self._headers(known)
                del headers[: -self._options.head_lines]
                head = lines.head or known.slice(0, self._options.head_lines).to_pylist()
                lines = Lines(chosen(lines.text, fresh), lines.ordinals[fresh], place, head)
            if headers:
                lines = replace(lines, head=(*lines.head, *headers))
            if len(lines.ordinals):
                self._held.runs.append(lines)
            for line in split.long_lines:
                reason = (
                    f"the line has {line.length:,} bytes, more than {self._options.max_line_bytes:,};"
                    f" its SHA-256 is {line.sha256}"
                )
                if line.ordinal > since:
                    self._held.bad.append(BadRow(place, line.ordinal, reason, None))
            if split.repaired is not None:
                progress.note("lines with invalid bytes", len(split.repaired))
            self._held.size += split.size
            if self._held.size >= self._limits.batch_bytes:
                yield from self._held.parse()

    def _headers(self, lines: pa.Array) -> list[str]:
        if self._header_prefix is None:
            return []
        text = lines.cast(pa.string())
        is_header = pc.starts_with(text, self._header_prefix)
        if self._date_prefix is not None:
            is_header = pc.or_(is_header, pc.starts_with(text, self._date_prefix))
        return list(text.filter(is_header).to_pylist())
