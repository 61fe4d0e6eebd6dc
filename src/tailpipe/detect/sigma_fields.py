"""Fields of Sigma rules → SQL over the columns of a table, by what the table declares of its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.names import spelt
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.table import COMMON_COLUMNS, Column, Table
from tailpipe.model.types import ColumnType, ListType, StructType
from tailpipe.sql.quoting import json_path, quoted

Test = Callable[[str], str]
"""A condition on a value, given as SQL."""


@frozen
class Field:
    """A field as SQL: one text, or a list of texts where there may be several (below JSON, and in lists)."""

    sql: str
    is_list: bool = False

    def holds(self, test: Test) -> str:
        """True if the test holds for a value, else false: a null is never unknown."""
        if self.is_list:
            return f"coalesce(len(list_filter({self.sql}, x -> coalesce({test('x')}, false))) > 0, false)"
        return f"coalesce({test(self.sql)}, false)"

    @property
    def is_there(self) -> str:
        """True if there is a value."""
        return self.holds(lambda x: f"{x} IS NOT NULL")


@frozen
class Fields:
    """How rules name the columns of one table; `aliases` are SQL expressions by the name of a field."""

    table: Table
    aliases: Mapping[str, str]

    def find(self, name: str) -> Field:
        """The field of that name, or a `UsageError`."""
        if name in self.aliases:
            return Field(f"(({self.aliases[name]})::VARCHAR)")
        first, *rest = name.split(".")
        column = self._column(name) or self._column(first)
        if column is None:
            known = [one.source or one.name for one in self.table.columns if one.source != "*"]
            hint = did_you_mean(name, known, f"see: tailpipe table show {self.table.name}; or name it in fields")
            raise UsageError(f'table "{self.table.name}" has no field "{name}"', hint=hint)
        keys = [] if self._column(name) is not None else rest
        return self._inside(name, quoted(column.name), column.column_type, column.keys, keys)

    def _column(self, name: str) -> Column | None:
        own = [one for one in (*self.table.columns, *COMMON_COLUMNS) if one.source != "*"]
        return next((one for one in own if name.lower() in (one.name.lower(), (one.source or "").lower())), None)

    def _inside(self, name: str, sql: str, kind: ColumnType | None, keys: Any, path: list[str]) -> Field:
        while path and isinstance(kind, StructType):
            wanted = path.pop(0)
            for inner, inner_kind in kind.fields:
                if wanted.lower() in (inner.lower(), spelt(inner, keys).lower() if keys else ""):
                    sql, kind = f"{sql}.{quoted(inner)}", inner_kind
                    break
            else:
                hint = did_you_mean(wanted, [inner for inner, _ in kind.fields])
                raise UsageError(f'table "{self.table.name}" has no field "{name}"', hint=hint)
        if kind is not None and kind.name == "json" and path:
            return Field(_json_values(sql, path), is_list=True)
        if path:
            raise UsageError(f'table "{self.table.name}" has no field "{name}"')
        if isinstance(kind, ListType):
            return Field(f"list_transform({sql}, y -> y::VARCHAR)", is_list=True)
        return Field(f"({sql}::VARCHAR)")


def _json_values(sql: str, path: list[str]) -> str:
    """The texts at a path in JSON, in every element of arrays on the way and at its end.

    Most objects have no array, and then one look suffices.
    """
    values = f"[{sql}]"
    for key in path:
        values = f"list_transform({_opened(values)}, y -> json_extract(y, {json_path(key)}))"
    texts = f"list_transform({_opened(values)}, y -> json_extract_string(y, '$'))"
    plain = f"[json_extract_string({sql}, {json_path(*path)})]"
    return f"CASE WHEN contains({sql}::VARCHAR, '[') THEN {texts} ELSE {plain} END"


def _opened(values: str) -> str:
    """A list of JSON with the elements of arrays instead of the arrays."""
    return (
        f"flatten(list_transform({values}, y -> CASE json_type(y) WHEN 'ARRAY' THEN json_extract(y, '$[*]')"
        " ELSE [y] END))"
    )
