"""Workspaces that share a store: a directory, or a bucket of a real S3 server."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.failpoints import Failpoints
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.host import Host
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered, Staged, StagedArtifact
from tailpipe.model.store import PARTITION_BY
from tailpipe.storage.objects import Objects
from tailpipe.stores.push import Pushed, Target, push
from tailpipe.stores.upload import Limits
from tests.crash.collector import stage, stage_rejected
from tests.objects.conftest import azure, azure_url, bucket, no_credentials, objects, opened, proxy
from tests.stores.installed import configure
from tests.unit.catalog.conftest import DAY, PARTITION, Clock, entry

__all__ = ["Shared", "azure", "azure_url", "bucket", "no_credentials", "objects", "opened", "proxy"]


@dataclass
class Shared:
    """The workspace of one host, with a store."""

    home: Path
    objects: Objects
    host: str = "web-1"
    clock: Clock = field(default_factory=Clock)
    partition_by: Sequence[str] = PARTITION_BY
    partition: str = PARTITION

    def open(self, failpoint: str = "") -> Catalog:
        points = Failpoints.from_environment({"TAILPIPE_TEST": "1", "TAILPIPE_FAILPOINT": failpoint})
        return Catalog.open(self.home, clock=self.clock, failpoints=points, host=self.host)

    @contextmanager
    def writer(self, failpoint: str = "") -> Iterator[Writer]:
        with self.open(failpoint) as catalog, catalog.writer(self.partition) as writer:
            yield writer

    def target(self, limits: Limits | None = None) -> Target:
        return Target("lake", self.objects, self.host, self.partition_by, limits=limits or Limits(sleep=lambda _: None))

    def push(self, failpoint: str = "", **options: bool) -> Pushed:
        with self.writer(failpoint) as writer:
            return push(writer, self.target(), **options)

    def collect(
        self, ids: Sequence[str], *, day: date = DAY, index: str | None = "a", origin: str = "", rejected: int = 0
    ) -> None:
        """Commit one file with these rows, from an artifact of its own."""
        origin = origin or f"/var/log/{ids[0]}.log"
        with self.writer() as writer:
            transaction = writer.begin(Unit(day=day))
            files = [stage(transaction.staging, "part-0", index, day, ids)]
            if rejected:
                files.append(stage_rejected(transaction.staging, "rejected", rejected))
            rows = len(ids)
            transaction.commit(
                Staged(
                    tuple(files),
                    (
                        StagedArtifact(
                            self.entry(origin, day, rows + rejected), Accounts(rows + rejected, rows, 0, rejected)
                        ),
                    ),
                    (Covered("file", DaySet.of([day]), day),),
                )
            )

    def entry(self, origin: str, day: date, rows: int) -> LedgerEntry:
        own = Host(self.host)
        made = entry(own.origin(origin, "file"), day, rows)
        return LedgerEntry(**{**vars(made), "uri": origin, "host": self.host})

    def replace(self, ids: Sequence[str], *, day: date = DAY) -> None:
        """Replace all rows of a day by these, without artifacts."""
        with self.writer() as writer:
            transaction = writer.begin(Unit(day=day), "replace")
            rows = len(ids)
            file = stage(transaction.staging, "part-0", "a", day, ids)
            artifact = StagedArtifact(self.entry(f"/again-{ids[0]}", day, rows), Accounts(rows, rows))
            transaction.commit(Staged((file,), (artifact,)))

    def rows(self) -> Counter[str]:
        """What queries must give: rows of files that are here, and of objects where they are not."""
        found: Counter[str] = Counter()
        for path, key, sha256, is_here in self.ask(
            "SELECT path, key, sha256, here FROM files WHERE state = 'live' AND role = 'data'"
        ):
            place = self.home / ".tailpipe" / str(path)
            data = place.read_bytes() if is_here else self.objects.get(str(key))
            assert hashlib.sha256(data).hexdigest() == sha256
            found.update(pq.read_table(io.BytesIO(data))["tp_id"].to_pylist())
        return found

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        with self.open() as catalog:
            return catalog.database.connection.execute(sql).fetchall()

    def keys(self, prefix: str) -> list[str]:
        return [one.key for one in self.objects.list(prefix)]

    def hive(self) -> list[Path]:
        return sorted(self.home.glob("tp_table=*/**/*.parquet"))

    def stored(self) -> list[Path]:
        return sorted(path for path in (self.home / ".tailpipe" / "files").rglob("*") if path.is_file())


@pytest.fixture
def host(tmp_path: Path, objects: Objects) -> Shared:
    return Shared(tmp_path / "ws", objects)


@pytest.fixture
def lake(tmp_path: Path) -> Shared:
    """The same with a directory alone, where the kind of store makes no difference."""
    from tailpipe.storage.object_stores import open_objects

    (tmp_path / "lake").mkdir()
    return Shared(tmp_path / "ws", open_objects(str(tmp_path / "lake")))


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An install directory whose partition has the store `lake`."""
    (tmp_path / "lake").mkdir()
    configure(tmp_path)
    monkeypatch.setenv("TAILPIPE_INSTALL_DIR", str(tmp_path))
    return tmp_path
