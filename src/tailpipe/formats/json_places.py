"""Places in the bytes of JSON documents: where records, keys and their values begin and end."""

from __future__ import annotations

import json
import re

import numpy as np

from tailpipe.formats.json_structure import BLANKS, Ints, Structure
from tailpipe.frozen import frozen

_COLON = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")


@frozen
class Places:
    """Records found in a run of bytes: record n is `data[starts[n]:ends[n]]`.

    With a `reason` they are no records: it says why.
    """

    data: bytes
    starts: Ints
    ends: Ints
    document: int = 0
    """Number of the document, from 0."""
    reason: str | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def texts(self) -> list[bytes]:
        """The records, each as a copy."""
        return [self.data[start:end] for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]


def match_end(pattern: re.Pattern[bytes], data: bytes, start: int) -> int:
    """Where the match ends that begins at `start`; there itself if there is none."""
    match = pattern.match(data, start)
    return match.end() if match else start


def end_of_values(data: bytes) -> int:
    """Where the blanks at the end begin, or the sign before them if a bracket may follow it."""
    end = len(data.rstrip(BLANKS))
    return end - 1 if data[end - 1 : end] in (b",", b":", b"[") else end


def is_array(data: bytes, places: Ints) -> np.ndarray:
    """Whether an array begins at each of the places."""
    is_opening: np.ndarray = np.frombuffer(data, np.uint8)[places] == ord("[")
    return is_opening


def values_at(places: Ints, depths: Ints, outside: int) -> tuple[Ints, Ints]:
    """Where the objects and arrays at a depth begin and end."""
    rises = np.diff(depths, prepend=outside)
    return places[(depths == outside + 1) & (rises == 1)], places[(depths == outside) & (rises == -1)] + 1


def complete(inside: tuple[Ints, Ints], end: int) -> tuple[Ints, Ints, int]:
    """Those that end before `end`, and where the first begins that does not."""
    starts, ends = inside
    starts, ends = starts[starts < end], ends[ends <= end]
    ends = ends[: len(starts)]
    open_at = int(starts[len(ends)]) if len(starts) > len(ends) else end
    return starts[: len(ends)], ends, open_at


def value_of_key(data: bytes, key: str, level: int, after: int, end: int, seen: Structure) -> int | None:
    """Where the value of a key begins, in the object at depth `level` that is open at `after`."""
    token = json.dumps(key, ensure_ascii=False).encode()
    first = seen.bracket_at(after)
    place = data.find(token, after, end)
    while place >= 0:
        number = seen.bracket_at(place) - 1
        if number >= 0 and (seen.depths[first : number + 1] < level).any():
            return None  # the object has ended
        is_opening = np.searchsorted(seen.quotes, place) % 2 == 0
        if is_opening and number >= 0 and seen.depths[number] == level:
            rest = _COLON.match(data, place + len(token), end)
            if rest and rest.end() < end:
                return rest.end()
        place = data.find(token, place + 1, end)
    return None
