"""Store hits: parquet files of the table `detection_hit`, committed together with all that was remembered."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from itertools import groupby
from pathlib import Path

from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.database import storage_errors
from tailpipe.detect.hit_table import DETECTION_HIT, Hit
from tailpipe.kernel.stage import Stage
from tailpipe.kernel.task import Staging
from tailpipe.model.artifact import Accounts
from tailpipe.model.detection import HIT_TABLE, HITS
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.outputs import COMMON_TYPES
from tailpipe.model.staged import Staged, StagedArtifact, StagedFile
from tailpipe.sql.connection import connect, registered
from tailpipe.sql.duck import duckdb

__all__ = ["COLUMNS", "store_hits"]

COLUMNS: Mapping[str, str] = {
    **{column.name: kind.stored for column in DETECTION_HIT.columns if (kind := column.column_type) is not None},
    **{name: kind.stored for name, kind in COMMON_TYPES.items()},
}
"""The columns of the files with their types, in order."""
INDEX = "default"
_SOURCE = "detect"


def store_hits(writer: Writer, hits: Sequence[Hit], cursors: Mapping[str, str | None], now: datetime) -> None:
    """Make hits and cursors known in one transaction; nothing is written if there is neither."""
    if not hits:
        if cursors:
            writer.note(cursors=cursors)
        return
    unit = Unit(day=now.astimezone(UTC).date())
    with writer.begin(unit) as transaction:
        with storage_errors(transaction.staging), _full_disks(transaction.staging):
            files = _stage(Staging(str(transaction.staging), "hits"), hits, now)
        entry = _entry(writer, unit, len(hits), now)
        transaction.commit(Staged(files=files, artifacts=(entry,), ingested_at=now, cursors=cursors))


@contextmanager
def _full_disks(directory: Path) -> Iterator[None]:
    """Turn what DuckDB says of a full disk into what the system says."""
    try:
        yield
    except duckdb.IOException as problem:
        if (reason := os.strerror(errno.ENOSPC)) not in str(problem):
            raise
        raise OSError(errno.ENOSPC, reason, str(directory)) from problem


def _entry(writer: Writer, unit: Unit, count: int, now: datetime) -> StagedArtifact:
    """The hits of a day as an artifact that has grown: what it had, and what has come."""
    origin = f"detect:{unit}"
    row = writer.database.connection.execute(
        "SELECT committed_ordinals FROM artifacts WHERE partition_id = ? AND origin = ?", (writer.partition_id, origin)
    ).fetchone()
    before = int(row[0]) if row else 0
    entry = LedgerEntry(origin, _SOURCE, unit, now, uri=origin, kind="run", committed_ordinals=before + count)
    return StagedArtifact(entry, Accounts(read=count, kept=count), offset_rows=before)


def _stage(staging: Staging, hits: Sequence[Hit], now: datetime) -> tuple[StagedFile, ...]:
    stage = Stage(staging)
    by_date = sorted(hits, key=lambda hit: (hit.at.date(), hit.at, hit.id))
    with connect() as connection:
        for day, some in groupby(by_date, key=lambda hit: hit.at.date()):
            with registered(connection, {"hits": _table(list(some), day, now)}):
                items = ", ".join(f'"{name}"::{kind} AS "{name}"' for name, kind in COLUMNS.items())
                stage.copy(connection, f"SELECT {items} FROM hits", (day, INDEX), COLUMNS)
    return tuple(stage.files)


def _table(hits: Sequence[Hit], day: date, now: datetime):  # type: ignore[no-untyped-def] # an Arrow table
    import pyarrow as pa

    lists, moments = pa.list_(pa.string()), pa.timestamp("us")
    values = {
        "detection": pa.array([hit.detection for hit in hits], pa.string()),
        "version": pa.array([hit.version for hit in hits], pa.string()),
        "title": pa.array([hit.title for hit in hits], pa.string()),
        "severity": pa.array([hit.severity for hit in hits], pa.string()),
        "mitre": pa.array([list(hit.mitre) for hit in hits], lists),
        "hit_table": pa.array([hit.table for hit in hits], pa.string()),
        "hit_partition": pa.array([hit.partition for hit in hits], pa.string()),
        "hit_tp_id": pa.array([hit.tp_id for hit in hits], pa.string()),
        "group_key": pa.array([hit.key for hit in hits], pa.string()),
        "first_at": pa.array([hit.first_at for hit in hits], moments),
        "last_at": pa.array([hit.last_at for hit in hits], moments),
        "row_count": pa.array([hit.count for hit in hits], pa.int64()),
        "event": pa.array([json.dumps(hit.event, ensure_ascii=False) for hit in hits], pa.string()),
        "tp_id": pa.array([hit.id for hit in hits], pa.string()),
        "tp_timestamp": pa.array([hit.at for hit in hits], moments),
        "tp_date": pa.array([day] * len(hits), pa.date32()),
        "tp_ingest_timestamp": pa.array([now.astimezone(UTC).replace(tzinfo=None)] * len(hits), moments),
        "tp_table": pa.array([HIT_TABLE] * len(hits), pa.string()),
        "tp_partition": pa.array([HITS.partition(".")[2]] * len(hits), pa.string()),
        "tp_index": pa.array([INDEX] * len(hits), pa.string()),
        "tp_source_type": pa.array([_SOURCE] * len(hits), pa.string()),
        "tp_akas": pa.array([[hit.tp_id] for hit in hits], lists),
    }
    missing = {name: pa.nulls(len(hits)) for name in COLUMNS if name not in values}
    return pa.table({name: {**values, **missing}[name] for name in COLUMNS})
