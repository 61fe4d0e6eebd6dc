"""Drop candidates that are no new hits: stored ids, parts of stored episodes, and suppressed groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from tailpipe.detect.counting import spans
from tailpipe.detect.hit_table import Hit
from tailpipe.detect.jail import Jail
from tailpipe.frozen import frozen
from tailpipe.model.detection import HIT_TABLE, HITS, Detection

if TYPE_CHECKING:
    from tailpipe.catalog.catalog import Catalog

_PAST = "tp__past"


@frozen
class Known:
    """A stored hit, as far as it matters to others."""

    id: str
    detection: str
    key: str | None
    at: datetime


def known_hits(jail: Jail, catalog: Catalog, candidates: Mapping[str, tuple[Detection, Sequence[Hit]]]) -> list[Known]:
    """The stored hits of these detections near the candidates; files of other dates are not read."""
    names = [name for name, (_, hits) in candidates.items() if hits]
    days: set[date] = set()
    for one, hits in candidates.values():
        for hit in hits:
            for low, high in spans([hit.at, hit.last_at], max(one.quiet, one.window)):
                days |= {low.date() + timedelta(days=number) for number in range((high.date() - low.date()).days + 1)}
    if not days:
        return []
    snapshot = catalog.snapshot(partition=HITS, dates=(min(days), max(days)))
    jail.show(_PAST, HIT_TABLE, replace(snapshot, files=tuple(one for one in snapshot.files if one.tp_date in days)))
    marks = ", ".join("?" * len(names))
    rows = jail.connection.execute(
        f"SELECT tp_id, detection, group_key::VARCHAR, tp_timestamp FROM {_PAST} WHERE detection IN ({marks})", names
    ).fetchall()
    return [Known(*row) for row in rows]


def new_hits(detection: Detection, candidates: Iterable[Hit], known: Iterable[Known]) -> list[Hit]:
    """Those of the candidates that are new; the candidates are in the order of time."""
    of_it = [one for one in known if one.detection == detection.name]
    ids = {one.id for one in of_it}
    times: dict[str | None, list[datetime]] = {}
    for one in of_it:
        times.setdefault(one.key, []).append(one.at)
    window, found = detection.window, []
    for hit in candidates:
        near = times.setdefault(hit.key, [])
        # Late rows can let an episode begin earlier, but not again.
        is_running = detection.is_counting and any(max(hit.at - at, at - hit.last_at) <= window for at in near)
        is_suppressed = any(abs(hit.at - at) < detection.quiet for at in near)
        if hit.id in ids or is_running or is_suppressed:
            continue
        ids.add(hit.id)
        near.append(hit.at)
        found.append(hit)
    return found
