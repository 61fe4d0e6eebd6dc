"""SQL text: names and values of users, quoted for statements. The one place that quotes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from tailpipe.model.types import ColumnType, ListType, StructType


def quoted(name: str) -> str:
    """A name as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str | None) -> str:
    """A text as a value; None is NULL."""
    if text is None:
        return "NULL"
    # DuckDB ends a statement at a NUL, wherever it stands.
    return " || chr(0) || ".join("'" + part.replace("'", "''") + "'" for part in text.split("\0"))


def moment(time: datetime | None) -> str:
    """A time in UTC as a value of a column, which has no zone; None is NULL."""
    return "NULL" if time is None else f"TIMESTAMP {literal(time.replace(tzinfo=None).isoformat(' '))}"


def index_value(column: str | None) -> str:
    """The value by which files are divided: that of the column, as text, or one for all rows."""
    return f"{quoted(column)}::VARCHAR" if column else "'default'"


def text_list(texts: Iterable[str | None]) -> str:
    """Texts as a list of values."""
    return "([" + ", ".join(literal(text) for text in texts) + "]::VARCHAR[])"


def text_type(kind: ColumnType) -> str:
    """The DuckDB type in which JSON gives such a column: its shape, with text in all places but those for JSON."""
    if isinstance(kind, ListType):
        return f"{text_type(kind.element)}[]"
    if isinstance(kind, StructType):
        return "STRUCT(" + ", ".join(f"{quoted(name)} {text_type(inner)}" for name, inner in kind.fields) + ")"
    return "JSON" if kind.name == "json" else "VARCHAR"


def json_shape(kind: ColumnType) -> object:
    """The shape of a column as `from_json` takes it: text in all places but those for JSON."""
    if isinstance(kind, ListType):
        return [json_shape(kind.element)]
    if isinstance(kind, StructType):
        return {name: json_shape(inner) for name, inner in kind.fields}
    return "JSON" if kind.name == "json" else "VARCHAR"


def json_path(*keys: str) -> str:
    """The path to a key inside objects, as a value."""
    return literal("$" + "".join("." + json.dumps(key, ensure_ascii=False) for key in keys))
