"""Rows as DuckDB itself writes them: csv, JSON and text of every type, to the byte.

The session that answers is locked and may write nothing. So its Arrow batches go to a second DuckDB, which
sees no data but theirs, and whose own writers do the work.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.query.portable import cast_to_portable, distinct, offer
from tailpipe.sql.duck import blank, duckdb, first_line
from tailpipe.sql.quoting import literal, quoted
from tailpipe.storage.scratch import make_scratch

_STRAY = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)')
_NESTED = re.compile(r"STRUCT\(|MAP\(|.*\]$")


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        self._register(batch)
        return iter(self._connection.execute(f"SELECT {casts} FROM batch").fetchall())

    def portable(self, batch: Any) -> Any:
        """A batch in types that every reader of Arrow and parquet knows, as a table."""
        self._register(batch)
        return self._portable("FROM batch")

    def portable_schema(self) -> Any:
        """The schema of what `portable` gives."""
        nulls = ", ".join(f"CAST(NULL AS {kind}) AS c{x}" for x, kind in enumerate(self._types))
        return self._portable(f"FROM (SELECT {nulls}) WHERE false").schema

    def _portable(self, source: str) -> Any:
        return cast_to_portable(self._connection, source, self._columns, self._types)

    def _named(self, batch: Any, names: Sequence[str]) -> str:
        self._register(batch)
        return "SELECT " + ", ".join(f"c{x} AS {quoted(name)}" for x, name in enumerate(names)) + " FROM batch"

    def _register(self, batch: Any) -> None:
        """Make the batch the table `batch` for one statement."""
        offer(self._connection, "batch", batch)

    def _copied(self, select: str, options: str) -> bytes:
        path = self._directory.path / "rows"
        self._connection.execute(f"COPY ({select}) TO {literal(str(path))} ({options}, USE_TMP_FILE false)")
        return path.read_bytes()


def _csv_options(separator: str, null: str) -> str:
    return f"FORMAT csv, DELIMITER {literal(separator)}, NULLSTR {literal(null)}"
