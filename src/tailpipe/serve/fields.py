"""Fields of the search box: a name with dots → the SQL of its value in one table, with its DuckDB type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.types import StructType, parse_type
from tailpipe.sql.duck import blank
from tailpipe.sql.quoting import json_path, literal, quoted


@frozen
class Field:
    """The value of a field: an expression over the columns of a table, and its DuckDB type."""

    sql: str
    type: str

    @property
    def element(self) -> str:
        """The type of the values of a list."""
        return self.type[: self.type.rindex("[")]


def is_list(kind: str) -> bool:
    """Whether values of this DuckDB type are lists."""
    return kind.endswith("]")


@cache
def _keywords() -> frozenset[str]:
    with blank() as connection:
        rows = connection.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()
        return frozenset(word for (word,) in rows)


def spelt(name: str) -> str:
    """A name as SQL that people read: in quotes only where it needs them."""
    is_plain = name.isascii() and name.isidentifier() and name == name.lower() and name not in _keywords()
    return name if is_plain else quoted(name)


def find_field(path: tuple[str, ...], columns: Mapping[str, str]) -> Field | None:
    """The field of a path in any case; columns first, so that one with a dot in its name needs no quotes."""
    whole = ".".join(path)
    by_lower = {name.lower(): name for name in columns}
    if (name := by_lower.get(whole.lower())) is not None:
        return Field(spelt(name), columns[name])
    if (name := by_lower.get(path[0].lower())) is None:
        return None
    return _inside(Field(spelt(name), columns[name]), path[1:])


def field_named(name: str, columns: Mapping[str, str]) -> Field | None:
    """The field of a name with dots; None if the table has none."""
    return find_field(tuple(name.split(".")), columns)


def _inside(field: Field, path: tuple[str, ...]) -> Field | None:
    """What a struct, a map or JSON holds below a path."""
    if not path:
        return field
    if field.type == "JSON":
        return Field(f"json_extract_string({field.sql}, {json_path(*path)})", "VARCHAR")
    if field.type.startswith("MAP(VARCHAR, ") and not is_list(field.type):
        kind = field.type.removeprefix("MAP(VARCHAR, ").removesuffix(")")
        return _inside(Field(f"{field.sql}[{literal(path[0])}]", kind), path[1:])
    if not field.type.startswith("STRUCT(") or is_list(field.type):
        return None
    try:
        parsed = parse_type(field.type)
    except UsageError:  # a type of DuckDB that no table declares
        return None
    if not isinstance(parsed, StructType):
        return None
    for name, inner in parsed.fields:
        if name.lower() == path[0].lower():
            shown = "VARCHAR" if inner.name == "inet" else inner.duckdb
            return _inside(Field(f"struct_extract({field.sql}, {literal(name)})", shown), path[1:])
    return None
