"""How a catalog of a million files answers: status, the plan of a query for one day, and the summary."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.live import open_live
from tailpipe.query.session import Session

FILES = 1_000_000
COLUMNS = (
    '{"n": "BIGINT", "tp_timestamp": "TIMESTAMP", "tp_date": "DATE", "tp_index": "VARCHAR", "tp_partition": "VARCHAR"}'
)
FILL = """
WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < :files),
    facts AS (SELECT i, i % 4 + 1 AS part, i / 4 % 10 AS index_, date('2020-01-01', (i / 40 % 1000) || ' days') AS day
        FROM numbers)
INSERT INTO files (path, partition_id, transaction_id, unit, role, tp_index, tp_date, rows, bytes, sha256,
    min_timestamp, max_timestamp, columns_id, here, there, key)
SELECT 'files/tp_table=big_log/tp_partition=p' || part || '/tp_index=' || index_ || '/tp_date=' || day || '/'
    || printf('%08d-0000000000000000-%04d', part, i), part, part, day, 'data', index_, day, 1000, 100000,
    printf('%064d', i), unixepoch(day) * 1000000, unixepoch(day) * 1000000 + 86399000000, 1, 0, 1,
    printf('data/%d.parquet', i) FROM facts
"""
QUERIES = (
    "SELECT count(*) FROM big_log WHERE tp_date = DATE '2021-05-05'",
    "SELECT count(*) FROM big_log WHERE tp_timestamp >= '2022-09-20'",
    "SELECT count(*) FROM big_log WHERE tp_date >= DATE '2022-09-01' AND tp_index = '3' AND tp_partition = 'p1'",
    "SELECT count(*) FROM big_log WHERE tp_timestamp >= '2022-09-01' AND tp_index = '3'",
)


def main() -> None:
    place = Path(tempfile.mkdtemp())
    try:
        _fill(place / "workspace")
        size = (place / "workspace" / ".tailpipe" / "catalog.db").stat().st_size
        print(f"{FILES:,} files of 100 GB, all in a store: catalog.db has {size / 1e6:.0f} MB")
        _status(place)
        _plans(place / "workspace")
    finally:
        shutil.rmtree(place)


def _fill(home: Path) -> None:
    with Catalog.open(home) as catalog, catalog.database.writing() as connection:
        connection.execute("INSERT INTO column_sets VALUES (1, ?)", (COLUMNS,))
        for number in range(1, 5):
            connection.execute("INSERT INTO partitions VALUES (?, ?, 0)", (number, f"big_log.p{number}"))
            connection.execute(
                "INSERT INTO transactions (id, name, partition_id, kind, unit, state, epoch, begun_at, committed_at,"
                " sequence, number) VALUES (?1, ?2, ?1, 'append', 'u', 'published', 0, '', '', ?1, ?1)",
                (number, f"{number:08d}-0000000000000000"),
            )
        connection.execute(FILL, {"files": FILES})


def _status(place: Path) -> None:
    config = place / "install" / "config"
    config.mkdir(parents=True)
    (config / "main.tpc").write_text(f'workspace "default" {{ location = "{place / "workspace"}" }}\n')
    env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(place / "install")}
    views = [["query", f"SELECT count(*), sum(rows) FROM tp_catalog.{name}"] for name in ("days", "files")]
    for call in (["status"], *views):
        for _ in range(2):
            begun, cpu = time.perf_counter(), _children()
            subprocess.run([sys.executable, "-m", "tailpipe", *call], env=env, check=True, capture_output=True)
            spent = time.perf_counter() - begun
            print(f"tailpipe {' '.join(call)}: {spent:.2f} s, {_children() - cpu:.2f} s of CPU")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _plans(home: Path) -> None:
    for sql in QUERIES:
        begun, cpu = time.perf_counter(), time.process_time()
        with Session(open_live(Layout.of(home)), {}) as session:
            ((_, files),) = session.shown.needed(sql)
        spent = time.perf_counter() - begun
        print(f"{spent:.2f} s, {time.process_time() - cpu:.2f} s of CPU, {len(files):,} files left: {sql}")
