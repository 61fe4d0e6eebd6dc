"""Split JSON documents into the texts of their records as the bytes come, a chunk and a record in memory at most.

It looks at quotes and brackets alone, whole chunks at a time; whether a record is JSON is for the parser to
say. So the complete records of a document that was cut off or damaged are found all the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Places", "Splitter"]

_BLANKS = b" \t\r\n"
_GAP = np.zeros(256, bool)
_GAP[list(b" \t\r\n,")] = True
_SIGNS = bytes(character in b'"[]{}' for character in range(256))
"""A table for `bytes.translate`, which is the fastest way to find them."""
_SCALAR = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[^\s,"\[\]{}]+', re.DOTALL)
"""A value that is neither object nor array; a string that has no end goes up to that of the text."""

_Ints = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Places:
    """Records found in a run of bytes: record n is `data[starts[n]:ends[n]]`."""

    data: bytes
    starts: _Ints
    ends: _Ints
    document: int = 0
    """Number of the document, from 0."""

    def __len__(self) -> int:
        return len(self.starts)

    def texts(self) -> list[bytes]:
        """The records, each as a copy."""
        return [self.data[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]


class Splitter:
    """Splits the documents of one artifact; each call of `feed` gives the records that have become complete.

    With a `path` records are the elements of the array there, without one those of a top-level array, or
    the document itself. Documents may follow one another. A record above `limit` bytes ends the splitting.
    """

    def __init__(self, path: Sequence[str] = (), limit: int = 64 * 1024 * 1024, *, keeps_frames: bool = False) -> None:
        self._path = tuple(path)
        self._limit = limit
        self._rest = b""
        self._seen: tuple[_Ints, _Ints, _Ints] | None = None
        """The structure of the rest, if it was looked at."""
        self._inside = 0
        """How many brackets are open where the rest begins, not counting the array of the records."""
        self._in_array = False
        self._is_open = False
        """Whether a document has begun and not ended."""
        self._keeps_frames = keeps_frames
        self._frame = b""
        self.frames: list[bytes] = []
        """If asked for, what stands around the records of each document that has ended: JSON with an empty array."""
        self.problem: str | None = None

    def feed(self, data: bytes) -> list[Places]:
        """Take more bytes."""
        found: list[Places] = []
        if self.problem is not None:
            return found
        self._rest, self._seen = self._rest + data if self._rest else data, None
        while self.problem is None and self._step(found):
            pass
        if len(self._rest) > self._limit and self.problem is None:
            what = "a record" if self._in_array or not self._path else f'what stands before "{".".join(self._path)}"'
            self.problem = f"{what} is longer than {self._limit:,} bytes"
        return found

    def finish(self) -> bytes:
        """What is left when there is no more: the beginning of a record that was cut off, or nothing.

        `problem` then says what is wrong with the document, if anything is.
        """
        rest = self._rest.strip(_BLANKS + b",")
        if self.problem is None and (self._is_open or rest):
            if not self._is_open or self._in_array:
                self.problem = "the document ends inside a record" if rest else "the document ends early"
            elif self._inside:
                self.problem = "the document ends early"
            else:
                self.problem = f'there is no array "{".".join(self._path)}" in the document'
        return rest if self._in_array or not self._path else b""

    def _step(self, found: list[Places]) -> bool:
        """One step through what is at hand; false if more bytes are needed."""
        if self._in_array:
            return self._records(found)
        if self._inside:
            return self._close()
        if not self._is_open:
            self._advance(len(self._rest) - len(self._rest.lstrip(_BLANKS + b",")), 0)
        if not self._rest:
            return False
        if self._path:
            return self._enter()
        if self._rest.startswith(b"["):
            self._advance(1, 1)
            self._in_array = self._is_open = True
            return True
        return self._single(found)

    def _single(self, found: list[Places]) -> bool:
        """A document that is itself the record."""
        if not self._rest.startswith(b"{"):
            match = _SCALAR.match(self._rest)
            end = match.end() if match else 1
            if end >= len(self._rest):
                return False
        else:
            places, depths, _ = self._look()
            closed = np.flatnonzero(depths == 0)
            if not len(closed):
                return False
            end = int(places[closed[0]]) + 1
        found.append(Places(self._rest[:end], np.zeros(1, np.int64), np.array([end], np.int64)))
        self._advance(end, 0)
        return True

    def _enter(self) -> bool:
        """Find the array at the path, from the beginning of a document."""
        self._is_open = True
        data = self._rest
        places, depths, quotes = self._look()
        after = 0
        for level, key in enumerate(self._path, 1):
            place = _key(data, key, level, after, places, depths, quotes)
            if place is None:
                return self._skip_document(depths)
            after = place
            wanted = b"[" if level == len(self._path) else b"{"
            if data[after : after + 1] != wanted:
                return self._skip_document(depths)
        self._frame = b""
        self._keep(data[: after + 1] + b"]")
        self._advance(after + 1, len(self._path) + 1)
        self._in_array = True
        return True

    def _skip_document(self, depths: _Ints) -> bool:
        """There is no array at the path, so far; that is certain once the document is whole."""
        if np.any(depths == 0) or not self._rest.startswith(b"{"):
            self.problem = f'there is no array "{".".join(self._path)}" in the document'
        return False

    def _records(self, found: list[Places]) -> bool:
        data = self._rest
        view = np.frombuffer(data, np.uint8)
        places, depths, _ = self._look()
        beyond = np.flatnonzero(depths == -1)
        end = len(data)
        if len(beyond):
            end = int(places[beyond[0]])
            places, depths = places[: beyond[0]], depths[: beyond[0]]
        rises = np.diff(depths, prepend=0)
        starts, ends = places[(depths == 1) & (rises == 1)], places[(depths == 0) & (rises == -1)] + 1
        starts, open_at = starts[: len(ends)], int(starts[len(ends)]) if len(starts) > len(ends) else end
        starts, ends = _with_scalars(data, view, starts, ends, open_at, is_last=len(beyond) > 0 or open_at < end)
        if len(starts):
            found.append(Places(data, starts, ends, len(self.frames)))
        if len(beyond):
            self._advance(end + 1, -1)
            self._in_array = False
            self._inside = len(self._path)
            self._is_open = self._inside > 0
            return True
        self._advance(int(ends[-1]) if len(ends) else 0, 0)
        return False

    def _close(self) -> bool:
        """Pass over what follows the array, up to the end of the document."""
        places, depths, quotes = self._look()
        closed = np.flatnonzero(depths == -self._inside)
        if len(closed):
            end = int(places[closed[0]]) + 1
            self._keep(self._rest[:end])
            self.frames += [self._frame] if self._keeps_frames else []
            self._advance(end, -self._inside)
            self._inside, self._is_open = 0, False
            return True
        # A string may go on in the next chunk: what follows its opening quote is looked at again.
        keep = int(quotes[-1]) if len(quotes) % 2 else len(self._rest)
        inside = depths[np.searchsorted(places, keep) - 1] if len(places) and places[0] < keep else 0
        self._inside += int(inside)
        self._keep(self._rest[:keep])
        self._advance(keep, int(inside))
        return False

    def _keep(self, text: bytes) -> None:
        if self._keeps_frames:
            self._frame += text

    def _look(self) -> tuple[_Ints, _Ints, _Ints]:
        if self._seen is None:
            self._seen = _structure(self._rest)
        return self._seen

    def _advance(self, start: int, depth: int) -> None:
        """Let go of what lies before `start`, a place outside strings where `depth` brackets are open."""
        if self._seen is not None and start:
            places, depths, quotes = self._seen
            first, quote = np.searchsorted(places, start), np.searchsorted(quotes, start)
            self._seen = places[first:] - start, depths[first:] - depth, quotes[quote:] - start
        elif depth:
            self._seen = None
        self._rest = self._rest[start:]


def _structure(data: bytes) -> tuple[_Ints, _Ints, _Ints]:
    """The places of brackets outside strings, the depth behind each, and the places of the strings' quotes."""
    view = np.frombuffer(data, np.uint8)
    places = np.flatnonzero(np.frombuffer(data.translate(_SIGNS), np.bool_))
    signs = view[places]
    is_quote = signs == 34
    suspects = np.flatnonzero(is_quote & (view[places - 1] == 92) & (places > 0))
    if len(suspects):
        is_escaped = suspects[_backslashes(view, places[suspects]) % 2 == 1]
        keep = np.ones(len(places), np.bool_)
        keep[is_escaped] = False
        places, signs, is_quote = places[keep], signs[keep], is_quote[keep]
    is_bracket = ~is_quote & (np.cumsum(is_quote) % 2 == 0)
    # Opening and closing brackets differ in one bit.
    depths = np.cumsum(np.where(signs[is_bracket] & 2, 1, -1))
    return places[is_bracket], depths, places[is_quote]


