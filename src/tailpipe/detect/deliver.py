"""Deliver the alerts that wait: each at least once, with back-off, and given up after days."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.detect.outbox import Alert, alerts_in, failed, retried
from tailpipe.detect.send import SendError, send
from tailpipe.frozen import frozen
from tailpipe.model.detection import HITS
from tailpipe.model.notifier import Notifier
from tailpipe.model.option import unresolved_in

_NOTE_EVERY = 20
"""So many outcomes are noted at once: a process that dies may deliver as many again."""
_NOTE_SECONDS = 5.0


@frozen
class Delivered:
    """The outcome of a delivery: how many alerts were sent, and those that wait or were given up."""

    sent: int = 0
    waiting: tuple[Alert, ...] = ()


def waiting(catalog: Catalog) -> list[Alert]:
    """The alerts that were not delivered yet."""
    return alerts_in(catalog.cursors(HITS))


def deliver(
    catalog: Catalog, notifiers: Mapping[str, Notifier], clock: Callable[[], datetime], *, retry: bool = False
) -> Delivered:
    """Try all alerts that are due, or all; `notifiers` are those of the config, by address.

    Once one fails in a way in which others would, the rest of its notifier waits for the next time.
    """
    if not waiting(catalog):
        return Delivered()
    with catalog.writer(HITS) as writer:
        alerts = waiting(catalog)
        due = retried(alerts, clock()) if retry else [one for one in alerts if one.is_due(clock())]
        sent = _try_all(writer, due, notifiers, clock)
        return Delivered(sent, tuple(waiting(catalog)))


def _try_all(
    writer: Writer, due: Sequence[Alert], notifiers: Mapping[str, Notifier], clock: Callable[[], datetime]
) -> int:
    sent, changes, noted = 0, dict[str, str | None](), time.monotonic()
    broken: dict[str, SendError] = {}
    for alert in due:
        if alert.notifier in broken and alert.attempts == 0:
            continue  # it is due the next time
        try:
            if alert.notifier in broken:
                raise broken[alert.notifier]
            send(_usable(alert, notifiers), alert)
        except SendError as error:
            if error.is_general:
                broken.setdefault(alert.notifier, error)
            changes[alert.cursor] = failed(alert, str(error), clock(), error.wait).text
        else:
            sent += 1
            changes[alert.cursor] = None
            writer.database.failpoints.reach("alert.sent")
        if len(changes) >= _NOTE_EVERY or time.monotonic() - noted > _NOTE_SECONDS:
            writer.note(cursors=changes)
            changes, noted = {}, time.monotonic()
    if changes:
        writer.note(cursors=changes)
    writer.database.failpoints.reach("alert.noted")
    return sent


def _usable(alert: Alert, notifiers: Mapping[str, Notifier]) -> Notifier:
    notifier = notifiers.get(alert.notifier)
    if notifier is None:
        raise SendError(f"{alert.notifier} is not in the config")
    if missing := unresolved_in(notifier):
        raise SendError(missing[0].message)
    return notifier
