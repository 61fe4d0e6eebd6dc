"""The newest rows of a search, one row with all its columns, and what else a row is about."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tailpipe.catalog.snapshot import EPOCH
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.http_guard.guard import RefusedError
from tailpipe.model.window import Window
from tailpipe.query.json_values import columns_of, instant, rows_of
from tailpipe.query.session import Session
from tailpipe.serve.body import Body
from tailpipe.serve.fields import field_named, spelt
from tailpipe.serve.limits import Limits, size_of
from tailpipe.serve.scope import TABLE, TEXT, Scope, microseconds, scope_of, table_of, touches
from tailpipe.sql.quoting import literal, moment

_IDS = {"table": "tp_table", "partition": "tp_partition", "tp_id": "tp_id", "tp_date": "tp_date"}
_COMMON = (TABLE, "tp_timestamp", "tp_source_ip", "tp_usernames", TEXT)
"""What is shown of all tables."""
_WIDER = 8
"""By how much more rows are looked through with each step back."""
_SOFT_SECONDS = 2.0
"""So long is looked further back for rows; then what was found is answered, and the client may go on."""
_MICROSECOND = timedelta(microseconds=1)
_ENTITIES = {
    "tp_source_ip": "ip",
    "tp_destination_ip": "ip",
    "tp_ips": "ip",
    "tp_usernames": "user",
    "tp_emails": "email",
    "tp_domains": "domain",
    "tp_akas": "name",
    "tp_host": "host",
}
"""The common columns that name someone or something, and what that is."""
_SEARCHED = {
    "ip": ("tp_ips", "tp_source_ip", "tp_destination_ip"),
    "user": ("tp_usernames",),
    "email": ("tp_emails",),
    "domain": ("tp_domains",),
    "name": ("tp_akas",),
    "host": ("tp_host",),
}
_MOST = 50


@frozen
class Cursor:
    """Where the next page begins: below a time, or at it behind an id."""

    at: datetime
    tp_id: str | None = None

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """What `str` has written."""
        try:
            at, tp_id = json.loads(base64.urlsafe_b64decode(text.encode("ascii")))
            if not isinstance(at, int) or not (tp_id is None or isinstance(tp_id, str)):
                raise ValueError(text)
            return cls(EPOCH + at * _MICROSECOND, tp_id)
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise UsageError('"after" is not a cursor of this server') from None

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(json.dumps([microseconds(self.at), self.tp_id]).encode()).decode()


def default_columns(columns: Sequence[str]) -> list[str]:
    """The columns that are shown of a table if none are chosen: its time and its own ones."""
    own = [name for name in columns if not name.startswith("tp_")]
    return ["tp_timestamp", *own[:8]]


def newest_rows(session: Session, body: Body, limits: Limits) -> dict[str, Any]:
    """The newest rows of a search, page by page."""
    body.only("search", "columns", "limit", "after")
    scope = scope_of(session, body.search())
    columns = _columns(scope, body.texts("columns", 200))
    limit = body.number("limit", 200, 1, limits.rows)
    after = body.values.get("after")
    cursor = None if after is None else Cursor.parse(body.text("after", longest=1000))
    found = _Walk(session, scope, columns, limit, limits).run(cursor)
    shown = {
        "sql": _sql(scope, columns, _left(scope.window, cursor), limit, cursor),
        "from": instant(scope.window.start),
        "to": instant(scope.window.end),
    }
    return {**found, **shown}


def _columns(scope: Scope, wanted: list[str] | None) -> list[str]:
    if wanted is None:
        return list(_COMMON) if scope.is_all else default_columns(list(scope.parts[0].view.columns))
    for name in wanted:
        if scope.is_all and name in (TABLE, TEXT):
            continue
        if scope.parts and not any(field_named(name, part.view.columns) for part in scope.parts):
            raise UsageError(f'unknown column "{name[:100]}"')
    return list(dict.fromkeys(wanted)) or ["tp_timestamp"]


def _sql(scope: Scope, columns: Sequence[str], window: Window, limit: int, cursor: Cursor | None = None) -> str:
    """The statement that gives the rows of a page."""
    shown = list(dict.fromkeys((*columns, *_IDS.values(), "tp_timestamp")))
    after = ""
    if cursor is not None and cursor.tp_id is not None:
        after = f" AND (tp_timestamp < {moment(cursor.at)} OR tp_id > {literal(cursor.tp_id)})"
    selects = [scope.select(part, shown, window) + after for part in scope.parts]
    if not selects:
        return "SELECT NULL WHERE false"
    if len(selects) == 1:
        return f"{selects[0]} ORDER BY tp_timestamp DESC, tp_id LIMIT {limit}"
    names = ", ".join(spelt(name) for name in shown)
    return f"SELECT {names} FROM ({' UNION ALL '.join(selects)}) ORDER BY tp_timestamp DESC, tp_id LIMIT {limit}"


def _left(window: Window, cursor: Cursor | None) -> Window:
    """The part of a window after a cursor."""
    if cursor is None:
        return window
    end = cursor.at if cursor.tp_id is None else cursor.at + _MICROSECOND
    return Window(window.start, max(window.start, min(window.end, end)))


@frozen
class _Walk:
    session: Session
    scope: Scope
    columns: Sequence[str]
    limit: int
    limits: Limits

    def run(self, cursor: Cursor | None) -> dict[str, Any]:
        """Look through one span after the other, from the newest, until there are enough rows."""
        begun = time.monotonic()
        names: list[dict[str, str]] = []
        rows: list[list[Any]] = []
        size, is_over, window = 0, True, self.scope.window
        reached = window.end
        for window in self._spans(cursor):
            answer = self.session.run(_sql(self.scope, self.columns, window, self.limit - len(rows), cursor))
            names = columns_of(answer)
            for row in rows_of(answer):
                rows.append(row)
                size += size_of(row)
            reached = window.start
            if len(rows) >= self.limit or size > self.limits.bytes:
                is_over = False
                break
            if reached > self.scope.window.start and time.monotonic() - begun > _SOFT_SECONDS:
                is_over = False
                break
        return self._answer(names, rows, reached, is_over=is_over)

    def _answer(
        self, names: list[dict[str, str]], rows: list[list[Any]], reached: datetime, *, is_over: bool
    ) -> dict[str, Any]:
        is_full = len(rows) >= self.limit
        places = {one["name"]: x for x, one in enumerate(names)}
        ids = [{key: row[places[name]] for key, name in _IDS.items()} for row in rows]
        after = None
        if is_full and rows:
            last = datetime.fromisoformat(rows[-1][places["tp_timestamp"]])
            after = Cursor(last.astimezone(UTC), rows[-1][places["tp_id"]])
        elif not is_over:
            after = Cursor(reached)
        count = len(self.columns)
        read = Window(min(reached, self.scope.window.end), self.scope.window.end)
        return {
            "columns": names[:count],
            "rows": [row[:count] for row in rows],
            "ids": ids,
            "next": str(after) if after else None,
            "complete": is_full or is_over,
            "files": self.scope.files(read),
        }

    def _spans(self, cursor: Cursor | None) -> Iterator[Window]:
        """Windows from the newest to the oldest, each with rows for a page, and more with every step."""
        window = _left(self.scope.window, cursor)
        end, wanted = window.end, self.limit
        low, high = microseconds(window.start), microseconds(end)
        pieces = [one for part in self.scope.parts for one in part.pieces if touches(one, low, high)]
        bounds = sorted(((piece.low or 0, piece.rows) for piece in pieces), reverse=True)
        count = 0
        for low, rows in bounds:
            count += rows
            start = EPOCH + low * _MICROSECOND
            if count >= wanted and window.start < start < end:
                yield Window(start, end)
                end, count, wanted = start, 0, wanted * _WIDER
        if pieces and end > window.start:
            yield Window(window.start, end)


def whole_row(session: Session, body: Body) -> dict[str, Any]:
    """A row with all its columns."""
    row, sql, types = _found(session, body.only("table", "tp_id", "tp_date"))
    return {"row": row, "types": types, "sql": sql, "files": {"read": 1, "total": 1}}


def related(session: Session, body: Body) -> dict[str, Any]:
    """What a row is about, each with the search that finds it in all tables."""
    row, sql, _ = _found(session, body.only("table", "tp_id", "tp_date"))
    found = dict.fromkeys(_entities(row))
    entities = [
        {"kind": kind, "value": value, "q": " OR ".join(f"{field}:{phrase(value)}" for field in _SEARCHED[kind])}
        for kind, value in list(found)[:_MOST]
    ]
    return {"entities": entities, "sql": sql, "files": {"read": 1, "total": 1}}


def _entities(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for column, kind in _ENTITIES.items():
        value = row.get(column)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one:
                yield kind, one


def phrase(value: str) -> str:
    """A value as the search box takes it exactly."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _found(session: Session, body: Body) -> tuple[dict[str, Any], str, dict[str, str]]:
    view = table_of(session, body.text("table", longest=500))
    key, day = body.text("tp_id", longest=1000), body.day("tp_date")
    sql = f"SELECT * FROM {spelt(view.name)} WHERE tp_date = DATE '{day}' AND tp_id = {literal(key)} LIMIT 1"
    answer = session.run(sql)
    columns = columns_of(answer)
    for row in rows_of(answer):
        names = [one["name"] for one in columns]
        return dict(zip(names, row, strict=True)), sql, {one["name"]: one["type"] for one in columns}
    raise RefusedError(404, "the row was not found", hint="it may have been collected anew or expired")
