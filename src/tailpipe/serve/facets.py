"""The most frequent values of fields, for the window in view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.query.json_values import json_of
from tailpipe.query.session import Session
from tailpipe.serve.body import Body
from tailpipe.serve.fields import Field, field_named, is_list, spelt
from tailpipe.serve.scope import Part, Scope, scope_of

_MOST_FIELDS = 60
_FACETS = ("VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER", "VARCHAR[]")
_NO_FACETS = ("tp_id", "tp_date", "tp_table", "tp_source_location")


def is_facet(name: str, kind: str) -> bool:
    """Whether the values of a column are worth to be counted."""
    return kind in _FACETS and name not in _NO_FACETS


def top_values(session: Session, body: Body) -> dict[str, Any]:
    """For each field its most frequent values, how often it is null, and how many rows have others."""
    body.only("search", "fields", "top")
    scope = scope_of(session, body.search())
    wanted = list(dict.fromkeys(body.texts("fields", _MOST_FIELDS) or []))
    top = body.number("top", 10, 1, 1_000)
    statements = {name: _sql(scope, name, top) for name in wanted}
    together = _together(scope, wanted)
    found = _counted_together(session, scope, together, top) if len(together) > 1 else {}
    for name in wanted:
        if name not in found:
            answer = session.run(statements[name]) if scope.parts else None
            found[name] = _summed(list(answer.rows), answer.types[0], top) if answer else _summed((), "", top)
    fields = [{"name": name, **found[name], "sql": statements[name]} for name in wanted]
    return {"fields": fields, "sql": fields[0]["sql"] if fields else "", "files": scope.files()}


def _together(scope: Scope, names: Sequence[str]) -> dict[str, Field]:
    """Fields that are counted in one statement: with a filter, which is then met once and not for each of them.

    Without a filter they are counted alone, because DuckDB counts the dictionaries of parquet faster than rows.
    """
    if not scope.is_filtered or len(scope.parts) != 1:
        return {}
    columns = scope.parts[0].view.columns
    found = {name: field for name in names if (field := field_named(name, columns))}
    return {name: field for name, field in found.items() if field.type in _FACETS}


def _counted_together(session: Session, scope: Scope, fields: Mapping[str, Field], top: int) -> dict[str, Any]:
    part = scope.parts[0]
    shown = ", ".join(f"{field.sql} AS f{number}" for number, field in enumerate(fields.values()))
    counts = []
    for number, field in enumerate(fields.values()):
        value = _elements(f"f{number}") if is_list(field.type) else f"f{number}"
        counts.append(
            f"(SELECT {number} AS field, CAST(value AS VARCHAR) AS value, n, total FROM"
            f" ({_top(f'SELECT {value} AS value FROM found', top)}))"
        )
    sql = (
        f"WITH found AS MATERIALIZED (SELECT {shown} FROM {spelt(part.name)} WHERE {scope.where(part)})"
        f" {' UNION ALL '.join(counts)}"
    )
    rows: dict[int, list[tuple[Any, int, int]]] = {}
    kinds = [field.element if is_list(field.type) else field.type for field in fields.values()]
    for number, value, n, total in session.run(sql).rows:
        rows.setdefault(number, []).append((_typed(value, kinds[number]), n, total))
    for some in rows.values():
        some.sort(key=lambda row: (row[0] is not None, -row[1]))
    return {name: _summed(rows.get(number, []), kinds[number], top) for number, name in enumerate(fields)}


def _typed(text: str | None, kind: str) -> Any:
    if text is None or kind == "VARCHAR":
        return text
    return text == "true" if kind == "BOOLEAN" else int(text)


def _elements(sql: str) -> str:
    """The values of a list, or null if it has none."""
    return f"unnest(CASE WHEN len({sql}) > 0 THEN {sql} ELSE [NULL] END)"


def _top(source: str, top: int) -> str:
    """The most frequent values; null comes first, whatever its count, and each row knows the sum of all."""
    counts = f"SELECT value, count(*) AS n FROM ({source}) GROUP BY value"
    order = f"ORDER BY value IS NULL DESC, n DESC, value LIMIT {top + 1}"
    return f"SELECT value, n, sum(n) OVER ()::BIGINT AS total FROM ({counts}) {order}"


def _sql(scope: Scope, name: str, top: int) -> str:
    known = [one for part in scope.parts if (one := _values(scope, part, name))]
    if scope.parts and not known:
        raise UsageError(f'unknown field "{name[:100]}"')
    return _top(" UNION ALL ".join(known), top)


def _values(scope: Scope, part: Part, name: str) -> str:
    """The values of a field in one table: of a list, each of them."""
    found = field_named(name, part.view.columns)
    if found is None:
        return ""
    where = f"FROM {spelt(part.name)} WHERE {scope.where(part)}"
    if is_list(found.type):
        return f"SELECT {_elements(found.sql)} AS value {where}"
    shown = found.sql if not scope.is_all or found.type == "VARCHAR" else f"CAST({found.sql} AS VARCHAR)"
    return f"SELECT {shown} AS value {where}"


def _summed(rows: Sequence[tuple[Any, int, int]], kind: str, top: int) -> dict[str, Any]:
    total = rows[0][2] if rows else 0
    nulls = rows[0][1] if rows and rows[0][0] is None else 0
    values = [{"value": json_of(value, kind), "count": n} for value, n, _ in rows if value is not None][:top]
    return {"values": values, "nulls": nulls, "other": total - nulls - sum(one["count"] for one in values)}
