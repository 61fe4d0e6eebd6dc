"""A workspace with a small table, whose logs, detections and runs a test makes step by step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailpipe.catalog.catalog import Catalog
from tailpipe.detect.run import Run
from tailpipe.home.home import Home
from tailpipe.kernel.stage import Stage
from tailpipe.kernel.task import Staging
from tailpipe.model.artifact import Accounts
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.outputs import COMMON_TYPES
from tailpipe.model.request import Collect, Detect
from tailpipe.model.staged import Staged, StagedArtifact
from tailpipe.model.window import Window
from tailpipe.operations.collect import collect
from tailpipe.operations.detect import begin_detections, detect
from tailpipe.operations.query import open_session
from tailpipe.sql.connection import connect, registered
from tailpipe.testing import InProcessEngine

START = datetime(2024, 1, 10)
TABLE = """
table "app_log" {
  format = format.jsonl.default
  map_fields = []
  column "time" { type = "timestamp" }
  column "user" { type = "varchar" }
  column "event" { type = "varchar" }
  column "ip" { type = "varchar" }
  column "size" { type = "bigint" }
  common { tp_timestamp = time }
}
"""


COLUMNS = {
    "time": "TIMESTAMP",
    "user": "VARCHAR",
    "event": "VARCHAR",
    "ip": "VARCHAR",
    "size": "BIGINT",
    **{name: kind.stored for name, kind in COMMON_TYPES.items()},
}
_ARROW = {"TIMESTAMP": pa.timestamp("us"), "VARCHAR": pa.string(), "BIGINT": pa.int64(), "DATE": pa.date32()}
SCHEMA = pa.schema([(name, _ARROW.get(kind, pa.list_(pa.string()))) for name, kind in COLUMNS.items()])


def _row(event: Mapping[str, Any], begin: datetime, tp_id: str, partition: str, moment: datetime) -> dict[str, Any]:
    at = begin + timedelta(seconds=event.get("at", 0))
    stamps = {"tp_id": tp_id, "tp_timestamp": at, "tp_date": at.date(), "tp_index": "default", "tp_table": "app_log"}
    stamps |= {"tp_partition": partition.partition(".")[2], "tp_ingest_timestamp": moment.replace(tzinfo=None)}
    return {**dict.fromkeys(COLUMNS), "time": at, **stamps, **{k: v for k, v in event.items() if k != "at"}}


class World:
    """One workspace in a directory; `collect` and `detect` are what the commands do."""

    def __init__(self, home: Path, detections: str) -> None:
        self.home = home
        self.logs = 0
        (home / "config").mkdir(parents=True)
        self.configure(detections)

    def configure(self, detections: str, partitions: Iterable[str] = ("p",)) -> None:
        """Write the config anew."""
        parts = "".join(
            f'partition "app_log" "{name}" {{ source "file" {{ paths = ["{self.home}/logs-{name}"]'
            ' file_layout = "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{DATA}.jsonl" } }\n'
            for name in partitions
        )
        (self.home / "config" / "main.tpc").write_text(TABLE + parts + detections)

    def open(self) -> Home:
        """The home, as a command opens it."""
        return Home.open(env={"TAILPIPE_INSTALL_DIR": str(self.home)}, engine=InProcessEngine())

    def log(self, *events: Mapping[str, Any], day: str = "2024-01-10", partition: str = "p") -> None:
        """Write events into a new file of a day; `at` counts seconds from the beginning of that day."""
        directory = self.home / f"logs-{partition}"
        directory.mkdir(exist_ok=True)
        self.logs += 1
        begin = datetime.fromisoformat(day)
        lines = []
        for event in events:
            moment = begin + timedelta(seconds=event.get("at", 0))
            row = {"time": moment.isoformat() + "Z", **{key: value for key, value in event.items() if key != "at"}}
            lines.append(json.dumps(row))
        (directory / f"{day}-{self.logs:04d}.jsonl").write_text("\n".join(lines) + "\n")

    def collect(self, **options: Any) -> None:
        """Collect from a day before all events."""
        window = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC))
        report = collect(self.open(), Collect(datetime.now(UTC), window, **options))
        assert report.is_done

    def begin(self) -> None:
        """Note where detections begin."""
        begin_detections(self.open())

    def detect(self, *names: str, **options: Any) -> Run:
        """Run detections."""
        return detect(self.open(), Detect(datetime.now(UTC), names, **options))

    def append(self, *events: Mapping[str, Any], day: str = "2024-01-10", partition: str = "p") -> None:
        """Commit events as rows of a day, as a collection would, but at once: kernel and sources have no part in it."""
        moment, unit, name = datetime.now(UTC), Unit(day=date.fromisoformat(day)), f"app_log.{partition}"
        self.logs += 1
        begin = datetime.fromisoformat(day)
        rows = [
            _row(event, begin, f"{self.logs:016d}-{number}", name, moment) for number, event in enumerate(events, 1)
        ]
        entry = LedgerEntry(
            f"file:{self.logs}", "file", unit, moment, uri=f"file:{self.logs}", committed_ordinals=len(rows)
        )
        accounts = Accounts(read=len(rows), kept=len(rows))
        with Catalog.open(self.home / "data" / "default") as catalog, catalog.writer(name) as writer:
            transaction = writer.begin(unit)
            stage = Stage(Staging(str(transaction.staging), "rows"))
            with connect() as connection:
                for day_ in sorted({row["tp_date"] for row in rows}):
                    some = pa.Table.from_pylist([row for row in rows if row["tp_date"] == day_], SCHEMA)
                    with registered(connection, {"batch": some}):
                        items = ", ".join(f'"{column}"::{kind} AS "{column}"' for column, kind in COLUMNS.items())
                        stage.copy(connection, f"SELECT {items} FROM batch", (day_, "default"), COLUMNS)
            transaction.commit(Staged(tuple(stage.files), (StagedArtifact(entry, accounts),), ingested_at=moment))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The answer to a query."""
        with open_session(self.open()) as session:
            return list(session.run(sql).rows)

    def hits(self) -> list[tuple[str, str]]:
        """Detection and user of all stored hits."""
        sql = "SELECT detection, coalesce(event ->> '$.user', '') FROM detection_hit ORDER BY tp_timestamp, 1, 2"
        return [(str(name), str(user)) for name, user in self.rows(sql)]


def found(run: Run) -> dict[str, list[str]]:
    """The users of new hits, by detection."""
    return {one.detection.name: [str(hit.event.get("user")) for hit in one.hits] for one in run.results if one.hits}
