"""Detections that are killed: a child collects a portion, detects and delivers; the reference was never killed.

The victim appends the same portion of rows each time it is asked for it, unless that is committed, then runs
detections and delivers alerts to a file. Whatever kills it, in the end hits are those of a run that nobody killed, none
is duplicated, and every hit has at least one line in the file.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.failpoints import Failpoints
from tailpipe.detect.deliver import deliver, waiting
from tailpipe.detect.run import Run, begin_detecting
from tailpipe.kernel.stage import Stage
from tailpipe.kernel.task import Staging
from tailpipe.model.artifact import Accounts
from tailpipe.model.detection import HITS, Detection
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.notifier import File
from tailpipe.model.outputs import COMMON_TYPES
from tailpipe.model.request import Detect
from tailpipe.model.staged import Staged, StagedArtifact
from tailpipe.model.table import Column, Table
from tailpipe.sql.connection import connect, registered

PARTITION = "app_log.p"
TABLE = Table(name="app_log", columns=(Column("event", "varchar"), Column("ip", "varchar")))
POINTS = (
    *(
        "lock.taken",
        "intent.before",
        "intent.after",
        "staging.made",
        "verify.before",
        "verify.after",
        "store.directory",
    ),
    *("store.rename", "store.synced", "commit.begin", "commit.before", "commit.after", "manifest.written"),
    *("manifest.after", "project.link", "project.synced", "publish.before", "publish.after", "staging.remove"),
    *("staging.removed", "alert.sent", "alert.noted"),
)
COLUMNS = {"event": "VARCHAR", "ip": "VARCHAR", **{name: kind.stored for name, kind in COMMON_TYPES.items()}}
_KINDS = {"VARCHAR": pa.string(), "TIMESTAMP": pa.timestamp("us"), "DATE": pa.date32()}
_SCHEMA = pa.schema([(name, _KINDS.get(kind, pa.list_(pa.string()))) for name, kind in COLUMNS.items()])


def detections(home: Path) -> list[Detection]:
    """One of each kind."""
    notify = (File(name="log", path=str(home.parent / f"{home.name}.alerts")),)
    failed = "event = 'failed'"
    return [
        Detection(name="failed", table="app_log", where=failed, notify=notify),
        Detection(
            name="many", table="app_log", where=failed, group_by=("ip",), threshold=3, within="30s", notify=notify
        ),
        Detection(name="quiet", table="app_log", where="true", group_by=("ip",), suppress="60s", notify=notify),
        Detection(name="new", table="app_log", where="true", first_seen=("ip",), notify=notify),
        Detection(
            name="then",
            table="app_log",
            steps=(failed, "event = 'fine'"),
            group_by=("ip",),
            within="30s",
            notify=notify,
        ),
    ]


def portion(seed: int, number: int) -> list[dict[str, Any]]:
    """The rows of a portion: some late, some of the same time."""
    choose = random.Random(seed * 1000 + number)
    begin = datetime(2024, 1, 1) + timedelta(seconds=number * 40)
    rows = []
    for place in range(choose.randrange(1, 8)):
        at = begin + timedelta(seconds=choose.choice([0, 5, 10, 10, 20, -30]))
        row = {
            "event": choose.choice(["failed", "failed", "fine"]),
            "ip": f"10.0.0.{choose.randrange(5 + number // 3)}",
        }
        rows.append({**row, "tp_id": f"{number:016d}-{place}", "tp_timestamp": at, "tp_date": at.date()})
    return rows


def perform(home: Path, seed: int, number: int, failpoints: Failpoints) -> None:
    """Collect a portion, detect, deliver; the failpoints are those of the last two."""
    with Catalog.open(home) as catalog:
        begin_detecting(catalog, datetime.now(UTC))
        _append(catalog, number, portion(seed, number))
    rules = detections(home)
    notifiers = {one.address: one for rule in rules for one in rule.notify}
    with Catalog.open(home, failpoints=failpoints) as catalog:
        run = Run(catalog, {"app_log": TABLE}, rules, Detect(datetime.now(UTC))).run()
        assert not any(one.failure for one in run.results)
        deliver(catalog, notifiers, lambda: datetime.now(UTC), retry=True)


def _append(catalog: Catalog, number: int, rows: list[dict[str, Any]]) -> None:
    origin, moment, unit = f"file:{number}", datetime.now(UTC), Unit(day=date(2024, 1, 1))
    stamps = {"tp_index": "default", "tp_table": "app_log", "tp_partition": "p"}
    with catalog.writer(PARTITION) as writer:
        if origin in {entry.origin for entry in catalog.state(PARTITION).ledger}:
            return
        transaction = writer.begin(unit)
        stage = Stage(Staging(str(transaction.staging), "rows"))
        with connect() as connection:
            for day in sorted({row["tp_date"] for row in rows}):
                some = [{**row, **stamps, "tp_ingest_timestamp": moment.replace(tzinfo=None)} for row in rows]
                batch = pa.Table.from_pylist([row for row in some if row["tp_date"] == day], _SCHEMA)
                with registered(connection, {"batch": batch}):
                    items = ", ".join(f'"{name}"::{kind} AS "{name}"' for name, kind in COLUMNS.items())
                    stage.copy(connection, f"SELECT {items} FROM batch", (day, "default"), COLUMNS)
        entry = LedgerEntry(origin, "file", unit, moment, uri=origin, committed_ordinals=len(rows))
        artifact = StagedArtifact(entry, Accounts(read=len(rows), kept=len(rows)))
        transaction.commit(Staged(tuple(stage.files), (artifact,), ingested_at=moment))


def hits_of(home: Path) -> Counter[tuple[str, str]]:
    """Detection and id of all stored hits."""
    with Catalog.open(home, is_read_only=True) as catalog:
        paths = catalog.snapshot(partition=HITS).paths()
    if not paths:
        return Counter()
    with connect() as connection:
        rows = connection.execute("SELECT detection, tp_id FROM read_parquet(?)", [paths]).fetchall()
    return Counter((name, hit) for name, hit in rows)


def alerts_of(home: Path) -> set[str]:
    """The ids in the file of alerts; a line that a kill has cut off is none."""
    path = home.parent / f"{home.name}.alerts"
    found = set()
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            found.add(json.loads(line)["id"])
        except ValueError:
            continue
    return found


def problems(home: Path, reference: Path) -> Iterator[str]:
    """What differs from the run that nobody killed."""
    hits, expected = hits_of(home), hits_of(reference)
    if twice := [hit for hit, count in hits.items() if count > 1]:
        yield f"twice: {twice}"
    if hits != expected:
        yield f"lost: {expected - hits}, too many: {hits - expected}"
    with Catalog.open(home, is_read_only=True) as catalog:
        if waits := waiting(catalog):
            yield f"not delivered: {waits}"
    if missing := {hit for _, hit in hits} - alerts_of(home):
        yield f"no alert: {missing}"
    yield from (finding.message for finding in doctor.examine(home, with_checksums=True))
