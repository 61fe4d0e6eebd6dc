"""Lines of a delimited layout, read as CSV; the pattern itself decides on every line that is not plain."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.formats.csvtext import Cells, Dialect, LineText, join_lines, read_cells
from tailpipe.formats.layout import Cell, Layout, recognise
from tailpipe.formats.pattern import Pattern, least, re2
from tailpipe.formats.regex_parser import NO_MATCH, RegexParser, extract, field_columns, misses
from tailpipe.frozen import frozen
from tailpipe.plugin import LineParser, Lines, Parsed
from tailpipe.plugin.arrow import line_table
from tailpipe.plugin.sql import literal

_PIECE_LINES = 1 << 16
"""How many lines are copied at once, so that memory does not grow with the batch."""
_NEWLINE, _BLANK, _QUOTE = b'\n "'


def pattern_parser(pattern: Pattern, is_dotall: bool = False) -> LineParser:
    """The fastest parser for a pattern. In events of many lines (`is_dotall`), `.` matches line ends too."""
    layout = recognise(pattern)
    return LayoutParser(pattern, layout, is_dotall) if layout else RegexParser(pattern, is_dotall)


@frozen
class LayoutParser:
    """Gives what the pattern gives, several times faster."""

    pattern: Pattern
    layout: Layout
    is_dotall: bool = False
    is_plain: str = ""
    """SQL over `_line`: a line for which it is not true is left to the pattern."""
    before: int = 0
    """How many groups the pattern has before those of the layout."""

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The groups as fields, one row to a line; a line without a match is bad."""
        table = line_table(runs)
        names = [f"c{number}" for number in range(len(self.layout.cells))]
        schema = pa.schema([*((name, pa.string()) for name in names), ("_fits", pa.bool_())])
        pieces = [schema.empty_table()]
        for start in range(0, table.num_rows, _PIECE_LINES):
            text = table["_line"].slice(start, _PIECE_LINES)
            pieces.append(_read(pa.concat_arrays(text.chunks), self.layout, names))
        cells = pa.concat_tables(pieces)
        for name in cells.column_names:
            table = table.append_column(name, cells[name])
        fields = dict.fromkeys(self.pattern.fields, "VARCHAR")
        return Parsed(self._sql(), {"layout_lines": table}, fields, table.num_rows)

    def _sql(self) -> str:
        """Cells that the layout alone did not settle are compared with their part of the pattern; if one does
        not fit, the whole line goes to the whole pattern. Null texts cost the pattern nothing."""
        texts = ["NULL"] * self.before
        parts: list[str] = []
        checks = ["_fits", *([self.is_plain] if self.is_plain else [])]
        for number, cell in enumerate(self.layout.cells):
            is_open = self.layout.is_open and cell is self.layout.cells[-1]
            check, values, part = _cell_sql(cell, f"c{number}", f"x{number}", is_open)
            checks += check
            parts += part
            texts += values
        texts += ["NULL"] * (len(self.pattern.names) - len(texts))  # of what may follow the layout
        groups = ", ".join(["*", *parts])
        odd = f"CASE WHEN {' AND '.join(checks)} THEN NULL ELSE _line END AS _odd"
        match = f"{extract(self.pattern, '_odd', self.is_dotall)} AS m"
        rows = f"SELECT *, {match} FROM (SELECT *, {odd} FROM (SELECT {groups} FROM layout_lines))"
        values = [f"CASE WHEN _odd IS NULL THEN {text} ELSE m.g{number} END" for number, text in enumerate(texts)]
        bad = f"CASE WHEN {misses(self.pattern, '_odd', self.is_dotall)} THEN {literal(NO_MATCH)} END AS _bad"
        columns = f"_artifact, _ordinal, {bad}, _line AS _raw, {field_columns(self.pattern, values)}"
        return f"SELECT {columns} FROM ({rows})"


