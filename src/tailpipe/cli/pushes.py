"""What became of pushes, as lines and records."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tailpipe.cli import render
from tailpipe.model.pushed import PushReport

__all__ = ["published_lines", "push_lines", "push_record"]


def push_lines(report: PushReport | None) -> list[str]:
    """What a run reports of a push: what went up, what is committed here alone, and what to do about it."""
    if report is None:
        return []
    lines = [render.shown(conflict) for conflict in report.conflicts]
    if report.transactions:
        lines.append(f"pushed to {report.store}: {render.counted(report.files, 'file')}, {render.size(report.size)}")
    if report.unpushed:
        many = render.counted(report.unpushed, "commit")
        lines.append(f"committed here, not pushed: {many}; to push: tailpipe push {report.partition}")
    if report.left:
        lines.append(f"in the store alone: {render.counted(report.left, 'file')} since this run")
    lines += published_lines(report)
    if reason := report.error or report.locked:
        lines.append(f"push failed: {render.shown(reason)}")
    return lines


def published_lines(report: PushReport) -> list[str]:
    """What other engines do not see: columns that the format cannot hold, or the newest version."""
    lines = [f"column not published: {render.shown(reason)}" for reason in report.left_out]
    return [*lines, f"not published: {render.shown(report.publish_error)}"] if report.publish_error else lines


def push_record(report: PushReport) -> dict[str, Any]:
    """The same as a record."""
    return {**asdict(report), "since": report.since.isoformat(timespec="seconds") if report.since else None}
