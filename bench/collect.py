"""Collecting on Spark against plain DuckDB doing the same by hand: CPU seconds of all processes, in one run.

Plain DuckDB writes the same columns, those that are common to all tables too, with the same content but for the
ids; it keeps no ledger, accounts, ordinals or prints. Memory is the sum over all processes, sampled while one
collects; what they share is counted for each of them.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench import _kernel_data as kernel_data
from tailpipe.catalog.catalog import Catalog
from tailpipe.collect.collect import collect
from tailpipe.collect.job import Job
from tailpipe.config.builder import build_config
from tailpipe.config.functions import Surroundings
from tailpipe.config.settings import SparkSettings
from tailpipe.config.text import ConfigText
from tailpipe.model.request import Collect
from tailpipe.model.window import Window
from tailpipe.plugin import Registry
from tailpipe.spark.engine import SparkEngine
from tailpipe.spark.session import open_context

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
ROWS = 1_000_000
NGINX = (
    r'^(?P<remote_addr>\S+) \S+ (?P<remote_user>\S+) \[(?P<time_local>[^\]]+)\] "(?P<request>[^"]*)" '
    r'(?P<status>\d+) (?P<bytes>\d+) "(?P<referer>[^"]*)" "(?P<user_agent>[^"]*)"$'
)
CONFIG = """
format "json" "trail" { records = "Records" }
format "regex" "nginx" { layout = `NGINX` }
table "trail" {
  format     = format.json.trail
  map_fields = []
  column "tp_timestamp" { source = "eventTime" }
  column "tp_source_ip" { source = "sourceIPAddress" }
  column "event_name" { type = "varchar" source = "eventName" }
  column "event_source" { type = "varchar" source = "eventSource" }
  column "aws_region" { type = "varchar" source = "awsRegion" }
  column "event_id" { type = "varchar" source = "eventID" }
  column "request_parameters" { type = "json" source = "requestParameters" }
  column "user_identity" { type = "json" source = "userIdentity" }
}
table "nginx" {
  format     = format.regex.nginx
  map_fields = []
  column "tp_timestamp" { transform = "strptime(time_local, '%d/%b/%Y:%H:%M:%S %z')" }
  column "remote_addr" { type = "varchar" }
  column "request" { type = "varchar" }
  column "status" { type = "integer" }
  column "bytes" { type = "bigint" }
  column "referer" { type = "varchar" }
  column "user_agent" { type = "varchar" }
}
partition "trail" "warm" {
  source "file" "a" { paths = ["DATA/warm/0000.log.gz"] }
  source "file" "b" { paths = ["DATA/warm/0001.log.gz"] }
}
partition "trail" "big" { source "file" { paths = ["DATA/trail"] } }
partition "trail" "small" { source "file" { paths = ["DATA/small"] } }
table "lines" {
  format     = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "eventTime" }
  column "event_name" { type = "varchar" source = "eventName" }
  column "event_source" { type = "varchar" source = "eventSource" }
  column "request_parameters" { type = "json" source = "requestParameters" }
  column "user_identity" { type = "json" source = "userIdentity" }
}
partition "lines" "big" { source "file" { paths = ["DATA/lines"] } }
partition "nginx" "big" { source "file" { paths = ["DATA/nginx"] } }
"""
TRAIL_BASE = """
COPY (SELECT r.eventName AS event_name, r.eventSource AS event_source, r.awsRegion AS aws_region, r.eventID AS event_id,
    r.requestParameters::VARCHAR AS request_parameters, r.userIdentity::VARCHAR AS user_identity,
    r.sourceIPAddress AS tp_source_ip, r.eventTime::TIMESTAMPTZ AT TIME ZONE 'UTC' AS tp_timestamp,
    (r.eventTime::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE AS tp_date, COMMON
  FROM (SELECT unnest(from_json(json, '{"Records": [{"eventName": "VARCHAR", "eventSource": "VARCHAR",
      "awsRegion": "VARCHAR", "eventID": "VARCHAR", "requestParameters": "JSON", "userIdentity": "JSON",
      "sourceIPAddress": "VARCHAR", "eventTime": "VARCHAR"}]}').Records) AS r, filename
    FROM read_json_objects('DATA/*.gz', format = 'unstructured', maximum_object_size = 1000000000, filename = true)))
TO 'OUT' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (tp_index, tp_date), WRITE_PARTITION_COLUMNS true)
"""
NGINX_BASE = """
COPY (SELECT m.remote_addr, m.request, m.status::INTEGER AS status, m.bytes::BIGINT AS bytes, m.referer, m.user_agent,
    strptime(m.time_local, '%d/%b/%Y:%H:%M:%S %z') AT TIME ZONE 'UTC' AS tp_timestamp,
    (strptime(m.time_local, '%d/%b/%Y:%H:%M:%S %z') AT TIME ZONE 'UTC')::DATE AS tp_date,
    NULL::VARCHAR AS tp_source_ip, COMMON
  FROM (SELECT regexp_extract(line, 'PATTERN',
    ['remote_addr', 'remote_user', 'time_local', 'request', 'status', 'bytes', 'referer', 'user_agent']) AS m, filename
    FROM read_csv('DATA/*.gz', columns = {'line': 'VARCHAR'}, delim = '\\x01', quote = '', escape = '',
      header = false, filename = true)))
