"""Outcomes of pushes, as lines and records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from tailpipe.cli import render
from tailpipe.stores.pushed import PushReport


def report_unpushed(partitions: Iterable[str]) -> None:
    """Say that commits are safe, but that the stores of some partitions lack them."""
    if names := ", ".join(dict.fromkeys(partitions)):
        render.problem(
            f"the push of {names} failed; everything is committed on this disk",
            "once the store can be used, run: tailpipe push; to see what waits: tailpipe status",
        )


def push_lines(report: PushReport | None) -> list[str]:
    """What a run reports of a push: what was uploaded, what only this disk has, and what to do about it."""
    if report is None:
        return []
    lines = [render.shown(conflict) for conflict in report.conflicts]
    if report.commits:
        files = f", {render.counted(report.files, 'file')}, {render.size(report.bytes)}" if report.files else ""
        lines.append(f"pushed to {report.store}: {render.counted(report.commits, 'commit')}{files}")
    if reason := report.error or report.locked:
        lines.append(f"push failed: {render.shown(reason)}")
    if report.unpushed_commits:
        commits = render.counted(report.unpushed_commits, "commit")
        lines.append(f"not pushed: {commits}; to push: tailpipe push {report.partition}")
    if report.offloaded_files:
        lines.append(f"moved off this disk: {render.counted(report.offloaded_files, 'file')}, which the store has")
    return [*lines, *published_lines(report)]


def published_lines(report: PushReport) -> list[str]:
    """What other engines do not see: columns that the format cannot hold, right times, or the newest version."""
    lines = [f"column not published: {render.shown(reason)}" for reason in report.omitted_columns]
    if report.to_republish:
        table = report.to_republish.partition(" ")[2]
        lines.append(
            f"still published at data/tp_table={table}, where DuckDB shifts times outside UTC;"
            f" to move it: tailpipe store publish {report.to_republish}"
        )
    return [*lines, f"publishing failed: {render.shown(report.publish_error)}"] if report.publish_error else lines


def push_record(report: PushReport) -> dict[str, Any]:
    """A push as a record."""
    return {**asdict(report), "unpushed_since": render.moment(report.unpushed_since)}