def _cell_sql(cell: Cell, column: str, struct: str, is_open: bool) -> tuple[list[str], list[str], list[str]]:
    """For one cell: conditions that it fits, the texts of its groups, and what must be computed for them."""
    if cell.is_free and not is_open:
        return [], [column] if cell.field else [], []
    if cell.literal is not None:
        return [f"{column} = {literal(cell.literal)}"], [], []
    part = Pattern(cell.body)
    groups = f"{extract(part, column, is_dotall=False, end='' if is_open else '$')} AS {struct}"
    texts = [f"{struct}.g{number}" for number in range(len(part.names))]
    if is_open:  # what the pattern takes must be the whole cell
        return [f"{struct}.w = {column}", f"{column} <> ''"], texts, [groups]
    full = f"regexp_full_match({column}, {literal(re2(cell.body))})"
    if cell.field or not part.names:
        return [full], [column] if cell.field else [], []
    return [f"{struct}.w <> ''" if least(cell.body) else full], texts, [groups]


def _read(text: pa.Array, layout: Layout, names: Sequence[str]) -> pa.Table:
    """The cells of each line, and whether they are what the line is made of; they are null where not read."""
    lines = join_lines(text)
    marked, grid = _marks(lines, layout)
    plain = np.zeros(len(text), bool)
    plain[marked] = True
    is_low = lines.data < _BLANK
    if np.count_nonzero(is_low) != len(text) + 1:
        plain[lines.lines_at(lines.inner_places(np.flatnonzero(is_low)))] = False
        marked, grid = marked[plain[marked]], grid[plain[marked]]
    lines.blank_out(np.flatnonzero(~plain))
    lines.data[grid[:, [mark != _QUOTE for mark in layout.marks]]] = _QUOTE
    cells = read_cells(lines, marked, names, Dialect(" ", '"' if layout.marks else ""))
    grid = grid if len(cells.lines) == len(marked) else grid[np.searchsorted(marked, cells.lines)]
    table = cells.table.append_column("_fits", pa.array(_fits(cells, lines, grid, layout)))
    if len(cells.lines) == len(text):
        return table
    rows = np.full(len(text), -1)
    rows[cells.lines] = np.arange(len(cells.lines))
    return table.take(pa.array(rows, mask=rows < 0))


def _marks(lines: LineText, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """The lines that have as many quotes and brackets as the layout, at the ends of cells; and their places.

    Quotes cut a line into stretches, and brackets count in those stretches in which the layout has some.
    """
    marks = layout.marks
    quotes = [place for place, mark in enumerate(marks) if mark == _QUOTE]
    grid = np.zeros((len(lines.starts), len(marks)), np.int64, order="F")
    is_good = _fill(grid, quotes, np.flatnonzero(lines.data == _QUOTE), lines.starts, lines.ends)
    edges = [lines.starts, *(grid[:, place] for place in quotes), lines.ends]
    for bracket in b"[]":
        wanted = [place for place, mark in enumerate(marks) if mark == bracket]
        found = np.flatnonzero(lines.data == bracket) if wanted else lines.starts[:0]
        for stretch, group in groupby(wanted, key=lambda place: bisect(quotes, place)):
            is_good &= _fill(grid, list(group), found, edges[stretch], edges[stretch + 1])
    before, after = lines.data[grid[:, 0::2] - 1], lines.data[grid[:, 1::2] + 1]
    is_good &= ((before == _BLANK) | (before == _NEWLINE)).all(axis=1)
    is_good &= ((after == _BLANK) | (after == _NEWLINE)).all(axis=1)
    return np.flatnonzero(is_good), grid if is_good.all() else grid[is_good]


def _fill(grid: np.ndarray, columns: list[int], places: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Write into the columns, for each row, the places between low and high; whether they are just as many."""
    first = np.searchsorted(places, low)
    count = np.searchsorted(places, high) - first
    for number, column in enumerate(columns if len(places) else ()):
        grid[:, column] = places[np.minimum(first + number, len(places) - 1)]
    fits: np.ndarray = count == len(columns)
    return fits


def _fits(cells: Cells, lines: LineText, grid: np.ndarray, layout: Layout) -> np.ndarray:
    """Whether the cells, put together again, are the line: each mark is at the place that their lengths say."""
    place = lines.starts[cells.lines]
    fits = np.ones(len(place), bool)
    mark = 0
    for number, cell in enumerate(layout.cells):
        length = pc.binary_length(cells.table.column(number)).to_numpy()
        if not cell.may_be_empty:
            fits &= length > 0
        if cell.kind != "bare":
            fits &= (grid[:, mark] == place) & (grid[:, mark + 1] == place + length + 1)
            mark += 2
            place = place + 2
        place = place + length + 1
    fits &= place == lines.ends[cells.lines] + 1
    return fits
