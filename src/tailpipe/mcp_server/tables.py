"""Tables for assistants: which there are, and what one holds."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from tailpipe.catalog.read import PartitionTotals
from tailpipe.errors import UsageError
from tailpipe.home.home import Home
from tailpipe.mcp_server.limits import Rows, answer, joined
from tailpipe.mcp_server.reading import ToolContext
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.table import COMMON_COLUMNS
from tailpipe.operations.facts import table_names
from tailpipe.query.json_values import parsed_json, plain
from tailpipe.query.session import Session
from tailpipe.sql.quoting import literal, quoted

_EXAMPLES = 2
_SAMPLE = 50_000
"""Rows of the newest day in which frequent values are counted."""
_TOP = 5
_MOST_COLUMNS = 60
_COUNTED = ("VARCHAR", "BOOLEAN", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "UINTEGER", "UBIGINT", "USMALLINT")


def list_tables(context: ToolContext, pattern: str, include_empty: bool) -> dict[str, Any]:
    """The tables with data, or all declared ones."""
    held = _held(context.home)
    known = table_names(context.home) if include_empty else sorted(held)
    names = [name for name in known if fnmatchcase(name, pattern)]
    rows = []
    for name in names:
        table = context.home.tables.get(name)
        parts = held.get(name, {})
        first = [one.first_event for one in parts.values() if one.first_event]
        last = [one.last_event for one in parts.values() if one.last_event]
        rows.append(
            {
                "table": name,
                "description": (table.description or "").partition("\n")[0] if table else "",
                "rows": sum(one.rows for one in parts.values()),
                "first_event": plain(min(first)) if first else None,
                "last_event": plain(max(last)) if last else None,
                "partitions": sorted(parts),
            }
        )
    return answer(Rows(context.limits, context.limits.most_rows).take(rows))


def _held(home: Home) -> dict[str, dict[str, PartitionTotals]]:
    found: dict[str, dict[str, PartitionTotals]] = {}
    for name, totals in home.held().items():
        if totals.rows:
            table, _, partition = name.partition(".")
            found.setdefault(table, {})[partition] = totals
    return found


def describe_table(context: ToolContext, name: str, include_values: bool) -> dict[str, Any]:
    """Columns with their meaning; of the newest day two rows, and the most frequent values."""
    with context.session() as session:
        kinds = next((view.columns for view in session.views if view.name == name and view.schema == "tailpipe"), None)
        if kinds is None:
            hint = did_you_mean(name, table_names(context.home), "see list_tables")
            raise UsageError(f"table not found: {name}", hint=hint)
        parts = _held(context.home).get(name, {})
        newest = max((one.last_date for one in parts.values() if one.last_date), default=None)
        top: Mapping[str, Any] = {}
        examples = Rows(context.limits, _EXAMPLES + 1)
        if newest is not None:
            day = f"{quoted(name)} WHERE tp_date = DATE {literal(str(newest))}"
            if include_values:
                top = _top_values(session, day, kinds)
            found = session.run(f"SELECT * FROM {day} LIMIT {_EXAMPLES}")
            examples.take(_filled(row, found.columns, found.types) for row in found.rows)
    table = context.home.tables.get(name)
    declared = (*(table.columns if table else ()), *COMMON_COLUMNS)
    descriptions = {column.name: column.description or "" for column in declared}
    columns = [
        {"name": column, "type": kind, "description": descriptions.get(column, ""), **top.get(column, {})}
        for column, kind in kinds.items()
    ]
    facts = {
        "table": name,
        "description": table.description if table else None,
        "rows": sum(one.rows for one in parts.values()),
        "newest_day": plain(newest),
    }
    shown = Rows(context.limits, context.limits.most_rows, size=examples.size).take(columns)
    truncated = [*examples.truncated, *(one.replace("rows", "columns") for one in shown.truncated)]
    return {**facts, "columns": shown.kept, "examples": examples.kept, **joined(truncated)}


def _filled(row: tuple[Any, ...], columns: tuple[str, ...], types: tuple[str, ...]) -> dict[str, Any]:
    """The values of a row that it has, by column."""
    values = zip(columns, types, row, strict=True)
    return {name: plain(parsed_json(value, kind)) for name, kind, value in values if value not in (None, [], {})}


def _top_values(session: Session, day: str, kinds: Mapping[str, str]) -> dict[str, Any]:
    """The most frequent values of columns with few of them, in a sample of the newest day."""
    names = [name for name, kind in kinds.items() if kind in _COUNTED and not name.startswith("tp_")][:_MOST_COLUMNS]
    if not names:
        return {}
    items = ", ".join(f"approx_top_k({quoted(name)}, {_TOP})" for name in names)
    found = session.run(f"SELECT {items} FROM (SELECT {', '.join(map(quoted, names))} FROM {day} LIMIT {_SAMPLE})")
    (row,) = found.rows
    return {name: {"top_values": plain(values)} for name, values in zip(names, row, strict=True) if values}


def tables_page(context: ToolContext) -> str:
    """Links to the pages of all tables."""
    return "".join(f"- [{name}](tailpipe://tables/{name})\n" for name in table_names(context.home))


def table_page(context: ToolContext, name: str) -> str:
    """The page of a table: what it is about, and its columns."""
    table = context.home.table(name)
    lines = [f"# {name}", "", table.description or "", "", "| column | type | meaning |", "|---|---|---|"]
    for column in (*table.columns, *COMMON_COLUMNS):
        meaning = (column.description or "").replace("|", "\\|").replace("\n", " ")
        lines.append(f"| `{column.name}` | `{column.type}` | {meaning} |")
    return "\n".join(lines) + "\n"
