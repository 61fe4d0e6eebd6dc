"""Delimited lines → rows: plain lines by Arrow's CSV reader, the others one by one, the result the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.formats.csvtext import Cells, Dialect, LineText, join_lines, read_cells
from tailpipe.formats.delimited_splitter import Splitter
from tailpipe.formats.header import numbered_names
from tailpipe.frozen import frozen
from tailpipe.plugin import Lines
from tailpipe.plugin.arrow import places_of

_TAB, _NEWLINE, _BLANK = b"\t\n "
_LOW = 14
"""Below it are NUL, all line ends, and blanks that someone may take for a line end."""
_SPARE = "\x1f\x1e\x1d\x1c\x01\x02\x03\x04\x05\x06"
"""Characters that may stand for a delimiter which the reader does not take, if the text does not hold them."""


@frozen
class Naming:
    """The names of values, by their place.

    `width` is how many values a line has, or most likely has if there may be fewer or more; there are
    `minimum` at least. Values beyond the fields are named by number.
    """

    fields: tuple[str, ...] = ()
    width: int = 0
    minimum: int | None = None
    date: str = ""
    """The date of rows that have a time alone."""

    def names(self, count: int) -> tuple[str, ...]:
        """The names of the first values."""
        return (*self.fields[:count], *numbered_names(count)[len(self.fields) :])


def read_rows(
    naming: Naming, runs: Sequence[Lines], splitter: Splitter, nulls: Sequence[str], numbers: Collection[str] = ()
) -> pa.Table:
    """`_artifact`, `_ordinal`, `_bad`, `_raw` and the named values of each line, in order.

    Values are text, but those of the fields in `numbers` are whole numbers if all of them can be read so.
    """
    text = pa.concat_arrays([run.text for run in runs] or [pa.array([], pa.string())])
    columns = [f"c{number}" for number in range(naming.width)]
    whole = {column for column, name in zip(columns, naming.names(naming.width), strict=True) if name in numbers}
    cells = _read_plain(text, columns, splitter, nulls, whole) if columns and len(text) else None
    if cells is None or len(cells.lines) < len(text):
        values, bad = _with_others(text, naming, splitter, nulls, cells)
    else:
        values, bad = cells.table, pa.nulls(len(text), pa.string())
    arrays = {**places_of(runs), "_bad": bad, "_raw": text}
    named = dict(zip(naming.names(values.num_columns), values.columns, strict=True))
    if naming.date and "time" in named and "date" not in named:
        named["date"] = pa.repeat(naming.date, len(text))
    return pa.table({**arrays, **named})


def _with_others(
    text: pa.Array, naming: Naming, splitter: Splitter, nulls: Sequence[str], cells: Cells | None
) -> tuple[pa.Table, pa.Array]:
    """The plain rows and all the others, in the order of the lines, and what is wrong with each."""
    plain = cells.lines if cells else np.empty(0, np.int64)
    others = np.setdiff1d(np.arange(len(text)), plain, assume_unique=True)
    rows: list[list[str | None]] = []
    reasons: dict[int, str] = {}
    for number, line in zip(others.tolist(), text.take(pa.array(others)).to_pylist(), strict=True):
        values, reason = _values(line, naming, splitter)
        rows.append([None if value in nulls else value for value in values])
        if reason:
            reasons[number] = reason
    width = max([naming.width, *map(len, rows)])
    by_column = zip_longest(*rows, [None] * width)
    columns = {f"c{number}": pa.array(column[:-1], pa.string()) for number, column in enumerate(by_column)}
    table = pa.table(columns)
    if cells:
        order = np.argsort(np.concatenate([plain, others]), kind="stable")
        table = pa.concat_tables(alike([cells.table, table]), promote_options="default").take(pa.array(order))
    return table, pa.array([reasons.get(number) for number in range(len(text))], pa.string())


def _values(line: str, naming: Naming, splitter: Splitter) -> tuple[list[str], str]:
    """The values of a line and what is wrong with it."""
    try:
        values = splitter.split(line)
    except ValueError as error:
        return [], str(error)
    if not naming.fields and naming.minimum is None:
        return [], "no line before it names the fields"
    plural = "value" if len(values) == 1 else "values"
    if naming.minimum is None and len(values) != len(naming.fields):
        return [], f"has {len(values)} {plural} for {len(naming.fields)} fields"
    if naming.minimum is not None and len(values) < naming.minimum:
        return [], f"has {len(values)} {plural}, expected at least {naming.minimum}"
    return values, ""


def alike(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Tables of which a column is a number only if it is one in all of them; numbers become text otherwise."""
    kinds: dict[str, pa.DataType] = {}
    for field in (field for table in tables for field in table.schema):
        kinds[field.name] = field.type if kinds.get(field.name, field.type) == field.type else pa.string()
    return [table.cast(pa.schema([(name, kinds[name]) for name in table.column_names])) for table in tables]


