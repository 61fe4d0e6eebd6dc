"""The structure of JSON text: where its brackets and strings are, and where a document was cut off.

It looks at quotes and brackets alone, whole chunks at a time. The text must not begin inside a string.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from tailpipe.frozen import frozen

BLANKS = b" \t\r\n"
SCALAR = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[^\s,"\[\]{}]+', re.DOTALL)
"""A value that is neither object nor array; a string that has no end goes up to that of the text."""
_GAP = np.zeros(256, bool)
_GAP[list(b" \t\r\n,")] = True
_IS_BLANK = np.zeros(256, bool)
_IS_BLANK[list(BLANKS)] = True
_FITS_BEFORE = np.zeros(256, bool)
_FITS_BEFORE[list(b",:[")] = True
_SIGNS = bytes(character in b'"[]{}' for character in range(256))
"""A table for `bytes.translate`, which is the fastest way to find them."""
_AFTER_OBJECT, _AFTER_ARRAY = re.compile(rb'\{[ \t\r\n]*"'), re.compile(rb"\[[ \t\r\n]*[\[{]")
_NEWLINE, _BACKSLASH, _QUOTE = b'\n\\"'

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@frozen
class Structure:
    """Places in a text, in their order."""

    places: Ints
    """Of the brackets outside strings."""
    depths: Ints
    """How many brackets are open behind each, counted from the beginning of the text; it may be less than none."""
    quotes: Ints
    """Of the quotes around strings."""
    doubts: Ints
    """Of opening brackets at the beginning of a line where JSON allows none: inside a string, or behind a value.

    That is how the next document begins if one was cut off.
    """

    def bracket_at(self, place: int) -> int:
        """The number of the first bracket at a place or behind it."""
        return int(np.searchsorted(self.places, place))

    def depth_before(self, bracket: int) -> int:
        """How many brackets are open before this one."""
        return int(self.depths[bracket - 1]) if bracket else 0

    def first_at(self, depth: int, bracket: int) -> int | None:
        """The first bracket from this one on behind which so many are open."""
        size = 64
        while bracket < len(self.depths):  # most documents are short against a chunk
            found = np.flatnonzero(self.depths[bracket : bracket + size] == depth)
            if len(found):
                return bracket + int(found[0])
            bracket += size
            size *= 4
        return None


def structure(data: bytes) -> Structure:
    """The structure of a text."""
    view = np.frombuffer(data, np.uint8)
    places = np.flatnonzero(np.frombuffer(data.translate(_SIGNS), np.bool_))
    signs = view[places]
    is_quote = signs == _QUOTE
    # Of brackets, the opening ones alone end in 011.
    starts = places[(signs & 7 == 3) & (view[places - 1] == _NEWLINE) & (places > 0)]
    suspects = np.flatnonzero(is_quote & (view[places - 1] == _BACKSLASH) & (places > 0))
    if len(suspects):
        is_escaped = suspects[_backslashes(view, places[suspects]) % 2 == 1]
        keep = np.ones(len(places), np.bool_)
        keep[is_escaped] = False
        places, signs, is_quote = places[keep], signs[keep], is_quote[keep]
    is_bracket = ~is_quote & (np.cumsum(is_quote) % 2 == 0)
    # Opening and closing brackets differ in one bit.
    depths = np.cumsum(np.where(signs[is_bracket] & 2, 1, -1))
    quotes = places[is_quote]
    return Structure(places[is_bracket], depths, quotes, _doubts(data, view, starts, quotes))


def _doubts(data: bytes, view: Bytes, starts: Ints, quotes: Ints) -> Ints:
    if not len(starts):
        return starts
    is_inside = np.searchsorted(quotes, starts) % 2 == 1
    before = starts - 1
    going = np.arange(len(starts))
    while len(going):  # back over blanks
        before[going] -= 1
        going = going[(before[going] >= 0) & _IS_BLANK[view[np.maximum(before[going], 0)]]]
    found = is_inside | (before < 0) | ~_FITS_BEFORE[view[np.maximum(before, 0)]]
    for number in np.flatnonzero(is_inside).tolist():
        # A string may hold a line end, against the rules; but then a bracket and a quote hardly follow.
        start = int(starts[number])
        opens = _AFTER_OBJECT if data[start : start + 1] == b"{" else _AFTER_ARRAY
        found[number] = opens.match(data, start) is not None
    doubts: Ints = starts[found]
    return doubts


def _backslashes(data: Bytes, places: Ints) -> Ints:
    """The number of backslashes right before each place, which is at least one."""
    counts = np.ones(len(places), np.int64)
    going = np.arange(len(places))
    while len(going):
        before = places[going] - counts[going] - 1
        going = going[(before >= 0) & (data[np.maximum(before, 0)] == _BACKSLASH)]
        counts[going] += 1
    return counts


def with_scalars(data: bytes, starts: Ints, ends: Ints, since: int, until: int, *, is_last: bool) -> tuple[Ints, Ints]:
    """The records in a part of the text, and the bare values between them."""
    view = np.frombuffer(data, np.uint8)
    gap_starts = np.concatenate([[since], ends])
    gap_ends = np.concatenate([starts, [until]])
    lengths = gap_ends - gap_starts
    offsets = np.repeat(gap_starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    clean = _GAP[view[offsets + np.arange(len(offsets))]]
    if clean.all():
        return starts, ends
    dirty = np.unique(np.searchsorted(np.cumsum(lengths), np.flatnonzero(~clean), side="right"))
    found: list[tuple[int, int]] = []
    for number in dirty.tolist():
        spans = (match.span() for match in SCALAR.finditer(data, int(gap_starts[number]), int(gap_ends[number])))
        # One that touches the end may go on in the next chunk.
        found.extend(span for span in spans if span[1] < until or is_last)
    extra = np.array(found, np.int64).reshape(-1, 2)
    return np.sort(np.concatenate([starts, extra[:, 0]])), np.sort(np.concatenate([ends, extra[:, 1]]))


def clean_run(data: bytes, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """The values up to the first that has anything but blanks and commas before it."""
    lengths = starts[1:] - ends[:-1]
    is_dirty = (lengths > 0) & ~_GAP[np.frombuffer(data, np.uint8)[ends[:-1]]]
    for number in np.flatnonzero(lengths > 1).tolist():
        is_dirty[number] |= bool(data[int(ends[number]) : int(starts[number + 1])].strip(BLANKS + b","))
    count = int(np.argmax(is_dirty)) + 1 if is_dirty.any() else len(starts)
    return starts[:count], ends[:count]
