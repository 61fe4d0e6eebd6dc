"""Acknowledged hits: who has seen one and when, as cursors of the partition of hits, which manifests contain too."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, datetime

from tailpipe.catalog.catalog import Catalog
from tailpipe.frozen import frozen
from tailpipe.model.detection import HITS

_SEEN = "ack/"


@frozen
class Acknowledged:
    """When a hit was acknowledged, by whom, and with which note."""

    at: datetime
    by: str
    note: str = ""


def acknowledged(catalog: Catalog) -> dict[str, Acknowledged]:
    """The hits that were acknowledged, by id."""
    found = {}
    for name, text in catalog.cursors(HITS).items():
        if name.startswith(_SEEN):
            facts = json.loads(text)
            at = datetime.fromisoformat(facts["at"]).astimezone(UTC)
            found[name.removeprefix(_SEEN)] = Acknowledged(at, facts["by"], facts["note"])
    return found


def acknowledge(catalog: Catalog, hits: Collection[str], mark: Acknowledged | None) -> int:
    """Acknowledge hits, or undo that without a mark; how many changed. An acknowledged hit keeps its first mark."""
    text = None
    if mark is not None:
        text = json.dumps({"at": mark.at.isoformat(), "by": mark.by, "note": mark.note}, ensure_ascii=False)
    with catalog.writer(HITS) as writer:
        known = acknowledged(catalog)
        changes: dict[str, str | None] = {f"{_SEEN}{hit}": text for hit in hits if (hit in known) == (mark is None)}
        if changes:
            writer.note(cursors=changes)
    return len(changes)
