"""Statements of the SQL page: their rows as lines of JSON while they come, as a file, or as the data of a panel."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.home.home import Home
from tailpipe.http_guard.guard import RefusedError
from tailpipe.model.nearest import named
from tailpipe.query.json_values import columns_of, rows_of
from tailpipe.query.session import Session
from tailpipe.query.written import FORMATS, write_exact
from tailpipe.serve.body import Body
from tailpipe.serve.limits import Limits, encoded, size_of

EXPORTS: Mapping[str, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
}
_ROWS_TO_A_PART = 500
_BYTES_TO_A_PART = 200_000


@frozen
class Statement:
    """A statement and the values of its parameters."""

    sql: str
    params: Mapping[str, Any]

    @classmethod
    def of(cls, home: Home, body: Body) -> Statement:
        """The statement of a request: its text, or the name of a saved query."""
        params = body.mapping("params")
        if body.values.get("query") is None:
            return cls(body.text("sql", longest=500_000), params)
        saved = named("query", body.text("query", longest=500), home.queries)
        return cls(saved.text, saved.values(params, now=datetime.now(UTC)))


def stream(session: Session, statement: Statement, limit: int, limits: Limits, give: Callable[[bytes], None]) -> None:
    """Give columns, rows in parts, and how it ended, each as a line of JSON."""
    begun = time.monotonic()
    answer = session.run(statement.sql, statement.params)
    give(_line({"columns": columns_of(answer)}))
    reason = None
    part: list[list[Any]] = []
    count = size = sent = 0
    for row in rows_of(answer):
        if count == limit or sent + size > limits.bytes:
            reason = "rows" if count == limit else "bytes"
            break
        part.append(row)
        count += 1
        size += size_of(row)
        if len(part) >= _ROWS_TO_A_PART or size >= _BYTES_TO_A_PART:
            give(_line({"rows": part}))
            part, size, sent = [], 0, sent + size
    if part:
        give(_line({"rows": part}))
    end = {"rows": count, "truncated": reason is not None, "reason": reason, **_cost(session, statement, begun)}
    give(_line({"end": end}))


def _cost(session: Session, statement: Statement, begun: float) -> dict[str, Any]:
    needed = session.shown.needed(statement.sql, statement.params)
    read = sum(len(files) for _, files in needed)
    of = sum(len(view.files) for view, _ in needed)
    return {"ms": round((time.monotonic() - begun) * 1000), "files": {"read": read, "total": max(read, of)}}


def _line(value: dict[str, Any]) -> bytes:
    return encoded(value) + b"\n"


def export(session: Session, statement: Statement, output: str, limits: Limits, give: Callable[[bytes], None]) -> None:
    """Give all rows as a file of one of the formats of `tailpipe query --output`."""
    if output not in FORMATS:
        raise UsageError(f'unknown format "{output[:60]}"', hint=f"formats are: {', '.join(FORMATS)}")
    answer = session.run(statement.sql, statement.params)
    size = 0

    def write(data: bytes) -> None:
        nonlocal size
        size += len(data)
        if size > limits.export_bytes:  # the connection is cut, so that nobody takes a part for the whole
            raise RefusedError(413, f"the export is larger than {limits.export_bytes:,} bytes")
        give(bytes(data))

    write_exact(answer, output, write, session.interrupt)


def panel(session: Session, home: Home, body: Body, limits: Limits) -> dict[str, Any]:
    """The answer to the saved query of a panel."""
    body.only("dashboard", "panel", "params")
    dashboard = named("dashboard", body.text("dashboard", longest=500), home.config.dashboards)
    place = body.values.get("panel")
    if isinstance(place, int) and not isinstance(place, bool) and 0 <= place < len(dashboard.panels):
        chosen = dashboard.panels[place]
    else:
        chosen = named("panel", body.text("panel", longest=500), {one.name: one for one in dashboard.panels})
    saved = named("query", chosen.query, home.queries)
    values = saved.values({**chosen.params, **body.mapping("params")}, now=datetime.now(UTC))
    statement = Statement(saved.text, values)
    begun = time.monotonic()
    answer = session.run(statement.sql, statement.params)
    columns, rows, size, is_truncated = columns_of(answer), list[list[Any]](), 0, False
    for row in rows_of(answer):
        if is_truncated := len(rows) == limits.rows or size > limits.bytes:
            break
        rows.append(row)
        size += size_of(row)
    cost = _cost(session, statement, begun)
    return {"columns": columns, "rows": rows, "truncated": is_truncated, "sql": statement.sql, **cost}
