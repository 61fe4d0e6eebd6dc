"""References: the names that an SQL expression of the user's refers to, as DuckDB itself reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

__all__ = ["references"]


def references(connection: duckdb.DuckDBPyConnection, expressions: Iterable[str]) -> tuple[str, ...]:
    """The names of columns in the expressions, each once; one that does not parse has none.

    The parameters of a lambda are among them. They do no harm: such a field is a null that nobody asks for.
    """
    found: dict[str, None] = {}
    for expression in expressions:
        ((text,),) = connection.execute("SELECT json_serialize_sql($1)", [f"SELECT ({expression}\n)"]).fetchall()
        found.update(dict.fromkeys(_columns(json.loads(text))))
    return tuple(found)


def _columns(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _columns(item)
    elif isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            yield node["column_names"][0]
        for value in node.values():
            yield from _columns(value)
