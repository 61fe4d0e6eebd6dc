"""Rows as DuckDB itself writes them: csv, JSON and text of every type, to the byte.

The session that answers is locked and may write nothing. So its Arrow batches go to a second DuckDB, which
sees no data but theirs, and whose own writers do the work.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from tailpipe.errors import UsageError
from tailpipe.kernel.sql import literal, quoted

__all__ = ["Exact", "distinct"]

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "arrow_lossless_conversion": "true",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_STRAY = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)')
_NESTED = re.compile(r"STRUCT\(|MAP\(|.*\]$")
_PORTABLE = {
    "hugeint": "DECIMAL(38,0)",
    "uhugeint": "DECIMAL(38,0)",
    "interval": "VARCHAR",
    "bit": "VARCHAR",
    "time with time zone": "VARCHAR",
    "bignum": "VARCHAR",
    "union": "VARCHAR",
    "variant": "VARCHAR",
    "geometry": "VARCHAR",
    "time_ns": "VARCHAR",
    "uuid": "VARCHAR",
}
"""Types that Arrow or parquet lack, or that few can read, and what stands for them."""


class Exact:
    """The columns of one answer, and what DuckDB makes of its batches; close it."""

    def __init__(self, columns: Sequence[str], types: Sequence[str]) -> None:
        self._columns, self._types = columns, types
        self._arrow = _load_arrow()
        self._directory = Path(tempfile.mkdtemp(prefix="tailpipe-answer-"))
        self._connection = duckdb.connect(":memory:", config=_CONFIG)
        self._connection.execute("SET TimeZone = 'UTC'")

    def __enter__(self) -> Exact:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def csv_header(self, separator: str, null: str) -> bytes:
        """The first line; DuckDB's reason if these two cannot be used."""
        empty = ", ".join(f"NULL AS {quoted(name)}" for name in self._columns)
        try:
            return self._copied(f"SELECT {empty} WHERE false", f"{_csv_options(separator, null)}, HEADER true")
        except duckdb.Error as error:
            first = str(error).partition("\n")[0].rstrip("!")
            raise UsageError(first, hint="choose another --separator or --null") from error

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
        return iter(self._connection.execute(f"SELECT {casts} FROM batch").fetchall())  # noqa: S608 - our own names

    def portable(self, batch: Any) -> Any:
        """A batch in types that every reader of Arrow and parquet knows, as a table."""
        self._register(batch)
        return self._portable("FROM batch")

    def portable_schema(self) -> Any:
        """The schema of what `portable` gives."""
        nulls = ", ".join(f"CAST(NULL AS {kind}) AS c{x}" for x, kind in enumerate(self._types))
        return self._portable(f"FROM (SELECT {nulls}) WHERE false").schema

    def _portable(self, source: str) -> Any:
        casts = ", ".join(
            f"CAST(c{x} AS {_portable(self._connection.sqltype(kind))}) AS {quoted(name)}"
            for x, (kind, name) in enumerate(zip(self._types, distinct(self._columns), strict=True))
        )
        try:
            return self._connection.execute(f"SELECT {casts} {source}").to_arrow_table()
        except duckdb.ConversionException as error:
            first = str(error).partition("\n")[0]
            raise UsageError(f"a value is too large for this output: {first}", hint="cast it to VARCHAR") from error

    def _named(self, batch: Any, names: Sequence[str]) -> str:
        self._register(batch)
        return "SELECT " + ", ".join(f"c{x} AS {quoted(name)}" for x, name in enumerate(names)) + " FROM batch"  # noqa: S608

    def _register(self, batch: Any) -> None:
        """Make the batch the table `batch`, its columns called c0, c1, … because two may have the same name."""
        arrow = self._arrow
        fields = [field.with_name(f"c{x}") for x, field in enumerate(batch.schema)]
        renamed = arrow.RecordBatch.from_arrays(batch.columns, schema=arrow.schema(fields))
        self._connection.register("batch", arrow.Table.from_batches([renamed]))

    def _copied(self, select: str, options: str) -> bytes:
        path = self._directory / "rows"
        self._connection.execute(f"COPY ({select}) TO {literal(str(path))} ({options}, USE_TMP_FILE false)")
        return path.read_bytes()


def distinct(names: Sequence[str]) -> list[str]:
    """A query may name two columns alike, an object cannot; DuckDB does not tell cases apart."""
    found: dict[str, str] = {}
    for name in names:
        key, number = name, 0
        while key.lower() in found:
            number += 1
            key = f"{name}_{number}"
        found[key.lower()] = key
    return list(found.values())


class _NoPandas:
    """Tells whoever looks for pandas that there is none."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004 - asked for by Python
        if name == "pandas":
            raise ImportError("not now", name=name)


def _load_arrow() -> Any:
    """Arrow with the part that DuckDB asks for, which takes pandas along where it finds it.

    That would be a second of waiting for nothing, so pandas is hidden meanwhile.
    """
    import pyarrow

    if "pyarrow.dataset" not in sys.modules and "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
        try:
            import_module("pyarrow.dataset")
        finally:
            sys.meta_path.remove(_NoPandas)
    return pyarrow


def _csv_options(separator: str, null: str) -> str:
    return f"FORMAT csv, DELIMITER {literal(separator)}, NULLSTR {literal(null)}"


def _portable(kind: Any) -> str:
    """The type that stands for one of DuckDB's, also inside of others."""
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