def _backslashes(data: _Bytes, places: _Ints) -> _Ints:
    """How many backslashes stand right before each place; there is one at least."""
    counts = np.ones(len(places), np.int64)
    going = np.arange(len(places))
    while len(going):
        before = places[going] - counts[going] - 1
        going = going[(before >= 0) & (data[np.maximum(before, 0)] == 92)]
        counts[going] += 1
    return counts


def _with_scalars(
    data: bytes, view: _Bytes, starts: _Ints, ends: _Ints, until: int, *, is_last: bool
) -> tuple[_Ints, _Ints]:
    """The records and, where anything but commas stands between them, the bare values there."""
    gap_starts = np.concatenate([[0], ends])
    gap_ends = np.concatenate([starts, [until]])
    lengths = gap_ends - gap_starts
    offsets = np.repeat(gap_starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    clean = _GAP[view[offsets + np.arange(len(offsets))]]
    if clean.all():
        return starts, ends
    dirty = np.unique(np.searchsorted(np.cumsum(lengths), np.flatnonzero(~clean), side="right"))
    found: list[tuple[int, int]] = []
    for number in dirty.tolist():
        spans = (match.span() for match in _SCALAR.finditer(data, int(gap_starts[number]), int(gap_ends[number])))
        # One that touches the end may go on in the next chunk.
        found.extend(span for span in spans if span[1] < until or is_last)
    extra = np.array(found, np.int64).reshape(-1, 2)
    return np.sort(np.concatenate([starts, extra[:, 0]])), np.sort(np.concatenate([ends, extra[:, 1]]))


def _key(data: bytes, key: str, level: int, after: int, places: _Ints, depths: _Ints, quotes: _Ints) -> int | None:
    """Where the value of a key begins, in the object at depth `level` that is open at `after`."""
    token = json.dumps(key, ensure_ascii=False).encode()
    place = data.find(token, after)
    while place >= 0:
        is_opening = np.searchsorted(quotes, place) % 2 == 0
        number = int(np.searchsorted(places, place)) - 1
        first = int(np.searchsorted(places, after))
        if number >= 0 and (depths[first : number + 1] < level).any():
            return None  # the object has ended
        if is_opening and number >= 0 and depths[number] == level:
            rest = re.compile(rb"\s*:\s*").match(data, place + len(token))
            if rest and rest.end() < len(data):
                return rest.end()
        place = data.find(token, place + 1)
    return None
