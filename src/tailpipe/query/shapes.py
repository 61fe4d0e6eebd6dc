"""Shapes: what tables there are and what is in them, for completion and for `.tables`."""

from __future__ import annotations

from dataclasses import dataclass

from tailpipe.errors import UsageError
from tailpipe.model.types import ColumnType, ListType, StructType, parse_type
from tailpipe.query.views import View

__all__ = ["ColumnShape", "TableShape", "shape_of"]


@dataclass(frozen=True)
class ColumnShape:
    """A column or a field of a struct: its name, its DuckDB type, and the fields inside it."""

    name: str
    type: str
    fields: tuple[ColumnShape, ...] = ()


@dataclass(frozen=True)
class TableShape:
    """A table of a schema, with its columns in order."""

    schema: str
    name: str
    columns: tuple[ColumnShape, ...]


def shape_of(view: View) -> TableShape:
    """What a view shows."""
    columns = tuple(ColumnShape(name, kind, _fields_of(kind)) for name, kind in view.columns.items())
    return TableShape(view.schema, view.name, columns)


def _fields_of(kind: str) -> tuple[ColumnShape, ...]:
    if "STRUCT" not in kind:
        return ()
    try:
        return _fields(parse_type(kind))
    except UsageError:  # a type of DuckDB that no table declares
        return ()


def _fields(kind: ColumnType) -> tuple[ColumnShape, ...]:
    if isinstance(kind, ListType):
        return _fields(kind.element)
    if not isinstance(kind, StructType):
        return ()
    return tuple(ColumnShape(name, inner.duckdb, _fields(inner)) for name, inner in kind.fields)
