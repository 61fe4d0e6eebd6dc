"""Text: from decompressed chunks to lines, or to events of many lines, without copying one by one.

    splitter = LineSplitter(0, TextOptions(), opening=member.opening)
    for chunk in member.chunks():
        for split in splitter.feed(chunk):
            split.lines
    for split in splitter.finish(is_complete=True):
        split.lines

A line ends with a line feed; a carriage return before it belongs to the end, any other is part of the
line. Control characters are part of it too, and so is NUL: DuckDB, Arrow and parquet keep it, and JSON with
a NUL in it is rejected by the parser like other bad JSON.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailpipe.frozen import frozen
from tailpipe.model.format import Joining
from tailpipe.model.parsing import Lines
from tailpipe.plugin.arrow import PADDING, string_views
from tailpipe.unpack.encoding import Decoder, repair, replacements
from tailpipe.unpack.joining import join_events
from tailpipe.unpack.multiline import check_start, event_starts


@frozen
class TextOptions:
    """How text is read. `start` is the pattern that begins an event, or `joining` says how lines are joined to events
    that may be mixed; without them each line is one."""

    encoding: str = "utf-8"
    start: str | None = None
    joining: Joining | None = None
    max_line_bytes: int = 16 * 1024 * 1024
    """A longer line is rejected; an event that would be longer is cut between two lines."""
    head_lines: int = 100
    """How many of the first lines go along with later runs."""


@frozen
class LongLine:
    """A line that is longer than allowed: a row that is rejected. It was never held in memory as a whole.

    `length` and `sha256` are those of the line in UTF-8, without its line feed.
    """

    ordinal: int
    length: int
    sha256: str


@frozen
class Split:
    """The lines of a text, and the repairs made to them."""

    lines: Lines
    size: int
    """How many bytes of text these lines were, line ends and blank lines included."""
    long_lines: tuple[LongLine, ...] = ()
    repaired: NDArray[np.int64] | None = None
    """Ordinals of the lines in which bytes were replaced, if there are any."""


class LineSplitter:
    """Splits one text: a whole artifact, or one member of an archive.

    `opening` is how the text begins. To go on where an earlier reading stopped, `offset` is how many
    bytes of the text were taken then, and `ordinals` how many lines; the first chunk then begins there.
    For the second member of an archive, `ordinals` is what the first has come to. `take` gets every
    byte that is done with, in order.

    However the text is cut into chunks, the lines are the same. After each call, `ordinals` and `taken`
    say how far the text is done with, and `unread` how many bytes were fed beyond that: the line or the
    event that has no end yet. Only a line that is too long is done with as it comes.
    """

    def __init__(
        self,
        artifact: int,
        options: TextOptions,
        *,
        opening: bytes,
        offset: int = 0,
        ordinals: int = 0,
        take: Callable[[memoryview], None] | None = None,
    ) -> None:
        if options.start is not None:
            check_start(options.start)
        self.ordinals = ordinals
        self.taken = 0
        self.unread = 0
        self._artifact = artifact
        self._options = options
        self._take = take
        self._decoder = Decoder(options.encoding, opening)
        self._mark_left = max(0, self._decoder.mark_bytes - offset)
        self._head = _head(opening, options)
        self._is_begun = offset > 0
        self._queue: deque[memoryview] = deque()
        self._event = b""
        """Whole lines of an event that may go on."""
        self._tail: list[bytes] = []
        """Pieces of a line that has no end yet."""
        self._tail_size = 0
        self._long: _Long | None = None

    def feed(self, chunk: bytes) -> list[Split]:
        """The lines or events that end in this chunk."""
        self._queue.append(memoryview(chunk))
        self.unread += len(chunk)
        mark = min(self._mark_left, len(chunk))
        self._mark_left -= mark
        splits = self._split(self._decoder.decode(chunk[mark:] if mark else chunk))
        self._settle()
        return splits

    def finish(self, *, is_complete: bool) -> list[Split]:
        """The rest of the text. If it is not complete, what has no end yet is left unread."""
        splits = self._split(self._decoder.flush()) if is_complete else []
        if self._long is not None:
            splits.append(self._end_long(self._long))
        if is_complete and (self._event or self._tail_size):
            splits += self._cut(b"\n" if self._tail_size else b"", is_last=True)
        self._settle()
        return splits

    def _settle(self) -> None:
        """Hand on the bytes of all that is done with."""
        waiting = (self._event, *self._tail)
        left = len(self._decoder.held) + sum(self._decoder.raw_length(text) for text in waiting)
        done = self.unread - left
        self.taken += done
        self.unread = left
        while done:
            piece = self._queue.popleft()
            if len(piece) > done:
                self._queue.appendleft(piece[done:])
                piece = piece[:done]
            done -= len(piece)
            if self._take is not None:
                self._take(piece)

    def _split(self, text: bytes) -> list[Split]:
        splits: list[Split] = []
        if self._long is not None:
            end = text.find(b"\n")
            self._long.add(text if end < 0 else text[:end])
            if end < 0:
                return splits
            splits.append(self._end_long(self._long))
            text = text[end + 1 :]
        cut = text.rfind(b"\n") + 1
        if cut:
            splits += self._cut(memoryview(text)[:cut], is_last=False)
            text = text[cut:]
        if text:
            self._tail.append(text)
            self._tail_size += len(text)
        if self._tail_size > self._options.max_line_bytes:
            splits += self._begin_long()
        return splits

    def _begin_long(self) -> list[Split]:
        """The line that has no end yet is too long: close the event before it, and let it go by."""
        tail, self._tail, self._tail_size = self._tail, [], 0
        splits = self._cut(b"", is_last=True) if self._event else []
        self._long = _Long()
        for piece in tail:
            self._long.add(piece)
        return splits

    def _end_long(self, long: _Long) -> Split:
        self._long = None
        self.ordinals += 1
        none = self._lines(pa.array([], pa.string_view()), np.empty(0, np.int64))
        return Split(none, long.length, (LongLine(self.ordinals, long.length, long.digest.hexdigest()),))

    def _cut(self, text: bytes | memoryview, *, is_last: bool) -> list[Split]:
        """What is waiting and the whole lines of `text` after it; the last event waits unless it `is_last`."""
        known = self._event.count(b"\n")
        buffer = b"".join((self._event, *self._tail, text, PADDING))
        self._event, self._tail, self._tail_size = b"", [], 0
        page = _Page(buffer, self._options)
        if self._options.joining is not None:
            upto, first, texts = page.joined(self._options.joining, is_last=is_last)
        else:
            upto, first, ends = page.count, np.arange(page.count), page.ends
            if self._options.start is not None:
                upto, first, ends = page.events(self._options.start, known, is_last=is_last)
            is_row = (ends > page.starts[first]) & ~page.is_long[first]
            if not is_row.all():
                first, ends = first[is_row], ends[is_row]
            texts = string_views(page.text, page.starts[first], ends - page.starts[first])
        size = int(page.feeds[upto - 1]) + 1 if upto else 0
        self._event = buffer[size : len(buffer) - len(PADDING)]
        lines = self._lines(texts, first + (self.ordinals + 1))
        long_lines = tuple(self._long_line(page, int(line)) for line in np.flatnonzero(page.is_long[:upto]))
        repaired = page.repaired(upto) + (self.ordinals + 1)
        self.ordinals += upto
        if not len(first) and not long_lines:
            return []
        self._is_begun = True
        return [Split(lines, size, long_lines, repaired if len(repaired) else None)]

    def _long_line(self, page: _Page, line: int) -> LongLine:
        data = page.raw_line(line)
        return LongLine(self.ordinals + line + 1, len(data), hashlib.sha256(data).hexdigest())

    def _lines(self, text: pa.Array, ordinals: NDArray[np.int64]) -> Lines:
        return Lines(text, ordinals, self._artifact, self._head if self._is_begun else ())


class _Long:
    """A line that goes by because it is too long."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.length = 0

    def add(self, piece: bytes) -> None:
        self.digest.update(piece)
        self.length += len(piece)


