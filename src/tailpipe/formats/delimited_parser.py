"""Lines of delimited values, such as CSV: which lines are rows, and the names of their fields.

Each artifact has its own names, from its own header. A line with fewer or more values than there are
names is bad, because it is unknown which value is missing; but a format may say that values are only
ever added at the end. A value never spans lines, so an open quote spoils its own line only. A value that is
one of `null_if` is null, quoted or not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.formats import Delimited
from tailpipe.formats.delimited_rows import Naming, alike, read_rows
from tailpipe.formats.delimited_splitter import Splitter
from tailpipe.formats.header import is_header, numbered_names, snake_name, unique_names
from tailpipe.formats.wrapped import unwrapped
from tailpipe.model.format import RESERVED_FIELDS
from tailpipe.plugin import Lines, Parsed
from tailpipe.plugin.sql import literal, quoted

HEAD_LINES = 20
"""How many lines at the top of an artifact, comments left out, tell whether the first is a header."""
_DIGITS = 19
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\b")
_PAGE = re.compile(r"uri|url|referr?er")


@dataclass
class _Artifact:
    """What is known of an artifact, or of that member of an archive which is being read."""

    skipped: int
    """Lines up to this ordinal are left out."""
    fields: tuple[str, ...] = ()
    """The names from the last line that begins with the header's prefix."""
    date: str = ""
    """The date from the last line that begins with the prefix of dates."""
    naming: Naming | None = None
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
        self._splitter = Splitter(delimiter, self.format.quote, self.format.escape, self.format.loose_quotes)

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The values as text, under the names of all the artifacts together."""
        rows = [row for run in runs for row in self._rows(run) if len(row[1].text)]
        tables = [
            self._table(naming, [lines for _, lines in group])
            for naming, group in groupby(rows, key=lambda row: row[0])
        ]
        tables.append(read_rows(Naming(), (), self._splitter, ()))  # so that there is one
        table = pa.concat_tables(alike(tables), promote_options="default")
        kinds = {
            field.name: "BIGINT" if field.type == pa.int64() else "VARCHAR"
            for field in table.schema
            if field.name not in RESERVED_FIELDS
        }
        reserved = [f"{self._bad(kinds)} AS _bad" if name == "_bad" else name for name in RESERVED_FIELDS]
        values = [self._value(name, kind) for name, kind in kinds.items()]
        sql = "SELECT " + ", ".join([*reserved, *values]) + " FROM delimited_rows"
        return Parsed(sql, {"delimited_rows": table}, kinds, table.num_rows)

    def _value(self, name: str, kind: str) -> str:
        """SQL for a field."""
        text = quoted(name)
        if not self.format.plus_as_blank or kind != "VARCHAR" or _PAGE.search(name):
            return text
        return f"CASE WHEN contains({text}, ' ') THEN {text} ELSE replace({text}, '+', ' ') END AS {text}"

    def _bad(self, fields: Collection[str]) -> str:
        """Why a line is bad: it cannot be taken apart, or a value shows that it is of another log."""
        odd = [
            f" WHEN {quoted(name)} IS NOT NULL AND ({condition}) IS NOT TRUE"
            f" THEN {literal(f'not a line of this log: {name} is ')} || left({quoted(name)}::VARCHAR, 100)"
            for name, condition in self.format.conditions.items()
            if name in fields
        ]
        return f"CASE WHEN _bad IS NOT NULL THEN _bad{''.join(odd)} END" if odd else "_bad"

    def _table(self, naming: Naming, runs: Sequence[Lines]) -> pa.Table:
        """The values of lines that have the same fields; one that is no number spoils them all, and for good."""
        numbers = self._numbers(naming, runs[0].text[:HEAD_LINES].to_pylist()) if self.numbers else set()
        table = read_rows(naming, runs, self._splitter, self.format.null_if, numbers)
        if any(table.schema.field(name).type != pa.int64() for name in numbers):
            self.numbers = ()
        return table

    def _numbers(self, naming: Naming, top: Sequence[str]) -> set[str]:
        """The fields to be read as numbers: those that the first lines show as such."""
        names = naming.names(naming.width)
        found = {name for name in names if name.lower() in self.numbers}
        for values in map(self._values, top):
            shown = dict(zip(names, values, strict=False))
            found = {name for name in found if _is_number(shown.get(name, ""), self.format.null_if)}
        return found

    def _rows(self, run: Lines) -> Iterator[tuple[Naming, Lines]]:
        """The lines that are rows: without those skipped, comments and headers; apart where the names change."""
        if self.format.wrapped_in:
            run = unwrapped(run, self.format.wrapped_in)
        text = run.text.cast(pa.string())
        known = self._artifacts.get(run.artifact)
        if known is None or not run.head:  # without a head it begins here, perhaps as the next member of an archive
            last = known.last if known else 0
            known = self._artifacts[run.artifact] = _Artifact(last + self.format.skip_lines)
        is_row = run.ordinals > known.skipped
        if self.format.comment:
            is_row &= ~pc.starts_with(text, self.format.comment).to_numpy(zero_copy_only=False)
        marks: list[int] = []
        if self.format.header_prefix:
            is_mark = pc.starts_with(text, self.format.header_prefix).to_numpy(zero_copy_only=False)
            is_row &= ~is_mark
            if self.format.date_prefix:
                is_mark |= pc.starts_with(text, self.format.date_prefix).to_numpy(zero_copy_only=False)
            marks = np.flatnonzero(is_mark).tolist()
            if known.naming is None:
                for line in run.head:
                    self._note(known, line)
        for start, end in pairwise([0, *marks, len(text)]):
            if start in marks:
                self._note(known, text[start].as_py())
                known.naming = None
            yield self._part(known, run, text.slice(start, end - start), is_row[start:end], start)
        known.last = int(run.ordinals[-1]) if len(run.ordinals) else known.last

    def _note(self, known: _Artifact, line: str) -> None:
        """Note what a line says of those after it."""
        if self.format.header_prefix and line.startswith(self.format.header_prefix):
            # Blanks are between the names, whatever is between values.
            known.fields = self._spelt(self._header_names(line.removeprefix(self.format.header_prefix or "").split()))
        elif self.format.date_prefix and line.startswith(self.format.date_prefix):
            found = _DATE.match(line.removeprefix(self.format.date_prefix).strip())
            known.date = found[0] if found else ""

    def _part(
        self, known: _Artifact, run: Lines, text: pa.Array, is_row: np.ndarray, start: int
    ) -> tuple[Naming, Lines]:
        """The rows among lines of a run that have the same names."""
        ordinals = run.ordinals[start : start + len(text)]
        if known.naming is None:
            places = np.flatnonzero(is_row)[:HEAD_LINES]
            before = self._top(run.head)
            if top := before or text.take(pa.array(places)).to_pylist():
                naming, has_header = self._naming(known.fields, top)
                known.naming = replace(naming, date=known.date)
                known.header = int(ordinals[places[0]]) if has_header and not before else 0
        is_row &= ordinals != known.header
        naming = known.naming or Naming()
        if is_row.all():
            return naming, Lines(text, ordinals, run.artifact)
        return naming, Lines(text.filter(pa.array(is_row)), ordinals[is_row], run.artifact)

    def _top(self, head: Sequence[str]) -> list[str]:
        """The first lines of an artifact that are rows, or its header."""
        others = tuple(filter(None, (self.format.comment, self.format.header_prefix)))
        lines = [line for line in head[self.format.skip_lines :] if line and not line.startswith(others)]
        return lines[:HEAD_LINES]

    def _naming(self, marked: tuple[str, ...], top: Sequence[str]) -> tuple[Naming, bool]:
        """The names for lines that begin like this, and whether the first is a header."""
        values = [self._values(line) for line in top]
        is_settled = bool(marked) or self.format.needs_header
        fields, has_header = (marked, False) if is_settled else self._names(values)
        least = self.format.min_values
        width = len(fields)
        if least is not None and len(values) > has_header and len(values[has_header]) >= least:
            width = len(values[has_header])  # the lines that follow have most likely as many
        return Naming(self._spelt(fields), width, least), has_header

    def _names(self, values: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], bool]:
        fields = tuple(self.format.fields)
        has_header = self.format.header
        if has_header is None and self.format.known_fields:
            names = self._header_names(values[0])
            is_known = 2 * sum(name in self.format.known_fields for name in names) > len(names)
            return (names, True) if is_known else (fields, False)
        if has_header is None and fields:
            has_header = [value.strip().lower() for value in values[0]] == [name.lower() for name in fields]
        elif has_header is None:
            has_header = is_header(values[0], values[1:])
        if not fields:
            fields = self._header_names(values[0]) if has_header else numbered_names(len(values[0]))
        return fields, has_header

    def _header_names(self, values: Iterable[str]) -> tuple[str, ...]:
        return unique_names(map(snake_name, values) if self.format.snake_case else values)

    def _spelt(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._spellings.setdefault(name.lower(), name) for name in names)

    def _values(self, line: str) -> list[str]:
        try:
            return self._splitter.split(line)
        except ValueError:
            return [line]


def _is_number(value: str, nulls: Collection[str]) -> bool:
    return value in nulls or (value.isascii() and value.removeprefix("-").isdigit() and len(value) < _DIGITS)
