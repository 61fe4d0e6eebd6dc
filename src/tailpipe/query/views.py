"""Views: a snapshot and the declared tables → the SQL of one view for each table. Nothing is read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailpipe.catalog.read import LiveFile, Snapshot
from tailpipe.kernel.sql import literal, quoted
from tailpipe.model.table import COMMON_COLUMNS, Table
from tailpipe.model.types import ColumnType, ListType, ScalarType, StructType

__all__ = ["SCHEMA", "View", "table_views"]

SCHEMA = "tailpipe"
"""The DuckDB schema of the views, which is the default one."""

_COMMON = {column.name: kind for column in COMMON_COLUMNS if (kind := column.column_type) is not None}


@dataclass(frozen=True)
class View:
    """A table as queries see it: its columns with their DuckDB types, in order, and the SQL that makes it."""

    name: str
    columns: Mapping[str, str]
    sql: str


def table_views(snapshot: Snapshot, tables: Mapping[str, Table]) -> list[View]:
    """One view for each table that is declared or that holds something, by name.

    A table that was never collected has its declared columns and no rows. One that no config or plugin
    declares any more is shown as its files have it.
    """
    files: dict[str, list[LiveFile]] = {}
    for file in snapshot.files:
        files.setdefault(file.partition.partition(".")[0], []).append(file)
    return [_view(name, files.get(name, ()), snapshot, tables.get(name)) for name in sorted({*files, *tables})]


def _view(name: str, files: Sequence[LiveFile], snapshot: Snapshot, table: Table | None) -> View:
    sets = [snapshot.columns[number] for number in sorted({file.columns_id for file in files})]
    stored = {column: kind for columns in sets for column, kind in columns.items()}
    declared = _declared(table)
    columns: dict[str, str] = {}
    selected = []
    for column in _ordered(declared, stored):
        expression, columns[column] = _column(column, stored.get(column), declared.get(column))
        selected.append(f"{expression} AS {quoted(column)}")
    source = _source(snapshot, files, has_changed=any(one != sets[0] for one in sets))
    sql = f"CREATE VIEW {SCHEMA}.{quoted(name)} AS SELECT {', '.join(selected)} {source}"
    return View(name, columns, sql)


def _declared(table: Table | None) -> dict[str, ColumnType | None]:
    own = {} if table is None else {column.name: column.column_type for column in table.columns}
    return {**own, **_COMMON}


def _ordered(declared: Mapping[str, object], stored: Mapping[str, object]) -> list[str]:
    """The table's own columns as they are declared, then those that were found, then the common ones."""
    names: dict[str, str] = {}
    for name in (*declared, *stored):  # DuckDB does not tell cases apart, and what is stored wins
        names[name.lower()] = name
    own = [name for name in names.values() if not name.startswith("tp_")]
    return own + sorted(name for name in names.values() if name.startswith("tp_"))


def _column(name: str, stored: str | None, declared: ColumnType | None) -> tuple[str, str]:
    """The expression of a column, and its type in the view."""
    shown = _shown(declared) if declared is not None else stored or "VARCHAR"
    if stored is None:
        return f"NULL::{shown}", shown
    # Only what was stored as text for want of a better type: any other difference is one that was
    # made in the config since, and a cast could fail on the rows that are there.
    if declared is not None and shown != declared.stored and _bare(stored) == _bare(declared.stored):
        return f"CAST({quoted(name)} AS {shown})", shown
    return quoted(name), stored


def _bare(kind: str) -> str:
    """A type without the quotes around the names of its fields, which DuckDB writes only where it must."""
    return kind.replace('"', "")


def _shown(kind: ColumnType) -> str:
    """The DuckDB type that queries see; addresses stay text, because their type needs an extension."""
    if isinstance(kind, ListType):
        return f"{_shown(kind.element)}[]"
    if isinstance(kind, StructType):
        return "STRUCT(" + ", ".join(f"{quoted(name)} {_shown(inner)}" for name, inner in kind.fields) + ")"
    if isinstance(kind, ScalarType) and kind.name == "inet":
        return kind.stored
    return kind.duckdb


def _source(snapshot: Snapshot, files: Sequence[LiveFile], *, has_changed: bool) -> str:
    if not files:
        return "WHERE false"
    paths = ", ".join(literal(f"{snapshot.root}/{file.path}") for file in files)
    by_name = ", union_by_name = true" if has_changed else ""
    return f"FROM read_parquet([{paths}], hive_partitioning = false{by_name})"
