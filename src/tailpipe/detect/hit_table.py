"""Hits: what detections have found, and the table that holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from tailpipe.frozen import frozen
from tailpipe.model.detection import HIT_TABLE, Detection
from tailpipe.model.table import Column, Table

DETECTION_HIT = Table(
    name=HIT_TABLE,
    description="One row for each hit of a detection. `tailpipe detect` writes it.",
    columns=(
        Column("detection", "varchar", "Name of the detection."),
        Column("version", "varchar", "Print of the detection's rule when it found this."),
        Column("title", "varchar", "What the hit means."),
        Column("severity", "varchar", "`info`, `low`, `medium`, `high` or `critical`."),
        Column("mitre", "varchar[]", "Tactics and techniques of MITRE ATT&CK."),
        Column("hit_table", "varchar", "Table of the row that was found."),
        Column("hit_partition", "varchar", "Partition of that row."),
        Column("hit_tp_id", "varchar", "`tp_id` of that row; of a threshold, of the row that reached it."),
        Column("group_key", "json", "Values of `group_by` or `first_seen`."),
        Column("first_at", "timestamp", "Time of the first row that counts."),
        Column("last_at", "timestamp", "Time of the last row that counts."),
        Column(
            "row_count", "bigint", "Number of rows, or of distinct values, that were counted; 1 without a threshold."
        ),
        Column("event", "json", "Columns of the row that was found."),
    ),
)
"""The built-in table of hits."""


@frozen
class Hit:
    """One thing that a detection has found; `id` is the same each time it is found again."""

    id: str
    detection: Detection
    partition: str
    tp_id: str
    at: datetime
    first_at: datetime
    last_at: datetime
    count: int = 1
    key: str | None = None
    event: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @classmethod
    def of(
        cls, detection: Detection, identity: Sequence[str], partition: str, tp_id: str, at: datetime, **facts: Any
    ) -> Hit:
        """What a detection has found in the row of that `tp_id` and time."""
        times = {"first_at": at, "last_at": at}
        return cls(hit_id(detection.name, *identity), detection, partition, tp_id, at, **{**times, **facts})

    @property
    def record(self) -> dict[str, Any]:
        """The hit as plain data, as notifiers and `--output json` have it."""
        return {
            "id": self.id,
            "detection": self.detection.name,
            "title": self.detection.title or self.detection.name,
            "severity": self.detection.severity,
            "mitre": list(self.detection.mitre),
            "table": self.detection.table,
            "partition": self.partition,
            "tp_id": self.tp_id,
            "time": _text(self.at),
            "first_at": _text(self.first_at),
            "last_at": _text(self.last_at),
            "count": self.count,
            "key": None if self.key is None else json.loads(self.key),
            "event": dict(self.event),
        }


def hit_id(*identity: str) -> str:
    """A print of what a hit is about."""
    import hashlib  # late, because a query needs none of it

    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds") + "Z"
