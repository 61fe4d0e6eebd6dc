"""The outbox: alerts that wait, as cursors that are committed together with the hits they are about.

An alert is removed when it was delivered, in a transaction of its own. A process that dies in between delivers it
again, with the same id: at least once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tailpipe.frozen import frozen

GIVE_UP = timedelta(days=3)
"""After so long an alert is not tried again."""
_LONGEST = timedelta(hours=1)
_OUTBOX = "outbox/"
_ERROR = 300


@frozen
class Alert:
    """A hit for one notifier, and how often it was tried."""

    hit: str
    notifier: str
    """The address of the notifier: `notifier.slack.security`."""
    record: Mapping[str, Any]
    since: datetime
    attempts: int = 0
    next_at: datetime | None = None
    error: str = ""
    is_given_up: bool = False

    @property
    def cursor(self) -> str:
        """The name of its cursor."""
        return f"{_OUTBOX}{self.hit}/{self.notifier}"

    @property
    def text(self) -> str:
        """The value of its cursor."""
        facts = {
            "record": self.record,
            "since": self.since.isoformat(),
            "attempts": self.attempts,
            "next_at": self.next_at and self.next_at.isoformat(),
            "error": self.error,
            "is_given_up": self.is_given_up,
        }
        return json.dumps(facts, ensure_ascii=False)

    def is_due(self, now: datetime) -> bool:
        """Whether it should be tried."""
        return not self.is_given_up and (self.next_at is None or self.next_at <= now)


def alerts_in(cursors: Mapping[str, str]) -> list[Alert]:
    """The alerts that wait, the oldest first."""
    found = []
    for name, text in cursors.items():
        if name.startswith(_OUTBOX):
            hit, _, notifier = name.removeprefix(_OUTBOX).partition("/")
            facts = json.loads(text)
            for moment in ("since", "next_at"):
                facts[moment] = datetime.fromisoformat(facts[moment]) if facts[moment] else None
            found.append(Alert(hit, notifier, **facts))
    return sorted(found, key=lambda one: (one.since, str(one.record.get("time")), one.hit, one.notifier))


def failed(alert: Alert, error: str, now: datetime, wait: timedelta = timedelta(0)) -> Alert:
    """The alert after a failed attempt: it waits twice as long each time, up to an hour, and is given up at last."""
    attempts = alert.attempts + 1
    pause = max(wait, min(timedelta(seconds=2 ** min(attempts - 1, 12)), _LONGEST))
    is_over = now + pause - alert.since > GIVE_UP
    next_at = None if is_over else now + pause
    return replace(alert, attempts=attempts, next_at=next_at, error=error[:_ERROR], is_given_up=is_over)


def retried(alerts: Sequence[Alert], now: datetime) -> list[Alert]:
    """Make all of these alerts due again, and let them wait as long as new ones."""
    return [replace(one, since=now.astimezone(UTC), next_at=None, is_given_up=False) for one in alerts]
