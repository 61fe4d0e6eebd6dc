"""What detections cost: 300 of them over a million new rows and over a thousand, with little and with much history.

Rows are committed as a collection commits them, with the columns of CloudTrail; two in a hundred match some detection.
Targets: a million rows at most 8 s of CPU, a thousand rows at most 1.5 s after the start, and no growth with history.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from tailpipe.catalog.catalog import Catalog
from tailpipe.detect.run import Run, begin_detecting
from tailpipe.kernel.stage import Stage
from tailpipe.kernel.task import Staging
from tailpipe.model.artifact import Accounts
from tailpipe.model.detection import Detection
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.outputs import COMMON_TYPES
from tailpipe.model.request import Detect
from tailpipe.model.staged import Staged, StagedArtifact
from tailpipe.model.table import Table
from tailpipe.plugin.registry import Registry
from tailpipe.sql.connection import connect
from tailpipe.sql.quoting import json_shape, literal

TABLE = "aws_cloudtrail_log"
PARTITION = f"{TABLE}.bench"
RULES = 300


def main() -> None:
    table = Registry.installed().tables[TABLE]
    with tempfile.TemporaryDirectory() as directory:
        large = Path(directory) / "large"
        measure("1,000,000 new rows, no history", large, table, days=0, rows=1_000_000)
        for days in (10, 1000):
            measure(f"1,000 new rows, {days} days of history", Path(directory) / str(days), table, days, rows=1_000)


def measure(what: str, home: Path, table: Table, days: int, rows: int) -> None:
    with Catalog.open(home) as catalog:
        for number in range(days):
            append(catalog, table, date(2020, 1, 1) + timedelta(days=number), 1_000, number)
        begin_detecting(catalog, datetime.now(UTC))
        append(catalog, table, date(2024, 1, 1), rows, days)
    with Catalog.open(home) as catalog:
        cpu, wall = used(), time.monotonic()
        run = Run(catalog, {TABLE: table}, detections(), Detect(datetime.now(UTC))).run()
        cpu, wall = used() - cpu, time.monotonic() - wall
    hits = sum(len(one.hits) for one in run.results)
    assert not any(one.failure for one in run.results)
    print(f"{what}: {cpu:.2f} s CPU, {wall:.2f} s, {len(run.results)} detections, {hits:,} hits")


def used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def detections() -> list[Detection]:
    """Rules of different shapes: most demand a name of an event, some look into JSON, some count."""
    found = []
    for number in range(RULES):
        name = f"event_name IN ('Rare{number}', 'Rare{number + 1}')"
        where = (
            f"{name} AND event_source = 'iam.amazonaws.com'",
            f"{name} AND user_identity.type = 'IAMUser' AND error_code IS NULL",
            f"{name} AND (request_parameters ->> '$.userName') = 'user{number}'",
            f"user_agent ILIKE '%tool{number}%'",
            f"starts_with(source_ip_address, '203.0.113.{number % 250}') AND error_code = 'AccessDenied'",
        )[number % 5]
        one = Detection(name=f"rule_{number}", table=TABLE, where=where)
        if number % 20 == 0:
            one = replace(one, group_by=("source_ip_address",), threshold=5, within="10m")
        found.append(one)
    return found


def append(catalog: Catalog, table: Table, day: date, rows: int, number: int) -> None:
    moment, unit = datetime.now(UTC), Unit(day=day)
    columns = {column.name: kind.stored for column in table.columns if (kind := column.column_type) is not None}
    columns |= {name: kind.stored for name, kind in COMMON_TYPES.items()}
    identity = table.column("user_identity")
    assert identity is not None
    assert identity.column_type is not None
    shape = json.dumps(json_shape(identity.column_type))
    identity_text = '\'{"type": "IAMUser", "user_name": "user\' || (i % 100) || \'"}\''
    values = {
        "event_name": "CASE WHEN i % 50 = 0 THEN 'Rare' || (i // 50 % 5000) ELSE 'Describe' || (i % 40) END",
        "event_source": "['iam.amazonaws.com', 'ec2.amazonaws.com', 's3.amazonaws.com'][1 + i % 3]",
        "user_identity": f"from_json({identity_text}, {literal(shape)})",
        "request_parameters": '\'{"userName": "user\' || (i % 1000) || \'", "path": "/x"}\'',
        "source_ip_address": "'198.51.' || (i % 200) || '.' || (i % 7)",
        "user_agent": "['aws-cli/2', 'console.amazonaws.com', 'Boto3/1.34', 'terraform'][1 + i % 4]",
        "error_code": "CASE WHEN i % 30 = 0 THEN 'AccessDenied' END",
        "tp_id": f"'{number:016d}-' || i",
        "tp_timestamp": f"TIMESTAMP '{day}' + to_microseconds(i * {86_400_000_000 // max(rows, 1)})",
        "tp_date": f"DATE '{day}'",
        "tp_index": "'default'",
        "tp_table": f"'{TABLE}'",
        "tp_partition": "'bench'",
        "tp_ingest_timestamp": f"TIMESTAMP '{moment.replace(tzinfo=None)}'",
    }
    items = ", ".join(f'({values.get(name, "NULL")})::{kind} AS "{name}"' for name, kind in columns.items())
    entry = LedgerEntry(f"file:{number}", "file", unit, moment, uri=f"file:{number}", committed_ordinals=rows)
    artifact = StagedArtifact(entry, Accounts(read=rows, kept=rows))
    with catalog.writer(PARTITION) as writer:
        transaction = writer.begin(unit)
        stage = Stage(Staging(str(transaction.staging), "rows"))
        with connect() as connection:
            stage.copy(connection, f"SELECT {items} FROM range({rows}) t(i)", (day, "default"), columns)
        transaction.commit(Staged(tuple(stage.files), (artifact,), ingested_at=moment))
