"""How many rows a scope has in each step of its window: whole days from the catalog alone, the rest from files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from tailpipe.catalog.snapshot import EPOCH
from tailpipe.errors import UsageError
from tailpipe.model.coverage import DaySet
from tailpipe.model.window import Window
from tailpipe.query.json_values import instant
from tailpipe.query.session import Session
from tailpipe.query.views import CATALOG
from tailpipe.serve.body import Body
from tailpipe.serve.fields import field_named, is_list, spelt
from tailpipe.serve.scope import Scope, microseconds, midnight, scope_of
from tailpipe.sql.quoting import text_list

_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_DAY = 86_400
_IN_DAYS = 14 * _DAY
"""A window of more than this is shown in whole days, which the catalog knows without a file."""
_COLORS = 6
_MICROSECOND = timedelta(microseconds=1)

Counts = dict[int, dict[str | None, int]]
"""For each step the rows by color; None is all that have none of the colors."""


def step_of(window: Window, buckets: int) -> int:
    """The seconds of a step: round, and so that there are at most that many of them."""
    seconds = (window.end - window.start).total_seconds()
    if seconds <= _IN_DAYS:
        for step in _STEPS:
            if seconds / step <= buckets:
                return step
    days = 1
    while seconds / (days * _DAY) > max(buckets, 1):
        days += 1 if days < 7 else 7 - days % 7
    return days * _DAY


def histogram(session: Session, body: Body, missing: Mapping[str, DaySet]) -> dict[str, Any]:
    """The counts of a search; `missing` are the days of each table that coverage calls missing."""
    body.only("search", "buckets", "color")
    scope = scope_of(session, body.search())
    step = step_of(scope.window, body.number("buckets", 120, 1, 2_000))
    color = None if body.values.get("color") is None else body.text("color", longest=500)
    known = [part.view.columns for part in scope.parts]
    if color is not None and known and not any(field_named(color, columns) for columns in known):
        raise UsageError(f'unknown field "{color[:100]}"')
    counts: Counts = {}
    colors: list[str] = []
    sql, read = "SELECT NULL WHERE false", False
    if scope.parts and color is not None:
        counts, colors, sql = _colored(session, scope, step, color)
        read = True
    elif scope.parts and not scope.is_filtered and step % _DAY == 0:
        counts, sql, read = _from_catalog(session, scope, step)
    elif scope.parts:
        sql = _sql(scope, step, scope.window)
        counts = {at: {None: n} for at, n in session.run(sql).rows}
        read = True
    return _answer(scope, step, counts, colors, sql, _gaps(scope, missing), is_read=read)


def _answer(
    scope: Scope, step: int, counts: Counts, colors: list[str], sql: str, gaps: list[dict[str, str]], *, is_read: bool
) -> dict[str, Any]:
    first = microseconds(scope.window.start) // (step * 1_000_000)
    last = (microseconds(scope.window.end) - 1) // (step * 1_000_000)
    buckets = []
    for at in range(first, last + 1):
        by = counts.get(at, {})
        shown = {value: n for value, n in by.items() if value in colors} if colors else None
        buckets.append({"t": instant(EPOCH + timedelta(seconds=at * step)), "n": sum(by.values()), "by": shown})
    return {
        "from": instant(scope.window.start),
        "to": instant(scope.window.end),
        "step_seconds": step,
        "buckets": buckets,
        "colors": colors,
        "missing": gaps,
        "source": "files" if is_read else "catalog",
        "total": sum(one["n"] for one in buckets),
        "sql": sql,
        "files": scope.files() if is_read else {**scope.files(), "read": 0},
    }


def _bucket(step: int) -> str:
    """By integers: `time_bucket` takes nearly twice as long."""
    return f"epoch_us(tp_timestamp) // {step * 1_000_000}"


def _sql(scope: Scope, step: int, window: Window) -> str:
    if len(scope.parts) == 1:
        source = scope.source(["tp_timestamp"], window)
        return f"SELECT {_bucket(step)} AS step, count(*) AS n FROM {source} GROUP BY step ORDER BY step"
    # Each table is counted alone, so that no row has to leave it.
    each = " UNION ALL ".join(
        f"SELECT {_bucket(step)} AS step, count(*) AS n FROM {spelt(part.name)}"
        f" WHERE {scope.where(part, window)} GROUP BY step"
        for part in scope.parts
    )
    return f"SELECT step, sum(n)::BIGINT AS n FROM ({each}) GROUP BY step ORDER BY step"


def _from_catalog(session: Session, scope: Scope, step: int) -> tuple[Counts, str, bool]:
    """Whole days as the catalog has them, and the parts of days at the ends of the window from files."""
    window = scope.window
    start, end = _midnight_after(window.start), midnight(window.end.date())
    counts: Counts = {}

    def add(at: int, n: int) -> None:
        counts.setdefault(at, {None: 0})[None] += n

    for part in scope.parts:
        for piece in part.pieces:
            if start <= (day := midnight(piece.tp_date)) < end:
                add(microseconds(day) // (step * 1_000_000), piece.rows)
    ends = [Window(a, b) for a, b in ((window.start, min(start, window.end)), (max(end, start), window.end)) if a < b]
    is_read = False
    for one in ends:
        if scope.files(one)["read"]:
            is_read = True
            for at, n in session.run(_sql(scope, step, one)).rows:
                add(at, n)
    tables = text_list([part.name for part in scope.parts])
    where = f"tp_date >= DATE '{window.start.date()}' AND tp_date < DATE '{_midnight_after(window.end).date()}'"
    sql = (
        f"SELECT tp_date, sum(rows)::BIGINT AS n FROM {CATALOG}.days"
        f" WHERE list_contains({tables}, tp_table) AND {where} GROUP BY tp_date ORDER BY tp_date"
    )
    return counts, _sql(scope, step, window) if is_read else sql, is_read


def _colored(session: Session, scope: Scope, step: int, color: str) -> tuple[Counts, list[str], str]:
    """The counts by the most frequent values of a field; the others together."""
    selects = []
    for part in scope.parts:
        value = scope.expression(part, color)
        found = field_named(color, part.view.columns)
        if found is not None and is_list(found.type):
            value = f"array_to_string({found.sql}, ', ')"
        text = value if value == "NULL" else f"CAST({value} AS VARCHAR)"
        source = f"{spelt(part.name)} WHERE {scope.where(part)}"
        selects.append(f"SELECT {_bucket(step)} AS step, {text} AS value FROM {source}")
    sql = (
        f"WITH found AS (SELECT step, value, count(*) AS n FROM ({' UNION ALL '.join(selects)}) GROUP BY ALL),"
        f" top AS (SELECT value FROM found WHERE value IS NOT NULL GROUP BY value ORDER BY sum(n) DESC, value"
        f" LIMIT {_COLORS}) SELECT step, CASE WHEN value IN (FROM top) THEN value END AS color, sum(n)::BIGINT AS n"
        " FROM found GROUP BY ALL ORDER BY step"
    )
    counts: Counts = {}
    totals: dict[str, int] = {}
    for at, value, n in session.run(sql).rows:
        counts.setdefault(at, {})[value] = n
        if value is not None:
            totals[value] = totals.get(value, 0) + n
    return counts, sorted(totals, key=lambda value: (-totals[value], value)), sql


def _gaps(scope: Scope, missing: Mapping[str, DaySet]) -> list[dict[str, str]]:
    """The spans of the window that some table lacks."""
    days = DaySet.union(missing[part.name] for part in scope.parts if part.name in missing)
    days &= DaySet.span(scope.window.start.date(), (scope.window.end - _MICROSECOND).date())
    return [{"from": f"{first}T00:00:00Z", "to": f"{last + timedelta(days=1)}T00:00:00Z"} for first, last in days.spans]


def _midnight_after(at: datetime) -> datetime:
    return at if at == midnight(at.date()) else midnight(at.date()) + timedelta(days=1)
