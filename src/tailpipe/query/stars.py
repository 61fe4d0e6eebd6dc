"""Which columns of an answer come from a star: those of a table that no select list of the statement names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tailpipe.frozen import frozen
from tailpipe.model.table import Table
from tailpipe.query.statements import words
from tailpipe.sql.duck import duckdb
from tailpipe.sql.quoting import literal

_TIME = "tp_timestamp"


@frozen
class Starred:
    """Places in an answer: of all columns that come from a star, and of those that `tp_timestamp` was made from."""

    places: frozenset[int] = frozenset()
    times: frozenset[int] = frozenset()


NO_STAR = Starred()


def starred_columns(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    columns: Sequence[str],
    known: Iterable[str],
    tables: Iterable[Table],
) -> Starred:
    """The columns of an answer that come from a star; `known` are the columns of the tables that it is from."""
    named = selected_names(connection, sql)
    if named is None:
        return NO_STAR
    lower = {name.lower() for name in known} - named
    places = frozenset(x for x, name in enumerate(columns) if name.lower() in lower)
    sources = words(" ".join(_time_expression(table) for table in tables)) - {_TIME}
    return Starred(places, frozenset(x for x in places if columns[x].lower() in sources))


def selected_names(connection: duckdb.DuckDBPyConnection, sql: str) -> frozenset[str] | None:
    """All names in the select lists in lower case; None without a list, as in DESCRIBE, or with a pattern."""
    ((serialized,),) = connection.cursor().execute(f"SELECT json_serialize_sql({literal(sql)})").fetchall()
    tree = json.loads(serialized)
    if tree["error"]:
        return None
    if any(node.get("class") == "STAR" and node.get("columns") for node in _nodes(tree)):
        return None
    if any(node.get("type") in ("SHOW_REF", "PIVOT") for node in _nodes(tree)):
        return None
    return frozenset(name.lower() for name in _names(tree))


def _names(tree: Any) -> Iterator[str]:
    for node in _nodes(tree):
        yield from _texts(node.get("column_name_alias"))
        for item in _nodes(node.get("select_list")):
            yield from _texts([item.get("alias"), *(item.get("column_names") or [])])
            if item.get("class") == "STAR":  # REPLACE (… AS a) and RENAME (a AS b) name columns
                yield from _texts(_leaves([item.get("replace_list"), item.get("rename_list")]))


def _nodes(tree: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict | list):
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from _leaves(value)
    else:
        yield tree


def _texts(values: Iterable[Any] | None) -> Iterator[str]:
    return (value for value in values or () if isinstance(value, str) and value)


def _time_expression(table: Table) -> str:
    """The SQL, or the field, that gives a table its `tp_timestamp`."""
    column = table.column(_TIME)
    mapped = (column.transform or column.source or "") if column else ""
    given = mapped or table.common.get(_TIME, "")
    return given if isinstance(given, str) else " ".join(given)
