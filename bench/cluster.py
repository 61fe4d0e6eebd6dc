"""What a cluster costs: CPU against local mode, the driver's share of a task, and the commits of a year.

`python -m bench cluster [--rows N] [--logs plain|cloudtrail] [--tasks N] [--days N]`. Two workers of one core each on
this machine against `local[2]`, the same logs, both into a store in a directory. What a run takes before its first row
is measured with one row for each file.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from tests.crash.collector import stage
from tests.spark.cluster import Cluster

from bench import _cloudtrail
from bench._measure import measure
from tailpipe.catalog.catalog import Catalog
from tailpipe.config.settings import SparkSettings
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered, Staged, StagedArtifact
from tailpipe.model.store import Store
from tailpipe.spark.jobs import Attempt, stream_job
from tailpipe.spark.session import end_java, open_context
from tailpipe.storage.object_stores import open_objects
from tailpipe.stores.depot import StoreDepot
from tailpipe.stores.landing import Landing
from tailpipe.stores.push import Target

PARTITION = "app_log.x"
CONFIG = """
workspace "default" {
  host  = "bench"
  store = store.lake
  spark {
    master        = "%(master)s"
    class_archive = false
    conf          = { "spark.driver.host" = "127.0.0.1", "spark.driver.bindAddress" = "127.0.0.1" }
  }
}
store "lake" { location = "%(lake)s" }
"""
PLAIN = """
table "app_log" {
  format     = format.delimited.plain
  map_fields = []
  column "tp_timestamp" { source = "time" }
  column "path"         { type = "varchar" }
  column "status"       { type = "integer" }
}
format "delimited" "plain" {
  delimiter = " "
  header    = true
}
partition "app_log" "x" {
  source "file" {
    paths       = ["%(logs)s"]
    file_layout = `%%{YEAR:year}-%%{MONTHNUM:month}-%%{MONTHDAY:day}-%%{DATA}.log.gz`
  }
}
"""
TRAIL = """
partition "aws_cloudtrail_log" "x" {
  source "file" { paths = ["%(logs)s"] }
}
"""
LOGS = {"plain": PLAIN, "cloudtrail": TRAIL}
FILES, DAYS = 20, 10


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench cluster")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--logs", choices=LOGS, default="plain")
    parser.add_argument("--tasks", type=int, default=5_000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--serve", nargs=2, metavar=("INSTALL", "LAKE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as place:
        if chosen.serve:
            install, lake = map(Path, chosen.serve)
            _serve(Path(place), install, lake, chosen.logs)
            return
        if chosen.rows:
            _compare(Path(place), chosen.rows, chosen.logs)
        if chosen.tasks:
            _tasks(Path(place), chosen.tasks)
        if chosen.days:
            _commits(Path(place) / "year", chosen.days)


def _compare(root: Path, rows: int, logs: str) -> None:
    """CPU of a whole collection on a cluster, without that of an idle cluster, against local mode."""
    idle = _measured(root / "idle", FILES, logs, "none")
    first = {mode: _measured(root / f"first-{mode}", FILES, logs, mode) for mode in ("local", "cluster")}
    whole = {mode: _measured(root / mode, rows, logs, mode) for mode in ("local", "cluster")}
    first["cluster"], whole["cluster"] = first["cluster"] - idle, whole["cluster"] - idle
    print(f"{rows:,} rows of {logs} logs, seconds of CPU; the idle cluster's {idle:.1f} s are left out")
    for mode in ("local", "cluster"):
        print(f"{mode}: {whole[mode]:.1f} s, of which {first[mode]:.1f} s before the first row")
    rest = {mode: whole[mode] - first[mode] for mode in whole}
    print(f"cluster against local: {whole['cluster'] / whole['local']:.2f}x, rows alone {_ratio(rest):.2f}x")


def _ratio(spent: Mapping[str, float]) -> float:
    return spent["cluster"] / spent["local"]


def _measured(root: Path, rows: int, logs: str, mode: str) -> float:
    """Seconds of CPU of a collection in local mode, on a cluster, or of a cluster that has nothing to do."""
    if mode != "none":
        _write(root / "logs", rows, logs)
    env = {**os.environ, "CI": "1", "HOME": str(root), "PYTHONPATH": str(Path.cwd())}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # else each process compiles all it imports
    root.mkdir(parents=True, exist_ok=True)
    if mode == "local":
        install = _install(root, "local", "local[2]", logs)
        return measure(_collect(logs), {**env, "TAILPIPE_INSTALL_DIR": str(install)}, root / "log").cpu
    command = [sys.executable, "-m", "bench", "cluster", "--logs", logs, "--serve"]
    install = root / "cluster" if mode == "cluster" else Path("none")
    return measure([*command, str(install), str(root / "lake")], env, root / "log").cpu


def _collect(logs: str) -> list[str]:
    window = ["--from", str(_cloudtrail.FIRST)] if logs == "cloudtrail" else []
    return [sys.executable, "-m", "tailpipe", "collect", *window]


def _serve(root: Path, install: Path, lake: Path, logs: str) -> None:
    """A cluster that runs one collection, or none."""
    with Cluster(root / "spark") as cluster:
        for _ in range(2):
            cluster.add_worker()
        if str(install) != "none":
            made = _install(install.parent, install.name, cluster.master, logs, lake=lake)
            env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(made)}
            status = os.spawnve(os.P_WAIT, sys.executable, _collect(logs), env)
            if status:
                sys.exit(f"exit code {status}")


def _tasks(root: Path, count: int) -> None:
    """What the driver spends on a task that does nothing, and how its memory grows."""
    os.environ["PYTHONPATH"] = str(Path.cwd())  # tasks import this file
    context = open_context(SparkSettings(master="local[2]"), cache=root / "cache", log=root / "log")
    try:
        answers = dict(stream_job(context, [b"x"] * 10, _answer))
        before, begun, cpu = _memory(), time.perf_counter(), time.process_time()
        peak = before
        for number, _ in stream_job(context, [b"x" * 2000] * count, _answer):
            if number % 500 == 0:
                peak = max(peak, _memory())
        wall, spent = time.perf_counter() - begun, time.process_time() - cpu
    finally:
        end_java(context)
    assert len(answers) == 10
    print(
        f"{count:,} tasks: {wall / count * 1000:.1f} ms for each on 2 cores,"
        f" {spent / count * 1000:.2f} ms of driver CPU"
    )
    print(f"driver: {before / 1e6:.0f} MB before, {peak / 1e6:.0f} MB at most")


def _answer(_: bytes, attempt: Attempt) -> bytes:
    return bytes(4000) + str(attempt).encode()


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _commits(root: Path, days: int) -> None:
    """A year, one file for each day, landed in a store in a directory."""
    (root / "lake").mkdir(parents=True)
    objects = open_objects(str(root / "lake"))
    depot = StoreDepot(Store(name="lake", location=str(root / "lake")))
    landing = Landing(Target("lake", objects, "bench"))
    first, spent = date(2024, 1, 1), 0.0
    with Catalog.open(root / "ws", host="bench") as catalog, catalog.writer(PARTITION) as writer:
        landing.begin(writer)
        for number in range(days):
            day = first + timedelta(days=number)
            transaction = writer.begin(Unit(day=day))
            file = stage(transaction.staging, "part-0", "a", day, [str(number)])
            files = depot.put(landing.place(transaction), transaction.staging, [file], "00000-1")
            entry = LedgerEntry(
                f"s3://logs/{day}", "s", Unit(day=day), datetime.now(UTC), uri=f"s3://logs/{day}", committed_ordinals=1
            )
            artifact = StagedArtifact(entry, Accounts(1, 1))
            begun = time.perf_counter()
            staged = Staged(files, (artifact,), (Covered("s", DaySet.of([day]), day),))
            landing.commit(writer, transaction, staged)
            spent += time.perf_counter() - begun
    print(f"{days} days: {spent:.1f} s, {spent / days * 1000:.0f} ms for each commit")
    requests = sum(objects.requests.values())
    print(f"requests: {requests}, {requests / days:.1f} for each day")


def _install(root: Path, name: str, master: str, logs: str, *, lake: Path | None = None) -> Path:
    lake = lake or root / f"{name}-lake"
    lake.mkdir(parents=True, exist_ok=True)
    path = root / name / "config" / "main.tpc"
    path.parent.mkdir(parents=True)
    path.write_text((CONFIG + LOGS[logs]) % {"master": master, "lake": lake, "logs": root / "logs"})
    return root / name


def _write(directory: Path, rows: int, logs: str) -> None:
    directory.mkdir(parents=True)
    if logs == "cloudtrail":
        for number in range(files := max(FILES, rows // 5_000)):
            day = _cloudtrail.FIRST + timedelta(days=number % DAYS)
            _cloudtrail.write_file(directory, number, rows // files, day, 10 + number, 1)
        return
    today = datetime.now(UTC).date()
    for number in range(FILES):
        day = today - timedelta(days=1 + number % DAYS)
        lines = ["time path status"]
        lines += [f"{day}T{n % 24:02d}:00:{n % 60:02d}Z /page/{n % 9973}/x {200 + n % 5}" for n in range(rows // FILES)]
        (directory / f"{day}-{number}.log.gz").write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", 1))
