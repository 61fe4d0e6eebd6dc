"""A collector without Spark: does one step of the world with the real catalog, as `collect` would."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.failpoints import Failpoints
from tailpipe.catalog.layout import Layout
from tailpipe.lifecycle.compact import Subject, compact
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered, Sample, Staged, StagedArtifact, StagedFile
from tailpipe.storage.local import LOCAL, LocalStorage
from tailpipe.testing import InProcessEngine
from tests.crash.world import Step, Taken

PARTITION = "app_log.prod"
SOURCE = "file"
COLUMNS = {"tp_id": "VARCHAR", "tp_timestamp": "TIMESTAMP", "tp_index": "VARCHAR", "tp_date": "DATE"}


def stage(staging: Path, name: str, tp_index: str | None, tp_date: date, ids: Sequence[str]) -> StagedFile:
    """Write a parquet file as a task of the job would."""
    midnight = datetime.combine(tp_date, time(), UTC).replace(tzinfo=None)
    moments = [midnight + timedelta(seconds=second) for second in range(len(ids))]
    table = pa.table(
        {
            "tp_id": pa.array(ids, pa.string()),
            "tp_timestamp": pa.array(moments, pa.timestamp("us")),
            "tp_index": pa.array([tp_index] * len(ids), pa.string()),
            "tp_date": pa.array([tp_date] * len(ids), pa.date32()),
        }
    )
    path = staging / name
    pq.write_table(table, path)
    body = path.read_bytes()
    digest = hashlib.sha256(body).hexdigest()
    return StagedFile(name, len(ids), len(body), digest, tp_date, tp_index, moments[0], moments[-1], COLUMNS)


def stage_rejected(staging: Path, name: str, count: int) -> StagedFile:
    """Write a file of rejected rows."""
    path = staging / name
    rows = {
        "artifact": [name] * count,
        "ordinal": range(1, count + 1),
        "reason": ["json"] * count,
        "raw": ["???"] * count,
    }
    pq.write_table(pa.table(rows), path)
    body = path.read_bytes()
    return StagedFile(name, count, len(body), hashlib.sha256(body).hexdigest(), None, role="rejected")


def perform(
    home: Path | Layout, steps: Sequence[Step], *, storage: LocalStorage = LOCAL, failpoints: Failpoints | None = None
) -> None:
    """Do these steps, but none that the ledger says is done: that is how a run goes on after a crash."""
    with Catalog.open(home, storage=storage, failpoints=failpoints) as catalog:
        for step in steps:
            if step.kind == "compact":
                compact(catalog, InProcessEngine(), Subject(PARTITION))
                continue
            with catalog.writer(PARTITION) as writer:
                perform_step(catalog, writer, step)


def perform_step(catalog: Catalog, writer: Writer, step: Step) -> None:
    """Do one step under the partition's lock."""
    if step.kind == "clean":
        writer.clean(timedelta(0))
        return
    if step.kind == "delete":
        writer.delete(DaySet.of(date.fromisoformat(day) for day in step.dates))
        return
    token = f"step-{step.number}"
    done = {entry.origin: entry for entry in catalog.state(PARTITION).ledger if entry.etag == token}
    if any(taken.origin in done for taken in step.taken):
        return
    unit = Unit.from_key(step.unit)
    kind = "append" if step.kind in ("append", "grow") else "replace" if step.kind == "replace" else "rewrite"
    transaction = writer.begin(unit, kind)  # type: ignore[arg-type]
    staging = transaction.staging
    files = [
        stage(staging, f"part-{number}", index, date.fromisoformat(day), ids)
        for number, (index, day, ids) in enumerate(step.files)
    ]
    if step.rejected:
        files.append(stage_rejected(staging, "rejected", step.rejected))
    retires: tuple[str, ...] = ()
    if kind == "rewrite":
        live = catalog.snapshot(partition=PARTITION).files
        retires = tuple(file.path for file in live if file.unit == step.unit)
    assert unit.day is not None
    transaction.commit(
        Staged(
            tuple(files),
            tuple(_artifact(taken, unit, token) for taken in step.taken),
            (Covered(SOURCE, DaySet.of([unit.day]), unit.day),),
            retires,
            step.drops,
            step.carried,
            EVERY_DAY if kind == "replace" else NO_DAYS,
            (Sample("log", "line 1", "json", "???"),) if step.rejected else (),
        )
    )


def _artifact(taken: Taken, unit: Unit, token: str) -> StagedArtifact:
    entry = LedgerEntry(
        taken.origin,
        SOURCE,
        unit,
        datetime(2024, 2, 1, tzinfo=UTC),
        taken.generation,
        taken.origin,
        etag=token,
        committed_bytes=taken.until * 10,
        committed_ordinals=taken.until,
    )
    accounts = Accounts(read=taken.kept + taken.rejected, kept=taken.kept, rejected=taken.rejected)
    return StagedArtifact(entry, accounts, taken.since * 10, taken.since)


def step_from_json(text: str) -> Step:
    """The step that `json.dumps(asdict(step))` wrote."""
    body = json.loads(text)
    return Step(
        body["number"],
        body["kind"],
        body["unit"],
        tuple((index, day, tuple(ids)) for index, day, ids in body["files"]),
        tuple(Taken(**taken) for taken in body["taken"]),
        body["carried"],
        body["rejected"],
        tuple(body["dates"]),
        tuple((origin, generation) for origin, generation in body["drops"]),
    )
