"""`tailpipe status`: one screen with the data of each partition, its gaps, and how the last runs went."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from tailpipe.catalog.overview import Overview
from tailpipe.catalog.read import PartitionTotals
from tailpipe.cli import render
from tailpipe.cli.again import located
from tailpipe.cli.alerts import alert_lines, alert_records
from tailpipe.cli.grid import grid
from tailpipe.cli.options import common, examples, home_of, pretty_or_json
from tailpipe.collect.scope import not_requested, open_days
from tailpipe.home.home import Home
from tailpipe.model.coverage import DaySet
from tailpipe.model.detection import HITS
from tailpipe.model.visible import shorten, visible, width
from tailpipe.operations.detect import waiting_alerts
from tailpipe.operations.facts import overview

HEADINGS = ["partition", "last run", "first event", "last event", "days", "gaps", "rows", "size", "rejected"]
WIDTH = 80
FIRST_EVENT = HEADINGS.index("first event")
"""Shown where a line has room for it."""
SHOWN = 5
"""For so many partitions the days that were not requested are listed."""
ERROR_WIDTH = 300
"""So much is shown of why a run failed."""
SUMS = ("rows", "bytes", "files", "rejected_rows")


@click.command("status", epilog=examples("tailpipe status", "tailpipe status --output json"))
@pretty_or_json
@common
def command(context: click.Context, output: str) -> None:
    """Show the state of every partition: last run, first and last event, days, gaps, rows, size and rejected rows.

    Days counts the collected days, with or without events. A gap is a requested day that is not collected yet: the
    next collect retries it. Days that no run has requested are listed below the table: collect --fill collects
    them. An asterisk marks partitions that were removed from the config. Alerts that could not
    be delivered are listed with the reason.
    """
    home, now = home_of(context), datetime.now(UTC)
    records = _records(home, now)
    total = {name: sum(record[name] for record in records) for name in SUMS}
    settings = home.settings
    alerts = alert_records(waiting_alerts(home))
    whole = {
        "workspace": settings.workspace.name,
        "location": str(settings.location),
        "partitions": records,
        "total": {"partitions": len(records), **total},
        "alerts": alerts,
    }
    if output == "json":
        render.record(whole, output)
        return
    render.data(f"workspace {settings.workspace.name}: {visible(str(settings.location))}")
    if not records:
        render.data("no partitions; run tailpipe collect for an example")
        return
    cells = [_cells(record, now) for record in records]
    cells.append([f"total {len(records):,}", "", "", "", "", "", *_sizes(total)])
    room = max(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns) if sys.stdout.isatty() else None
    headings, fitted = _fitted(cells, room)
    render.data("\n".join(grid(headings, fitted, numbers=range(headings.index("days"), len(headings))).lines))
    for line in (*_stores(records, now), *map(located, _remarks(records)), *alert_lines(alerts, now, _age)):
        render.data(line)


def _records(home: Home, now: datetime) -> list[dict[str, Any]]:
    known = {one.totals.name: one for one in overview(home)}
    partitions = home.config.partitions
    held = {name for name, one in known.items() if one.totals.files or one.totals.rejected_rows}
    records = []
    for name in sorted({*held, *partitions}):
        partition = partitions.get(name)
        one = known.get(name) or Overview(PartitionTotals(name, 0, 0, 0, None, None, 0))
        covered = DaySet.union(coverage.covered for coverage in one.coverage.values())
        missing = open_days(one.coverage, partition, now) | one.lost
        never = not_requested(one.coverage, partition, now)
        run, totals = one.last_run, one.totals
        records.append(
            {
                "partition": name,
                "is_in_config": partition is not None or name == HITS,
                "last_run": {
                    "started_at": render.moment(run.begun_at),
                    "ended_at": render.moment(run.ended_at),
                    "outcome": run.outcome,
                    "error": run.error,
                }
                if run
                else None,
                "days_covered": len(covered),
                "first_date": str(totals.first_date) if totals.first_date else None,
                "last_date": str(totals.last_date) if totals.last_date else None,
                "first_event": totals.first_event.isoformat() if totals.first_event else None,
                "last_event": totals.last_event.isoformat() if totals.last_event else None,
                "gaps": str(missing),
                "gap_days": len(missing),
                "not_requested": str(never),
                "not_requested_days": len(never),
                "lost": str(one.lost),
                "rows": totals.rows,
                "bytes": totals.size,
                "files": totals.files,
                "rejected_rows": totals.rejected_rows,
                "store": _store(home, one),
            }
        )
    return records


def _store(home: Home, one: Overview) -> dict[str, Any] | None:
    """Where the files of a partition are; None if it has no store and never had one."""
    store, state, totals = home.stores.of(one.totals.name), one.store, one.totals
    if store is None and not state.is_known:
        return None
    return {
        "name": store.name if store else None,
        "files_here": state.files_here if state.is_known else totals.files,
        "bytes_here": state.size_here if state.is_known else totals.size,
        "files_in_store": state.files_there,
        "bytes_in_store": state.size_there,
        "unpushed_commits": state.unpushed,
        "unpushed_since": render.moment(state.since),
        "last_push": render.moment(state.pushed_at),
        "version": state.version,
        "hosts": [
            {"host": host.name, "commits": host.commits, "last_commit": render.moment(host.committed_at)}
            for host in state.hosts
        ],
    }


def _stores(records: list[dict[str, Any]], now: datetime) -> list[str]:
    """A line for each partition with a store: its files on this disk and in the store, and unpushed commits."""
    lines = []
    for record in records:
        store = record["store"]
        if store is None:
            continue
        here = f"{render.counted(store['files_here'], 'file')} on this disk ({render.size(store['bytes_here'])})"
        there = f"{store['files_in_store']:,} in the store ({render.size(store['bytes_in_store'])})"
        last = store["last_push"]
        pushed = "never pushed by this host" if store["version"] else "never pushed"
        if last:
            pushed = f"pushed {_age(now - datetime.fromisoformat(last))} ago"
        line = f"store {store['name'] or '(not in the config)'}: {record['partition']} {here}, {there}, {pushed}"
        if store["unpushed_commits"]:
            age = _age(now - datetime.fromisoformat(store["unpushed_since"]))
            line += f"; {render.counted(store['unpushed_commits'], 'commit')} not pushed for {age}"
        lines.append(line)
        if len(store["hosts"]) > 1 or (store["hosts"] and not store["last_push"]):
            ages = [
                f"{one['host']} {_age(now - datetime.fromisoformat(one['last_commit']))} ago" for one in store["hosts"]
            ]
            lines.append(f"  last commits by host, as of version {store['version']} of the log: {', '.join(ages)}")
    if any(record["store"] and record["store"]["unpushed_commits"] for record in records):
        lines.append("to push: tailpipe push")
    return lines


def _cells(record: dict[str, Any], now: datetime) -> list[str]:
    mark = "" if record["is_in_config"] else "*"
    days = [f"{record['days_covered']:,}", f"{record['gap_days']:,}"]
    events = [_event(record["first_event"], now), _event(record["last_event"], now)]
    return [record["partition"] + mark, _run(record["last_run"], now), *events, *days, *_sizes(record)]


def _event(moment: str | None, now: datetime) -> str:
    """A time in eleven characters: without the year if it is this one, without the hour if it is another."""
    if moment is None:
        return "–"
    then = datetime.fromisoformat(moment)
    return then.strftime("%m-%d %H:%M" if then.year == now.year else "%Y-%m-%d")


def _sizes(record: dict[str, Any]) -> list[str]:
    return [_short(record["rows"]), render.size(record["bytes"]), _short(record["rejected_rows"])]


def _run(run: dict[str, Any] | None, now: datetime) -> str:
    if run is None:
        return "never"
    age = _age(now - datetime.fromisoformat(run["ended_at"] or run["started_at"]))
    if run["outcome"] == "running":
        return f"running {age}"
    words = {"done": f"{age} ago", "failed": f"failed {age}", "interrupted": f"stopped {age}"}
    return words[run["outcome"]]


def _age(span: timedelta) -> str:
    seconds = max(0, int(span.total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _short(count: int) -> str:
    """A number in at most six characters: 12,345, then 123k, 12.3M, 1.2G."""
    if count < 100_000:
        return f"{count:,}"
    size, unit = next(one for one in ((10**9, "G"), (10**6, "M"), (10**3, "k")) if count >= one[0])
    return render.rounded(count / size) + unit


def _fitted(cells: list[list[str]], room: int | None) -> tuple[list[str], list[list[str]]]:
    """Headings and cells that have room in a line: without the first event, or with names cut, if there is little."""
    headings = HEADINGS
    if room is None:
        return headings, cells
    if _room(headings, cells, room) < max(width(line[0]) for line in cells):
        headings = [one for one in HEADINGS if one != HEADINGS[FIRST_EVENT]]
        cells = [[*line[:FIRST_EVENT], *line[FIRST_EVENT + 1 :]] for line in cells]
    most = max(12, _room(headings, cells, room))
    return headings, [[shorten(line[0], most), *line[1:]] for line in cells]


def _room(headings: list[str], cells: list[list[str]], room: int) -> int:
    """How much of a line is left for the names."""
    others = [max(width(line[x]) for line in [headings, *cells]) + 2 for x in range(1, len(headings))]
    return room - sum(others)


def _not_requested(records: list[dict[str, Any]]) -> list[str]:
    """The days that no plain run fetches, and the command that does."""
    lines = [
        f"not requested: {record['partition']} {render.days(DaySet.parse(record['not_requested']))}"
        for record in records[:SHOWN]
    ]
    if more := len(records) - len(lines):
        lines.append(f"not requested: days of {render.counted(more, 'other partition')}; to list them: --output json")
    name = records[0]["partition"] if len(records) == 1 else "PARTITION"
    return [*lines, f"to collect them: tailpipe collect {name} --fill"] if lines else []


def _failures(records: list[dict[str, Any]]) -> list[str]:
    """Why the last runs failed: what needs a person is shown until it is mended."""
    errors = {one["partition"]: one["last_run"]["error"] for one in records if one["last_run"]}
    failed = [(name, error) for name, error in errors.items() if error]
    lines = [f"failed: {name}: {shorten(render.shown(error), ERROR_WIDTH)}" for name, error in failed[:SHOWN]]
    return [*lines, "to show the last runs: tailpipe runs --failed"] if lines else []


def _remarks(records: list[dict[str, Any]]) -> list[str]:
    lines = []
    if running := [one["partition"] for one in records if (one["last_run"] or {}).get("outcome") == "running"]:
        lines.append(f"running: {', '.join(running)}")
    lines += _failures(records)
    if any(not record["is_in_config"] for record in records):
        lines.append("* not in the config")
    if any(record["gap_days"] for record in records):
        lines.append("to fill gaps: tailpipe collect")
    lines += _not_requested([record for record in records if record["not_requested_days"]])
    for record in records:
        if record["lost"]:
            days = f"{record['partition']}: rows of {record['lost']} are lost"
            lines.append(f"{days}; to collect them again: tailpipe collect {record['partition']}")
    if any(record["rejected_rows"] for record in records):
        lines.append("to show rejected rows: tailpipe rejected show")
    return lines
