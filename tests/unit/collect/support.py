"""A workspace in a directory, collected by the kernel in this process: no JVM."""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.failpoints import Failpoints
from tailpipe.collect import events
from tailpipe.collect.collect import collect
from tailpipe.collect.job import Job
from tailpipe.config.builder import build_config
from tailpipe.config.config import Config
from tailpipe.config.functions import Surroundings
from tailpipe.config.text import ConfigText
from tailpipe.kernel.task import Outcome, Task
from tailpipe.model.request import Collect
from tailpipe.model.window import requested_window
from tailpipe.plugin import Registry
from tailpipe.storage.local import LocalStorage
from tailpipe.testing import InProcessEngine

NOW = datetime(2024, 3, 10, 12, 0, tzinfo=UTC)

CONFIG = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
partition "app" "x" {
  source "file" {
    paths       = ["LOGS"]
    file_layout = `(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`
  }
}
"""


class LocalEngine(InProcessEngine):
    """The same, counting the tasks of each job."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[int] = []

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        self.jobs.append(len(tasks))
        return super().run(tasks)


@dataclass
class Tight(LocalStorage):
    """A disk with so much room left."""

    left: int

    def free(self, path: Path) -> int:
        return self.left


@dataclass
class World:
    """Logs, a config over them, and the workspace they are collected into."""

    root: Path
    text: str = CONFIG
    now: datetime = NOW
    engine: LocalEngine = field(default_factory=LocalEngine)
    seen: list[events.Event] = field(default_factory=list)
    free: int | None = None
    registry: Registry = field(default_factory=Registry.installed)
    points: str = ""
    """What the next catalog has for failpoints, as `TAILPIPE_FAILPOINT` spells them."""

    @property
    def logs(self) -> Path:
        (self.root / "logs").mkdir(exist_ok=True)
        return self.root / "logs"

    @property
    def config(self) -> Config:
        around = Surroundings(now=self.now, env={}, home=str(self.root))
        text = ConfigText("main.tpc", self.text.replace("LOGS", str(self.logs)))
        return build_config([text], self.registry, around)

    def write(self, name: str, *messages: str, day: date | None = None, mode: str = "w") -> Path:
        """Lines of JSON in a file; each row has the time of `day`, or of the file's own date."""
        path = self.logs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        when = day or date.fromisoformat(path.name[:10])
        lines = "".join(json.dumps({"time": f"{when}T10:00:00Z", "message": m}) + "\n" for m in messages)
        opener: Any = gzip.open if path.suffix == ".gz" else open
        with opener(path, mode + "t") as file:
            file.write(lines)
        return path

    def collect(self, start: str | None = None, end: str | None = None, **options: Any) -> events.Summary:
        """Collect the one partition."""
        return self.report(start, end, **options).partitions[0]

    def report(self, start: str | None = None, end: str | None = None, **options: Any) -> events.Report:
        """Collect all partitions; each run is a minute after the last."""
        self.now += timedelta(minutes=2)
        config = self.config
        known = self.registry.tables
        chosen = [(one, config.tables.get(one.table) or known[one.table]) for one in config.partitions.values()]
        request = Collect(self.now, requested_window(start, end, now=self.now), **options)
        with self.catalog() as catalog:
            jobs = [Job(*pair, catalog, self.engine, request, self.seen.append) for pair in chosen]
            return collect(config, jobs, self.engine)

    def catalog(self) -> Catalog:
        storage = LocalStorage() if self.free is None else Tight(self.free)
        points, self.points = self.points, ""
        armed = Failpoints.from_environment({"TAILPIPE_FAILPOINT": points, "TAILPIPE_TEST": "1"})
        return Catalog.open(self.root / "home", storage=storage, clock=lambda: self.now, failpoints=armed)

    def rows(self, columns: str = "message", partition: str = "app.x") -> list[Any]:
        """What can be queried, in the order of its first column."""
        with self.catalog() as catalog:
            paths = catalog.snapshot(partition=partition).paths()
        if not paths:
            return []
        with duckdb.connect() as connection:
            relation = connection.execute(
                f"SELECT {columns} FROM read_parquet($1, hive_partitioning = false, union_by_name = true) ORDER BY ALL",
                [paths],
            )
            found = relation.fetchall()
        return [row[0] if len(row) == 1 else row for row in found]

    def has_twins(self) -> bool:
        """Whether any row is duplicated."""
        ids = self.rows("tp_id")
        return len(ids) != len(set(ids))
