"""Lines as one text for Arrow's CSV reader, and the cells that come back, one row to a line.

The reader is many times faster than a regular expression but believes what it gets: an open quote
swallows the lines that follow, and a lone CR ends a line. So callers look at the bytes first and blank
out each line that is not plain; the rows that come back are numbered by the lines they stand for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tailpipe.frozen import frozen

_NEWLINE = 10
_BLOCK_BYTES = 1 << 22


@frozen
class LineText:
    """Lines in one writable run of bytes, a newline before and after each."""

    data: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def inner_places(self, places: np.ndarray) -> np.ndarray:
        """Those of the places that are inside lines."""
        return places[~np.isin(places, self.ends, assume_unique=True) & (places > 0)]

    def lines_at(self, places: np.ndarray) -> np.ndarray:
        """The number of the line that each place is in, from 0; places are in order and inside lines."""
        counts = np.diff(np.searchsorted(places, self.starts), append=len(places))
        return np.repeat(np.arange(len(counts)), counts)

    def blank_out(self, lines: np.ndarray) -> None:
        """Make lines empty, so that the reader passes over them."""
        if not lines.size:
            return
        lengths = self.ends[lines] - self.starts[lines]
        before = np.cumsum(lengths) - lengths
        self.data[np.repeat(self.starts[lines] - before, lengths) + np.arange(lengths.sum())] = _NEWLINE


@frozen
class Dialect:
    """Options of the CSV reader; `quote` is empty for none."""

    delimiter: str
    quote: str = ""
    is_quote_doubled: bool = False
    nulls: Sequence[str] = ()
    numbers: Collection[str] = ()
    """Columns of 64-bit integers; the others are text."""


@frozen
class Cells:
    """The rows that were read, and the line of each; all other lines are not among them."""

    table: pa.Table
    lines: np.ndarray


def join_lines(text: pa.Array) -> LineText:
    """One text of all the lines. It begins with a newline, because the reader would drop a byte order mark."""
    plain = text.cast(pa.large_string())
    lengths = pc.binary_length(plain).to_numpy(zero_copy_only=False)
    rows = pa.ListArray.from_arrays(pa.array([0, len(plain)], pa.int32()), plain)
    joined = pc.binary_join(rows, pa.scalar("\n", pa.large_string()))
    whole = np.frombuffer(joined.buffers()[-1], np.uint8) if len(plain) else np.empty(0, np.uint8)
    data = np.empty(len(whole) + 2, np.uint8)
    data[0] = data[-1] = _NEWLINE
    data[1:-1] = whole
    ends = np.cumsum(lengths + 1)
    return LineText(data, ends - lengths, ends)


def read_cells(text: LineText, lines: np.ndarray, names: Sequence[str], dialect: Dialect) -> Cells:
    """The cells of the lines that are not blanked out; `lines` are their numbers.

    If a cell of a column of numbers is no number, all cells are text. Lines with more or fewer cells than names are
    missing, and all lines are if the reader finds other lines than we do: the caller reads missing lines with care.
    """
    wrong: list[int] = []

    def skip(row: csv.InvalidRow) -> str:
        wrong.append(row.number - 1)  # counted from 1, without empty lines
        return "skip"

    longest = int((text.ends - text.starts).max(initial=0))
    types = {name: pa.int64() if name in dialect.numbers else pa.string() for name in names}
    reading = csv.ReadOptions(use_threads=False, column_names=list(names), block_size=max(_BLOCK_BYTES, longest + 2))
    parsing = csv.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char=dialect.quote or False,
        double_quote=dialect.is_quote_doubled,
        invalid_row_handler=skip,
    )
    converting = csv.ConvertOptions(
        column_types=types,
        null_values=list(dialect.nulls),
        strings_can_be_null=bool(dialect.nulls),
        quoted_strings_can_be_null=True,
        check_utf8=False,
    )
    try:
        table = csv.read_csv(pa.py_buffer(text.data), reading, parsing, converting)
    except pa.ArrowInvalid:
        if not dialect.numbers:
            raise
        return read_cells(text, lines, names, replace(dialect, numbers=()))
    if table.num_rows + len(wrong) != len(lines):
        return Cells(table.slice(0, 0), lines[:0])
    return Cells(table, np.delete(lines, wrong))
