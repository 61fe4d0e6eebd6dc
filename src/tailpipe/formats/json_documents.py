"""JSON documents: each holds many records, in an array at a path or at the top."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tailpipe.formats.json_fields import JsonFields
from tailpipe.formats.json_guess import Guess, wrong_guesses
from tailpipe.formats.json_in_csv import without_csv
from tailpipe.formats.json_lines import JsonLines
from tailpipe.formats.json_split import Places, Splitter
from tailpipe.formats.json_unnest import unnested
from tailpipe.plugin import Document, DocumentParser, Found, Lines, ParseContext, Parsed, Records, Rejected
from tailpipe.plugin.arrow import PADDING, string_views
from tailpipe.sql.connection import connect

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.formats.records import Json

_FRAME_BYTES = 64 * 1024
"""Each record gets a copy of what stands around it, so that must not be long."""


class JsonDocuments(DocumentParser):
    """Splits documents into the texts of their records as they come, and takes these apart in batches."""

    gives_records = True

    def __init__(self, format: Json, context: ParseContext) -> None:
        self.gathers = format.document is None and format.unnest is None
        self._format = format
        self._path, *_ = format.record_paths or ((),)
        self._choices = () if isinstance(format.records, str) else format.record_paths
        self._limit = context.max_record_bytes
        self._guesses = [Guess(path, self._limit) for path in self._choices or (self._path,)]
        self._lines = JsonLines(JsonFields.of(context, format.json_names), context.noun)
        self._connection = context.connection or connect()

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The fields of the records."""
        return self._lines.parse(runs)

    def read(self, document: Document) -> Iterator[Found]:
        """Split a document as its text comes."""
        is_framed = self._format.document is not None
        splitter = Splitter(self._path, self._limit, keeps_frames=is_framed, choices=self._choices)
        waiting: list[Places] = []
        for text in self._texts(document):
            waiting += self._split_text(splitter, text)
            while waiting and (waiting[0].document < len(splitter.frames) or not is_framed):
                yield from self._found(self._framed(waiting.pop(0), splitter.frames))
        for places in waiting:  # of a document that has no end
            yield from self._found(self._framed(places, splitter.frames))
        yield from _finished(splitter)

    def read_small(self, documents: Sequence[Document]) -> Iterator[tuple[Document, Found]]:
        """Split whole documents, by guess where that is right."""
        texts = [b"".join(self._texts(document)) for document in documents]
        guesses: list[Places | None] = []
        for text in texts:
            found = (guess.places(text) for guess in self._guesses if len(text) <= self._format.max_document_bytes)
            guesses.append(next((places for places in found if places is not None), None))
        views = [_texts_of(places) if places is not None else None for places in guesses]
        guessed = [number for number, view in enumerate(views) if view is not None]
        wrong = wrong_guesses(self._connection, [view for view in views if view is not None])
        for number in (guessed[place] for place in wrong):
            views[number] = None
        for document, text, view in zip(documents, texts, views, strict=True):
            if view is not None:
                yield document, Records(view)
                continue
            splitter = Splitter(self._path, self._limit, choices=self._choices)
            for places in self._split_text(splitter, text):
                yield from ((document, one) for one in self._found(places))
            yield from ((document, one) for one in _finished(splitter))

    def _texts(self, document: Document) -> Iterator[bytes]:
        column = self._format.csv_column
        return document.chunks() if column is None else without_csv(document.chunks(), column, self._limit)

    def _found(self, places: Places) -> Iterator[Found]:
        if places.reason is not None:
            for text in places.texts():
                yield Rejected(places.reason, text.decode("utf-8", "replace"))
        elif self._format.unnest is None:
            yield Records(_texts_of(places))
        else:
            yield from map(Records, unnested(places.texts(), self._format.unnest_paths))

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


def _finished(splitter: Splitter) -> Iterator[Found]:
    rest, problem = splitter.finish()
    if problem is not None:
        yield Rejected(problem, rest.decode("utf-8", "replace"), is_unfinished=True)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _texts_of(places: Places) -> pa.Array:
    data, starts = places.data, places.starts
    has_room = len(starts) > 0 and int(starts[-1]) + len(PADDING) <= len(data)  # a record is rarely that short
    return string_views(data if has_room else data + PADDING, starts, places.ends - starts)
