"""Shapes: what tables there are and what is in them, for completion and for `.tables`."""

from __future__ import annotations

from datetime import datetime

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.types import ColumnType, ListType, StructType, parse_type
from tailpipe.query.views import SCHEMA, View


@frozen
class ColumnShape:
    """A column or a field of a struct: its name, its DuckDB type, and the fields inside it."""

    name: str
    type: str
    fields: tuple[ColumnShape, ...] = ()


@frozen
class TableShape:
    """A table of a schema, with its columns in order and its rows; None if only a query can count them."""

    schema: str
    name: str
    columns: tuple[ColumnShape, ...]
    rows: int | None = 0


@frozen
class Content:
    """How much a table of a schema shows: rows, bytes of the files behind them, first and last `tp_timestamp`."""

    table: str
    rows: int
    size: int
    first: datetime | None
    last: datetime | None
    is_copy: bool


def shape_of(view: View) -> TableShape:
    """What a view shows."""
    columns = tuple(ColumnShape(name, kind, _fields(kind)) for name, kind in view.columns.items())
    is_whole = view.schema == SCHEMA and not view.conditions
    return TableShape(view.schema, view.name, columns, view.rows if is_whole or not view.files else None)


def _fields(kind: ColumnType | str) -> tuple[ColumnShape, ...]:
    if isinstance(kind, str):
        try:
            return _fields(parse_type(kind)) if "STRUCT" in kind else ()
        except UsageError:  # a type of DuckDB that no table declares
            return ()
    if isinstance(kind, ListType):
        return _fields(kind.element)
    if not isinstance(kind, StructType):
        return ()
    return tuple(ColumnShape(name, inner.duckdb, _fields(inner)) for name, inner in kind.fields)
