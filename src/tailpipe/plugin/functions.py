"""Parsers made of a plain function: of one line, or of one document.

They cost a call of Python for each row. A format of large logs is better read by a parser of whole columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, BinaryIO
from uuid import UUID

from tailpipe.model.parsing import Document, DocumentParser, Found, LineParser, Lines, Parsed, Rejected, Rows
from tailpipe.plugin.fields import KeyNames

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["document_parser", "line_parser", "run_parser"]

LineFunction = Callable[[str], Mapping[str, Any] | None]
DocumentFunction = Callable[[BinaryIO], Iterable[Mapping[str, Any] | Rejected]]

_ROWS = 16_384
"""So many rows of a document are handed on at once."""
_VALUE_BYTES = 16 * 1024 * 1024
"""A row with a longer value is rejected, as a longer line is."""
_SHOWN = 64 * 1024


def line_parser(function: LineFunction) -> LineParser:
    """A parser of lines: the function gives the fields of one, or None if the line is no row.

    A `ValueError` rejects the line; its message is the reason.
    """
    return _LineFunction(lambda _run: function)


def run_parser(choose: Callable[[Lines], LineFunction]) -> LineParser:
    """A parser of lines whose function is chosen for each run of lines, because it keeps state of the artifact.

    It is called for the lines of its run before the next one is chosen.
    """
    return _LineFunction(choose)


def document_parser(function: DocumentFunction) -> DocumentParser:
    """A parser of documents: the function gets a binary file and gives the fields of each row, or `Rejected`.

    A `ValueError` rejects the rest of the document; its message is the reason.
    """
    return _DocumentFunction(function)


@dataclass
class _LineFunction:
    choose: Callable[[Lines], LineFunction]
    _names: KeyNames = field(default_factory=KeyNames)

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """The values as text; each field that was met so far is there."""
        import numpy as np
        import pyarrow as pa

        from tailpipe.plugin.arrow import chosen_rows, line_table
        from tailpipe.sql.quoting import quoted

        table = line_table(runs)
        columns = _Columns(self._names)
        reasons: list[str | None] = []
        is_row = np.ones(table.num_rows, np.bool_)
        functions = chain.from_iterable(repeat(self.choose(run), len(run.ordinals)) for run in runs)
        for number, (line, function) in enumerate(zip(table["_line"].to_pylist(), functions, strict=True)):
            try:
                fields = function(line)
                if fields is None:
                    is_row[number] = False
                    continue
                columns.add(len(reasons), fields)
            except ValueError as error:
                reasons.append(_reason(error, "the line cannot be read"))
            except Exception as error:
                error.add_note(f"at line {table['_ordinal'][number].as_py():,}")
                raise
            else:
                reasons.append(None)
        table = table if is_row.all() else chosen_rows(table, is_row)
        table = table.rename_columns(["_artifact", "_ordinal", "_raw"])
        table = table.add_column(2, "_bad", pa.array(reasons, pa.string()))
        for name, column in columns.arrays(len(reasons)).items():
            table = table.append_column(name, column)
        sql = "SELECT " + ", ".join(map(quoted, table.column_names)) + " FROM function_rows"  # noqa: S608 - names are quoted
        kinds = dict.fromkeys(table.column_names[4:], "VARCHAR")
        return Parsed(sql, {"function_rows": table}, kinds, table.num_rows)


class _DocumentFunction(DocumentParser):
    def __init__(self, function: DocumentFunction) -> None:
        self._function = function
        self._names = KeyNames()

    def read(self, document: Document) -> Iterator[Found]:
        """The rows in columns of text, and what is rejected between them."""
        import pyarrow as pa

        columns, count = _Columns(self._names), 0
        for fields in self._rows(document.open()):
            rejected = fields if isinstance(fields, Rejected) else columns.try_add(count, fields)
            if rejected is None:
                count += 1
            if count == _ROWS or (count and rejected is not None):
                yield Rows(pa.table(columns.arrays(count)))
                columns, count = _Columns(self._names), 0
            if rejected is not None:
                yield rejected
        if count:
            yield Rows(pa.table(columns.arrays(count)))

    def _rows(self, file: BinaryIO) -> Iterator[Mapping[str, Any] | Rejected]:
        count = 0
        try:
            for fields in self._function(file):
                yield fields
                count += 1
        except ValueError as error:
            yield Rejected(_reason(error, "the document cannot be read"))
        except Exception as error:
            error.add_note(f"after {count:,} rows")
            raise


@dataclass
class _Columns:
    """Rows as columns of text: for each field its values, and the row of each."""

    names: KeyNames
    values: dict[str, tuple[list[int], list[str]]] = field(default_factory=dict)

    def add(self, row: int, fields: Mapping[str, Any]) -> None:
        """Take a row; a `ValueError` says why that cannot be, and a `TypeError` that it never can."""
        if not isinstance(fields, Mapping):
            raise TypeError(f"expected a mapping of fields, got {type(fields).__name__}")
        for key, value in fields.items():
            if not isinstance(key, str) or not key:
                raise TypeError(f"expected the name of a field, got {key!r}")
            if value is None:
                self.names[key]
                continue
            rows, values = self.values.setdefault(self.names[key], ([], []))
            if not rows or rows[-1] != row:  # of two names that differ in case alone, the first counts
                text = _text(key, value)
                rows.append(row)
                values.append(text)

    def try_add(self, row: int, fields: Mapping[str, Any]) -> Rejected | None:
        """Take a row, or reject it."""
        try:
            self.add(row, fields)
        except ValueError as error:
            for rows, values in self.values.values():
                if rows and rows[-1] == row:
                    rows.pop()
                    values.pop()
            return Rejected(str(error), str(dict(fields))[:_SHOWN])
        return None if fields else Rejected("the row has no fields", "{}")

    def arrays(self, count: int) -> dict[str, pa.Array]:
        """The columns of all fields that were met so far, null where a row has no value."""
        import numpy as np
        import pyarrow as pa

        found = {}
        for name in self.names.known.values():
            rows, values = self.values.get(name, ([], []))
            places = np.full(count, -1)
            places[rows] = np.arange(len(rows))
            found[name] = pa.array(values, pa.large_string()).take(pa.array(places, mask=places < 0))
        return found


def _text(field: str, value: Any) -> str:
    """A value as text: what the table makes of it, the types of its columns say."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float | Decimal | UUID | IPv4Address | IPv6Address):
        text = str(value)
    elif isinstance(value, date | time):  # a datetime is a date
        text = value.isoformat()
    elif isinstance(value, Mapping | list | tuple):
        text = json.dumps(value, ensure_ascii=False, default=lambda inner: _text(field, inner))
    else:
        what = "text, a number, a boolean, a time, a list or a mapping"
        raise TypeError(f'expected {what} for the field "{field}", got {type(value).__name__}')
    if len(text) > _VALUE_BYTES // 4 and len(text.encode("utf-8", "replace")) > _VALUE_BYTES:
        raise ValueError(f'the value of "{field}" has more than {_VALUE_BYTES:,} bytes')
    # Half a surrogate is no character, and no text that can be stored.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _reason(error: ValueError, otherwise: str) -> str:
    return str(error).encode("utf-8", "replace").decode() or otherwise
