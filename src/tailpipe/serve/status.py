"""The state of partitions: what they hold, which days they lack, their runs and rejected rows, and the stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import Any

from tailpipe.catalog.overview import Overview
from tailpipe.catalog.run_record import RunRecord
from tailpipe.collect import scope
from tailpipe.errors import UsageError
from tailpipe.home.home import Home
from tailpipe.model.coverage import DaySet
from tailpipe.model.nearest import did_you_mean
from tailpipe.operations import facts
from tailpipe.operations.detect import waiting_alerts
from tailpipe.query.json_values import LONGEST, instant
from tailpipe.query.rejected import rejected_rows
from tailpipe.query.session import Session
from tailpipe.serve.body import Body
from tailpipe.serve.limits import Limits

_MOST_DAYS = 4_000


def missing_days(home: Home) -> dict[str, DaySet]:
    """The days of each table that some partition of it lacks."""
    now = datetime.now(UTC)
    found: dict[str, list[DaySet]] = {}
    for one in facts.overview(home):
        name = one.totals.name
        days = scope.missing_days(one, home.config.partitions.get(name), now)
        found.setdefault(name.partition(".")[0], []).append(days)
    return {table: DaySet.union(days) for table, days in found.items()}


def status(home: Home, body: Body) -> dict[str, Any]:
    """All partitions and stores."""
    body.only()
    now = datetime.now(UTC)
    known = {one.totals.name: one for one in facts.overview(home)}
    partitions = home.config.partitions
    names = sorted({*partitions, *(name for name, one in known.items() if one.totals.files or one.last_run)})
    overviews = [known.get(name) or Overview.empty(name) for name in names]
    return {
        "partitions": [_partition(home, one, now) for one in overviews],
        "stores": _stores(home, overviews),
        "alerts_waiting": len(waiting_alerts(home)),
        "now": instant(now),
    }


def _partition(home: Home, one: Overview, now: datetime) -> dict[str, Any]:
    totals, run = one.totals, one.last_run
    missing = scope.missing_days(one, home.config.partitions.get(totals.name), now)
    last = totals.last_event
    return {
        "name": totals.name,
        "table": totals.name.partition(".")[0],
        "rows": totals.rows,
        "bytes": totals.size,
        "files": totals.files,
        "first_event": _instant(totals.first_event),
        "last_event": _instant(last),
        "last_run": _instant(run.ended_at or run.begun_at) if run else None,
        "outcome": run.outcome if run else None,
        "lag_seconds": None if last is None else max(0, round((now - last).total_seconds())),
        "gap_days": len(missing),
        "rejected_rows": totals.rejected_rows,
        "is_in_config": totals.name in home.config.partitions,
    }


def _stores(home: Home, overviews: Iterable[Overview]) -> list[dict[str, Any]]:
    found: dict[str, list[Overview]] = {name: [] for name in home.config.stores}
    for one in overviews:
        if (store := home.stores.of(one.totals.name)) is not None:
            found.setdefault(store.name, []).append(one)
    return [
        {
            "name": name,
            "partitions": len(some),
            "files_here": sum(one.store.files_here if one.store.is_known else one.totals.files for one in some),
            "files_in_store": sum(one.store.files_there for one in some),
            "bytes_in_store": sum(one.store.size_there for one in some),
            "unpushed_commits": sum(one.store.unpushed for one in some),
            "last_push": _instant(max((at for one in some if (at := one.store.pushed_at)), default=None)),
        }
        for name, some in found.items()
    ]


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else instant(moment)


def _known(home: Home, name: str) -> str:
    known = sorted({*home.config.partitions, *home.held()})
    if name not in known:
        raise UsageError(f'unknown partition "{name[:100]}"', hint=did_you_mean(name, known))
    return name


def coverage(home: Home, session: Session, body: Body) -> dict[str, Any]:
    """The days of a partition, each with its state and its rows."""
    body.only("partition", "from", "to")
    name = _known(home, body.text("partition", longest=500))
    now = datetime.now(UTC)
    known, partition = facts.coverage(home, name), home.config.partitions.get(name)
    lost = DaySet.union(one.lost for one in facts.overview(home) if one.totals.name == name)
    states: Mapping[str, DaySet] = {
        "missing": scope.open_days(known, partition, now) | lost,
        "covered": DaySet.union(one.covered for one in known.values()),
        "dropped": DaySet.union(one.dropped for one in known.values()),
        "not_requested": scope.not_requested(known, partition, now),
    }
    rows: dict[date, int] = {}
    for piece in session.shown.pieces(name.partition(".")[0]):
        if piece.partition == name:
            rows[piece.tp_date] = rows.get(piece.tp_date, 0) + piece.rows
    ends = [day for one in states.values() for day in (one.first, one.last) if day] + list(rows)
    first = _day(body, "from") or min(ends, default=now.date())
    last = _day(body, "to") or min(max(ends, default=now.date()), now.date())
    first = max(first, last - timedelta(days=_MOST_DAYS))
    days = []
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        state = next((state for state, some in states.items() if day in some), None)
        if state is None:
            state = "covered" if day in rows else "not_requested"
        days.append({"day": str(day), "state": state, "rows": rows.get(day, 0)})
    return {"partition": name, "days": days}


def _day(body: Body, name: str) -> date | None:
    moment = body.moment(name)
    return None if moment is None else moment.date()


def runs(home: Home, body: Body) -> dict[str, Any]:
    """The newest runs of a partition, or of all."""
    body.only("partition", "limit")
    limit = body.number("limit", 50, 1, 1_000)
    chosen = [_known(home, body.text("partition"))] if body.values.get("partition") else []
    return {"runs": [_run(one) for one in facts.runs(home, chosen, limit)]}


def _run(run: RunRecord) -> dict[str, Any]:
    facts = run.facts
    return {
        "partition": run.partition,
        "started_at": instant(run.begun_at),
        "ended_at": _instant(run.ended_at),
        "outcome": run.outcome,
        "seconds": facts and facts.seconds,
        "kept": facts and facts.accounts.kept,
        "rejected": facts and facts.accounts.rejected,
        "artifacts": facts and facts.artifacts,
        "bytes": facts and facts.bytes,
        "idle_runs": run.idle_checks,
        "error": (facts and facts.error) or None,
        "command": run.command,
    }


def rejected(home: Home, body: Body, limits: Limits) -> dict[str, Any]:
    """Rejected rows of a partition or of all, with place, reason and text."""
    body.only("partition", "limit")
    limit = body.number("limit", 100, 1, min(1_000, limits.rows))
    names = [_known(home, body.text("partition"))] if body.values.get("partition") else list(home.held())
    rows: list[dict[str, Any]] = []
    for name in names:
        if len(rows) >= limit:
            break
        more = rejected_rows(name, facts.rejected(home, name), limit - len(rows))
        rows += [{**asdict(row), "text": row.text and row.text[:LONGEST]} for row in more]
    return {"rows": rows}
