"""Store hits: parquet files of the table `detection_hit`, committed together with all that was remembered."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import groupby

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

_COLUMNS: Mapping[str, str] = {
    **{column.name: kind.stored for column in DETECTION_HIT.columns if (kind := column.column_type) is not None},
    **{name: kind.stored for name, kind in COMMON_TYPES.items()},
}
"""The columns of the files with their types, in order."""
_INDEX = "default"
_SOURCE = "detect"


def store_hits(writer: Writer, hits: Sequence[Hit], cursors: Mapping[str, str | None], now: datetime) -> None:
    """Make hits and cursors known in one transaction; nothing is written if there is neither."""
    if not hits:
        if cursors:
            writer.note(cursors=cursors)
        return
    unit = Unit(day=now.astimezone(UTC).date())
    with writer.begin(unit) as transaction:
        with storage_errors(transaction.staging):
            try:
                files = _stage(Staging(str(transaction.staging), "hits"), hits, now)
            except duckdb.IOException as problem:  # a full disk is reported as the system reports it
                if (reason := os.strerror(errno.ENOSPC)) not in str(problem):
                    raise
                raise OSError(errno.ENOSPC, reason, str(transaction.staging)) from problem
        entry = _entry(writer, unit, len(hits), now)
        transaction.commit(Staged(files=files, artifacts=(entry,), ingested_at=now, cursors=cursors))


def _entry(writer: Writer, unit: Unit, count: int, now: datetime) -> StagedArtifact:
    """The hits of a day as an artifact that has grown by these."""
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
            table = _table(list(some), day, now)
            items = (f'"{name}"' if name in table.column_names else "NULL" for name in _COLUMNS)
            cast = (f'{item}::{kind} AS "{name}"' for item, (name, kind) in zip(items, _COLUMNS.items(), strict=True))
            with registered(connection, {"hits": table}):
                stage.copy(connection, f"SELECT {', '.join(cast)} FROM hits", (day, _INDEX), _COLUMNS)
    return tuple(stage.files)


def _table(hits: Sequence[Hit], day: date, now: datetime):  # type: ignore[no-untyped-def] # an Arrow table
    import pyarrow as pa

    rows = [
        {
            "detection": hit.detection.name,
            "version": hit.detection.version,
            "title": hit.detection.title or hit.detection.name,
            "severity": hit.detection.severity,
            "mitre": list(hit.detection.mitre),
            "hit_table": hit.detection.table,
            "hit_partition": hit.partition,
            "hit_tp_id": hit.tp_id,
            "group_key": hit.key,
            "first_at": hit.first_at,
            "last_at": hit.last_at,
            "row_count": hit.count,
            "event": json.dumps(hit.event, ensure_ascii=False),
            "tp_id": hit.id,
            "tp_timestamp": hit.at,
            "tp_date": day,
            "tp_ingest_timestamp": now.astimezone(UTC).replace(tzinfo=None),
            "tp_table": HIT_TABLE,
            "tp_partition": HITS.partition(".")[2],
            "tp_index": _INDEX,
            "tp_source_type": _SOURCE,
            "tp_akas": [hit.tp_id],
        }
        for hit in hits
    ]
    return pa.Table.from_pylist(rows)