def _read_plain(
    text: pa.Array, columns: Sequence[str], splitter: Splitter, nulls: Sequence[str], numbers: Collection[str]
) -> Cells | None:
    """The rows of those lines that Arrow's reader understands as we do; None if it cannot read the delimiter."""
    delimiter, quote = splitter.delimiter or " ", splitter.quote
    is_long = len(delimiter.encode()) > 1 or delimiter in "\0\r"
    if is_long:
        spare = next((one for one in _SPARE if not pc.any(pc.match_substring(text, one)).as_py()), None)
        if spare is None:
            return None
        text, delimiter = pc.replace_substring(text, delimiter, spare), spare
    lines = join_lines(text)
    odd = _strange(lines)
    if is_long or not quote.isascii():
        odd |= _holding(lines, quote)
        quote = ""
    is_quoted = _holding(lines, quote)
    is_doubled = splitter.escape == splitter.quote
    if is_quoted.any():
        odd |= _oddly_quoted(lines, ord(quote), ord(delimiter), is_doubled)
        if not is_doubled:
            odd |= is_quoted & _holding(lines, splitter.escape)
    if not splitter.delimiter:
        odd |= _loosely_blank(lines, is_quoted)
    lines.blank_out(np.flatnonzero(odd))
    if not splitter.delimiter:
        lines = replace(lines, data=_tightened(lines.data))
    return read_cells(lines, np.flatnonzero(~odd), columns, Dialect(delimiter, quote, is_doubled, nulls, numbers))


def _strange(lines: LineText) -> np.ndarray:
    """Whether a line holds what the reader takes otherwise: a lone CR, a line end inside an event, and the like."""
    odd = np.zeros(len(lines.starts), bool)
    low = np.flatnonzero((lines.data < _LOW) & (lines.data != _TAB))
    if len(low) != len(odd) + 1:
        odd[lines.lines_at(lines.inner_places(low))] = True
    return odd


def _holding(lines: LineText, part: str) -> np.ndarray:
    """Whether a line holds a character; of one beyond ASCII, its first byte, which others may share."""
    odd = np.zeros(len(lines.starts), bool)
    if part:
        odd[lines.lines_at(np.flatnonzero(lines.data == part.encode()[0]))] = True
    return odd


def _oddly_quoted(lines: LineText, quote: int, delimiter: int, is_doubled: bool) -> np.ndarray:
    """Whether a line has quotes that do not simply open and close its values.

    The first, third, … quote of a line must stand at the beginning of a value, the second, fourth, … at
    the end of one; where quotes are escaped by doubling, one may also stand right behind the other.
    """
    places = np.flatnonzero(lines.data == quote)
    line = lines.lines_at(places)
    counts = np.bincount(line, minlength=len(lines.starts))
    rank = np.arange(len(places)) - (np.cumsum(counts) - counts)[line]
    opens = rank % 2 == 0
    neighbour = np.where(opens, lines.data[places - 1], lines.data[places + 1])
    fits = (neighbour == delimiter) | (neighbour == _NEWLINE)
    if is_doubled:
        fits |= (neighbour == quote) & ((rank > 0) | ~opens)
    odd: np.ndarray = counts % 2 == 1
    odd[line[~fits]] = True
    return odd


def _loosely_blank(lines: LineText, is_quoted: np.ndarray) -> np.ndarray:
    """Whether a line is nothing but blanks, or has other blanks than single ones and is quoted, too."""
    data = lines.data
    tabs = np.flatnonzero(data == _TAB)
    odd = np.zeros(len(lines.starts), bool)
    odd[lines.lines_at(tabs)] = True
    data[tabs] = _BLANK
    is_blank = data == _BLANK
    is_loose = is_blank[1:-1] & (is_blank[:-2] | (data[:-2] == _NEWLINE) | (data[2:] == _NEWLINE))
    line = lines.lines_at(np.flatnonzero(is_loose) + 1)
    odd[line] = True
    odd &= is_quoted
    odd |= np.bincount(line, minlength=len(odd)) == lines.ends - lines.starts
    return odd


def _tightened(data: np.ndarray) -> np.ndarray:
    """The text with one blank for each run of blanks, and none at the ends of lines."""
    is_blank = data == _BLANK
    is_loose = is_blank[1:] & (is_blank[:-1] | (data[:-1] == _NEWLINE))
    if is_loose.any():
        data = data[np.concatenate([[True], ~is_loose])]
    is_last = (data[:-1] == _BLANK) & (data[1:] == _NEWLINE)
    return data[np.concatenate([~is_last, [True]])] if is_last.any() else data
