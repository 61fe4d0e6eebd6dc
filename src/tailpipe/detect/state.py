"""What detections remember between runs: named cursors of the partition of hits, which manifests contain too.

started                     when detections were first run
at/TABLE.PARTITION          the position up to which all detections have seen a partition
behind/DETECTION            positions of one that failed and has to catch up
begun/DETECTION             the version that has learnt its values of first_seen
seen/DETECTION/PRINT        a value of first_seen
outbox/HIT/NOTIFIER         an alert that was not delivered yet
rate/DETECTION/NOTIFIER     an hour, and how many alerts and summaries of it were put into the outbox
ack/HIT                     when and by whom a hit was acknowledged
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tailpipe.catalog.arrivals import Position

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
        """Change a cursor; None removes it. Setting the stored value is no change."""
        if self.known.get(name) != value:
            self.changes[name] = value

    def value(self, name: str) -> str | None:
        """A cursor as it is now."""
        return self.changes[name] if name in self.changes else self.known.get(name)

    def positions(self, heads: Mapping[str, Position]) -> dict[str, Position | None]:
        """Where detections resume in each partition; None, from its beginning, in one that is new since then."""
        found: dict[str, Position | None] = dict.fromkeys(heads) if self.is_started else dict(heads)
        known = {name: self.known[_AT + name] for name in heads if _AT + name in self.known}
        return found | {name: Position.parse(text) for name, text in known.items()}

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
        """Note the positions after which a detection has not seen the rows; none if it has seen all."""
        written = {name: None if at is None else str(at) for name, at in sorted(positions.items())}
        self.change(_BEHIND + detection, json.dumps(written) if written else None)

    def has_begun(self, detection: str, version: str) -> bool:
        """Whether this version of a detection has learnt the stored values of `first_seen`."""
        return self.known.get(_BEGUN + detection) == version

    def begin(self, detection: str, version: str) -> None:
        """Note that this version of a detection has learnt the stored values of `first_seen`."""
        self.change(_BEGUN + detection, version)

    def seen(self, detection: str) -> set[str]:
        """The prints of the values that a detection has met."""
        beginning = f"{_SEEN}{detection}/"
        return {name.removeprefix(beginning) for name in self.known if name.startswith(beginning)}

    def see(self, detection: str, values: set[str]) -> None:
        """Note prints of values that a detection has met."""
        for value in values:
            self.change(f"{_SEEN}{detection}/{value}", "")
