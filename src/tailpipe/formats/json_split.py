"""Split JSON documents into the texts of their records as the bytes come, a chunk and a record in memory at most.

It looks at quotes and brackets alone; whether a record is JSON is for the parser to say. So the complete records
of a document that was cut off or damaged are found all the same. A document that holds no records costs itself
only: the splitter goes on behind its end. Where a document was cut off, it goes on at the next line that begins
with a bracket, if JSON allows none there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tailpipe.formats.json_places import Places, complete, end_of_values, is_array, match_end, values_at
from tailpipe.formats.json_structure import BLANKS, SCALAR, Structure, clean_run, structure, with_scalars
from tailpipe.formats.json_target import JsonTarget

__all__ = ["Places", "Splitter"]

_SKIPPED = re.compile(rb"[ \t\r\n,]*")
_STRAY = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[^\[{\n]+')
"""Text between documents: a string, or the rest of a line up to the next document."""
_OPENING = re.compile(rb'\{[ \t\r\n]*"(?:[^"\\]|\\.)*"')
_CUT_OFF = "the document is cut off: another one begins before its end"
_AT_ONCE = 65_536
_SHOWN_BYTES = 64 * 1024
"""How much text of what is no record is handed on; a rejected row holds less."""


class Splitter:
    """Splits the documents of one artifact; each call of `feed` gives the records that have become complete.

    With a `path` records are the elements of the array there, without one those of a top-level array, or
    the document itself. With `choices` in its place, the first of these paths that is there counts: the array there
    has the records, or an object there is one; a document that has none of them is itself a record. Documents may
    follow one another or, with a path, be the elements of an array. What is longer than `limit` bytes without being a
    record is passed over.
    """

    def __init__(
        self,
        path: Sequence[str] = (),
        limit: int = 64 * 1024 * 1024,
        *,
        keeps_frames: bool = False,
        choices: Sequence[Sequence[str]] = (),
    ) -> None:
        self._target = JsonTarget(path, choices)
        self._path = self._target.paths[0]
        """The path of the document that is being read."""
        self._limit = limit
        self._data = b""
        self._at = 0
        """All before it is done. It lies outside strings: between documents, between records, or as `_inside` says."""
        self._seen: Structure | None = None
        self._passed = 0
        """How many bytes came before the data."""
        self._is_wrapped = False
        """Whether the documents are the elements of an array."""
        self._in_array = False
        self._has_elements = False
        self._opening = b""
        """How the document with the array begins, up to its first key."""
        self._inside = 0
        """How many brackets have to be closed until what is passed over has ended."""
        self._is_tail = False
        """Whether that is what follows the records of a document, and not something that was given up."""
        self._keeps_frames = keeps_frames
        self._frame = b""
        self.frames: list[bytes] = []
        """If asked for, what stands around the records of each document that has ended: JSON with an empty array."""
        self.begun = 0
        """Where the document that is being read begins, in bytes; or how much was read, if there is none."""

    def feed(self, data: bytes) -> list[Places]:
        """Take more bytes."""
        found: list[Places] = []
        self._forward(self._at, data)
        while self._step(found):
            pass
        if len(self._data) - self._at > self._limit and not self._inside:
            what = "a record" if self._in_array or not self._path else f"what stands before {self._target.name}"
            found += self._give_up(f"{what} is longer than {self._limit:,} bytes")
        return found

    def refuse(self, reason: str) -> list[Places]:
        """Give up the document that is being read: pass over the rest of it."""
        if self._inside and not self._is_tail:
            return []  # it was given up before
        depth = len(self._path) + 1 if self._in_array else self._inside
        self._frames_end()
        self._in_array = False
        return self._give_up(reason, depth)

    def finish(self) -> tuple[bytes, str | None]:
        """What is left when there is no more, and what is wrong with it: None if nothing is.

        It is the beginning of a record that was cut off, or nothing if the document has ended behind one.
        """
        rest = self._data[self._at :].strip(BLANKS + b",")
        if self._inside:
            return rest, "the document ends early" if self._is_tail else None
        if self._in_array or (rest and not self._path):
            return rest, "the document ends inside a record" if rest else "the document ends early"
        if rest.startswith(b"{") or (self._is_wrapped and not rest):
            return rest, "the document ends early"
        return rest, self._target.missing if rest else None

    @property
    def open_bytes(self) -> int:
        """How long the document that is being read is so far; 0 if there is none, or it was given up."""
        is_open = self._in_array or self._is_tail or self._at < len(self._data)
        is_given_up = self._inside > 0 and not self._is_tail
        return self._passed + len(self._data) - self.begun if is_open and not is_given_up else 0

    # Steps: each gives false if more bytes are needed

    def _step(self, found: list[Places]) -> bool:
        if self._inside:
            return self._pass(found)
        if self._in_array:
            return self._records(found)
        self._at = match_end(_SKIPPED, self._data, self._at)
        self.begun = self._passed + self._at
        if self._at == len(self._data):
            return False
        first = self._data[self._at : self._at + 1]
        if not self._path:
            return self._enter_array() if first == b"[" else self._singles(found)
        if first == b"[" if not self._is_wrapped else first == b"]":
            self._is_wrapped = not self._is_wrapped
            self._at += 1
            return True
        if first == b"{" and self._target.is_choice and not self._keeps_frames and self._bare(found):
            return True
        return self._document(found) if first in (b"{", b"[") else self._stray(found)

    def _bare(self, found: list[Places]) -> bool:
        """Documents that are themselves the records, up to the next that may hold some, or is cut off."""
        data, seen = self._data, self._look()
        first = seen.bracket_at(self._at)
        outside = seen.depth_before(first)
        places, depths = seen.places[first : first + _AT_ONCE], seen.depths[first : first + _AT_ONCE]
        stops = places[(depths < outside) | ((depths == outside + 1) & is_array(data, places))][:1].tolist()
        starts, ends, _ = complete(values_at(places, depths, outside), min([*stops, int(places[-1]) + 1]))
        if not len(starts):
            return False
        cut = self._cut(self._at, int(ends[-1]))
        end = self._target.first_key(data, self._at, int(ends[-1]) if cut is None else cut, seen, outside + 1)
        starts, ends = clean_run(data, *complete((starts, ends), end)[:2])
        if len(starts):
            found.append(Places(data, starts, ends))
            self._at = int(ends[-1])
        return len(starts) > 0

    def _singles(self, found: list[Places]) -> bool:
        """Documents that are themselves the records, up to the next that is an array."""
        data, seen = self._data, self._look()
        first = seen.bracket_at(self._at)
        outside = seen.depth_before(first)
        some = slice(first, first + _AT_ONCE if (seen.depths[first : first + _AT_ONCE] == outside).any() else None)
        places, depths = seen.places[some], seen.depths[some]
        beyond = seen.places[first + len(places) :][:1]
        stops = places[(depths < outside) | ((depths == outside + 1) & is_array(data, places))]
        stops = np.concatenate([stops[:1], beyond])
        cut = self._cut(self._at, int(stops[0]) if len(stops) else len(data))
        end, is_last = (int(stops[0]) if len(stops) else len(data), len(stops) > 0) if cut is None else (cut, True)
        starts, ends, open_at = complete(values_at(places, depths, outside), end)
        starts, ends = with_scalars(data, starts, ends, self._at, open_at, is_last=is_last or open_at < end)
        if not len(starts) and is_last and cut is None:  # a bracket that closes nothing
            starts, ends = np.array([self._at]), np.array([self._at + 1])
        if len(starts):
            found.append(Places(data, starts, ends))
            self._at = int(ends[-1])
        if cut is not None:
            self._cut_off(found, cut)
        return cut is not None or len(starts) > 0

    def _stray(self, found: list[Places]) -> bool:
        """Text that is no document."""
        match = (SCALAR if self._is_wrapped else _STRAY).match(self._data, self._at)
        end = match.end() if match else self._at + 1
        if end == len(self._data):
            return False
        found += self._bad(end, self._target.missing)
        self._forward(end)  # its quotes may be no pairs
        return True

    def _document(self, found: list[Places]) -> bool:
        """Find the array at the path, from the beginning of a document."""
        data, seen = self._data, self._look()
        first = seen.bracket_at(self._at)
        outside = seen.depth_before(first)
        closing = seen.first_at(outside, first)
        end = int(seen.places[closing]) + 1 if closing is not None else len(data)
        cut = self._cut(self._at, end)
        path, after, reason = self._target.find(data, self._at, end if cut is None else cut, seen, outside)
        self._path = path or self._path
        if after is not None and data[after : after + 1] == b"{":
            return self._object(found, after, end, cut) if closing is not None or cut is not None else False
        if after is not None:
            self._frame = b""
            self._keep(data[self._at : after + 1] + b"]")
            self._opening = data[self._at : match_end(_OPENING, data, self._at)]
            self._at = after
            return self._enter_array()
        if cut is not None:
            self._cut_off(found, cut)
        elif closing is not None:
            is_record = self._target.is_choice and data[self._at : self._at + 1] == b"{"
            found += [self._single(self._at, end)] if is_record else self._bad(end, reason)
            self._at = end
        return cut is not None or closing is not None

    def _object(self, found: list[Places], start: int, end: int, cut: int | None) -> bool:
        """The object at the path, which is itself the record of a document that ends at `end`."""
        if cut is not None:
            self._cut_off(found, cut)
            return True
        seen = self._look()
        opening = seen.bracket_at(start)
        closing = seen.first_at(seen.depth_before(opening), opening)
        found.append(self._single(start, int(seen.places[closing or 0]) + 1))
        self._at = end
        return True

    def _single(self, start: int, end: int) -> Places:
        """The one record of a document, which has no array around it."""
        here = Places(self._data, np.array([start]), np.array([end]), len(self.frames))
        self.frames += [b"null"] if self._keeps_frames else []
        return here

    def _enter_array(self) -> bool:
        self._at += 1
        self._in_array, self._has_elements = True, False
        return True

    def _records(self, found: list[Places]) -> bool:
        data, seen = self._data, self._look()
        first = seen.bracket_at(self._at)
        outside = seen.depth_before(first)
        closing = seen.first_at(outside - 1, first)
        end = int(seen.places[closing]) if closing is not None else len(data)
        cut = self._cut(self._at, end)
        end = end if cut is None else cut
        inside = values_at(seen.places[first:closing], seen.depths[first:closing], outside)
        starts, ends, open_at = complete(inside, end)
        is_last = closing is not None or cut is not None or open_at < end
        starts, ends = with_scalars(data, starts, ends, self._at, open_at, is_last=is_last)
        if len(starts):
            found.append(Places(data, starts, ends, len(self.frames)))
            self._at = int(ends[-1])
            self._has_elements = True
        if cut is not None:
            self._cut_off(found, cut)
        elif closing is not None:
            self._at = end + 1
            self._in_array = False
            self._inside, self._is_tail = len(self._path), True
        return cut is not None or closing is not None

    def _pass(self, found: list[Places]) -> bool:
        """Pass over what follows the records, or what was given up, up to its end."""
        data, seen = self._data, self._look()
        first = seen.bracket_at(self._at)
        before = seen.depth_before(first)
        closing = seen.first_at(before - self._inside, first)
        end = int(seen.places[closing]) + 1 if closing is not None else len(data)
        cut = self._cut(self._at, end)
        if cut is not None:
            self._cut_off(found, cut)
            return True
        if closing is not None:
            self._keep(data[self._at : end])
            if self._is_tail:
                self._frames_end()
            self._at, self._inside, self._is_tail = end, 0, False
            return True
        # A string may go on in the next chunk: what follows its opening quote is looked at again. So are the last
        # blanks, and what makes sense before a bracket.
        is_in_string = len(seen.quotes) % 2 == 1
        keep = int(seen.quotes[-1]) if is_in_string else max(self._at, end_of_values(data))
        self._inside += seen.depth_before(seen.bracket_at(keep)) - before
        self._keep(data[self._at : keep])
        self._at = keep
        if len(data) - keep > self._limit:
            self._drop(is_in_string)
        return False

    # Parts

    def _look(self) -> Structure:
        if self._seen is None:
            self._seen = structure(self._data)
        return self._seen

    def _forward(self, start: int, more: bytes = b"") -> None:
        """Drop the text before `start`, and append more."""
        self._passed += start
        rest = self._data[start:] if start else self._data
        self._data = rest + more if rest else more
        self._at, self._seen = 0, None

    def _cut(self, start: int, end: int) -> int | None:
        """Where between two places another document begins, because the one that is being read was cut off."""
        seen = self._look()
        first, last = np.searchsorted(seen.doubts, [start, end])
        if first == last:
            return None
        doubts = seen.doubts[first:last]
        brackets = np.searchsorted(seen.places, doubts)
        depths = np.zeros(len(doubts), np.int64)  # before the first bracket
        depths[brackets > 0] = seen.depths[brackets[brackets > 0] - 1]
        is_outside = np.searchsorted(seen.quotes, doubts) % 2 == 0
        is_plain = is_outside & (depths == seen.depth_before(seen.bracket_at(start)))
        if self._inside:
            is_plain[:] = False
        for number in np.flatnonzero(is_plain).tolist() if self._in_array else ():
            # Commas between records may be missing; but what looks like the document itself is no record.
            place = int(doubts[number])
            is_plain[number] = not (self._lacks_comma(place) and self._is_beginning(place))
        found = doubts[~is_plain]
        return int(found[0]) if len(found) else None

    def _lacks_comma(self, place: int) -> bool:
        text = self._data[self._at : place].rstrip(BLANKS)
        return not text.endswith(b",") if text else self._has_elements

    def _is_beginning(self, place: int) -> bool:
        if not self._path:
            return self._data[place : place + 1] == b"["
        found = self._data[place : match_end(_OPENING, self._data, place)]
        return bool(found) and found.split() == self._opening.split()

    def _cut_off(self, found: list[Places], cut: int) -> None:
        """Reject what is left of the document, and go on with the next."""
        if not self._inside or self._is_tail:  # else it is rejected already
            found += self._bad(cut, _CUT_OFF)
        self._frames_end()
        self._in_array = self._is_wrapped = self._is_tail = False
        self._inside = 0
        self._forward(cut)

    def _give_up(self, reason: str, depth: int = 0) -> list[Places]:
        """Reject what is at hand, and pass over it as far as it goes; `depth` brackets more than are open in it."""
        seen = self._look()
        bad = self._bad(len(self._data), reason)
        open_here = seen.depth_before(len(seen.places)) - seen.depth_before(seen.bracket_at(self._at))
        self._inside, self._is_tail = max(0, open_here + depth), False
        self._has_elements = True
        self._drop(len(seen.quotes) % 2 == 1)
        return bad

    def _drop(self, is_in_string: bool) -> None:
        """Drop all text; if it ends inside a string, only the opening quote is kept."""
        backslashes = len(self._data) - len(self._data.rstrip(b"\\"))
        self._forward(len(self._data), b'"' + b"\\" * (backslashes % 2) if is_in_string else b"")
        self._passed -= len(self._data)

    def _bad(self, end: int, reason: str) -> list[Places]:
        """The text up to `end` as something that is no record."""
        text = self._data[self._at : min(end, self._at + _SHOWN_BYTES)].strip(BLANKS + b",")
        return [Places(text, np.zeros(1, np.int64), np.array([len(text)], np.int64), len(self.frames), reason)]

    def _keep(self, text: bytes) -> None:
        if self._keeps_frames and (not self._inside or self._is_tail):
            self._frame += text

    def _frames_end(self) -> None:
        """The frame of a document ends here, with the document or because there is no more of it."""
        if self._keeps_frames and (self._in_array or self._is_tail):
            self.frames.append(self._frame)
