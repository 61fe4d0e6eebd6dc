"""What detections remember between runs: named cursors of the partition of hits, so that manifests tell it too.

started                     when detections were first run
at/TABLE.PARTITION          the position up to which all detections have seen a partition
behind/DETECTION            positions of one that failed and has to catch up
begun/DETECTION             the version that has learnt its values of first_seen
seen/DETECTION/PRINT        a value of first_seen
outbox/HIT/NOTIFIER         an alert that was not delivered yet
rate/DETECTION/NOTIFIER     an hour, and how many alerts and summaries of it were put into the outbox
ack/HIT                     that somebody has acknowledged a hit
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tailpipe.catalog.arrivals import Position

__all__ = ["State"]

_AT, _BEHIND, _BEGUN, _SEEN = "at/", "behind/", "begun/", "seen/"


@dataclass
class State:
    """The cursors as they were, and what has changed since."""

    known: Mapping[str, str]
    changes: dict[str, str | None] = field(default_factory=dict)

    @property
    def is_started(self) -> bool:
        """Whether detections were ever run here."""
        return "started" in self.known

    def change(self, name: str, value: str | None) -> None:
        """Change a cursor; None removes it. What is so already is no change."""
        if self.known.get(name) != value:
            self.changes[name] = value

    def value(self, name: str) -> str | None:
        """A cursor as it is now."""
        return self.changes[name] if name in self.changes else self.known.get(name)

    def positions(self, heads: Mapping[str, Position]) -> dict[str, Position | None]:
        """Where detections go on in each partition; None in one that has come since: from its beginning."""
        return {
            name: Position.parse(self.known[_AT + name])
            if _AT + name in self.known
            else None
            if self.is_started
            else head
            for name, head in heads.items()
        }

    def move(self, heads: Mapping[str, Position]) -> None:
        """Note that all detections have seen partitions up to here."""
        for name, head in heads.items():
            self.change(_AT + name, str(head))

    def behind(self, detection: str) -> dict[str, Position | None]:
        """The positions of a detection that has to catch up; empty if it has not."""
        text = self.known.get(_BEHIND + detection)
        found = json.loads(text) if text else {}
        return {name: None if at is None else Position.parse(at) for name, at in found.items()}

    def fall_behind(self, detection: str, positions: Mapping[str, Position | None]) -> None:
        """Note that a detection has not seen what has come since these positions; without any, that it has."""
        written = {name: None if at is None else str(at) for name, at in sorted(positions.items())}
        self.change(_BEHIND + detection, json.dumps(written) if written else None)

    def has_begun(self, detection: str, version: str) -> bool:
        """Whether this version of a detection knows the values that were there before."""
        return self.known.get(_BEGUN + detection) == version

    def begin(self, detection: str, version: str) -> None:
        """Note that it does."""
        self.change(_BEGUN + detection, version)

    def seen(self, detection: str) -> set[str]:
        """The prints of the values that a detection has met."""
        beginning = f"{_SEEN}{detection}/"
        return {name.removeprefix(beginning) for name in self.known if name.startswith(beginning)}

    def see(self, detection: str, values: set[str]) -> None:
        """Add values to them."""
        for value in values:
            self.change(f"{_SEEN}{detection}/{value}", "")
