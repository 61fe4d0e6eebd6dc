"""The jobs that are measured: what they collect, and the config for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import _datasets

__all__ = ["JOBS", "NGINX", "Job", "lines_job", "trail_job"]

NGINX = (
    r'^(?P<remote_addr>\S+) \S+ (?P<remote_user>\S+) \[(?P<time_local>[^\]]+)\] "(?P<request>[^"]*)" '
    r'(?P<status>\d+) (?P<bytes>\d+) "(?P<referer>[^"]*)" "(?P<user_agent>[^"]*)"$'
)
_TRAIL = 'partition "aws_cloudtrail_log" "{name}" {{ source "file" {{ paths = ["{data}"] }} }}\n'
_NGINX = """
format "regex" "nginx" {{ layout = `{pattern}` }}
table "nginx" {{
  format     = format.regex.nginx
  map_fields = []
  column "tp_timestamp" {{ transform = "strptime(time_local, '%d/%b/%Y:%H:%M:%S %z')" }}
  column "remote_addr" {{ type = "varchar" }}
  column "remote_user" {{ type = "varchar" }}
  column "request" {{ type = "varchar" }}
  column "status" {{ type = "integer" }}
  column "bytes" {{ type = "bigint" }}
  column "referer" {{ type = "varchar" }}
  column "user_agent" {{ type = "varchar" }}
}}
partition "nginx" "web" {{ source "file" {{ paths = ["{data}"] }} }}
"""
_LINES = """
table "t" {{
  format = format.jsonl.default
  column "tp_timestamp" {{ source = "time" }}
}}
partition "t" "all" {{
  source "file" {{
    paths       = ["{data}"]
    file_layout = `%{{YEAR:year}}-%{{MONTHNUM:month}}-%{{MONTHDAY:day}}.jsonl`
  }}
}}
"""


@dataclass(frozen=True)
class Job:
    """One thing to collect."""

    title: str
    rows: int
    write: Callable[[Path], Path]
    """Writes the logs below a cache directory, and says where they are."""
    config: Callable[[Path], str]
    table: str = "aws_cloudtrail_log"
    is_again: bool = False
    """Whether the second run is measured, for which there is nothing new."""


def trail_job(rows: int, files: int, days: int, *, is_again: bool = False) -> Job:
    """CloudTrail files, in one partition."""
    title = f"CloudTrail, {rows:,} rows, {files:,} file{'s' * (files > 1)}, {days} day{'s' * (days > 1)}"
    return Job(
        f"{title}: nothing new" if is_again else title,
        rows,
        lambda cache: _datasets.cloudtrail(cache, rows, files, days),
        lambda data: _TRAIL.format(name="all", data=data),
        is_again=is_again,
    )


def lines_job(rows: int, days: int) -> Job:
    """One file of JSON lines a day, whose fields the table does not declare."""
    return Job(
        f"JSON lines, {rows:,} rows, {days} days",
        rows,
        lambda cache: _datasets.lines(cache, rows, days),
        lambda data: _LINES.format(data=data),
        table="t",
    )


def _partitions_job(count: int, rows: int) -> Job:
    return Job(
        f"CloudTrail, {count} partitions with one file of {rows} rows",
        count * rows,
        lambda cache: _datasets.partitions(cache, count, rows),
        lambda data: "".join(_TRAIL.format(name=path.name, data=path) for path in sorted(data.iterdir())),
    )


def _nginx_job(lines: int, files: int, days: int) -> Job:
    return Job(
        f"nginx, {lines:,} lines by regex, {files} undated files, {days} days",
        lines,
        lambda cache: _datasets.nginx(cache, lines, files, days),
        lambda data: _NGINX.format(pattern=NGINX, data=data),
        table="nginx",
    )


JOBS = {
    "small": trail_job(20, 1, 1),
    "again": trail_job(20, 1, 1, is_again=True),
    "100k": trail_job(100_000, 50, 30),
    "100k-day": trail_job(100_000, 50, 1),
    "600k": trail_job(600_000, 300, 30),
    "3m": trail_job(3_000_000, 1_500, 30),
    "partitions": _partitions_job(100, 20),
    "nginx": _nginx_job(1_000_000, 10, 30),
}
"""By the names under which they are chosen."""
