"""The report of a run, and the preview of one, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import date, timedelta
from typing import Any

from tailpipe.cli import render
from tailpipe.cli.advice import about_time, about_width, misfits, unfilled
from tailpipe.cli.pushes import push_lines
from tailpipe.collect import events
from tailpipe.collect.packing import fetched_bytes
from tailpipe.collect.planner import Planned
from tailpipe.collect.planning import NOT_REPLACED
from tailpipe.model.coverage import DaySet
from tailpipe.model.meter import Spent, added, ordered
from tailpipe.model.partition import Partition
from tailpipe.model.tidied import Tidied
from tailpipe.model.visible import shorten

__all__ = ["print_preview", "print_profile", "print_report"]

_SINGLE = 31
"""So many days are shown one by one."""
LeftOut = Callable[[str], DaySet | None]
UNITS = {"unit": "day", "kind": "kind", "reason": "reason", "artifacts": "artifacts", "bytes": "size"}
_SHOWN = 5
_WIDEST_LAYOUT = 160


def print_report(
    report: events.Report, output: str, left_out: LeftOut = lambda _: None, *, has_window: bool = False
) -> None:
    """What was read and kept, what failed and why, and what to do next.

    `left_out` tells the days of the rows of a partition that lay outside every window so far. After a run that
    `has_window`, the days that nobody has requested are listed; `tailpipe status` always has them.
    """
    if output == "json":
        render.data(json.dumps([_record(one) for one in report.partitions], indent=2, ensure_ascii=False, default=str))
        return
    for summary in report.partitions:
        for line in _lines(summary, left_out):
            render.data(line)
        if has_window and summary.not_requested:
            days = render.days(summary.not_requested)
            render.data(f"  not requested: {days}; to collect them: tailpipe collect {summary.partition} --fill")


def print_profile(report: events.Report) -> None:
    """Where the time of a run went, over all partitions."""
    total: dict[str, Spent] = {}
    for summary in report.partitions:
        total = added(total, summary.profile)
    records = [
        {"phase": phase, "wall": f"{spent.wall:.2f}", "cpu": f"{spent.cpu:.2f}"}
        for phase, spent in ordered(total).items()
    ]
    render.data("")
    render.records(records, "pretty", {"phase": "phase", "wall": "wall s", "cpu": "CPU s"})
    size = sum(summary.bytes for summary in report.partitions)
    rows = sum(summary.accounts.read for summary in report.partitions)
    render.data(f"{render.size(size)} read, {render.counted(rows, 'row')}")


def print_preview(previews: Sequence[tuple[Partition, Planned]], output: str) -> None:
    """The units that would be done, and what would be skipped and why."""
    records = [_preview(partition, planned) for partition, planned in previews]
    if output == "json":
        render.data(json.dumps(records, indent=2, ensure_ascii=False))
        return
    for record in records:
        artifacts = sum(unit["artifacts"] for unit in record["units"])
        render.data(
            f"{record['partition']}: {render.counted(record['listed'], 'artifact')} listed, {artifacts:,} to collect"
        )
        if record["units"]:
            render.records(_together(record["units"]), "pretty", UNITS)
        for reason, count in record["skipped"].items():
            render.data(f"  skipped {count:,}: {reason}")
        for line in (*record["refused"], *record["withheld"], *record["unlisted_days"]):
            render.data("  " + line)
        for line in record["problems"]:
            render.data("  " + render.shown(line))


def _together(units: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The units; of many, those days as one that follow each other and are done alike."""
    if len(units) <= _SINGLE:
        return list(units)
    found: list[dict[str, Any]] = []
    before: date | None = None
    for unit in units:
        day = None if unit["unit"].startswith("pack:") else date.fromisoformat(unit["unit"])
        is_next = day is not None and before is not None and abs(day - before) == timedelta(days=1)
        if day is not None and is_next and all(found[-1][name] == unit[name] for name in ("kind", "reason")):
            sums = {name: found[-1][name] + unit[name] for name in ("artifacts", "bytes")}
            span = DaySet.parse(found[-1]["unit"]) | DaySet.of([day])
            found[-1] = {**found[-1], **sums, "unit": str(span)}
        else:
            found.append(unit)
        before = day
    return found


