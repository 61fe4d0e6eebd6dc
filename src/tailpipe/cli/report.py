"""The report of a run, and the preview of one, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from tailpipe.cli import render
from tailpipe.cli.advice import about_time, about_width, dated_names, empty_columns, type_errors
from tailpipe.cli.again import Typed, located
from tailpipe.cli.pushes import push_lines
from tailpipe.cli.records import texts_of
from tailpipe.cli.report_records import preview_record, summary_record
from tailpipe.collect import events
from tailpipe.collect.planner import Planned
from tailpipe.collect.remains import ADDED, NOT_REPLACED, REWRITTEN
from tailpipe.model.assumed_years import assumed_years_text
from tailpipe.model.coverage import DaySet
from tailpipe.model.maintenance import Maintenance
from tailpipe.model.meter import Spent, added, ordered
from tailpipe.model.partition import Partition
from tailpipe.model.visible import shorten

_NOTHING = Typed()
_SINGLE = 31  # so many days are shown one by one
DaysOutside = Callable[[str], DaySet | None]
"""The days of a partition with rows that every run so far has found to be out of its window."""
UNITS = render.columns("unit:day", "kind", "reason", "artifacts", "bytes:size")
_SHOWN = 5
_SAMPLES = 3
_WIDEST_LAYOUT = 160


def print_report(
    report: events.Report, output: str, days_outside: DaysOutside = lambda _: None, typed: Typed = _NOTHING
) -> None:
    """What was read and kept, what failed and why, and what to do next.

    After a run with a window, the days that no run has requested are listed; `tailpipe status` always has them.
    """
    if output == "json":
        render.records([summary_record(one) for one in report.partitions], output)
        return
    for summary in report.partitions:
        for line in _lines(summary, days_outside, typed):
            render.data(located(line))


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
    render.records(records, "pretty", render.columns("phase", "wall:wall s", "cpu:CPU s"))
    size = sum(summary.bytes for summary in report.partitions)
    rows = sum(summary.accounts.read for summary in report.partitions)
    render.data(f"{render.size(size)} read, {render.counted(rows, 'row')}")


def print_preview(previews: Sequence[tuple[Partition, Planned]], output: str, typed: Typed = _NOTHING) -> None:
    """The units that would be done, and what would be skipped and why."""
    if output == "json":
        render.records([preview_record(partition, planned) for partition, planned in previews], output)
        return
    for partition, planned in previews:
        for line in _preview_lines(partition, planned, typed):
            render.data(located(line))


def _preview_lines(partition: Partition, planned: Planned, typed: Typed) -> Iterator[str]:
    record = preview_record(partition, planned)
    artifacts = sum(unit["artifacts"] for unit in record["units"])
    yield f"{partition.address}: {render.counted(planned.listed, 'artifact')} listed, {artifacts:,} to collect"
    if record["units"]:
        units = [{**unit, "unit": render.unit(unit["unit"])} for unit in _together(record["units"])]
        yield from texts_of(units, "pretty", UNITS)
    yield from (f"  skipped {count:,}: {reason}" for reason, count in record["skipped"].items())
    yield from (f"  {_unmatched(one)}" for one in planned.unmatched_files)
    yield from (f"  {_unavailable(one)}" for one in planned.unavailable_artifacts)
    yield from (f"  {_unlisted(one, partition.address, typed)}" for one in planned.unlisted_days)
    yield from (f"  {line}" for one in planned.dated_names for line in dated_names(one))
    yield from (f"  {render.shown(problem)}" for problem in record["problems"])


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


def _lines(summary: events.Summary, days_outside: DaysOutside, typed: Typed) -> Iterator[str]:
    yield from _headline(summary)
    sections = (
        _not_overwritten(summary, typed),
        _rows(summary),
        _failures(summary),
        _sources(summary, days_outside, typed),
        _rewritten(summary),
        _maintenance(summary.maintenance),
        push_lines(summary.push),
    )
    yield from (f"  {line}" for section in sections for line in section)
    if summary.gaps:
        yield f"  missing: {render.days(summary.gaps)}"
    if summary.lost:
        yield f"  lost: rows of {render.days(summary.lost)}; their logs no longer exist"
    if summary.error:
        yield f"{summary.partition}: failed: {render.shown(summary.error)}"


def _rows(summary: events.Summary) -> Iterator[str]:
    """What is wrong with rows and values, and what to do about it."""
    accounts, samples = summary.accounts, summary.rejected_samples[:_SAMPLES]
    yield from (f"rejected: {render.shown(one.uri)} {one.position}: {one.reason}" for one in samples)
    if accounts.rejected:
        more = accounts.rejected - len(samples)
        others = f"and {more:,} more; " if samples and more > 0 else ""
        yield f"{others}to show rejected rows: tailpipe rejected show {summary.partition}"
    yield from type_errors(summary.type_errors)
    yield from empty_columns(summary.empty_columns)
    yield from assumed_years_text(summary.assumed_years)
    yield from (f"{what}: {count:,}" for what, count in list(summary.warnings.items())[:_SHOWN])
    if len(summary.warnings) > _SHOWN:
        yield f"and {len(summary.warnings) - _SHOWN:,} more"
    reasons = [] if accounts.kept else [one.reason for one in summary.rejected_samples]
    if advice := about_time(reasons) or about_width(reasons):
        yield advice


def _failures(summary: events.Summary) -> Iterator[str]:
    """What was not committed, and why."""
    for failed in summary.failed:
        unit = render.unit(failed.unit)
        yield from (f"{unit} rolled back: {render.shown(reason)}" for reason in failed.reasons[:5])
    if not all(one.is_refused for one in summary.failed):
        yield "committed days are kept; fix the error and collect again, or use --skip-bad-artifacts"
    yield from (f"skipped: {render.shown(reason)}" for reason in summary.bad_artifacts[:_SHOWN])
    if len(summary.bad_artifacts) > _SHOWN:
        yield f"and {len(summary.bad_artifacts) - _SHOWN:,} more; to show all: --output json"
    if summary.waiting:
        yield f"waiting: rows of {render.days(summary.waiting)} in undated files, because a skipped file has some"
        yield "fix or remove the skipped files and collect again, or use --skip-bad-artifacts"
    yield from (f"deferred to the next run: {render.shown(reason)}" for reason in summary.changed_artifacts[:5])


def _sources(summary: events.Summary, days_outside: DaysOutside, typed: Typed) -> Iterator[str]:
    """What sources have and the run did not collect."""
    if not summary.committed:
        yield from map(_unmatched, summary.unmatched_files)
    yield from map(_unavailable, summary.unavailable_artifacts)
    yield from _outside(summary, days_outside, typed)
    if summary.committed and summary.dated_names:
        yield from (line for one in summary.dated_names for line in dated_names(one))
        again = f"tailpipe partition delete {summary.partition}, rename the partition, and collect it with --from DAY"
        yield f"files that are collected already stay undated; to collect them by day: {again}"
    if summary.incomplete_artifacts:
        what = f"{render.counted(summary.incomplete_artifacts, 'artifact')} with an incomplete last line"
        yield f"{what}; it is collected once the file has not changed for a minute"


def _rewritten(summary: events.Summary) -> Iterator[str]:
    """Which files were rewritten or replaced, and how to collect corrected ones."""
    if added := summary.skipped.get(ADDED):
        yield f"{render.counted(added, 'file')} rewritten or cut: new rows were added, and the earlier rows stay"
    kept = {why: count for why, count in summary.skipped.items() if why in NOT_REPLACED}
    yield from (f"{render.counted(count, 'artifact')} not overwritten: {why}" for why, count in kept.items())
    if added or REWRITTEN in kept:
        day = f"{summary.partition} --from DAY --to DAY"
        yield f"if files were corrected: tailpipe partition delete {day}, then tailpipe collect {day}"


def _headline(summary: events.Summary) -> list[str]:
    """How many rows were collected, from how many artifacts and days, and where the other rows went."""
    accounts, name = summary.accounts, summary.partition
    if summary.failed and not summary.committed:
        return [f"{name}: 0 rows, {_failed_units(summary.failed)} failed"]
    if not summary.committed:
        return [] if summary.error else [f"{name}: no new data"]
    artifacts = sum(one.artifacts for one in summary.committed)
    days = len({one.unit for one in summary.committed if not one.unit.startswith("pack:")})
    undated = sum(one.artifacts for one in summary.committed if one.unit.startswith("pack:"))
    parts = [render.counted(accounts.kept, "row")]
    parts.append(render.counted(artifacts, "artifact" if undated < artifacts or days else "undated artifact"))
    parts[-1] += f" ({undated:,} undated)" if undated and days else ""
    parts += [render.counted(days, "day")] if days else []
    others = {**accounts.elsewhere, "duplicate": accounts.duplicate}
    parts += [f"{count:,} {what}" for what, count in others.items() if count]
    return [f"{name}: " + ", ".join(parts)]


def _failed_units(failed: Sequence[events.Failed]) -> str:
    days = sum(not one.unit.startswith("pack:") for one in failed)
    parts = [render.counted(days, "day")] if days else []
    return " and ".join([*parts, "undated files"] if days < len(failed) else parts)


def _not_overwritten(summary: events.Summary, typed: Typed) -> Iterator[str]:
    """What was made by another config, what would have no rows any more, and what was not requested again."""
    name, since = summary.partition, summary.stale_since
    if since and not summary.error:
        if summary.is_stale and not summary.failed:
            yield f"format, table or filter changed; to apply the change: {typed.overwrite(name, since)}"
        elif not summary.is_stale:
            again = replace(typed, start=str(since), end=None).overwrite(name, None)
            yield f"rows since {since} are from before the change of the config; to apply it to them: {again}"
    if days := summary.complete_days:
        first, last = days.spans[0][0], days.spans[-1][1]
        again = replace(typed, start=str(first), end=str(last)).overwrite(name, None)
        yield f"not requested again, because they were complete: {render.days(days)}; to request them: {again}"
    if typed.has_window and summary.not_requested:
        never = render.days(summary.not_requested)
        yield f"not requested: {never}; to collect them: tailpipe collect {name} --fill"


def _outside(summary: events.Summary, days_outside: DaysOutside, typed: Typed) -> Iterator[str]:
    """Where to look when nothing came: a first run takes the last 30 days, and many try it on older logs."""
    if summary.accounts.kept or not summary.is_done:
        return
    name = summary.partition
    yield from (_unlisted(one, name, typed) for one in summary.unlisted_days)
    if summary.accounts.out_of_window and not summary.unlisted_days:
        days, where = days_outside(name), "use an earlier --from"
        if days:
            again = typed.collect(name, "--from", str(days.first))
            where = f"the logs have rows from {_span(days.first, days.last)}; to collect them: {again}"
        yield f"no rows in the requested window; {where}"


def _maintenance(done: Maintenance) -> Iterator[str]:
    if done.expired_days:
        yield f"expired: {render.days(done.expired_days)}, {render.counted(done.expired_rows, 'row')}"
    if done.compacted_files:
        yield f"compacted {render.counted(done.compacted_files, 'file')} into {done.new_files:,}"
    yield from done.warnings


def _unmatched(found: events.UnmatchedFiles) -> str:
    if not found.files:
        return f"source {found.source}: no files found"
    # A layout of a table may be very long, and the user has not written it.
    layout = shorten(found.file_layout, _WIDEST_LAYOUT)
    verb = "does" if found.unmatched == 1 else "do"
    files = f"{found.unmatched:,} of {render.counted(found.files, 'file')}"
    return (
        f"source {found.source}: {files} {verb} not match file_layout {layout} (first: {render.shown(found.example)})"
    )


def _unavailable(found: events.UnavailableArtifacts) -> str:
    artifacts = render.counted(found.artifacts, "artifact")
    return f"source {found.source}: {artifacts} not collected: {found.reason} (first: {render.shown(found.example)})"


def _unlisted(found: events.UnlistedDays, partition: str, typed: Typed) -> str:
    again = typed.collect(partition, "--from", str(found.first_day))
    artifacts, days = render.counted(found.artifacts, "artifact"), _span(found.first_day, found.last_day)
    outside = f"{artifacts} outside the requested window, {days}"
    return f"source {found.source}: {outside}; to collect them: {again}"


def _span(first: object, last: object) -> str:
    return f"{first}" if first == last else f"{first} to {last}"
