"""Answers for everyone: their columns in types that every reader of Arrow and parquet knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tailpipe.errors import UsageError
from tailpipe.sql.duck import blank, duckdb, first_line
from tailpipe.sql.quoting import quoted

if TYPE_CHECKING:
    import pyarrow

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
        raise UsageError(
            f"a value is too large for this output: {first_line(error)}", hint="cast it to VARCHAR"
        ) from error


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
