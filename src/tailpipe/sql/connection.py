"""Connections to DuckDB for one thread of work, and the types that a query would give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from tailpipe.sql.duck import duckdb


def connect(memory: str | None = None, spill: str | None = None) -> duckdb.DuckDBPyConnection:
    """A DuckDB of one thread that knows nothing but what it is given, and lives in UTC.

    `memory` is its memory limit, such as `2GB`, and `spill` a directory for what does not fit.
    """
    from tailpipe.sql.duck import duckdb

    config: dict[str, Any] = {"threads": 1, "autoinstall_known_extensions": False, "autoload_known_extensions": False}
    if memory is not None:
        config["memory_limit"] = memory
    if spill is not None:
        config["temp_directory"] = spill
    connection = duckdb.connect(":memory:", config=config)
    connection.execute("SET TimeZone = 'UTC'; SET python_enable_replacements = false")
    return connection


def expression_types(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """The DuckDB type of each column of a query, which is not run."""
    return [row[1] for row in connection.execute(f"DESCRIBE {query}").fetchall()]


@contextmanager
def registered(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]) -> Iterator[None]:
    """Inside, the tables are there by their names."""
    for name, table in tables.items():
        connection.register(name, table)
    try:
        yield
    finally:
        for name in tables:
            connection.unregister(name)
