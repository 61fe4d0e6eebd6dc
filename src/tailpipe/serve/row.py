"""One row with all its columns, and what else it is about: addresses, users and names to search all tables for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailpipe.http_guard.guard import RefusedError
from tailpipe.query.json_values import columns_of, rows_of
from tailpipe.query.session import Session
from tailpipe.serve.body import Body
from tailpipe.serve.fields import spelt
from tailpipe.serve.scope import table_of
from tailpipe.sql.quoting import literal

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
