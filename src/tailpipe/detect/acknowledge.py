"""Acknowledged hits: who has seen one and when, as cursors of the partition of hits, so that manifests tell it too."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from tailpipe.catalog.catalog import Catalog
from tailpipe.frozen import frozen
from tailpipe.model.detection import HITS

__all__ = ["Acknowledged", "acknowledge", "acknowledged"]

_SEEN = "ack/"


@frozen
class Acknowledged:
    """That somebody has seen a hit."""

    at: datetime
    by: str
    note: str = ""

    @property
    def text(self) -> str:
        """The value of its cursor."""
        return json.dumps({"at": self.at.isoformat(), "by": self.by, "note": self.note}, ensure_ascii=False)


def acknowledged(catalog: Catalog) -> dict[str, Acknowledged]:
    """The hits that were acknowledged, by id."""
    return _found(catalog.cursors(HITS))


def acknowledge(catalog: Catalog, hits: Collection[str], mark: Acknowledged | None) -> int:
    """Acknowledge hits, or take that back without a mark; how many of them were changed.

    A hit that was acknowledged stays as it is, so that doing it again changes nothing.
    """
    with catalog.writer(HITS) as writer:
        known = acknowledged(catalog)
        changes: dict[str, str | None] = {
            f"{_SEEN}{hit}": None if mark is None else mark.text
            for hit in dict.fromkeys(hits)
            if (hit in known) == (mark is None)
        }
        if changes:
            writer.note(cursors=changes)
    return len(changes)


def _found(cursors: Mapping[str, str]) -> dict[str, Acknowledged]:
    found = {}
    for name, text in cursors.items():
        if name.startswith(_SEEN):
            facts = json.loads(text)
            at = datetime.fromisoformat(facts["at"]).astimezone(UTC)
            found[name.removeprefix(_SEEN)] = Acknowledged(at, facts["by"], facts["note"])
    return found
