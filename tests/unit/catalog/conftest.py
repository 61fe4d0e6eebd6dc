"""A workspace in a temporary directory, and short ways to put something into it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest

from tailpipe.catalog import manifest, schema
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.commit import Committed
from tailpipe.catalog.failpoints import Failpoints
from tailpipe.catalog.layout import Layout
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered, Staged, StagedArtifact
from tailpipe.storage.local import LOCAL
from tailpipe.storage.storage import LocalTree
from tests.crash.collector import stage
from tests.crash.harness import read_ids

PARTITION = "app_log.prod"
DAY = date(2024, 1, 31)


@dataclass
class Clock:
    """A clock that a test sets."""

    now: datetime = datetime(2024, 2, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **span: float) -> None:
        self.now += timedelta(**span)


@dataclass
class Workspace:
    """One workspace, opened anew for each deed as a command would do."""

    home: Path
    clock: Clock = field(default_factory=Clock)
    storage: LocalTree = LOCAL

    def open(self, failpoint: str = "", *, is_read_only: bool = False) -> Catalog:
        points = Failpoints.from_environment({"TAILPIPE_TEST": "1", "TAILPIPE_FAILPOINT": failpoint})
        return Catalog.open(
            self.home, storage=self.storage, clock=self.clock, failpoints=points, is_read_only=is_read_only
        )

    def collect(
        self,
        files: Sequence[tuple[str | None, date, Sequence[str]]],
        *,
        partition: str = PARTITION,
        day: date = DAY,
        origin: str = "a.log",
        kind: Literal["append", "replace"] = "append",
        failpoint: str = "",
    ) -> Committed:
        """Commit one artifact whose rows lie in these files (index, date, ids)."""
        with self.open(failpoint) as catalog, catalog.writer(partition) as writer:
            transaction = writer.begin(Unit(day=day), kind)
            staged = [stage(transaction.staging, f"part-{number}", *file) for number, file in enumerate(files)]
            rows = sum(file.rows for file in staged)
            return transaction.commit(
                Staged(
                    tuple(staged),
                    (StagedArtifact(entry(origin, day, rows), Accounts(read=rows, kept=rows)),),
                    (Covered("file", DaySet.of([day]), day),),
                    restores=EVERY_DAY if kind == "replace" else NO_DAYS,
                )
            )

    def ids(self, partition: str = PARTITION) -> Counter[str]:
        """What a query through the catalog gives."""
        with self.open(is_read_only=True) as catalog:
            return read_ids(catalog.snapshot(partition=partition).paths())

    def hive_ids(self) -> Counter[str]:
        """What a reader of the hive gets by glob."""
        return read_ids([str(path) for path in self.hive()])

    def hive(self) -> list[Path]:
        return sorted(self.home.glob("tp_table=*/**/*.parquet"))

    def stored(self) -> list[Path]:
        return sorted(path for path in (self.home / ".tailpipe" / "files").rglob("*") if path.is_file())

    def staging(self) -> list[Path]:
        return list((self.home / ".tailpipe" / "staging").iterdir())


def entry(origin: str, day: date, rows: int, generation: int = 0) -> LedgerEntry:
    return LedgerEntry(
        origin,
        "file",
        Unit(day=day),
        datetime(2024, 2, 1, tzinfo=UTC),
        generation,
        origin,
        committed_bytes=rows * 10,
        committed_ordinals=rows,
    )


def to_third_version(workspace: Workspace) -> None:
    """Make a workspace as it was before there were seals, heads, images and manifests that name the one before."""
    layout = Layout.of(workspace.home)
    draft = layout.database.with_name("old.db")
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        schema.migrate(connection, str(draft), schema.MIGRATIONS[:3])
        connection.execute("ATTACH ? AS new", (str(layout.database),))
        tables = connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in tables:
            rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
            columns = ", ".join(name for (name,) in rows)
            connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
    draft.replace(layout.database)
    layout.head.unlink(missing_ok=True)
    for path in layout.manifests.glob("*.manifest"):
        old = replace(manifest.read(path), previous=None)
        path.unlink()
        manifest.write([old], path)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws")
