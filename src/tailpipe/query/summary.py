"""What the catalog knows of its files, as the views `tp_catalog.files` and `tp_catalog.days`: no file is opened."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailpipe.catalog.snapshot import LiveFile
from tailpipe.query.shapes import ColumnShape, TableShape
from tailpipe.query.views import CATALOG
from tailpipe.sql.quoting import literal, quoted

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

__all__ = ["SHAPES", "make_summary", "outline_summary"]

_FILES = {
    "tp_table": "VARCHAR",
    "tp_partition": "VARCHAR",
    "tp_index": "VARCHAR",
    "tp_date": "DATE",
    "rows": "BIGINT",
    "bytes": "BIGINT",
    "first_event": "TIMESTAMP",
    "last_event": "TIMESTAMP",
    "is_here": "BOOLEAN",
    "is_in_store": "BOOLEAN",
}
_KEYS = ("tp_table", "tp_partition", "tp_index", "tp_date")
_DAYS = {name: _FILES[name] for name in _KEYS} | {"files": "BIGINT"} | _FILES
_SUMS = (
    "SELECT tp_table, tp_partition, tp_index, tp_date, count(*) AS files, sum(rows)::BIGINT AS rows,"
    " sum(bytes)::BIGINT AS bytes, min(first_event) AS first_event, max(last_event) AS last_event,"
    " bool_and(is_here) AS is_here, bool_and(is_in_store) AS is_in_store"
)
_AT_ONCE = 10_000
_CAST = ", ".join(f"make_timestamp({name})" if kind == "TIMESTAMP" else name for name, kind in _FILES.items())


def _shape(name: str, columns: dict[str, str]) -> TableShape:
    return TableShape(CATALOG, name, tuple(ColumnShape(column, kind) for column, kind in columns.items()), None)


SHAPES = (_shape("days", _DAYS), _shape("files", _FILES))


def outline_summary(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the views without rows."""
    columns = ", ".join(f"NULL::{kind} AS {quoted(name)}" for name, kind in _FILES.items())
    _make(connection, f"SELECT {columns} WHERE false")


def make_summary(connection: duckdb.DuckDBPyConnection, files: Sequence[LiveFile]) -> None:
    """Make the views over these files."""
    outline_summary(connection)
    for begin in range(0, len(files), _AT_ONCE):
        # As JSON in the statement: for anything else, DuckDB's Python would import pandas.
        rows = json.dumps([_row(file) for file in files[begin : begin + _AT_ONCE]])
        connection.execute(f"INSERT INTO {CATALOG}.files SELECT {_CAST} FROM ({_read(rows)})")


def _row(file: LiveFile) -> dict[str, object]:
    table, _, partition = file.partition.partition(".")
    return {
        "tp_table": table,
        "tp_partition": partition,
        "tp_index": file.tp_index,
        "tp_date": file.tp_date.isoformat(),
        "rows": file.rows,
        "bytes": file.size,
        "first_event": file.min_microseconds,
        "last_event": file.max_microseconds,
        "is_here": file.is_here,
        "is_in_store": file.key is not None,
    }


def _read(rows: str) -> str:
    types = {name: "BIGINT" if kind == "TIMESTAMP" else kind for name, kind in _FILES.items()}
    return f"SELECT unnest(from_json({literal(rows)}, {literal(json.dumps([types]))}), recursive := true)"


def _make(connection: duckdb.DuckDBPyConnection, rows: str) -> None:
    connection.execute(f"DROP VIEW IF EXISTS {CATALOG}.days")
    connection.execute(f"CREATE OR REPLACE TABLE {CATALOG}.files AS {rows}")
    connection.execute(f"CREATE VIEW {CATALOG}.days AS {_SUMS} FROM {CATALOG}.files GROUP BY ALL")
