"""From the start of the process to an answer, beside a bare program that asks the DuckDB library the same."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb

from tailpipe.catalog.catalog import Catalog
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered, Staged, StagedArtifact, StagedFile

ROUNDS = 9
FILES = 90
ROWS = 1_200_000
FIRST = date(2024, 1, 1)
STATEMENTS = {
    "all rows counted": "SELECT count(*) FROM web_log{}",
    "one day of them": "SELECT count(*) FROM web_log{} WHERE tp_date = DATE '2024-02-01'",
    "the last days by time": "SELECT status, count(*) FROM web_log{} WHERE tp_timestamp >= '2024-03-25' GROUP BY ALL",
    "grouped over all": "SELECT status, count(*), sum(bytes) FROM web_log{} GROUP BY ALL ORDER BY ALL",
}
CONFIG = """
table "web_log" {
  format     = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "time" }
  column "path"   { type = "varchar" }
  column "status" { type = "integer" }
  column "bytes"  { type = "bigint" }
}
"""
BARE = (
    'import duckdb\nc = duckdb.connect(\':memory:\')\nprint(c.execute("SELECT * FROM (" + {sql!r} + ")").fetchall())\n'
)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        install = Path(directory)
        home = install / "data" / "default"
        (install / "config").mkdir()
        (install / "config" / "bench.tpc").write_text(CONFIG)
        with Catalog.open(home) as catalog, catalog.writer("web_log.prod") as writer:
            for number in range(FILES):
                day = FIRST + timedelta(days=number)
                with writer.begin(Unit(day=day)) as transaction:
                    transaction.commit(_day(transaction.staging, day))
        env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(install)}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled
        print(f"{ROWS:,} rows in {FILES} files; seconds, best of {ROUNDS}")
        print(f"{'':24} {'tailpipe':>10} {'DuckDB':>10} {'ratio':>8} {'CPU':>8} {'DuckDB':>8} {'ratio':>8}")
        for name, statement in STATEMENTS.items():
            ours = ["-m", "tailpipe", "query", statement.format("")]
            read = f"read_parquet('{home}/tp_table=web_log/**/*.parquet', hive_partitioning = false)"
            bare = ["-c", BARE.format(sql=statement.replace("web_log{}", read))]
            best = [(float("inf"), float("inf"))] * 2
            for _ in range(ROUNDS):  # one after the other, so that both see the same machine
                taken = [_taken(call, env) for call in (ours, bare)]
                best = [(min(a, c), min(b, d)) for (a, b), (c, d) in zip(best, taken, strict=True)]
            (wall, cpu), (bare_wall, bare_cpu) = best
            print(
                f"{name:24} {wall:10.3f} {bare_wall:10.3f} {wall / bare_wall:8.2f}"
                f" {cpu:8.3f} {bare_cpu:8.3f} {cpu / bare_cpu:8.2f}"
            )


def _day(staging: Path, day: date) -> Staged:
    rows = ROWS // FILES
    path = staging / "part-0"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT '/page/' || (i * 7 % 1000) AS path, (200 + i % 5)::INT AS status, i * 13 % 5000 AS bytes,"
            f" i::VARCHAR AS tp_id, 'web_log' AS tp_table, 'prod' AS tp_partition, 'default' AS tp_index,"
            f" DATE '{day}' AS tp_date, TIMESTAMP '{day}' + INTERVAL (i * 6) SECOND AS tp_timestamp"
            f" FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet, COMPRESSION zstd)"
        )
        described = connection.execute(f"DESCRIBE FROM read_parquet('{path}')").fetchall()
    low = datetime.combine(day, datetime.min.time())
    high = low + timedelta(seconds=6 * (rows - 1))
    body = path.read_bytes()
    columns = {name: kind for name, kind, *_ in described}
    digest = hashlib.sha256(body).hexdigest()
    file = StagedFile("part-0", rows, len(body), digest, day, "default", low, high, columns)
    entry = LedgerEntry(
        f"{day}.log", "file", Unit(day=day), datetime.now(UTC), committed_bytes=1, committed_ordinals=rows
    )
    accounts = StagedArtifact(entry, Accounts(read=rows, kept=rows))
    return Staged((file,), (accounts,), (Covered("file", DaySet.of([day]), day),))


def _taken(arguments: list[str], env: dict[str, str]) -> tuple[float, float]:
    """Wall and CPU seconds of a fresh process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=env, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
