"""Hosts that share nothing but a bucket: workers in mount namespaces that hide the driver's disk and each other's."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailpipe.catalog.catalog import Catalog
from tailpipe.model.artifact import Accounts
from tailpipe.plugins.aws.connection import Aws
from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.objects import Objects
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.aws.server import ACCESS_KEY, SECRET_KEY, owner
from tests.crash.processes import processes
from tests.spark.cluster import Cluster
from tests.spark.worlds import ACCESS_LOG, Row, hit, sorted_rows

DAYS = 6
NAMES = ("app_log.shop", "access_log.web")
KEYS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_EC2_METADATA_DISABLED": "true"}
"""What the hosts find in their environment, in place of a role."""
CONFIG = (
    ACCESS_LOG
    + r"""
workspace "default" {
  host  = "driver"
  %(workspace)s
  spark {
    master = "%(master)s"
    conf   = %(conf)s
    %(spark)s
  }
}

connection "aws" "local" {
  region              = "us-east-1"
  endpoint_url        = "%(url)s"
  s3_force_path_style = true
  max_retries         = 6
  %(keys)s
}

store "lake" {
  location   = "s3://%(bucket)s/lake/%(lake)s"
  connection = connection.aws.local
}

table "app_log" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "level"        { type = "varchar" }
}

partition "app_log" "shop" {
  tp_index   = "host"
  dedupe_key = ["event"]
  source "aws_s3_bucket" {
    bucket      = "%(bucket)s"
    connection  = connection.aws.local
    prefix      = "app/"
    file_layout = `app/%%{YEAR:year}/%%{MONTHNUM:month}/%%{MONTHDAY:day}/%%{DATA}.jsonl`
  }
}


partition "access_log" "web" {
  filter = "path <> '/health'"
  source "aws_s3_bucket" {
    bucket      = "%(bucket)s"
    connection  = connection.aws.local
    prefix      = "access/"
    file_layout = `access/%%{YEAR:year}%%{MONTHNUM:month}%%{MONTHDAY:day}.log`
  }
}
"""
)


class Islands:
    """A bucket with logs, a cluster of isolated workers, and install directories that these do not see."""

    def __init__(self, root: Path, url: str, cluster: Cluster) -> None:
        self.root, self.url, self.cluster = root, url, cluster
        self.installs = root / "driver"
        self.installs.mkdir()
        self.bucket = "logs"
        self.connection: Aws = owner(url)
        self.client: Any = self.connection.client("s3")
        self.client.create_bucket(Bucket=self.bucket)
        self.hosts = 0
        self.today = datetime.now(UTC).date()
        for back in range(DAYS):
            self.write(self.today - timedelta(days=back + 1))

    def write(self, day: date, rows: int = 300) -> None:
        """The logs of a day: two files of events, some in both, and an access log with odd lines."""
        for name in ("a", "b"):
            lines = [json.dumps(_event(day, number, name)) for number in range(rows)]
            self.put(f"app/{day:%Y/%m/%d}/{name}.jsonl", "\n".join(lines) + "\n")
        hits = [hit(day, number) for number in range(rows)]
        self.put(f"access/{day:%Y%m%d}.log", "\n".join([*hits, "what is this", "and this"]) + "\n")

    def put(self, key: str, text: str) -> None:
        self.client.put_object(Bucket=self.bucket, Key=key, Body=text.encode())

    def add_worker(self, env: Mapping[str, str] | None = None, hidden: tuple[Path, ...] = ()) -> Any:
        """One more host, which sees neither the driver's files nor those of another host."""
        own = self.root / "spark" / f"worker{len(self.cluster.workers)}"
        own.mkdir(parents=True, exist_ok=True)
        others = [self.root / "spark" / f"worker{number}" for number in range(12)]
        for other in others:
            other.mkdir(exist_ok=True)
        hide = [self.installs, *(other for other in others if other != own), *hidden]
        return self.cluster.add_worker({**KEYS, **(env or {})}, hidden=hide)

    def executors(self, number: int) -> list[int]:
        """The processes of a worker's executors."""
        group = os.getpgid(self.cluster.workers[number].pid)
        return [
            one.pid for one in processes() if "CoarseGrainedExecutorBackend" in one.command and _is_in(one.pid, group)
        ]

    def install(
        self,
        name: str,
        *,
        lake: str = "",
        conf: Mapping[str, str] | None = None,
        workers: int = 2,
        master: str = "",
        has_store: bool = True,
        keys: str = "",
        spark: str = "",
    ) -> Path:
        """An install directory that collects on the cluster into the store."""
        own = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        own |= {"spark.cores.max": str(workers), "spark.scheduler.minRegisteredResourcesRatio": "1.0"}
        own |= {"spark.scheduler.maxRegisteredResourcesWaitingTime": "240s", **(conf or {})}
        words = {
            "workspace": "store = store.lake" if has_store else "",
            "master": master or self.cluster.master,
            "conf": "{ " + ", ".join(f'"{key}" = "{value}"' for key, value in own.items()) + " }",
            "url": self.url,
            "bucket": self.bucket,
            "lake": lake or name,
            "keys": keys,
            "spark": spark,
        }
        path = self.installs / name / "config" / "main.tpc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CONFIG % words)
        return self.installs / name

    def local(self, name: str = "local") -> Path:
        """The same logs, collected without a cluster into a store of its own."""
        keys = f'access_key = "{ACCESS_KEY}"\n  secret_key = "{SECRET_KEY}"'
        install = self.install(name, master="local[2]", keys=keys)
        report = Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(install)}, engine=InProcessEngine()).collect()
        assert report.is_done, report.partitions
        return install

    def lake(self, name: str) -> Objects:
        """The objects of a store."""
        return open_objects(f"s3://{self.bucket}/lake/{name}", self.connection)

    def rows(self, install: Path, lake: str = "") -> dict[str, list[Row]]:
        """All rows that the catalog has, read from the objects of the store."""
        objects = self.lake(lake or install.name)
        found = {}
        with Catalog.open(install / "data" / "default", is_read_only=True) as catalog:
            for name in NAMES:
                files = catalog.snapshot(partition=name).files
                tables = [pq.read_table(io.BytesIO(objects.get(str(file.key)))) for file in files]
                merged = pa.concat_tables(tables, promote_options="permissive").to_pylist() if tables else []
                found[name] = sorted_rows(merged)
        return found

    def accounts(self, install: Path) -> dict[str, Accounts]:
        with Catalog.open(install / "data" / "default", is_read_only=True) as catalog:
            return {name: catalog.accounts(name) for name in NAMES}


def _is_in(pid: int, group: int) -> bool:
    try:
        return os.getpgid(pid) == group
    except ProcessLookupError:
        return False


def _event(day: date, number: int, name: str) -> dict[str, object]:
    # A few rows belong to the day before, and every tenth event is in both files.
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=number - 3)
    event = f"{day}-{number}" if number % 10 == 0 else f"{day}-{number}-{name}"
    extra: dict[str, object] = {"seen": number} if number % 2 else {"ratio": number / 4}
    host = f"h{number % 2}"
    return {"time": moment.isoformat(), "level": "info", "host": host, "event": event, **extra}
