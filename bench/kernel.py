"""CPU of the kernel in one thread against plain DuckDB in one thread doing the bare transformation, in one run.

Plain DuckDB writes the same columns of the same rows at the same compression level, divided by index and
date; it keeps no accounts, ordinals or rejected rows. Runs are interleaved, and figures are medians.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from bench import _kernel_data as kernel_data
from bench import _kernel_sql as kernel_sql
from tailpipe.formats import Delimited, Json, Jsonl, Regex
from tailpipe.kernel.run import run_task
from tailpipe.kernel.task import Reading, Staging, Task
from tailpipe.model.artifact import Artifact
from tailpipe.model.format import Format
from tailpipe.model.table import Column, Table
from tailpipe.plugins.core.sources import File

ROUNDS = 5


@dataclass(frozen=True)
class Case:
    name: str
    data: str
    table: Table
    format: Format
    plain: Callable[[Path], str]
    target: float


TRAIL = Table(
    name="trail",
    columns=[
        *(Column(name, "varchar") for name in kernel_sql.TRAIL_TEXT),
        Column("eventTime", "timestamp"),
        Column(
            "userIdentity",
            "struct(type varchar, principalId varchar, arn varchar, accountId varchar, accessKeyId varchar,"
            " sessionContext json)",
        ),
        *(Column(name, "json") for name in kernel_sql.TRAIL_JSON),
        Column("readOnly", "boolean"),
        Column("managementEvent", "boolean"),
    ],
    common={"tp_timestamp": "eventTime", "tp_source_ip": "sourceIPAddress", "tp_ips": "[sourceIPAddress]"},
)
FLOW = Table(
    name="flow",
    columns=[Column(name, kind, source=source) for name, kind, source in kernel_sql.FLOW],
    common={"tp_timestamp": '"start"', "tp_source_ip": "srcaddr", "tp_destination_ip": "dstaddr"},
)
AUDIT = Table(
    name="audit",
    columns=[Column(name, "varchar", source=path) for name, path in kernel_sql.PATHS.items()],
    common={
        "tp_timestamp": "timestamp",
        "tp_source_ip": ("protoPayload.requestMetadata.callerIp",),
        "tp_ips": ("protoPayload.requestMetadata.callerIp",),
    },
)
NGINX = Table(
    name="nginx",
    columns=[Column(name, kind) for name, kind in kernel_sql.NGINX.items()],
    common={"tp_timestamp": "strptime(time_local, '%d/%b/%Y:%H:%M:%S %z')", "tp_source_ip": "remote_addr"},
    null_if="-",
)
LAYOUT = (
    r'^(?P<remote_addr>\S+) \S+ (?P<remote_user>\S+) \[(?P<time_local>[^\]]+)\] "(?P<method>\S+) (?P<path>\S+)'
    r' (?P<protocol>[^"]*)" (?P<status>\d{3}) (?P<bytes>\d+|-) "(?P<referer>[^"]*)" "(?P<user_agent>[^"]*)"$'
)
# The same lines, but a layout that cannot be read as delimited values: one group would have to be two.
ODD_LAYOUT = LAYOUT.replace("(?P<status>", "(?:)(?P<status>").replace(r'"$', r'"(?: |)$')

CASES = (
    Case("documents", "documents", TRAIL, Json(records="Records"), kernel_sql.documents, 1.0),
    Case("flow logs", "flows", FLOW, Delimited(delimiter=" ", header=True, null_if=["-"]), kernel_sql.flows, 0.9),
    Case("nginx by regex", "requests", NGINX, Regex(layout=ODD_LAYOUT), kernel_sql.requests, 0.85),
    Case("nginx as delimited", "requests", NGINX, Regex(layout=LAYOUT), kernel_sql.requests, 0.65),
    Case("JSON lines", "lines", TRAIL, Jsonl(), kernel_sql.lines, 1.15),
    Case("JSON lines by paths", "nested", AUDIT, Jsonl(), kernel_sql.paths, 1.3),
    Case("800 small documents", "small", TRAIL, Json(records="Records"), kernel_sql.documents_by_reader, 1.2),
)
DATA = {
    "documents": (24, 12_500, kernel_data.documents),
    "flows": (20, 20_000, kernel_data.flows),
    "requests": (4, 100_000, kernel_data.requests),
    "lines": (24, 12_500, kernel_data.json_lines),
    "nested": (8, 12_500, kernel_data.nested_lines),
    "small": (800, 100, kernel_data.documents),
}


def main() -> None:
    if sys.argv[1:2] == ["--peak"]:
        run_kernel(CASES[4], Path(sys.argv[2]), Path(sys.argv[3]))
        # Not ru_maxrss, which a process inherits from the one that started it.
        status = Path("/proc/self/status").read_text()
        print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
        return
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        for name, (files, rows, maker) in DATA.items():
            (work / name).mkdir()
            kernel_data.write(work / name, files, rows, maker)
        print(
            f"{'':22} {'rows':>8} {'plain s':>8} {'kernel s':>9} {'ratio':>6} {'target':>7}   (CPU, median of {ROUNDS})"
        )
        for case in CASES:
            compare(case, work)
        peak(work)


def compare(case: Case, work: Path) -> None:
    plain, kernel, rows = [], [], 0
    for _ in range(ROUNDS):
        seconds, expected = run_plain(case, work / case.data, work / "out")
        plain.append(seconds)
        seconds, rows = run_kernel(case, work / case.data, work / "out")
        kernel.append(seconds)
        if rows != expected:
            raise AssertionError(f"{case.name}: plain DuckDB has {expected} rows, the kernel {rows}")
    one, other = statistics.median(plain), statistics.median(kernel)
    print(f"{case.name:22} {rows:8} {one:8.2f} {other:9.2f} {other / one:6.2f} {case.target:7.2f}")


def run_plain(case: Case, data: Path, out: Path) -> tuple[float, int]:
    _empty(out)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        start = time.process_time()
        connection.execute(
            f"COPY ({case.plain(data)}) TO '{out}' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (tp_index, tp_date),"
            " WRITE_PARTITION_COLUMNS true, OVERWRITE_OR_IGNORE)"
        )
        seconds = time.process_time() - start
        ((rows,),) = connection.execute(f"SELECT count(*) FROM read_parquet('{out}/*/*/*.parquet')").fetchall()
    return seconds, rows


def run_kernel(case: Case, data: Path, out: Path) -> tuple[float, int]:
    _empty(out)
    artifacts = [Artifact(str(path), size=path.stat().st_size, kind="object") for path in sorted(data.iterdir())]
    task = Task.of(
        partition=f"{case.table.name}.bench",
        table=case.table,
        source=File(name="file", paths=[str(data)]),
        format=case.format,
        readings=tuple(Reading(artifact, artifact.uri) for artifact in artifacts),
        ingested_at=datetime(2024, 6, 1, tzinfo=UTC),
        staging=Staging(str(out), "bench"),
    )
    start = time.process_time()
    (outcome,) = run_task(task)
    seconds = time.process_time() - start
    accounts = outcome.accounts
    if accounts.kept != accounts.read or any(result.error for result in outcome.results):
        raise AssertionError(f"{case.name}: {accounts}")
    return seconds, accounts.kept


def peak(work: Path) -> None:
    """The most memory that a fresh process takes for one artifact of 500 MB of JSON lines."""
    (work / "large").mkdir()
    kernel_data.write(work / "large", 1, 380_000, kernel_data.json_lines)
    size = sum(map(len, kernel_data.json_lines(kernel_data.chance(0), 1000))) * 380 // 1_000_000
    command = [sys.executable, "-m", "bench.kernel", "--peak", str(work / "large"), str(work / "out")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    print(f"\npeak memory on one artifact of about {size} MB raw: {done.stdout.strip()} MB (target 600)")


def _empty(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()


if __name__ == "__main__":
    main()
