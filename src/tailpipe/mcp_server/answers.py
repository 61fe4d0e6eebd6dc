"""Questions of assistants about rows: SQL, and a search over all tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from tailpipe.errors import TailpipeError
from tailpipe.mcp_server.limits import Limits, Rows, answer, joined
from tailpipe.mcp_server.reading import ToolContext
from tailpipe.model.window import window_between
from tailpipe.query.json_values import columns_of, parsed_json, plain
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.needle import Needle
from tailpipe.query.search import Found, searched_views
from tailpipe.query.search import search as search_tables

_SINCE = "T-30d"


def narrowed(start: str | None, end: str | None) -> Narrowing:
    """The rows of a time, given as `--from` and `--to` of the command line."""
    if not (start or end):
        return Narrowing()
    return Narrowing(window=window_between(start or None, end or None, now=datetime.now(UTC)))


def query(
    context: ToolContext,
    sql: str,
    params: Mapping[str, Any] | None,
    limit: int | None,
    start: str | None,
    end: str | None,
) -> dict[str, Any]:
    """The answer to one statement: it is run as it is, and one row more than the limit is read."""
    rows = Rows(context.limits, context.limits.rows_for(limit))
    with context.session(narrowed(start, end)) as session:
        found = session.run(sql, params or None)
        columns = columns_of(found)
        shown = Rows(context.limits, context.limits.most_rows).take(columns)
        if shown.truncated:
            raise TailpipeError("the answer has too many columns", hint="name those that you need")
        rows.size = shown.size
        types = found.types
        rows.take([parsed_json(value, kind) for value, kind in zip(row, types, strict=True)] for row in found.rows)
    return answer(rows, columns=columns)


def search(
    context: ToolContext, text: str, tables: Sequence[str], start: str | None, end: str | None, limit: int | None
) -> dict[str, Any]:
    """In which tables and columns a text is, and the newest rows; if the time is over, what was found until then."""
    needle, most = Needle.parse(text), context.limits.rows_for(limit, usual=20)
    found: list[Found] = []
    truncated: list[str] = []
    with context.session(narrowed(start or _SINCE, end)) as session:
        views = searched_views(session, tables)
        try:
            for one in search_tables(session, views, needle, newest=most):
                found.append(one)
                if context.stop.is_wanted:
                    break
        except KeyboardInterrupt:
            if not context.stop.is_over:
                raise
        if context.stop.is_over:
            done = len([one for one in found if one.failure is None])
            left = sorted({view.name for view in views} - {one.table for one in found if one.failure is None})
            within = f"{done} of {len(views)} tables were searched within {context.stop.seconds:g} s"
            truncated.append(f"{within}; not searched: {', '.join(left)}")
    return _searched(found, context.limits, most, truncated)


def _searched(found: Sequence[Found], limits: Limits, most: int, truncated: list[str]) -> dict[str, Any]:
    newest = sorted((row for one in found for row in one.newest), key=lambda row: row.tp_timestamp, reverse=True)
    rows = Rows(limits, most).take(asdict(row) for row in newest)
    tables = [
        {
            "table": one.table,
            "rows": one.rows,
            "first_event": plain(one.first),
            "last_event": plain(one.last),
            "columns": dict(one.columns or {}),
            "sql": one.sql,
        }
        for one in found
        if one.rows
    ]
    shown = Rows(limits, limits.most_rows, size=rows.size).take(tables)
    failed = [{"table": one.table, "error": one.failure.message} for one in found if one.failure and not truncated]
    facts: dict[str, Any] = {"tables": shown.kept, "newest_rows": rows.kept, "searched_tables": len(found)}
    facts |= {"failed": failed} if failed else {}
    return {**facts, **joined([*truncated, *shown.truncated, *rows.truncated])}