def _lines(summary: events.Summary, left_out: LeftOut) -> list[str]:
    accounts, name = summary.accounts, summary.partition
    lines = []
    if summary.committed:
        artifacts = sum(one.artifacts for one in summary.committed)
        packs = sum(one.unit.startswith("pack:") for one in summary.committed)
        days = len({one.unit for one in summary.committed if not one.unit.startswith("pack:")})
        parts = [render.counted(accounts.kept, "row"), render.counted(artifacts, "artifact")]
        parts += [render.counted(days, "day")] if days else []
        parts += [render.counted(packs, "pack") + " of undated files"] if packs else []
        others = {"rejected": accounts.rejected, "filtered": accounts.filtered, "out of window": accounts.out_of_window}
        parts += [f"{count:,} {what}" for what, count in {**others, "duplicate": accounts.duplicate}.items() if count]
        lines.append(f"{name}: " + ", ".join(parts))
    elif not summary.failed and not summary.error:
        lines.append(f"{name}: no new data")
        if summary.is_stale:
            lines.append(f"  format, table or filter changed; to apply the change: tailpipe collect {name} --overwrite")
    lines += [f"  rejected: {render.shown(one.uri)} {one.position}: {one.reason}" for one in summary.samples[:3]]
    if accounts.rejected:
        lines.append(f"  to show rejected rows: tailpipe rejected show {name}")
    lines += [f"  {line}" for line in (*misfits(summary.nulls), *unfilled(summary.unfilled))]
    lines += [f"  {line}" for line in _noticed(summary.noticed)]
    reasons = [] if accounts.kept else [one.reason for one in summary.samples]
    if advice := about_time(reasons) or about_width(reasons):
        lines.append(f"  {advice}")
    for failed in summary.failed:
        lines += [f"  {failed.unit} rolled back: {render.shown(reason)}" for reason in failed.reasons[:5]]
    if summary.failed:
        lines.append("  committed days are kept; fix the error and collect again, or use --skip-bad-artifacts")
    lines += [f"  skipped: {render.shown(reason)}" for reason in summary.bad_artifacts[:5]]
    lines += [f"  deferred to the next run: {render.shown(reason)}" for reason in summary.changed_artifacts[:5]]
    lines += ["  " + _refused(one) for one in summary.refused if not summary.committed]
    lines += ["  " + _withheld(one) for one in summary.withheld]
    lines += [f"  {line}" for line in _elsewhere(summary, left_out)]
    if summary.unfinished:
        lines.append("  " + _unfinished(summary.unfinished))
    lines += [f"  {count:,} not overwritten: {why}" for why, count in summary.skipped.items() if why in NOT_REPLACED]
    lines += [f"  {line}" for line in _tidied(summary.tidied)]
    lines += [f"  {line}" for line in push_lines(summary.push)]
    if summary.gaps:
        lines.append(f"  missing: {render.days(summary.gaps)}")
    if summary.lost:
        lines.append(f"  lost: rows of {render.days(summary.lost)}; their logs no longer exist")
    if summary.error:
        lines.append(f"{name}: failed: {render.shown(summary.error)}")
    return lines


def _noticed(noticed: Mapping[str, int]) -> list[str]:
    lines = [f"{what}: {count:,}" for what, count in list(noticed.items())[:_SHOWN]]
    more = len(noticed) - len(lines)
    return [*lines, f"and {more:,} more"] if more else lines


def _unfinished(count: int) -> str:
    what = f"{render.counted(count, 'artifact')} with an incomplete last line"
    return f"{what}; it is collected once the file has not changed for a minute"


def _elsewhere(summary: events.Summary, left_out: LeftOut) -> list[str]:
    """Where to look when nothing came: a first run takes the last 30 days, and many try it on older logs."""
    if summary.accounts.kept or not summary.is_done:
        return []
    lines = [_unlisted(one) for one in summary.unlisted_days]
    if summary.accounts.out_of_window and not lines:
        days, where = left_out(summary.partition), "; to widen it, use --from"
        if days:
            where = f" but from {_span(days.first, days.last)}; to collect them: --from {days.first}"
        lines.append(f"no rows in the requested window{where}")
    return lines


def _tidied(tidied: Tidied) -> list[str]:
    lines = []
    if tidied.expired:
        lines.append(f"expired: {render.days(tidied.expired)}, {render.counted(tidied.expired_rows, 'row')}")
    if tidied.files:
        lines.append(f"compacted {render.counted(tidied.files, 'file')} into {tidied.new_files:,}")
    return [*lines, *tidied.notes]


def _refused(refused: events.Refused) -> str:
    if not refused.seen:
        return f"source {refused.source}: no files found"
    first, seen = render.shown(refused.first), render.counted(refused.seen, "file")
    verb = "does" if refused.refused == 1 else "do"
    # A layout of a table may be very long, and the user has not written it.
    layout = shorten(refused.layout, _WIDEST_LAYOUT)
    what = f"{refused.refused:,} of {seen} {verb} not match file_layout {layout}, such as {first}"
    return f"source {refused.source}: {what}"


def _withheld(withheld: events.Withheld) -> str:
    first = render.shown(withheld.first)
    many = render.counted(withheld.count, "artifact")
    return f"source {withheld.source}: {many} not collected: {withheld.reason}, such as {first}"


def _unlisted(found: events.UnlistedDays) -> str:
    days = _span(found.first, found.last)
    many = render.counted(found.count, "artifact")
    return f"source {found.source}: {many} outside the requested window, {days}; to collect them: --from {found.first}"


def _span(first: object, last: object) -> str:
    return f"{first}" if first == last else f"{first} to {last}"


def _record(summary: events.Summary) -> dict[str, Any]:
    return {
        **asdict(summary),
        "accounts": asdict(summary.accounts),
        "gaps": str(summary.gaps),
        "not_requested": str(summary.not_requested),
        "lost": str(summary.lost),
        "tidied": {**asdict(summary.tidied), "expired": str(summary.tidied.expired)},
        "is_done": summary.is_done,
        "seconds": round(summary.seconds, 3),
        "profile": {
            phase: {"wall_seconds": round(spent.wall, 3), "cpu_seconds": round(spent.cpu, 3)}
            for phase, spent in ordered(summary.profile).items()
        },
    }


def _preview(partition: Partition, planned: Planned) -> dict[str, Any]:
    return {
        "partition": partition.address,
        "listed": planned.listed,
        "units": [
            {
                "unit": str(unit.unit),
                "kind": unit.kind,
                "reason": unit.reason,
                "artifacts": len(unit.artifacts),
                "bytes": sum(fetched_bytes(one) for one in unit.artifacts),
            }
            for unit in planned.plan.units
        ],
        "skipped": planned.plan.reasons,
        "refused": [_refused(one) for one in planned.refused],
        "withheld": [_withheld(one) for one in planned.withheld],
        "unlisted_days": [_unlisted(one) for one in planned.unlisted_days],
        "problems": [problem for some in planned.problems.values() for problem in some],
    }
