"""Detections and their hits: the newest first, and which of them are acknowledged."""

from __future__ import annotations

import getpass
import re
import time
from datetime import UTC, datetime
from typing import Any

from tailpipe.detect.acknowledge import Acknowledged
from tailpipe.errors import LockedError, UsageError
from tailpipe.home.home import Home
from tailpipe.http_guard.guard import RefusedError
from tailpipe.model.detection import HIT_TABLE, SEVERITIES
from tailpipe.operations import detect
from tailpipe.query.json_values import instant, json_of
from tailpipe.query.session import Session
from tailpipe.serve.body import Body
from tailpipe.sql.quoting import literal, moment, text_list

_ID = re.compile(r"[0-9a-f]{32}")
_MOST = 1_000
_PATIENCE_SECONDS = 5.0
_COLUMNS = (
    "tp_id, detection, title, severity, mitre, tp_timestamp, hit_table, hit_partition, hit_tp_id, row_count, group_key,"
    " event"
)


def detections(home: Home, body: Body) -> dict[str, Any]:
    """All detections, those of plugins that do not run too."""
    body.only()
    chosen = home.detections.enabled
    return {
        "detections": [
            {
                "name": name,
                "title": one.title or name,
                "description": one.description,
                "severity": one.severity,
                "table": one.table,
                "mitre": list(one.mitre),
                "enabled": name in chosen,
            }
            for name, one in sorted(home.detections.known.items())
        ]
    }


def hits(session: Session, home: Home, body: Body) -> dict[str, Any]:
    """The newest hits that meet the filters, page by page."""
    body.only("from", "to", "severity", "detection", "acknowledged", "limit", "after")
    limit = body.number("limit", 100, 1, _MOST)
    seen = detect.acknowledged(home)
    sql = _sql(body, limit + 1, text_list(sorted(seen)))
    rows = list(session.run(sql).rows)
    last = rows[limit - 1] if len(rows) > limit else None
    return {
        "hits": [_hit(row, seen.get(row[0])) for row in rows[:limit]],
        "next": None if last is None else f"{last[5].isoformat()}~{last[0]}",
        "sql": sql,
    }


def _sql(body: Body, limit: int, seen: str) -> str:
    tests = []
    if (start := body.moment("from")) is not None:
        tests.append(f"tp_timestamp >= {moment(start)}")
    if (end := body.moment("to")) is not None:
        tests.append(f"tp_timestamp < {moment(end)}")
    if severity := body.text("severity", ""):
        if severity not in SEVERITIES:
            raise UsageError(f'unknown severity "{severity[:40]}"', hint=f"severities are: {', '.join(SEVERITIES)}")
        tests.append(f"severity = {literal(severity)}")
    if name := body.text("detection", "", longest=500):
        tests.append(f"detection = {literal(name)}")
    if (is_seen := body.flag("acknowledged")) is not None:
        tests.append(f"{'' if is_seen else 'NOT '}list_contains({seen}, tp_id)")
    if after := body.text("after", "", longest=200):
        at, _, key = after.partition("~")
        place = Body({"after": at}).moment("after")
        if place is None or not _ID.fullmatch(key):
            raise UsageError('"after" is not a cursor of this server')
        same = f"tp_timestamp = {moment(place)} AND tp_id > {literal(key)}"
        tests.append(f"(tp_timestamp < {moment(place)} OR ({same}))")
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    return f"SELECT {_COLUMNS} FROM {HIT_TABLE}{where} ORDER BY tp_timestamp DESC, tp_id LIMIT {limit}"


def _hit(row: tuple[Any, ...], mark: Acknowledged | None) -> dict[str, Any]:
    key, name, title, severity, mitre, at, table, partition, tp_id, count, group, event = row
    return {
        "id": key,
        "detection": name,
        "title": title,
        "severity": severity,
        "mitre": mitre or [],
        "time": instant(at),
        "table": table,
        "partition": partition,
        "tp_id": tp_id,
        "tp_date": str(at.date()),
        "count": count,
        "key": json_of(group, "JSON"),
        "row": json_of(event, "JSON"),
        "acknowledged": mark and {"at": instant(mark.at), "by": mark.by, "note": mark.note or None},
    }


def acknowledge(session: Session, home: Home, body: Body, *, is_read_only: bool) -> dict[str, Any]:
    """Acknowledge hits, or take that back."""
    body.only("ids", "acknowledged", "note")
    if is_read_only:
        raise RefusedError(403, "the explorer is read-only", hint="acknowledge hits on the machine of the workspace")
    ids = body.texts("ids", _MOST) or []
    is_seen = body.flag("acknowledged")
    note = body.text("note", "", longest=2_000) if body.values.get("note") is not None else ""
    if not ids or is_seen is None:
        raise UsageError('"ids" and "acknowledged" are required')
    if wrong := [one for one in ids if not _ID.fullmatch(one)]:
        raise UsageError(f'"{wrong[0][:60]}" is not the id of a hit')
    sql = f"SELECT tp_id FROM {HIT_TABLE} WHERE list_contains({text_list(ids)}, tp_id)"
    known = {key for (key,) in session.run(sql).rows}
    if missing := [one for one in ids if one not in known]:
        raise RefusedError(404, f"there is no hit {missing[0]}")
    mark = Acknowledged(datetime.now(UTC), _user(), note) if is_seen else None
    return {"changed": _changed(home, ids, mark)}


def _changed(home: Home, ids: list[str], mark: Acknowledged | None) -> int:
    """How many were changed; a run of detections that is going on is waited for, but not long."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return detect.acknowledge(home, ids, mark)
        except LockedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
