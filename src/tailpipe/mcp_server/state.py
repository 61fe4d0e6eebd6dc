"""What there is and what is missing, for assistants: coverage of partitions, and rejected rows."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from tailpipe.catalog.overview import Overview
from tailpipe.collect.scope import missing_days, not_requested
from tailpipe.config.encoder import config_text
from tailpipe.mcp_server.limits import Rows, answer
from tailpipe.mcp_server.reading import ToolContext
from tailpipe.model.coverage import DaySet
from tailpipe.operations import facts
from tailpipe.query.json_values import plain
from tailpipe.query.rejected import rejected_rows


def coverage(context: ToolContext, partition: str) -> dict[str, Any]:
    """Which days each partition has, which are missing, and how its last run ended."""
    known = {one.totals.name: one for one in facts.overview(context.home)}
    rows = []
    for name in context.home.select((partition,) if partition else ()):
        configured = context.home.config.partitions.get(name)
        one = known.get(name) or Overview.empty(name)
        covered = DaySet.union(days.covered for days in one.coverage.values())
        missing = missing_days(one, configured, datetime.now(UTC))
        never = not_requested(one.coverage, configured, datetime.now(UTC))
        run, totals = one.last_run, one.totals
        rows.append(
            {
                "partition": name,
                "rows": totals.rows,
                "first_event": plain(totals.first_event),
                "last_event": plain(totals.last_event),
                "days_collected": len(covered),
                "collected": str(covered),
                "missing": str(missing),
                "not_requested": str(never),
                "rejected_rows": totals.rejected_rows,
                "last_run": None
                if run is None
                else {"started_at": plain(run.begun_at), "ended_at": plain(run.ended_at), "outcome": run.outcome},
            }
        )
    return answer(Rows(context.limits, context.limits.most_rows).take(rows))


def rejected(context: ToolContext, partition: str, limit: int | None) -> dict[str, Any]:
    """Rows that could not be used, with place, reason and text."""
    most = context.limits.rows_for(limit, usual=20)
    chosen = set(context.home.select((partition,) if partition else ()))
    found = {name: held.rejected_rows for name, held in context.home.held().items() if name in chosen}
    rows = Rows(context.limits, most)
    listed: list[dict[str, Any]] = []
    for name in (name for name, count in found.items() if count):
        if len(listed) <= most:
            more = rejected_rows(name, facts.rejected(context.home, name), most + 1 - len(listed))
            listed += [asdict(row) for row in more]
    return answer(rows.take(listed), rejected_rows=sum(found.values()))


def config_page(context: ToolContext) -> str:
    """The config, with secrets masked."""
    return config_text(context.home.config)
