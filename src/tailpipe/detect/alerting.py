"""Which hits become alerts of their own, and which are counted in a summary because a detection has too many.

A notifier takes so many alerts of a detection in an hour of the clock. What is beyond them goes into a summary: the
first one of an hour is due at once, and the next gathers all that comes until the hour is over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tailpipe.detect.hit_table import Hit, hit_id
from tailpipe.detect.outbox import Alert, alerts_in
from tailpipe.detect.state import State
from tailpipe.model.detection import Detection
from tailpipe.model.notifier import Notifier

_LARGEST = 16_000
"""Characters of an event in an alert; a larger event is omitted, and is only in the hit."""
_LARGEST_KEY = 4_000
_LONGEST_VALUE = 400
"""Characters of each value of a larger key: receivers refuse very large alerts, and who writes logs may know that."""


def enqueue(state: State, detection: Detection, hits: Sequence[Hit], now: datetime) -> None:
    """Let hits, in the order of time, wait for the notifiers of their detection."""
    moment = now.astimezone(UTC)
    for notifier in detection.notify if hits else ():
        hour = moment.replace(minute=0, second=0, microsecond=0)
        name = f"rate/{detection.name}/{notifier.address}"
        known, alerts, summaries = json.loads(state.value(name) or '["", 0, 0]')
        if known != hour.isoformat():
            alerts = summaries = 0
        own = hits[: max(notifier.alerts_per_hour - alerts, 0)]
        for hit in own:
            alert = Alert(hit.id, notifier.address, _bounded(hit.record), moment)
            state.change(alert.cursor, alert.text)
        if rest := hits[len(own) :]:
            summaries = _fold(state, detection, notifier, rest, moment, hour, summaries)
        state.change(name, json.dumps([hour.isoformat(), alerts + len(own), summaries]))


def _fold(
    state: State,
    detection: Detection,
    notifier: Notifier,
    hits: Sequence[Hit],
    now: datetime,
    hour: datetime,
    summaries: int,
) -> int:
    """Count hits in the summary that waits for the end of the hour, or in a new one; the hour's number of summaries."""

    def numbered(number: int) -> Alert:
        """A summary for people and programs that read records of hits: `count` hits, and no event."""
        identity = hit_id("summary", detection.name, notifier.address, hour.isoformat(), str(number))
        due = None if number == 1 else hour + timedelta(hours=1)
        first, last = hits[0].record, hits[-1].record
        facts = {"id": identity, "first_at": first["time"], "last_at": last["time"], "count": len(hits)}
        nothing: dict[str, Any] = {"partition": None, "tp_id": None, "key": None, "event": {}}
        return Alert(identity, notifier.address, {**last, **facts, "is_summary": True, **nothing}, now, next_at=due)

    last = numbered(summaries)
    if summaries > 1 and (text := state.value(last.cursor)) is not None:
        (waiting,) = alerts_in({last.cursor: text})
        if not waiting.attempts:
            old, new = waiting.record, last.record
            times = {"first_at": min(old["first_at"], new["first_at"]), "last_at": max(old["last_at"], new["last_at"])}
            record = {**new, **times, "time": times["last_at"], "count": old["count"] + new["count"]}
            state.change(last.cursor, replace(last, record=record, since=waiting.since).text)
            return summaries
    following = numbered(summaries + 1)
    state.change(following.cursor, following.text)
    return summaries + 1


def _bounded(record: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(record["event"])) > _LARGEST:
        record = {**record, "event": {}, "event_is_too_large": True}
    if len(json.dumps(record["key"])) > _LARGEST_KEY:
        texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in record["key"]]
        record = {**record, "key": [one[:_LONGEST_VALUE] for one in texts], "key_is_truncated": True}
    return record
