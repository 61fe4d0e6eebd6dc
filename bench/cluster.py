"""What a cluster costs: CPU against local mode, the driver's share of a task, and the commits of a year.

`python -m bench cluster [--rows N] [--tasks N] [--days N]`. Two workers of one core each on this machine against
`local[2]`, the same logs, both into a store in a directory.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from tests.crash.collector import stage
from tests.spark.cluster import Cluster

from bench._measure import measure
from tailpipe.catalog.catalog import Catalog
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.settings import SparkSettings
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


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench cluster")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--tasks", type=int, default=5_000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--serve", nargs=2, metavar=("INSTALL", "LAKE"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as place:
        if chosen.serve:
            _serve(Path(place), *map(Path, chosen.serve))
            return
        if chosen.rows:
            _compare(Path(place), chosen.rows)
        if chosen.tasks:
            _tasks(Path(place), chosen.tasks)
        if chosen.days:
            _commits(Path(place) / "year", chosen.days)


def _compare(root: Path, rows: int) -> None:
    """CPU of a whole collection on a cluster, without that of an idle cluster, against local mode."""
    _write(root / "logs", rows)
    env = {**os.environ, "CI": "1", "HOME": str(root), "PYTHONPATH": str(Path.cwd())}
    python = [sys.executable, "-m"]
    install = _install(root, "local", "local[2]")
    local = measure([*python, "tailpipe", "collect"], {**env, "TAILPIPE_INSTALL_DIR": str(install)}, root / "log")
    serve = [*python, "bench", "cluster", "--serve"]
    idle = measure([*serve, "none", str(root / "idle")], env, root / "log")
    busy = measure([*serve, str(root / "cluster"), str(root / "lake")], env, root / "log")
    cpu = busy.cpu - idle.cpu
    print(f"{rows:,} rows: local[2] {local.cpu:.1f} s of CPU, {local.wall:.1f} s")
    print(f"two workers: {cpu:.1f} s of CPU without the idle cluster's {idle.cpu:.1f} s: {cpu / local.cpu:.2f}x")


def _serve(root: Path, install: Path, lake: Path) -> None:
    """A cluster that runs one collection, or none."""
    with Cluster(root / "spark") as cluster:
        for _ in range(2):
            cluster.add_worker()
        if str(install) != "none":
            made = _install(install.parent, install.name, cluster.master, lake=lake)
            env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(made)}
            status = os.spawnve(os.P_WAIT, sys.executable, [sys.executable, "-m", "tailpipe", "collect"], env)
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


def _install(root: Path, name: str, master: str, *, lake: Path | None = None) -> Path:
    lake = lake or root / f"{name}-lake"
    lake.mkdir(parents=True, exist_ok=True)
    path = root / name / "config" / "main.tpc"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIG % {"master": master, "lake": lake, "logs": root / "logs"})
    return root / name


def _write(logs: Path, rows: int, files: int = 20) -> None:
    logs.mkdir(parents=True)
    today = datetime.now(UTC).date()
    for number in range(files):
        day = today - timedelta(days=1 + number % 10)
        lines = ["time path status"]
        lines += [f"{day}T{n % 24:02d}:00:{n % 60:02d}Z /page/{n % 9973}/x {200 + n % 5}" for n in range(rows // files)]
        (logs / f"{day}-{number}.log.gz").write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", 1))
