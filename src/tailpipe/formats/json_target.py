"""The paths that lead to the records of a JSON document, and where in its text they lead."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from tailpipe.formats.json_places import value_of_key
from tailpipe.formats.json_structure import Structure

_ONE_EACH = "; if each line is a record, set format = format.jsonl.default in the source"
_KINDS = {b"{": "an object", b'"': "a string", b"n": "null", b"t": "a boolean", b"f": "a boolean"}


class JsonTarget:
    """The array at a path, or with `choices` the array or object at the first of these paths that is there."""

    def __init__(self, path: Sequence[str], choices: Sequence[Sequence[str]]) -> None:
        self.paths = tuple(map(tuple, choices)) or (tuple(path),)
        self.is_choice = bool(choices)
        self.name = " or ".join(f'"{".".join(one)}"' for one in self.paths)
        self.missing = f"there is no array {self.name} in the document"

    def first_key(self, data: bytes, start: int, end: int, seen: Structure, level: int) -> int:
        """The place of the first key that may lead to records; `end` if there is none before it."""
        for token in {json.dumps(path[0], ensure_ascii=False).encode() for path in self.paths}:
            place = data.find(token, start, end)
            while place >= 0:
                if seen.depth_before(seen.bracket_at(place)) == level and np.searchsorted(seen.quotes, place) % 2 == 0:
                    end = place
                place = data.find(token, place + 1, end)
        return end

    def find(
        self, data: bytes, start: int, end: int, seen: Structure, outside: int
    ) -> tuple[tuple[str, ...], int | None, str]:
        """The path that is there and where its value begins; or no path, None, and why there is none before `end`."""
        reason = ""
        for path in self.paths:
            after, why = self._find(path, data, start, end, seen, outside)
            if after is not None:
                return path, after, ""
            reason = reason or why
        return (), None, reason

    def _find(
        self, path: Sequence[str], data: bytes, start: int, end: int, seen: Structure, outside: int
    ) -> tuple[int | None, str]:
        missing, after = self.missing, start
        for level, key in enumerate(path, 1):
            place = None
            if data[after : after + 1] == b"{":
                missing += _ONE_EACH if level == 1 else ""
                place = value_of_key(data, key, outside + level, after, end, seen)
            if place is None:
                return None, missing
            after = place
        kind = data[after : after + 1]
        if kind == b"[" or (kind == b"{" and self.is_choice):
            return after, ""
        return None, f"{self.name} is {_KINDS.get(kind, 'a number')}, not an array"
