"""Guess where the records of a small JSON document are, and have DuckDB check the guess.

Most documents are one array whose records all begin with the same key, so that what stands between two
records is always the same text. To cut there is many times faster than to look at every quote and bracket.
If each piece is JSON by itself, the cuts are right: objects with commas between them can be read in one way
only. If one is not, nothing is known, and the document must be split with care.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tailpipe.formats.json_split import Places

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

_BLANK = rb"[ \t\r\n]*"
_TAIL_BYTES = 64


class Guess:
    """Guesses the records of whole documents, which are the elements of the array at `path`."""

    def __init__(self, path: Sequence[str], limit: int) -> None:
        keys = (re.escape(json.dumps(key, ensure_ascii=False).encode()) for key in path)
        opening = b"".join(rb"\{" + _BLANK + key + _BLANK + b":" + _BLANK for key in keys)
        first = rb'(\{%b"(?:[^"\\]|\\.)*"%b:)' % (_BLANK, _BLANK)
        self._opening = re.compile(_BLANK + opening + rb"\[" + _BLANK + first)
        self._closing = re.compile(_BLANK + rb"\]" + (_BLANK + rb"\}") * len(path) + _BLANK + rb"\Z")
        self._limit = limit

    def places(self, data: bytes) -> Places | None:
        """Guess the places of the records; None if the document is of another kind."""
        opening = self._opening.match(data)
        closing = self._closing.search(data, max(0, len(data) - _TAIL_BYTES))
        if opening is None or closing is None:
            return None
        key, first, end = opening[1], opening.start(1), closing.start()
        second = data.find(key, first + len(key), end)
        if second < 0:
            return self._small(data, np.array([first]), np.array([end]))
        between = data[data.rfind(b"}", first, second) : second]
        if between[:1] != b"}" or between[1:].strip(b" \t\r\n") != b",":
            return None
        separator = between + key
        lengths = np.fromiter(map(len, data[first:end].split(separator)), np.int64)
        ends = first + np.cumsum(lengths + len(separator)) - len(separator)
        starts = np.concatenate([[first], ends[:-1] + len(between)])
        ends[:-1] += 1  # the brace
        return self._small(data, starts, ends)

    def _small(self, data: bytes, starts: np.ndarray, ends: np.ndarray) -> Places | None:
        return Places(data, starts, ends) if int((ends - starts).max()) <= self._limit else None


def wrong_guesses(connection: duckdb.DuckDBPyConnection, records: Sequence[pa.Array]) -> set[int]:
    """Which of the documents, each given by the texts of its records, hold one that is not JSON by itself."""
    if not records:
        return set()
    document = np.repeat(np.arange(len(records)), [len(texts) for texts in records])
    connection.register("guesses", pa.table({"document": document, "record": pa.concat_arrays(records)}))
    found = connection.execute("SELECT DISTINCT document FROM guesses WHERE NOT json_valid(record)").fetchall()
    connection.unregister("guesses")
    return {number for (number,) in found}
