"""Rows as DuckDB itself writes them: csv, JSON and text of every type, to the byte.

The session that answers is locked and may write nothing. So its Arrow batches go to a second DuckDB, which
sees no data but theirs, and whose own writers do the work.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailpipe.errors import UsageError
from tailpipe.sql.duck import blank, duckdb, first_line
from tailpipe.sql.quoting import literal, quoted
from tailpipe.storage.scratch import make_scratch

if TYPE_CHECKING:
    import pyarrow

_STRAY = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)')
_NESTED = re.compile(r"STRUCT\(|MAP\(|.*\]$")
_AS_TEXT = ("interval", "bit", "time with time zone", "bignum", "union", "variant", "geometry", "time_ns", "uuid")
_PORTABLE = {"hugeint": "DECIMAL(38,0)", "uhugeint": "DECIMAL(38,0)", **dict.fromkeys(_AS_TEXT, "VARCHAR")}
"""Types that Arrow or parquet lack, or that few can read, and their replacements."""


class Exact:
    """The columns of one answer, and what DuckDB makes of its batches; close it."""

    def __init__(self, columns: Sequence[str], types: Sequence[str]) -> None:
        self._columns, self._types = columns, types
        self._directory = make_scratch(Path(tempfile.gettempdir()), "tailpipe-answer-")
        self._connection = blank()
        # A batch is read by one thread, whatever there are; with more, DuckDB collects its rows before it writes them.
        self._connection.execute("SET threads = 1")

    def __enter__(self) -> Exact:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._directory.close()

    def csv_header(self, separator: str, null: str) -> bytes:
        """The first line; DuckDB's reason if these two cannot be used."""
        empty = ", ".join(f"NULL AS {quoted(name)}" for name in self._columns)
        try:
            return self._copied(f"SELECT {empty} WHERE false", f"{_csv_options(separator, null)}, HEADER true")
        except duckdb.Error as error:
            raise UsageError(first_line(error).rstrip("!"), hint="choose another --separator or --null") from error

    def csv(self, batch: Any, separator: str, null: str) -> bytes:
        """The lines of a batch."""
        return self._copied(self._named(batch, self._columns), f"{_csv_options(separator, null)}, HEADER false")

    def json(self, batch: Any) -> bytes:
        """The objects of a batch, one in each line; numbers that JSON does not know are null."""
        text = self._copied(self._named(batch, distinct(self._columns)), "FORMAT json")
        if b"NaN" in text or b"Infinity" in text:  # DuckDB writes them bare, which is no JSON
            text = _STRAY.sub(lambda found: found[0] if found[0].startswith(b'"') else b"null", text)
        return text

    def texts(self, batch: Any) -> Iterator[tuple[str | None, ...]]:
        """The cells of a batch as text; what is nested is JSON."""
        casts = ", ".join(
            f"CAST(to_json(c{x}) AS VARCHAR)" if _NESTED.match(kind) else f"CAST(c{x} AS VARCHAR)"
            for x, kind in enumerate(self._types)
        )
        offer(self._connection, "batch", batch)
        return iter(self._connection.execute(f"SELECT {casts} FROM batch").fetchall())

    def portable(self, batch: Any) -> Any:
        """A batch in types that every reader of Arrow and parquet knows, as a table."""
        offer(self._connection, "batch", batch)
        return cast_to_portable(self._connection, "FROM batch", self._columns, self._types)

    def portable_schema(self) -> Any:
        """The schema of what `portable` gives."""
        nulls = ", ".join(f"CAST(NULL AS {kind}) AS c{x}" for x, kind in enumerate(self._types))
        source = f"FROM (SELECT {nulls}) WHERE false"
        return cast_to_portable(self._connection, source, self._columns, self._types).schema

    def _named(self, batch: Any, names: Sequence[str]) -> str:
        offer(self._connection, "batch", batch)
        return "SELECT " + ", ".join(f"c{x} AS {quoted(name)}" for x, name in enumerate(names)) + " FROM batch"

    def _copied(self, select: str, options: str) -> bytes:
        path = self._directory.path / "rows"
        self._connection.execute(f"COPY ({select}) TO {literal(str(path))} ({options}, USE_TMP_FILE false)")
        return path.read_bytes()


def _csv_options(separator: str, null: str) -> str:
    return f"FORMAT csv, DELIMITER {literal(separator)}, NULLSTR {literal(null)}"


def portable(rows: pyarrow.Table, columns: Sequence[str], types: Sequence[str]) -> pyarrow.Table:
    """Rows of these DuckDB types in plain ones: a sum of integers is a decimal, a UUID is text."""
    with blank() as connection:
        offer(connection, "answer", rows)
        return cast_to_portable(connection, "FROM answer", columns, types)


def offer(connection: duckdb.DuckDBPyConnection, name: str, rows: Any) -> None:
    """Let one statement read Arrow rows; their columns are called c0, c1, … because two may have the same name.

    As a bare stream, because for a table DuckDB loads `pyarrow.dataset`, and that loads pandas.
    """
    renamed = rows.rename_columns([f"c{x}" for x in range(rows.num_columns)])
    connection.register(name, renamed.__arrow_c_stream__())


def cast_to_portable(
    connection: duckdb.DuckDBPyConnection, source: str, columns: Sequence[str], types: Sequence[str]
) -> pyarrow.Table:
    """The columns c0, c1, … of a source, in plain types and with names of their own."""
    casts = ", ".join(
        f"CAST(c{x} AS {_portable(connection.sqltype(kind))}) AS {quoted(name)}"
        for x, (kind, name) in enumerate(zip(types, distinct(columns), strict=True))
    )
    try:
        return connection.execute(f"SELECT {casts} {source}").to_arrow_table()
    except duckdb.ConversionException as error:
        cause = first_line(error)
        raise UsageError(f"a value is too large for this output: {cause}", hint="cast it to VARCHAR") from error


def distinct(names: Sequence[str]) -> list[str]:
    """Unique names: a query may name two columns alike, an object cannot; DuckDB ignores case."""
    found: dict[str, str] = {}
    for name in names:
        key, number = name, 0
        while key.lower() in found:
            number += 1
            key = f"{name}_{number}"
        found[key.lower()] = key
    return list(found.values())


def _portable(kind: Any) -> str:
    """The portable type for a DuckDB type, also inside of others."""
    if kind.id == "list":
        return f"{_portable(kind.children[0][1])}[]"
    if kind.id == "array":
        return f"{_portable(kind.children[0][1])}[{kind.children[1][1]}]"
    if kind.id == "struct":
        return "STRUCT(" + ", ".join(f"{quoted(name)} {_portable(inner)}" for name, inner in kind.children) + ")"
    if kind.id == "map":
        (_, key), (_, value) = kind.children
        return f"MAP({_portable(key)}, {_portable(value)})"
    return "VARCHAR" if str(kind) == "JSON" else _PORTABLE.get(kind.id, str(kind))
