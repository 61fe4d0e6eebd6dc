"""Lines that another parser takes apart, with each field made by SQL of the texts that it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tailpipe.frozen import frozen
from tailpipe.model.format import RESERVED_FIELDS
from tailpipe.plugin import LineParser, Lines, Parsed
from tailpipe.plugin.sql import quoted


@frozen
class MappedParser:
    """Reads lines by a parser, and makes of its texts the values that are meant."""

    lines: LineParser
    values: Mapping[str, tuple[str, str]]
    """For each field its DuckDB type, and SQL over the fields of the other parser and `_raw`."""

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """One row to a line."""
        parsed = self.lines.parse(runs)
        values = [f"{sql} AS {quoted(name)}" for name, (_, sql) in self.values.items()]
        fields = {name: kind for name, (kind, _) in self.values.items()}
        selected = ", ".join([*RESERVED_FIELDS, *values])
        return replace(parsed, sql=f"SELECT {selected} FROM ({parsed.sql})", fields=fields)
