"""Records that hold lists of rows: a record becomes a text for each element, instead of the list.

The text of the record is cut, not written again, so that every number keeps its digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from tailpipe.formats.json_places import value_of_key, values_at
from tailpipe.formats.json_structure import Structure, structure, with_scalars

_AT_ONCE_BYTES = 8 * 1024 * 1024


def unnested(records: Iterable[bytes], paths: Sequence[Sequence[str]]) -> Iterator[pa.Array]:
    """The rows of all records, some at a time; each row repeats the text around its element."""
    rows: list[bytes] = []
    size = 0
    for record in records:
        for row in _rows_of(record, paths):
            rows.append(row)
            size += len(row)
            if size >= _AT_ONCE_BYTES:
                yield pa.array(rows, pa.binary()).cast(pa.string())
                rows, size = [], 0
    if rows:
        yield pa.array(rows, pa.binary()).cast(pa.string())


def _rows_of(record: bytes, paths: Sequence[Sequence[str]]) -> Iterator[bytes]:
    seen = structure(record)
    for path in paths:
        rows = _rows(record, seen, (0, len(record)), path)
        if rows is not None:
            return rows
    return iter((record,))


def _rows(data: bytes, seen: Structure, span: tuple[int, int], path: Sequence[str]) -> Iterator[bytes] | None:
    """A value once for each element of the first list on the path; None if there is no list."""
    start, end = span
    at = start
    for depth, key in enumerate(path, 1):
        if data[at : at + 1] != b"{":
            return None
        place = value_of_key(data, key, int(seen.depths[seen.bracket_at(at)]), at, end, seen)
        if place is None:
            return None
        at = place
        if data[at : at + 1] == b"[":
            return _spread(data, seen, (start, at, end), path[depth:])
    return None


def _spread(data: bytes, seen: Structure, span: tuple[int, int, int], rest: Sequence[str]) -> Iterator[bytes]:
    start, at, end = span
    bracket = seen.bracket_at(at)
    closing = seen.first_at(seen.depth_before(bracket), bracket)
    if closing is None:
        yield data[start:end]
        return
    before, behind = data[start:at], data[int(seen.places[closing]) + 1 : end]
    for element in _elements(data, seen, bracket, closing):
        rows = _rows(data, seen, element, rest) if rest else None
        for row in (data[slice(*element)],) if rows is None else rows:
            yield before + row + behind


def _elements(data: bytes, seen: Structure, opening: int, closing: int) -> Iterator[tuple[int, int]]:
    """Where the elements of a list begin and end."""
    inside = slice(opening + 1, closing)
    starts, ends = values_at(seen.places[inside], seen.depths[inside], int(seen.depths[opening]))
    since, until = int(seen.places[opening]) + 1, int(seen.places[closing])
    starts, ends = with_scalars(data, starts.astype(np.int64), ends, since, until, is_last=True)
    return zip(starts.tolist(), ends.tolist(), strict=True)
