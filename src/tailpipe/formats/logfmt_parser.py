"""Lines of `key=value` pairs.

A value is bare, up to the next blank, or in double quotes with the escapes of JSON. A key without `=` is
`true`. Of two equal keys in a line, the first counts; case does not make keys different, as in SQL. A line
without any `=`, or with text that is no pair, is bad.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tailpipe.plugin import Lines, Parsed
from tailpipe.plugin.arrow import line_table
from tailpipe.plugin.fields import KeyNames
from tailpipe.plugin.sql import quoted

_PAIR = re.compile(r'([^\s="]+)(?:(=)(?:"((?:[^"\\]|\\.)*)"|([^\s"]\S*))?)?(?!\S)|(\S+)', re.ASCII | re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_PLAIN = {'\\"': '"', "\\\\": "\\", "\\/": "/", "\\b": "\b", "\\f": "\f", "\\n": "\n", "\\r": "\r", "\\t": "\t"}


@dataclass
class _Column:
    """The values of one field in a batch, and the row of each."""

    rows: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)

    def array(self, count: int) -> pa.Array:
        places = np.full(count, -1)
        places[self.rows] = np.arange(len(self.rows))
        return pa.array(self.values, pa.string()).take(pa.array(places, mask=places < 0))


@dataclass
class LogfmtParser:
    """Reads pairs; remembers which field each key is, so that a field keeps its name and place."""

    _names: KeyNames = field(default_factory=KeyNames)

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The values as text; each field that was met so far is there."""
        table = line_table(runs)
        columns = {name: _Column() for name in self._names.known.values()}
        by_key: dict[str, _Column] = {}  # as keys are spelt, so that a line costs one look for each
        reasons: list[str | None] = []
        for row, line in enumerate(table["_line"].to_pylist()):
            try:
                pairs = _pairs(line)
                for key, *_ in pairs:
                    if key not in by_key:
                        by_key[key] = columns.setdefault(self._names[key], _Column())
            except ValueError as error:
                reasons.append(str(error))
                continue
            reasons.append(None)
            for key, sign, text, bare, _ in pairs:
                column = by_key[key]
                if not column.rows or column.rows[-1] != row:
                    column.rows.append(row)
                    column.values.append((bare or (unescaped(text) if "\\" in text else text)) if sign else "true")
        table = table.rename_columns(["_artifact", "_ordinal", "_raw"])
        table = table.add_column(2, "_bad", pa.array(reasons, pa.string()))
        for name, column in columns.items():
            table = table.append_column(name, column.array(table.num_rows))
        sql = "SELECT " + ", ".join(map(quoted, table.column_names)) + " FROM logfmt_rows"
        return Parsed(sql, {"logfmt_rows": table}, dict.fromkeys(columns, "VARCHAR"), table.num_rows)


def _pairs(line: str) -> list[tuple[str, str, str, str, str]]:
    """Key, sign, quoted value, bare value and nothing, of each pair; a `ValueError` says why there are none."""
    found: list[tuple[str, str, str, str, str]] = _PAIR.findall(line)
    has_sign = False
    for _, sign, _, _, junk in found:
        if junk:
            raise ValueError("a quote is not closed, or out of place" if '"' in junk else "a value has no key")
        has_sign = has_sign or bool(sign)
    if not has_sign:
        raise ValueError("has no key=value pair")
    return found


def unescaped(text: str) -> str:
    """A quoted value with its escapes resolved; a backslash before any other character is kept."""
    text = _ESCAPE.sub(lambda one: json.loads(f'"{one[0]}"') if len(one[0]) == 6 else _PLAIN.get(one[0], one[0]), text)
    # A pair of escaped surrogates is one character; half a pair is none.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
