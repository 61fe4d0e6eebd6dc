"""A small world of logs in three formats, its config, and what is there after collecting it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from tailpipe.catalog.catalog import Catalog
from tailpipe.config.config import Config
from tailpipe.config.functions import Surroundings
from tailpipe.config.loader import load_config
from tailpipe.plugin import Registry

PARTITIONS = ("app_log.shop", "flow_log.office", "access_log.web")

ACCESS_LOG = r"""
format "regex" "access" {
  layout = `^(?P<remote>\S+) \[(?P<time>[^\]]+)\] "(?P<path>[^"]*)" (?P<status>\d{3})$`
}

table "access_log" {
  format = format.regex.access
  column "tp_timestamp" { transform = "strptime(time, '%%d/%%b/%%Y:%%H:%%M:%%S %%z')" }
  column "status"       { type = "integer" }
  column "path"         { type = "varchar" }
}
"""
CONFIG = (
    ACCESS_LOG
    + r"""
workspace "default" {
  %(workspace)s
  spark {
    master = "%(master)s"
    conf   = %(conf)s
  }
}

table "app_log" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "level"        { type = "varchar" }
}

partition "app_log" "shop" {
  source "file" {
    paths       = ["%(logs)s/app"]
    file_layout = `%%{YEAR:year}-%%{MONTHNUM:month}-%%{MONTHDAY:day}-%%{DATA}.jsonl`
  }
}

format "delimited" "flow" {
  delimiter = " "
  header    = true
  null_if   = ["-"]
}

table "flow_log" {
  format = format.delimited.flow
  column "tp_timestamp" { source = "start" }
  column "bytes"        { type = "bigint" }
  column "interface"    { type = "varchar" }
}

partition "flow_log" "office" {
  tp_index = "interface"
  source "file" {
    paths       = ["%(logs)s/flow"]
    file_layout = `%%{YEAR:year}/%%{MONTHNUM:month}/%%{MONTHDAY:day}.log.gz`
  }
}


partition "access_log" "web" {
  filter = "path <> '/health'"
  source "file" {
    paths       = ["%(logs)s/access"]
    file_layout = `access-%%{YEAR:year}%%{MONTHNUM:month}%%{MONTHDAY:day}.log`
  }
}
"""
)


def days_back(count: int, now: datetime) -> list[date]:
    """Today and the days before it, as a first collection takes them."""
    return [now.date() - timedelta(days=back) for back in range(count)]


def write_logs(logs: Path, days: Sequence[date], *, rows: int = 60) -> None:
    """Logs of three kinds for these days; each access log has two lines that do not fit."""
    for day in days:
        for host in ("a", "b"):
            lines = [json.dumps(_message(day, number, host)) for number in range(rows)]
            _write(logs / "app" / f"{day}-{host}.jsonl", lines)
        flows = ["interface start bytes note"]
        flows += [f"eni-{n % 3} {day}T{n % 24:02d}:00:00Z {n * 10} {'-' if n % 4 else 'odd'}" for n in range(rows)]
        path = logs / "flow" / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}.log.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(("\n".join(flows) + "\n").encode(), mtime=0))
        hits = [hit(day, number) for number in range(rows)]
        _write(logs / "access" / f"access-{day:%Y%m%d}.log", [*hits, "what is this", "\x1b[31mand this"])


def _message(day: date, number: int, host: str) -> dict[str, object]:
    # A few rows belong to the day before: their date differs from that of their file.
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=number - 3)
    extra: dict[str, object] = {"seen": number} if number % 2 else {"ratio": number / 4}
    return {"time": moment.isoformat(), "level": "info", "host": host, "number": number, **extra}


def hit(day: date, number: int) -> str:
    """A line of an access log."""
    path = "/health" if number % 5 == 0 else f"/page/{number}"
    moment = f"{day:%d/%b/%Y}:{number % 24:02d}:00:{number % 60:02d} +0000"
    return f'10.0.0.{number % 9} [{moment}] "{path}" 200'


def _write(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def write_config(
    install: Path, logs: Path, *, master: str = "local[2]", conf: Mapping[str, str] | None = None, workspace: str = ""
) -> Path:
    """The config of the world, in an install directory."""
    properties = "{ " + ", ".join(f'"{name}" = "{value}"' for name, value in (conf or {}).items()) + " }"
    path = install / "config" / "main.tpc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CONFIG % {"logs": logs, "master": master, "conf": properties, "workspace": workspace})
    return path


def read_config(path: Path) -> Config:
    """The config as the workspace reads it."""
    around = Surroundings(now=datetime.now(UTC), env={}, home=str(path.parent))
    return load_config([path], Registry.installed(), around)


Row = tuple[tuple[str, Any], ...]


def rows_of(home: Path, partition: str, *, data: Path | None = None) -> list[Row]:
    """All rows that a snapshot shows, in order, without the time at which they were collected."""
    with Catalog.open(home, data=data, is_read_only=True) as catalog:
        paths = catalog.snapshot(partition=partition).paths()
    return rows_in(paths)


def rows_in(paths: Sequence[str]) -> list[Row]:
    """The rows of these files."""
    if not paths:
        return []
    with duckdb.connect() as connection:
        frame = connection.read_parquet(list(paths), hive_partitioning=False, union_by_name=True)
        table = frame.to_arrow_table()
    return sorted_rows(table.to_pylist())


def sorted_rows(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Rows in the order of their ids, each as pairs; `tp_ingest_timestamp` differs from run to run."""
    pairs = [tuple(sorted((k, v) for k, v in row.items() if k != "tp_ingest_timestamp")) for row in rows]
    return sorted(pairs, key=lambda row: dict(row)["tp_id"])
