"""Detect: run detections over new rows or a window, test them on their events, deliver and acknowledge hits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tailpipe.home.detections import select_detections
from tailpipe.home.home import Home
from tailpipe.model.detection import Detection
from tailpipe.model.request import Detect

if TYPE_CHECKING:
    from tailpipe.detect.acknowledge import Acknowledged
    from tailpipe.detect.deliver import Delivered
    from tailpipe.detect.outbox import Alert
    from tailpipe.detect.run import Run
    from tailpipe.detect.trial import Case
    from tailpipe.sql.attempt import Attempt

__all__ = [
    "Detect",
    "acknowledge",
    "acknowledged",
    "begin_detections",
    "deliver",
    "detect",
    "try_detection",
    "waiting_alerts",
]


def detect(home: Home, request: Detect, attempt: Attempt | None = None) -> Run:
    """Run detections over rows that are new since the last run of all, or over a window.

    `attempt` notes which detection is evaluated.
    """
    from tailpipe.detect.run import Run

    chosen = select_detections(request.names, home.detections.enabled)
    with home.catalog(is_read_only=request.dry_run and not home.is_empty) as catalog:
        run = Run(catalog, home.tables, chosen, request, attempt).run()
        return home.followers.refresh_copies(run, is_changed=not request.dry_run)


def begin_detections(home: Home) -> None:
    """Note where detections begin, if they were never run: what is collected from now on is new to them."""
    from tailpipe.detect.run import begin_detecting

    with home.catalog() as catalog:
        begin_detecting(catalog, datetime.now(UTC))


def deliver(home: Home, *, retry: bool = False) -> Delivered:
    """Send the alerts that are due; with `retry` also those that were given up."""
    from tailpipe.detect.deliver import deliver

    notifiers = {one.address: one for one in home.config.notifiers.values()}
    with home.catalog() as catalog:
        return deliver(catalog, notifiers, lambda: datetime.now(UTC), retry=retry)


def waiting_alerts(home: Home) -> list[Alert]:
    """The alerts that wait or were given up."""
    from tailpipe.detect.deliver import waiting

    return home.read(waiting, [])


def acknowledged(home: Home) -> Mapping[str, Acknowledged]:
    """The hits that were acknowledged, by id."""
    from tailpipe.detect.acknowledge import acknowledged

    return home.read(acknowledged, {})


def acknowledge(home: Home, hits: Collection[str], mark: Acknowledged | None) -> int:
    """Acknowledge hits, or undo that without a mark; returns how many changed."""
    from tailpipe.detect.acknowledge import acknowledge

    with home.catalog() as catalog:
        return acknowledge(catalog, hits, mark)


def try_detection(home: Home, detection: Detection) -> list[Case]:
    """Test a detection on its events; nothing is read or written."""
    from tailpipe.detect.trial import try_detection

    table, files = home.tables[detection.table], home.registry.sources["file"]
    return try_detection(detection, table, files, datetime.now(UTC))
