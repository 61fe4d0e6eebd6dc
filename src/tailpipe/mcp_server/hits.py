"""Detections and their hits for assistants."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.mcp_server.answers import narrowed
from tailpipe.mcp_server.limits import Rows, answer, joined
from tailpipe.mcp_server.reading import ToolContext
from tailpipe.model.detection import HIT_TABLE, SEVERITIES, Detection
from tailpipe.query.answer import Answer
from tailpipe.query.json_values import parsed_json, plain
from tailpipe.query.session import Session
from tailpipe.sql.quoting import literal, quoted

_RULE = ("where", "sql", "group_by", "threshold", "distinct", "steps", "within", "first_seen", "suppress")


def detections(context: ToolContext, pattern: str, include_disabled: bool) -> dict[str, Any]:
    """The detections that run, or all that there are."""
    detections = context.home.detections
    known = detections.known if include_disabled else detections.enabled
    rows = [
        {
            "detection": name,
            "title": one.title,
            "severity": one.severity,
            "table": one.table,
            "mitre": list(one.mitre),
            "enabled": name in detections.enabled,
        }
        for name, one in sorted(known.items())
        if fnmatchcase(name, pattern)
    ]
    return answer(Rows(context.limits, context.limits.most_rows).take(rows))


def hits(
    context: ToolContext, detection: str, min_severity: str, start: str | None, end: str | None, limit: int | None
) -> dict[str, Any]:
    """Stored hits, the newest first."""
    if min_severity not in SEVERITIES:
        raise UsageError(f'"{min_severity}" is not a severity', hint=f"one of {', '.join(SEVERITIES)}")
    wanted = ", ".join(literal(one) for one in SEVERITIES[SEVERITIES.index(min_severity) :])
    conditions = [f"severity IN ({wanted})"]
    if detection:
        conditions.append(f"detection GLOB {literal(detection)}")
    most = context.limits.rows_for(limit, usual=20)
    with context.session(narrowed(start, end)) as session:
        rows = Rows(context.limits, most).take(
            _hits(session, f"WHERE {' AND '.join(conditions)} ORDER BY tp_timestamp DESC, tp_id LIMIT {most + 1}")
        )
    return answer(rows)


def _hits(session: Session, rest: str) -> Iterator[dict[str, Any]]:
    columns = (
        "tp_id AS hit, tp_timestamp AS time, detection, title, severity, mitre, hit_table, hit_partition,"
        " hit_tp_id, group_key, first_at, last_at, row_count, event"
    )
    return _records(session.run(f"SELECT {columns} FROM {HIT_TABLE} {rest}"))


def _records(found: Answer) -> Iterator[dict[str, Any]]:
    """The rows of an answer by column, without empty columns."""
    for row in found.rows:
        values = zip(found.columns, found.types, row, strict=True)
        yield {name: plain(parsed_json(value, kind)) for name, kind, value in values if value is not None}


def explain_hit(context: ToolContext, hit: str) -> dict[str, Any]:
    """A hit with the rule that made it, the row that was found, and how often the rule hit around that time."""
    with context.session() as session:
        found = list(_hits(session, f"WHERE tp_id = {literal(hit)}"))
        if not found:
            raise UsageError(f"hit not found: {hit}", hint="see hits")
        one = found[0]
        others = _others(session, one)
        row = _row(session, one)
    rule = context.home.detections.known.get(one["detection"])
    rows = Rows(context.limits, 2).take([one, row] if row else [one])
    facts = {
        "hit": rows.kept[0],
        "detection": _rule(rule) if rule else "no longer in the config",
        "row": rows.kept[1] if len(rows.kept) > 1 else "no longer stored",
        "detection_hits": others,
    }
    return {**facts, **joined(rows.truncated)}


def _rule(one: Detection) -> dict[str, Any]:
    rule = {name: plain(getattr(one, name)) for name in _RULE if getattr(one, name) not in (None, ())}
    facts = {"name": one.name, "title": one.title, "description": one.description, "table": one.table}
    return {**facts, "severity": one.severity, "mitre": list(one.mitre), "rule": rule}


def _others(session: Session, hit: dict[str, Any]) -> dict[str, Any]:
    key = literal(str(hit["detection"]))
    ((count, first, last),) = session.run(
        f"SELECT count(*), min(tp_timestamp), max(tp_timestamp) FROM {HIT_TABLE} WHERE detection = {key}"
    ).rows
    return {"count": count, "first_hit": plain(first), "last_hit": plain(last)}


def _row(session: Session, hit: dict[str, Any]) -> dict[str, Any] | None:
    """The row that was found; only files of its day are read."""
    table = str(hit["hit_table"])
    if not any(view.name == table and view.schema == "tailpipe" for view in session.views):
        return None
    found = session.run(
        f"SELECT * FROM {quoted(table)} WHERE tp_date = DATE {literal(str(hit['time'])[:10])}"
        f" AND tp_id = {literal(str(hit['hit_tp_id']))} LIMIT 1"
    )
    return next(_records(found), None)
