"""An SQL expression of the user's as DuckDB reads it: the names in it, with their positions in the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tailpipe.frozen import frozen
from tailpipe.model.outputs import Output
from tailpipe.model.paths import is_plain_path
from tailpipe.model.types import ColumnType, StructType
from tailpipe.sql.quoting import literal, quoted

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

_IDENTIFIER = re.compile(r'"(?:[^"]|"")*"|[^\W\d]\w*')
_DOTTED = re.compile(rf"(?:{_IDENTIFIER.pattern})(?:\s*\.\s*(?:{_IDENTIFIER.pattern}))*")
_BEFORE = "SELECT ("
_ARROWS = ("->", "->>")
_CLAIMS = frozenset({"CONJUNCTION", "COMPARISON", "BETWEEN"})
_CLAIMING = frozenset(
    {"OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "COMPARE_IN", "COMPARE_NOT_IN"}
    | {"~~", "!~~", "~~*", "!~~*", "~~~", "^@", "regexp_full_match"}
)
"""What gives true or false, by the names of DuckDB's tree."""


@frozen
class Word:
    """A name in an expression; `position` counts the characters before it, and is None if it is not known."""

    name: str
    position: int | None
    inside: tuple[str, ...] = ()
    """The names behind it with dots: what is taken from inside a column."""


@frozen
class Expression:
    """What an expression is made of; `error` says why it is none, at `error_position`."""

    columns: tuple[Word, ...] = ()
    functions: tuple[Word, ...] = ()
    subqueries: tuple[Word, ...] = ()
    windows: tuple[Word, ...] = ()
    weak_arrows: tuple[Word, ...] = ()
    error: str = ""
    error_position: int | None = None


def references(connection: duckdb.DuckDBPyConnection, expressions: Iterable[str]) -> tuple[str, ...]:
    """The names of columns in the expressions, each once; one that does not parse has none."""
    words = (word for text in expressions for word in read_expression(connection, text).columns)
    return tuple(dict.fromkeys(word.name for word in words))


def with_paths(connection: duckdb.DuckDBPyConnection, outputs: Iterable[Output]) -> tuple[Output, ...]:
    """The columns of a JSON format, in whose expressions `actor.name` is a path of its own.

    A struct that a column has is taken apart by DuckDB. Anything else may be read as text or JSON for somebody else.
    """
    known = tuple(outputs)
    return tuple(_with_paths(connection, output, known) if output.transform else output for output in known)


def _with_paths(connection: duckdb.DuckDBPyConnection, output: Output, known: Sequence[Output]) -> Output:
    text, takes = output.transform or "", dict(output.takes)
    words = [word for word in read_expression(connection, text).columns if word.inside and word.position is not None]
    for word in sorted(words, key=lambda word: word.position or 0, reverse=True):
        names = (word.name, *word.inside)
        match = _DOTTED.match(text, word.position or 0)
        written = (one[0] for one in _IDENTIFIER.finditer(match[0])) if match else ()
        plain = tuple(one[1:-1].replace('""', '"') if one.startswith('"') else one for one in written)
        if match is None or plain != names or _is_in_struct(names, known):
            continue
        field = ".".join(name if is_plain_path(name) else quoted(name) for name in names)
        takes[field] = names
        text = text[: match.start()] + quoted(field) + text[match.end() :]
    return replace(output, transform=text, takes=takes) if text != output.transform else output


def _is_in_struct(names: tuple[str, ...], known: Iterable[Output]) -> bool:
    for output in known:
        if output.source is None or output.path or output.source.lower() != names[0].lower():
            continue
        kind: ColumnType | None = output.read
        for name in names[1:]:
            fields = kind.fields if isinstance(kind, StructType) else ()
            kind = next((one for key, one in fields if key.lower() == name.lower()), None)
        if kind is not None:
            return True
    return False


def taken_fields(connection: duckdb.DuckDBPyConnection, outputs: Iterable[Output]) -> tuple[str, ...]:
    """The fields that the expressions of columns name, without the paths among them."""
    found: dict[str, None] = {}
    for output in outputs:
        if output.transform is not None:
            words = read_expression(connection, output.transform).columns
            found.update((word.name, None) for word in words if word.name not in output.takes)
    return tuple(found)


