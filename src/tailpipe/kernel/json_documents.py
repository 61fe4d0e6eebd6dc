"""JSON documents: each holds many records, in an array at a path or at the top."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from tailpipe.kernel.batch import Lines, Parsed
from tailpipe.kernel.encoding import PADDING, Decoder, repair, to_utf8
from tailpipe.kernel.feed import BadRow, Batch, Failed, bad_rows
from tailpipe.kernel.intake import Intake
from tailpipe.kernel.json_fields import JsonFields
from tailpipe.kernel.json_lines import JsonLines, record_sql
from tailpipe.kernel.json_split import Places, Splitter
from tailpipe.kernel.progress import Progress
from tailpipe.kernel.sql import literal
from tailpipe.kernel.task import Task
from tailpipe.kernel.text import _views
from tailpipe.kernel.unpack import Member
from tailpipe.plugin.formats import Json

__all__ = ["DocumentFeed"]


@dataclass(frozen=True)
class _Document:
    artifact: int
    since: int
    text: bytes


class DocumentFeed:
    """Reads documents whole, many to a query; long ones, and those that are damaged, record by record.

    A document is always read from its beginning. If it has grown, the records that were taken are left out.
    """

    def __init__(self, task: Task, format: Json, fields: JsonFields, failed: Mapping[int, str]) -> None:
        self._limits = task.limits
        self._format = format
        self._fields = fields
        self._path = tuple(format.records.split(".")) if format.records else ()
        self._parser = JsonLines(fields, "record")
        self._intake = Intake(task, failed)
        self._documents: list[_Document] = []
        self._runs: list[Lines] = []
        self._bad: list[BadRow] = []
        self._size = 0
        self.progress: Sequence[Progress] = self._intake.progress

    def events(self) -> Iterator[Batch | Failed]:
        """Batches of whole documents, or of records."""
        yield from self._intake.events(self._read, self._drop)
        yield from self._parse()

    def _drop(self, place: int) -> None:
        self._documents = [one for one in self._documents if one.artifact != place]
        self._runs = [run for run in self._runs if run.artifact != place]
        self._bad = [row for row in self._bad if row.artifact != place]

    def _parse(self) -> Iterator[Batch]:
        documents, runs, bad, size = self._documents, self._runs, self._bad, self._size
        self._documents, self._runs, self._bad, self._size = [], [], [], 0
        if documents:
            yield self._whole(documents, size)
        if runs:
            yield Batch(self._parser.parse(runs), size, {run.artifact for run in runs})
        if bad:
            yield bad_rows(bad)

    # Whole documents

    def _read(self, place: int, members: Iterator[Member]) -> Iterator[Batch]:
        progress = self.progress[place]
        limit = min(self._limits.whole_document_bytes, self._format.max_document_bytes)
        for number, member in enumerate(members):
            data, chunks = b"", member.chunks()
            for chunk in chunks:
                progress.take(chunk)
                data = data + chunk if data else chunk
                if len(data) > limit:
                    break
            if number or member.name or len(data) > limit:
                rest = _noted(chunks, progress)
                yield from self._stream(place, chain([data], rest), member.opening)
                continue
            text, replaced = to_utf8(data, self._format.encoding)
            progress.note("bytes that are no text", replaced)
            if text.strip():
                self._documents.append(_Document(place, progress.reading.since_ordinals, text))
                self._size += len(text)
            if self._size >= self._limits.batch_bytes:
                yield from self._parse()

    def _whole(self, documents: list[_Document], size: int) -> Batch:
        table = pa.table(
            {
                "_artifact": pa.array([one.artifact for one in documents], pa.int32()),
                "_since": pa.array([one.since for one in documents], pa.int64()),
                "_document": pa.array([one.text for one in documents], pa.large_binary()).cast(pa.large_string()),
            }
        )
        lists = f"SELECT _artifact, _since, {self._list()} AS _list FROM documents"
        records = (
            "SELECT _artifact, unnest(range(1, len(_list) + 1)) AS _ordinal, unnest(_list::VARCHAR[]) AS _raw"
            f", _since FROM ({lists})"
        )
        if any(one.since for one in documents):
            records = f"SELECT _artifact, _ordinal, _raw FROM ({records}) WHERE _ordinal > _since"
        sql, misfits = record_sql(self._fields, records, "record")
        parsed = Parsed(sql, {"documents": table}, self._fields.types, None, misfits, records)
        artifacts = {one.artifact for one in documents}

        def rescue(seen: Mapping[int, int]) -> Sequence[Parsed]:
            return self._rescued(documents, seen)

        return Batch(parsed, size, artifacts, rescue)

    def _list(self) -> str:
        if not self._path:
            single = "CASE WHEN TRY(json_type(_document)) = 'OBJECT' THEN [_document] END"
            return f"coalesce(TRY(from_json(_document, '[\"JSON\"]'))::VARCHAR[], {single})"
        shape: object = ["JSON"]
        for key in reversed(self._path):
            shape = {key: shape}
        made = f"TRY(from_json(_document, {literal(json.dumps(shape, ensure_ascii=False))}))"
        for key in self._path:
            made = f"struct_extract({made}, {literal(key)})"
        return made

    def _rescued(self, documents: list[_Document], seen: Mapping[int, int]) -> Sequence[Parsed]:
        """Documents that gave no rows are looked at again: they may be empty, damaged, or long known."""
        for one in documents:
            progress = self.progress[one.artifact]
            progress.committed_ordinals = max(one.since, seen.get(one.artifact, 0))
            if one.artifact not in seen:
                progress.committed_ordinals = 0
                for _ in self._stream(one.artifact, iter([one.text]), b"", is_text=True):
                    pass
        parsed = [self._parser.parse(self._runs)] if self._runs else []
        parsed += [bad_rows(self._bad).parsed] if self._bad else []
        self._runs, self._bad = [], []
        return parsed

    # Records

    def _stream(self, place: int, chunks: Iterator[bytes], opening: bytes, *, is_text: bool = False) -> Iterator[Batch]:
        progress = self.progress[place]
        splitter = Splitter(self._path, self._limits.whole_document_bytes)
        total = 0
        for text in chunks if is_text else _texts(chunks, Decoder(self._format.encoding, opening)):
            total += len(text)
            if total > self._format.max_document_bytes:
                splitter.problem = f"the document has more than {self._format.max_document_bytes:,} bytes"
                break
            for places in splitter.feed(text):
                self._hold(progress, place, places)
            self._size += 0 if is_text else len(text)
            if not is_text and self._size >= self._limits.batch_bytes:
                yield from self._parse()
        rest = splitter.finish()
        if splitter.problem is None:
            return
        if not progress.reading.is_closed:
            progress.unread_bytes = max(1, len(rest))
            return
        progress.committed_ordinals += 1
        if progress.committed_ordinals > progress.reading.since_ordinals:
            raw = rest[:4096].decode("utf-8", "replace")
            self._bad.append(BadRow(place, progress.committed_ordinals, splitter.problem, raw))

    def _hold(self, progress: Progress, place: int, places: Places) -> None:
        first = progress.committed_ordinals + 1
        progress.committed_ordinals += len(places)
        ordinals = np.arange(first, first + len(places), dtype=np.int64)
        skip = min(len(places), max(0, progress.reading.since_ordinals - first + 1))
        if skip < len(places):
            text = _views(places.data + PADDING, places.starts[skip:], (places.ends - places.starts)[skip:])
            self._runs.append(Lines(text, ordinals[skip:], place))


def _noted(chunks: Iterator[bytes], progress: Progress) -> Iterator[bytes]:
    for chunk in chunks:
        progress.take(chunk)
        yield chunk


def _texts(chunks: Iterator[bytes], decoder: Decoder) -> Iterator[bytes]:
    """Chunks as UTF-8, cut between characters and repaired."""
    mark, rest = decoder.mark_bytes, b""
    for chunk in chunks:
        text = rest + decoder.decode(chunk[mark:])
        mark = 0
        cut = _boundary(text)
        rest = text[cut:]
        yield repair(text[:cut])
    if last := rest + decoder.flush():
        yield repair(last)


def _boundary(text: bytes) -> int:
    """Where the last character begins, if it may go on in the next chunk; else the end."""
    for back in range(1, min(4, len(text)) + 1):
        byte = text[-back]
        if byte < 0x80:
            return len(text)
        if byte >= 0xC0:
            return len(text) - back
    return len(text)