class _Page:
    """The whole lines in a buffer: where they begin and end in `text`, which is the buffer repaired.

    `feeds` are the places of the line feeds in the buffer itself.
    """

    def __init__(self, buffer: bytes, options: TextOptions) -> None:
        self._buffer = buffer
        self._repaired = repair(buffer)
        self._options = options
        self.feeds = _feeds(buffer)
        self.count = len(self.feeds)
        self.text = self._repaired
        is_joined = options.start is not None or options.joining is not None
        if is_joined:
            self.text = self.text.replace(b"\r\n", b"\n")
        self.ends = self.feeds if self.text is buffer else _feeds(self.text)
        self.starts = _after(self.ends)
        if not is_joined and b"\r" in self.text:
            data = np.frombuffer(self.text, np.uint8)
            self.ends = self.ends - ((data[self.ends - 1] == ord("\r")) & (self.ends > self.starts))
        self.is_long = self.feeds - _after(self.feeds) > options.max_line_bytes

    def events(self, pattern: str, known: int, *, is_last: bool) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """How many lines are done with, the first line of each event among them, and where its text ends."""
        lines = string_views(self.text, self.starts, self.ends - self.starts)
        limit = self._options.max_line_bytes
        starts, is_open = event_starts(lines, self.ends, self.is_long, pattern=pattern, known=known, max_bytes=limit)
        first = np.flatnonzero(starts)
        upto = self.count
        if is_open and not is_last:
            upto, first = int(first[-1]), first[:-1]
        places = np.arange(upto)
        last_full = np.maximum.accumulate(np.where(self.ends[:upto] > self.starts[:upto], places, 0))
        last = np.maximum(last_full[np.append(first[1:], upto) - 1] if upto else first, first)
        return upto, first, self.ends[last]

    def joined(self, joining: Joining, *, is_last: bool) -> tuple[int, NDArray[np.int64], pa.Array]:
        """How many lines are done with, the first line of each event among them, and the events' texts."""
        lines = string_views(self.text, self.starts, self.ends - self.starts)
        limit = self._options.max_line_bytes
        found = join_events(
            lines, self.starts, self.ends, self.is_long, joining=joining, max_bytes=limit, is_last=is_last
        )
        first = np.array([event[0] for event in found.events], np.int64)
        last = np.array([event[-1] for event in found.events], np.int64)
        counts = np.array([len(event) for event in found.events], np.int64)
        if (last - first + 1 == counts).all():
            begins = self.starts[first]
            return found.upto, first, string_views(self.text, begins, self.ends[last] - begins)
        pieces = [b"\n".join(self.text[self.starts[line] : self.ends[line]] for line in one) for one in found.events]
        lengths = np.array([len(piece) for piece in pieces], np.int64)
        begins = np.cumsum(lengths) - lengths
        return found.upto, first, string_views(b"".join((*pieces, PADDING)), begins, lengths)

    def repaired(self, upto: int) -> NDArray[np.int64]:
        """The lines up to there in which bytes were replaced, but not those too long."""
        if self._repaired is self._buffer:
            return np.empty(0, np.int64)
        after = replacements(self._repaired, _feeds(self._repaired))
        is_other = after != replacements(self._buffer, self.feeds)
        return np.flatnonzero((is_other & ~self.is_long)[:upto])

    def raw_line(self, line: int) -> bytes:
        """A line as it was, without its line feed."""
        return self._buffer[int(self.feeds[line - 1]) + 1 if line else 0 : int(self.feeds[line])]


def _feeds(text: bytes) -> NDArray[np.int64]:
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))


def _after(feeds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the lines begin."""
    starts = np.zeros(len(feeds), np.int64)
    starts[1:] = feeds[:-1] + 1
    return starts


def _head(opening: bytes, options: TextOptions) -> tuple[str, ...]:
    """The first lines, as far as the opening has the whole of them; blank ones are among them."""
    decoder = Decoder(options.encoding, opening)
    text = repair(decoder.decode(opening[decoder.mark_bytes :])).decode()
    lines = text.split("\n", options.head_lines)
    return tuple(line.removesuffix("\r") for line in lines[:-1] or lines)