TO 'OUT' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (tp_index, tp_date), WRITE_PARTITION_COLUMNS true)
"""
COMMON = """uuid()::VARCHAR AS tp_id, now()::TIMESTAMP AS tp_ingest_timestamp, 'bench' AS tp_table,
    'big' AS tp_partition,
    'default' AS tp_index, 'file' AS tp_source_type, 'DATA' AS tp_source_name, filename AS tp_source_location,
    NULL::VARCHAR AS tp_destination_ip, NULL::VARCHAR[] AS tp_ips, NULL::VARCHAR[] AS tp_akas,
    NULL::VARCHAR[] AS tp_domains, NULL::VARCHAR[] AS tp_emails, NULL::VARCHAR[] AS tp_tags,
    NULL::VARCHAR[] AS tp_usernames"""


def main() -> None:
    directory = Path(tempfile.mkdtemp(prefix="tailpipe-bench-"))
    try:
        for name in ("warm", "trail", "small", "nginx", "lines"):
            (directory / name).mkdir()
        kernel_data.write(directory / "warm", 2, 2_000, kernel_data.documents)
        kernel_data.write(directory / "trail", 24, ROWS // 24, kernel_data.documents)
        kernel_data.write(directory / "small", 5_000, 40, kernel_data.documents)
        kernel_data.write(directory / "nginx", 8, ROWS // 8, kernel_data.requests)
        for number in range(4):  # a gigabyte in all
            lines = kernel_data.json_lines(kernel_data.chance(number), 204_000)
            (directory / "lines" / f"{number}.log").write_bytes(b"".join(lines))
        print(f"{'':36} {'tailpipe CPU s':>15} {'DuckDB CPU s':>13} {'ratio':>6} {'rows':>10}")
        measure_all(directory)
    finally:
        shutil.rmtree(directory)


def measure_all(directory: Path) -> None:
    engine = SparkEngine(lambda: open_context(SparkSettings(), cache=directory / "cache", log=directory / "spark.log"))
    started = time.perf_counter()
    try:
        run(directory, engine, "trail.warm")
        cold = time.perf_counter() - started
        cases = (
            ("CloudTrail-like documents, 24 files", "trail.big", TRAIL_BASE, "trail"),
            ("nginx lines by regex, 8 files", "nginx.big", NGINX_BASE, "nginx"),
            ("5,000 small documents", "trail.small", TRAIL_BASE, "small"),
        )
        for name, partition, sql, data in cases:
            before = tree_cpu()
            rows = run(directory, engine, partition)
            used = tree_cpu() - before
            base = plain_duckdb(sql, directory / data, directory / f"out-{data}")
            print(f"{name:36} {used:15.2f} {base:13.2f} {used / base:6.2f} {rows:10,}")
        raw = sum(path.stat().st_size for path in (directory / "lines").iterdir())
        most = peak_memory(lambda: run(directory, engine, "lines.big"))
        print(f"{f'peak memory, {raw / 1e6:,.0f} MB of JSON lines':36} {most / 1e6:12,.0f} MB (target 2,000)")
        print(f"{'first collect, cold, wall':36} {cold:12.1f} s")
    finally:
        engine.close()


def run(directory: Path, engine: SparkEngine, partition: str) -> int:
    """Collect one partition, whose data has all dates of the generator."""
    now = datetime.now(UTC)
    text = CONFIG.replace("DATA", str(directory)).replace("NGINX", NGINX)
    config = build_config([ConfigText("bench.tpc", text)], Registry.installed(), Surroundings(now, {}, "/"))
    chosen = config.partitions[partition], config.tables[partition.split(".")[0]]
    window = Window.parse("2000-01-01", None, now=now)
    with Catalog.open(directory / "home") as catalog:
        report = collect(config, [Job(*chosen, catalog, engine, Collect(now, window))], engine)
    if not report.is_done:
        sys.exit(f"{partition}: {report}")
    return report.partitions[0].accounts.kept


def plain_duckdb(sql: str, data: Path, out: Path) -> float:
    """CPU seconds of a fresh process that does it with DuckDB alone, on all cores."""
    text = (
        sql.replace("COMMON", COMMON)
        .replace("DATA", str(data))
        .replace("OUT", str(out))
        .replace("PATTERN", _re2(NGINX))
    )
    quiet = "SET TimeZone = 'UTC'; SET enable_progress_bar = false"
    code = f"import duckdb; c = duckdb.connect(); c.execute({quiet!r}); c.execute({text!r})"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _re2(pattern: str) -> str:
    import re

    return re.sub(r"\(\?P<\w+>", "(", pattern).replace("'", "''")


def _tree() -> list[list[str]]:
    """What the system tells of this process and all below it."""
    facts = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = entry.read_text()
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        facts[int(entry.parent.name)] = fields
    family = {os.getpid()}
    while grown := {pid for pid, fields in facts.items() if int(fields[1]) in family} - family:
        family |= grown
    return [facts[pid] for pid in family if pid in facts]


def tree_cpu() -> float:
    """CPU seconds of the processes that live now, and of their children that have ended."""
    return sum(sum(int(fields[n]) for n in (11, 12, 13, 14)) for fields in _tree()) / TICKS


def peak_memory(work: Callable[[], object]) -> int:
    """The most that all processes have taken together while the work was done."""
    most, is_over = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not is_over.wait(0.05):
            most = max(most, tree_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        is_over.set()
        watcher.join()
    return most


def tree_memory() -> int:
    """Resident bytes of this process and all below it; Python workers share some of them."""
    return sum(int(fields[21]) for fields in _tree()) * PAGE