def read_expression(connection: duckdb.DuckDBPyConnection, text: str) -> Expression:
    """Take an expression apart, without looking at what its names mean."""
    # The line feed keeps a comment at the end from swallowing the bracket.
    # In the statement, not as a parameter: for one, DuckDB's Python imports pandas.
    statement = literal(f"{_BEFORE}{text}\n)")
    ((serialized,),) = connection.execute(f"SELECT json_serialize_sql({statement})").fetchall()
    tree = json.loads(serialized)
    if tree["error"]:
        # Here DuckDB counts characters, in the tree bytes.
        place = int(tree["position"]) - len(_BEFORE) if "position" in tree else None
        return Expression(error=tree["error_message"], error_position=place)
    if len(tree["statements"]) != 1:
        return Expression(error="several statements")
    node = tree["statements"][0]["node"]
    # No text may leave the brackets around it: the statement is one expression and nothing else.
    is_alone = node["type"] == "SELECT_NODE" and len(node["select_list"]) == 1 and node["from_table"]["type"] == "EMPTY"
    if not is_alone or any(map(node.get, ("modifiers", "where_clause", "group_expressions", "having", "qualify"))):
        return Expression(error="a bracket is closed that was not opened")
    found: dict[str, list[Word]] = {"COLUMN_REF": [], "FUNCTION": [], "SUBQUERY": [], "WINDOW": [], "ARROW": []}
    encoded, weak = text.encode(), (("ARROW", (name,), location) for name, location in _weak_arrows(tree))
    for kind, names, location in (*_nodes(node, frozenset()), *weak):
        start = location - len(_BEFORE)  # in bytes
        is_known = start >= 0 and location < 2**32
        place = min(len(text), len(encoded[:start].decode("utf-8", "ignore"))) if is_known else None
        found[kind].append(Word(names[0], place, names[1:]))
    columns, functions, subqueries, windows, arrows = (tuple(words) for words in found.values())
    return Expression(columns, functions, subqueries, windows, arrows)


def weak_arrow(connection: duckdb.DuckDBPyConnection, sql: str) -> Word | None:
    """The first arrow of JSON in a statement that applies to a boolean.

    In DuckDB an arrow binds weaker than AND and comparisons: `a = 1 AND b ->> 'c' = 'd'` takes `c` of everything
    before it, and gives null, so that rows are silently missing, or too many.
    """
    if "->" not in sql:
        return None
    ((serialized,),) = connection.cursor().execute(f"SELECT json_serialize_sql({literal(sql)})").fetchall()
    for name, location in _weak_arrows(json.loads(serialized)):
        return Word(name, len(sql.encode()[:location].decode("utf-8", "ignore")))
    return None


def weakness(arrow: Word) -> tuple[str, str]:
    """What is wrong with such an arrow, and what to do about it."""
    hint = f"put brackets around it and what it belongs to, such as (column {arrow.name} 'key')"
    return f'"{arrow.name}" binds weaker than AND and comparisons, so that it is asked of true or false here', hint


def _weak_arrows(node: Any, *, is_argument: bool = False) -> Iterator[tuple[str, int]]:
    """The arrows whose left side, or for `->` right side, is a boolean, with their locations."""
    if isinstance(node, list):
        for item in node:
            yield from _weak_arrows(item, is_argument=is_argument)
        return
    if not isinstance(node, dict):
        return
    kind, name = node.get("class"), node.get("function_name")
    is_function = kind == "FUNCTION" and not node.get("is_operator")
    if (kind == "LAMBDA" and (_is_claim(node["lhs"]) or (not is_argument and _is_claim(node["expr"])))) or (
        kind == "FUNCTION" and name in _ARROWS and _is_claim(node["children"][0])
    ):
        yield name or "->", node["query_location"]
    for key, value in node.items():
        yield from _weak_arrows(value, is_argument=is_function and key == "children")


def _is_claim(node: dict[str, Any]) -> bool:
    return node["class"] in _CLAIMS or node["type"] in _CLAIMING or node.get("function_name") in _CLAIMING


def _nodes(
    node: Any, parameters: frozenset[str], *, is_argument: bool = False
) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Columns, functions, subqueries and window functions, with their locations; parameters of a lambda are none.

    DuckDB reads the arrow of JSON as a lambda too, until it knows better: only an argument of a function is one.
    """
    if isinstance(node, list):
        for item in node:
            yield from _nodes(item, parameters, is_argument=is_argument)
        return
    if not isinstance(node, dict):
        return
    kind: str = node.get("class", "")
    location: int = node.get("query_location", -1)
    if kind == "LAMBDA" and is_argument:
        yield from _nodes(node["expr"], parameters | frozenset(_columns(node["lhs"])))
        return
    is_function = kind == "FUNCTION" and not node.get("is_operator")
    if kind == "COLUMN_REF" and node["column_names"][0] not in parameters:
        yield kind, tuple(node["column_names"]), location
    elif is_function or kind == "WINDOW":
        yield kind, (node["function_name"],), location
    elif kind == "SUBQUERY":
        yield kind, ("select",), location
    for name, value in node.items():
        yield from _nodes(value, parameters, is_argument=is_function and name == "children")


def _columns(node: Any) -> Iterator[str]:
    if isinstance(node, dict) and node.get("class") == "COLUMN_REF":
        yield node["column_names"][0]
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _columns(inner)
