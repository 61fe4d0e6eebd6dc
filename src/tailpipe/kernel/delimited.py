"""Lines of delimited values, such as CSV: which lines are rows, and the names of their fields.

Each artifact has its own names, from its own header. A line with fewer or more values than there are
names is bad: nobody can tell which value is missing. A value never spans lines, so an open quote spoils
its own line only. A value that is one of `null_if` is null, quoted or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.kernel.batch import Lines, Parsed
from tailpipe.kernel.header import is_header, numbered_names, unique_names
from tailpipe.kernel.rows import read_rows
from tailpipe.kernel.splitter import Splitter
from tailpipe.kernel.sql import quoted
from tailpipe.plugin.formats import RESERVED_FIELDS, Delimited

__all__ = ["HEAD_LINES", "DelimitedParser"]

HEAD_LINES = 20
"""How many lines at the top of an artifact, comments left out, tell whether the first is a header."""


@dataclass(frozen=True)
class _Shape:
    """What is known of an artifact: the names of its fields, and the ordinal of its header, 0 for none."""

    names: tuple[str, ...]
    header: int = 0


@dataclass
class DelimitedParser:
    """Reads delimited lines; remembers the header of each artifact of its task."""

    format: Delimited
    _shapes: dict[int, _Shape] = field(default_factory=dict)
    _spellings: dict[str, str] = field(default_factory=dict)
    """Of names that differ by case only, the one that came first."""

    def __post_init__(self) -> None:
        given = self.format.delimiter
        delimiter = {"\\s+": "", "\\t": "\t"}.get(given, given)
        self._splitter = Splitter(delimiter, self.format.quote, self.format.escape)

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The values as text, under the names of all the artifacts together."""
        rows = [run for run in map(self._rows, runs) if len(run.text)]
        tables = [
            read_rows(names, list(group), self._splitter, self.format.null_if)
            for names, group in groupby(rows, key=lambda run: self._shapes[run.artifact].names)
        ]
        tables.append(read_rows((), (), self._splitter, ()))  # so that there is one
        table = pa.concat_tables(tables, promote_options="default")
        names = [name for name in table.column_names if name not in RESERVED_FIELDS]
        sql = "SELECT " + ", ".join([*RESERVED_FIELDS, *map(quoted, names)]) + " FROM delimited_rows"  # noqa: S608
        return Parsed(sql, {"delimited_rows": table}, dict.fromkeys(names, "VARCHAR"), table.num_rows)

    def _rows(self, run: Lines) -> Lines:
        """The lines that are rows: without those skipped, comments and the header."""
        text = run.text.cast(pa.string())
        is_row = run.ordinals > self.format.skip_lines
        if self.format.comment:
            is_row &= ~pc.starts_with(text, self.format.comment).to_numpy(zero_copy_only=False)
        if run.artifact not in self._shapes:
            if run.head:
                top = [line for line in run.head[self.format.skip_lines :] if line and not self._is_comment(line)]
                first = 0
            else:
                places = np.flatnonzero(is_row)[:HEAD_LINES]
                top = text.take(pa.array(places)).to_pylist()
                first = int(run.ordinals[places[0]]) if places.size else 0
            if top:
                self._shapes[run.artifact] = self._shape(top[:HEAD_LINES], first)
        if run.artifact in self._shapes and (header := self._shapes[run.artifact].header):
            is_row &= run.ordinals != header
        if is_row.all():
            return Lines(text, run.ordinals, run.artifact)
        return Lines(text.filter(pa.array(is_row)), run.ordinals[is_row], run.artifact)

    def _is_comment(self, line: str) -> bool:
        return bool(self.format.comment) and line.startswith(self.format.comment or "")

    def _shape(self, top: Sequence[str], ordinal: int) -> _Shape:
        """The names for lines that begin like this; `ordinal` is that of the first, 0 if it is not in the run."""
        values = [self._values(line) for line in top]
        fields = tuple(self.format.fields)
        has_header = self.format.header
        if has_header is None and fields:
            has_header = [value.strip().lower() for value in values[0]] == [name.lower() for name in fields]
        elif has_header is None:
            has_header = is_header(values[0], values[1:])
        if not fields:
            fields = unique_names(values[0]) if has_header else numbered_names(len(values[0]))
        names = tuple(self._spellings.setdefault(name.lower(), name) for name in fields)
        return _Shape(names, ordinal if has_header else 0)

    def _values(self, line: str) -> list[str]:
        try:
            return self._splitter.split(line)
        except ValueError:
            return [line]
