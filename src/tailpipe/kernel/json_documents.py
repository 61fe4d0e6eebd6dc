"""JSON documents: each holds many records, in an array at a path or at the top."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tailpipe.kernel.batch import Lines
from tailpipe.kernel.encoding import PADDING, Decoder, repair
from tailpipe.kernel.feed import BadRow, Batch, Failed, Held
from tailpipe.kernel.intake import Intake
from tailpipe.kernel.json_fields import JsonFields
from tailpipe.kernel.json_guess import Guess, wrong_guesses
from tailpipe.kernel.json_lines import JsonLines
from tailpipe.kernel.json_split import Places, Splitter
from tailpipe.kernel.progress import Progress
from tailpipe.kernel.shape import RAW_BYTES
from tailpipe.kernel.task import Fault, Task
from tailpipe.kernel.text import string_views
from tailpipe.kernel.unpack import Member
from tailpipe.plugin.formats import Json

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.kernel.duck import duckdb

__all__ = ["DocumentFeed"]

_FRAME_BYTES = 64 * 1024
"""Each record gets a copy of what stands around it, so that must not be long."""


@dataclass(frozen=True)
class _Document:
    """A whole document that came in one chunk; it waits to be split together with others."""

    artifact: int
    text: bytes


class DocumentFeed:
    """Splits documents into the texts of their records as they come, and parses these in batches.

    A document is always read from its beginning. If it has grown, the records that were taken are left out.
    """

    def __init__(
        self,
        task: Task,
        format: Json,
        fields: JsonFields,
        failed: Mapping[int, Fault],
        connection: duckdb.DuckDBPyConnection,
    ) -> None:
        self._limits = task.limits
        self._format = format
        self._path = tuple(format.records.split(".")) if format.records else ()
        self._guess = Guess(self._path, task.limits.record_bytes)
        self._connection = connection
        self._whole: list[_Document] = []
        self._held = Held(JsonLines(fields, "record"), fields.types)
        self._intake = Intake(task, failed)
        self.progress: Sequence[Progress] = self._intake.progress

    def events(self) -> Iterator[Batch | Failed]:
        """Batches of records of about `batch_bytes`."""
        yield from self._intake.events(self._read, self._drop)
        yield from self._parse()

    def _drop(self, artifact: int) -> None:
        self._whole = [document for document in self._whole if document.artifact != artifact]
        self._held.drop(artifact)

    def _parse(self) -> Iterator[Batch]:
        self._split_whole()
        yield from self._held.parse()

    def _read(self, place: int, members: Iterator[Member]) -> Iterator[Batch]:
        progress = self.progress[place]
        for member in members:
            texts = self._texts(member, progress)
            first, second = next(texts, b""), next(texts, None)
            is_large = second is not None or len(first) > self._format.max_document_bytes
            if is_large or self._format.document is not None:
                self._split_whole()
                yield from self._split(place, progress, chain((first, second or b""), texts))
                continue
            self._whole.append(_Document(place, first))
            yield from self._grown(len(first))

    def _grown(self, size: int) -> Iterator[Batch]:
        self._held.size += size
        if self._held.size >= self._limits.batch_bytes:
            yield from self._parse()

    def _split(self, place: int, progress: Progress, texts: Iterator[bytes]) -> Iterator[Batch]:
        """Split a document as its text comes."""
        is_framed = self._format.document is not None
        splitter = Splitter(self._path, self._limits.record_bytes, keeps_frames=is_framed)
        waiting: list[Places] = []
        for text in texts:
            waiting += self._split_text(splitter, text)
            while waiting and (waiting[0].document < len(splitter.frames) or not is_framed):
                self._hold(place, progress, self._framed(waiting.pop(0), splitter.frames))
            yield from self._grown(len(text))
        for places in waiting:  # of a document that has no end
            self._hold(place, progress, self._framed(places, splitter.frames))
        self._finish(place, progress, splitter)

    def _split_text(self, splitter: Splitter, text: bytes) -> Iterator[Places]:
        """What a text adds; a document that gets too long with it is refused from there on."""
        limit = self._format.max_document_bytes
        start = 0
        while start < len(text):
            room = limit - splitter.open_bytes
            yield from splitter.feed(text[start : start + room] if start or room < len(text) else text)
            start += room
            if splitter.open_bytes >= limit and start < len(text):
                yield from splitter.refuse(f"the document has more than {limit:,} bytes")

    def _split_whole(self) -> None:
        """Split all documents that wait, by guess where that is right."""
        documents, self._whole = self._whole, []
        guesses = [self._guess.places(document.text) for document in documents]
        views = [_texts_of(places) if places is not None else None for places in guesses]
        guessed = [number for number, view in enumerate(views) if view is not None]
        wrong = wrong_guesses(self._connection, [view for view in views if view is not None])
        for number in (guessed[place] for place in wrong):
            views[number] = None
        for document, view in zip(documents, views, strict=True):
            place, progress = document.artifact, self.progress[document.artifact]
            if view is not None:
                self._hold_texts(place, progress, view)
                continue
            splitter = Splitter(self._path, self._limits.record_bytes)
            for places in splitter.feed(document.text):
                self._hold(place, progress, places)
            self._finish(place, progress, splitter)

    def _texts(self, member: Member, progress: Progress) -> Iterator[bytes]:
        """The member as UTF-8, cut between characters and repaired."""
        decoder = Decoder(self._format.encoding, member.opening)
        mark, rest = decoder.mark_bytes, b""
        for chunk in member.chunks():
            progress.take(chunk)
            text = decoder.decode(chunk[mark:] if mark else chunk)
            mark = 0
            text = rest + text if rest else text
            cut = _boundary(text)
            rest = text[cut:]
            yield self._repaired(text[:cut] if rest else text, progress)
        if not member.is_packed:
            progress.reach(progress.committed_bytes)
        if last := rest + decoder.flush():
            yield self._repaired(last, progress)

    def _repaired(self, text: bytes, progress: Progress) -> bytes:
        whole = repair(text)
        if whole is not text:
            wrong = "\ufffd".encode()
            progress.note("bytes that are no text", whole.count(wrong) - text.count(wrong))
        return whole

    def _framed(self, places: Places, frames: Sequence[bytes]) -> Places:
        """The records, each with the document around it as one more key; null if that is very long, or no JSON."""
        if self._format.document is None or places.reason is not None:
            return places
        frame = frames[places.document] if places.document < len(frames) else b"null"
        key = json.dumps(self._format.document, ensure_ascii=False).encode()
        first = b"{" + key + b":" + (frame if len(frame) <= _FRAME_BYTES and _is_json(frame) else b"null")
        texts = []
        for text in places.texts():
            is_object = text.startswith(b"{")
            comma = b"" if text[1:].lstrip().startswith(b"}") else b","
            texts.append(first + comma + text[1:] if is_object else text)
        ends = np.cumsum([len(text) for text in texts])
        return Places(b"".join(texts), np.concatenate([[0], ends[:-1]]), ends, places.document)

    def _hold(self, place: int, progress: Progress, places: Places) -> None:
        if places.reason is None:
            self._hold_texts(place, progress, _texts_of(places))
            return
        for text in places.texts():
            self._reject(place, progress, places.reason, text)

    def _hold_texts(self, place: int, progress: Progress, texts: pa.Array) -> None:
        first = progress.committed_ordinals + 1
        progress.committed_ordinals += len(texts)
        ordinals = np.arange(first, first + len(texts), dtype=np.int64)
        skip = min(len(texts), max(0, progress.reading.since_ordinals - first + 1))
        if skip < len(texts):
            self._held.runs.append(Lines(texts.slice(skip), ordinals[skip:], place))

    def _finish(self, place: int, progress: Progress, splitter: Splitter) -> None:
        rest, problem = splitter.finish()
        if problem is None:
            return
        if not progress.is_closed:
            progress.unread_bytes = max(1, len(rest))
            return
        self._reject(place, progress, problem, rest)

    def _reject(self, place: int, progress: Progress, reason: str, text: bytes) -> None:
        progress.committed_ordinals += 1
        if progress.committed_ordinals > progress.reading.since_ordinals:
            raw = text[:RAW_BYTES].decode("utf-8", "replace")
            self._held.bad.append(BadRow(place, progress.committed_ordinals, reason, raw))


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _texts_of(places: Places) -> pa.Array:
    data, starts = places.data, places.starts
    has_room = len(starts) > 0 and int(starts[-1]) + len(PADDING) <= len(data)  # a record is rarely that short
    return string_views(data if has_room else data + PADDING, starts, places.ends - starts)


def _boundary(text: bytes) -> int:
    """Where the last character begins, if it may go on in the next chunk; else the end."""
    for back in range(1, min(4, len(text)) + 1):
        byte = text[-back]
        if byte < 0x80:
            return len(text)
        if byte >= 0xC0:
            return len(text) - back
    return len(text)
