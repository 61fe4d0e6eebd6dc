"""Alerts that wait, by notifier: how many, since when and why, for `tailpipe status`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tailpipe.cli import render

if TYPE_CHECKING:
    from tailpipe.detect.outbox import Alert


def alert_records(alerts: Sequence[Alert]) -> list[dict[str, Any]]:
    """A record for each notifier."""
    found = []
    for address in sorted({alert.notifier for alert in alerts}):
        own = [alert for alert in alerts if alert.notifier == address]
        waits = [alert for alert in own if not alert.is_given_up]
        tries = [alert.next_at for alert in waits if alert.next_at is not None]
        errors = [alert.error for alert in own if alert.error]
        found.append(
            {
                "notifier": address,
                "waiting": len(waits),
                "given_up": len(own) - len(waits),
                "since": render.moment(min(alert.since for alert in own)),
                "next_try": render.moment(min(tries, default=None)),
                "error": errors[-1] if errors else None,
            }
        )
    return found


def alert_lines(records: Sequence[dict[str, Any]], now: datetime, age: Callable[[timedelta], str]) -> list[str]:
    """A line for each notifier, and what to do about alerts that were given up."""
    lines = []
    for record in records:
        since = age(now - datetime.fromisoformat(record["since"]))
        counts = [f"{record['waiting']} waiting"] if record["waiting"] else []
        counts += [f"{record['given_up']} given up"] if record["given_up"] else []
        why = f": {record['error']}" if record["error"] else ""
        lines.append(f"alerts: {record['notifier']} {', '.join(counts)}, the oldest for {since}{why}")
    if any(record["given_up"] for record in records):
        lines.append("to send them again: tailpipe detect --retry")
    return [render.shown(line) for line in lines]
