"""Lines of delimited values, such as CSV: which lines are rows, and the names of their fields.

Each artifact has its own names, from its own header. A line with fewer or more values than there are
names is bad: nobody can tell which value is missing. A value never spans lines, so an open quote spoils
its own line only. A value that is one of `null_if` is null, quoted or not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.kernel.batch import Lines, Parsed
from tailpipe.kernel.header import is_header, numbered_names, unique_names
from tailpipe.kernel.rows import alike, read_rows
from tailpipe.kernel.splitter import Splitter
from tailpipe.kernel.sql import quoted
from tailpipe.plugin.formats import RESERVED_FIELDS, Delimited

__all__ = ["HEAD_LINES", "DelimitedParser"]

HEAD_LINES = 20
"""How many lines at the top of an artifact, comments left out, tell whether the first is a header."""
_DIGITS = 19


@dataclass
class _Artifact:
    """What is known of an artifact, or of that member of an archive which is being read."""

    skipped: int
    """Lines up to this ordinal are left out."""
    names: tuple[str, ...] = ()
    header: int = 0
    """The ordinal of the header, 0 for none."""
    last: int = 0


@dataclass
class DelimitedParser:
    """Reads delimited lines; remembers the header of each artifact of its task."""

    format: Delimited
    numbers: Collection[str] = ()
    """Fields that are wanted as whole numbers, whatever their text; lower case."""
    _artifacts: dict[int, _Artifact] = field(default_factory=dict)
    _spellings: dict[str, str] = field(default_factory=dict)
    """Of names that differ by case only, the one that came first."""

    def __post_init__(self) -> None:
        given = self.format.delimiter
        delimiter = {"\\s+": "", "\\t": "\t"}.get(given, given)
        self._splitter = Splitter(delimiter, self.format.quote, self.format.escape)

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The values as text, under the names of all the artifacts together."""
        rows = [(self._artifacts[run.artifact].names, lines) for run in runs if len((lines := self._rows(run)).text)]
        tables = [
            self._table(names, [lines for _, lines in group]) for names, group in groupby(rows, key=lambda row: row[0])
        ]
        tables.append(read_rows((), (), self._splitter, ()))  # so that there is one
        table = pa.concat_tables(alike(tables), promote_options="default")
        kinds = {
            field.name: "BIGINT" if field.type == pa.int64() else "VARCHAR"
            for field in table.schema
            if field.name not in RESERVED_FIELDS
        }
        sql = "SELECT " + ", ".join([*RESERVED_FIELDS, *map(quoted, kinds)]) + " FROM delimited_rows"
        return Parsed(sql, {"delimited_rows": table}, kinds, table.num_rows)

    def _table(self, names: tuple[str, ...], runs: Sequence[Lines]) -> pa.Table:
        """The values of lines that have the same fields; one that is no number spoils them all, and for good."""
        numbers = self._numbers(names, runs[0].text[:HEAD_LINES].to_pylist()) if self.numbers else set()
        table = read_rows(names, runs, self._splitter, self.format.null_if, numbers)
        if any(table.schema.field(name).type != pa.int64() for name in numbers):
            self.numbers = ()
        return table

    def _numbers(self, names: tuple[str, ...], top: Sequence[str]) -> set[str]:
        """The fields to be read as numbers: those that the first lines show as such."""
        found = {name for name in names if name.lower() in self.numbers}
        for values in map(self._values, top):
            shown = dict(zip(names, values, strict=False))
            found = {name for name in found if _is_number(shown.get(name, ""), self.format.null_if)}
        return found

    def _rows(self, run: Lines) -> Lines:
        """The lines that are rows: without those skipped, comments and the header."""
        text = run.text.cast(pa.string())
        known = self._artifacts.get(run.artifact)
        if known is None or not run.head:  # without a head it begins here, perhaps as the next member of an archive
            last = known.last if known else 0
            known = self._artifacts[run.artifact] = _Artifact(last + self.format.skip_lines)
        is_row = run.ordinals > known.skipped
        if self.format.comment:
            is_row &= ~pc.starts_with(text, self.format.comment).to_numpy(zero_copy_only=False)
        if not known.names:
            places = np.flatnonzero(is_row)[:HEAD_LINES]
            before = self._top(run.head)
            if top := before or text.take(pa.array(places)).to_pylist():
                known.names, has_header = self._names(top)
                known.header = int(run.ordinals[places[0]]) if has_header and not before else 0
        is_row &= run.ordinals != known.header
        known.last = int(run.ordinals[-1]) if len(run.ordinals) else known.last
        if is_row.all():
            return Lines(text, run.ordinals, run.artifact)
        return Lines(text.filter(pa.array(is_row)), run.ordinals[is_row], run.artifact)

    def _top(self, head: Sequence[str]) -> list[str]:
        """The first lines of an artifact that are rows, or its header."""
        lines = [line for line in head[self.format.skip_lines :] if line and not self._is_comment(line)]
        return lines[:HEAD_LINES]

    def _is_comment(self, line: str) -> bool:
        return bool(self.format.comment) and line.startswith(self.format.comment or "")

    def _names(self, top: Sequence[str]) -> tuple[tuple[str, ...], bool]:
        """The names for lines that begin like this, and whether the first is a header."""
        values = [self._values(line) for line in top]
        fields = tuple(self.format.fields)
        has_header = self.format.header
        if has_header is None and fields:
            has_header = [value.strip().lower() for value in values[0]] == [name.lower() for name in fields]
        elif has_header is None:
            has_header = is_header(values[0], values[1:])
        if not fields:
            fields = unique_names(values[0]) if has_header else numbered_names(len(values[0]))
        return tuple(self._spellings.setdefault(name.lower(), name) for name in fields), has_header

    def _values(self, line: str) -> list[str]:
        try:
            return self._splitter.split(line)
        except ValueError:
            return [line]


def _is_number(value: str, nulls: Collection[str]) -> bool:
    return value in nulls or (value.isascii() and value.removeprefix("-").isdigit() and len(value) < _DIGITS)
