"""Numbers in transforms: a field that is read as text is taken as a number where the expression needs one.

The expression alone decides which fields these are, never the data: the fewest fields that must be numbers for
DuckDB to accept it. What is text in an expression stays text, such as `code || 'x'`. A value that is no number makes
the expression fail for its row: the column is null there, and counted as one of the wrong type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING

from tailpipe.model.outputs import Output
from tailpipe.sql.connection import expression_types
from tailpipe.sql.quoting import quoted
from tailpipe.sql.references import read_expression

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

_TEXT = "VARCHAR"
_MOST = 6
"""Of so many fields at most all subsets are tried."""
_WORD = re.compile(r'"(?:[^"]|"")*"|[^\W\d]\w*')


def with_numbers(
    connection: duckdb.DuckDBPyConnection,
    outputs: Iterable[Output],
    fields: Mapping[str, str],
    types: Mapping[str, str],
) -> tuple[Output, ...]:
    """The columns, with numbers where their expressions need them.

    `fields` is how each field is read, and `types` are the types found for undeclared fields: one of whole numbers is
    taken as BIGINT, and all others as DOUBLE.
    """
    whole = {name.lower() for name, kind in types.items() if kind == "bigint"}
    found = []
    for one in outputs:
        numbers = read_as_numbers(connection, one.transform, fields, whole) if one.transform is not None else None
        found.append(one if numbers is None else replace(one, transform=numbers))
    return tuple(found)


def read_as_numbers(
    connection: duckdb.DuckDBPyConnection, sql: str, fields: Mapping[str, str], whole: Iterable[str] = ()
) -> str | None:
    """The expression with casts to numbers, as few as it needs; None if it needs none, or they do not help."""
    words = [word for word in read_expression(connection, sql).columns if not word.inside]
    relation = {word.name.lower(): fields.get(word.name.lower(), _TEXT) for word in words}
    texts = [name for name, kind in relation.items() if kind == _TEXT]
    if not texts or len(texts) > _MOST or _binds(connection, sql, relation):
        return None
    kinds = {name: "BIGINT" if name in set(whole) else "DOUBLE" for name in texts}
    for some in chain.from_iterable(combinations(texts, size) for size in range(1, len(texts) + 1)):
        if _binds(connection, sql, relation | {name: kinds[name] for name in some}):
            known = [(one.position, one.name.lower()) for one in words if one.name.lower() in some]
            places = {place: name for place, name in known if place is not None}
            for place, name in sorted(places.items(), reverse=True):
                if match := _WORD.match(sql, place):
                    sql = f"{sql[:place]}CAST({match[0]} AS {kinds[name]}){sql[match.end() :]}"
            return sql
    return None


def _binds(connection: duckdb.DuckDBPyConnection, sql: str, relation: Mapping[str, str]) -> bool:
    """Whether DuckDB accepts the expression over fields of these types."""
    from tailpipe.sql.duck import duckdb

    items = ", ".join(f"NULL::{kind} AS {quoted(name)}" for name, kind in relation.items())
    try:
        expression_types(connection, f"SELECT TRY(struct_pack(v := ({sql}\n))) FROM (SELECT {items} WHERE false)")
    except duckdb.Error:
        return False
    return True
