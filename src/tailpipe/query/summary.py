"""What the catalog knows of its files, as the views `tp_catalog.files` and `tp_catalog.days`: no file is opened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tailpipe.catalog.snapshot import LiveFile
from tailpipe.query.shapes import ColumnShape, TableShape
from tailpipe.query.views import CATALOG
from tailpipe.sql.duck import duckdb
from tailpipe.sql.quoting import literal, quoted

if TYPE_CHECKING:
    from tailpipe.catalog.live import LargeSnapshot

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
_GROUPS_AT_ONCE = 1_000
_KEYED = (('["VARCHAR"]', "c0"), ('["DATE"]', "c1"))
_SUMMED = (
    *_KEYED,
    *(('["BIGINT"]', f"c{number}") for number in (2, 3, 4)),
    *(('["BIGINT"]', f"make_timestamp(c{number})") for number in (5, 6)),
    *(('["BOOLEAN"]', f"c{number}") for number in (7, 8)),
)
"""The columns of `LargeSnapshot.sums_of`: what they are in JSON, and what becomes of them."""
_EACH = (
    *_KEYED,
    *(('[["BIGINT"]]', f"c{number}") for number in (2, 3)),
    *(('[["BIGINT"]]', f"make_timestamp(c{number})") for number in (4, 5)),
    *(('[["BIGINT"]]', f"c{number} = 1") for number in (6, 7)),
)
"""The columns of `LargeSnapshot.files_of`, which has an array for each group of files."""
_CAST = ", ".join(f"make_timestamp({name})" if kind == "TIMESTAMP" else name for name, kind in _FILES.items())


def _shape(name: str, columns: dict[str, str]) -> TableShape:
    return TableShape(CATALOG, name, tuple(ColumnShape(column, kind) for column, kind in columns.items()), None)


SHAPES = (_shape("days", _DAYS), _shape("files", _FILES))


def outline_summary(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables without rows."""
    for name, columns in (("files", _FILES), ("days", _DAYS)):
        kinds = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns.items())
        connection.execute(f"CREATE OR REPLACE TABLE {CATALOG}.{name} ({kinds})")


def make_summary(connection: duckdb.DuckDBPyConnection, files: Sequence[LiveFile]) -> None:
    """Fill the tables with what is known of these files."""
    outline_summary(connection)
    types = {name: "BIGINT" if kind == "TIMESTAMP" else kind for name, kind in _FILES.items()}
    for begin in range(0, len(files), _AT_ONCE):
        # As JSON in the statement: for anything else, DuckDB's Python would import pandas.
        rows = json.dumps([_row(file) for file in files[begin : begin + _AT_ONCE]])
        read = f"SELECT unnest(from_json({literal(rows)}, {literal(json.dumps([types]))}), recursive := true)"
        connection.execute(f"INSERT INTO {CATALOG}.files SELECT {_CAST} FROM ({read})")
    _sum_up(connection)


def _sum_up(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(f"INSERT INTO {CATALOG}.days {_SUMS} FROM {CATALOG}.files GROUP BY ALL")


def make_large_summary(connection: duckdb.DuckDBPyConnection, snapshot: LargeSnapshot, *, with_files: bool) -> None:
    """Fill the tables for a large snapshot, summed by the catalog; `files` only on request."""
    outline_summary(connection)
    for partition in sorted(snapshot.partitions):
        table, _, name = partition.partition(".")
        own = f"{literal(table)}, {literal(name)}"
        if with_files:
            _insert(connection, "files", own, snapshot.files_of(partition), _EACH)
        else:
            _insert(connection, "days", own, snapshot.sums_of(partition), _SUMMED)
    if with_files:
        _sum_up(connection)


def _insert(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    own: str,
    groups: Iterable[tuple[str | None, ...]],
    columns: Sequence[tuple[str, str]],
) -> None:
    """Insert rows whose columns are given as texts, or for groups of rows as JSON arrays."""
    while some := list(islice(groups, _GROUPS_AT_ONCE)):
        given = [
            f"[{','.join(map(str, column))}]" if "[[" in kind else json.dumps(column)
            for column, (kind, _) in zip(zip(*some, strict=True), columns, strict=True)
        ]
        lists = (
            f"unnest(from_json({literal(text)}, {literal(kind)})) AS c{number}"
            for number, (text, (kind, _)) in enumerate(zip(given, columns, strict=True))
        )
        each = (f"unnest(c{n}) AS c{n}" if "[[" in kind else f"c{n}" for n, (kind, _) in enumerate(columns))
        shown = ", ".join(shown for _, shown in columns)
        connection.execute(
            f"INSERT INTO {CATALOG}.{table} SELECT {own}, {shown} FROM (SELECT {', '.join(each)}"
            f" FROM (SELECT {', '.join(lists)}))"
        )


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
