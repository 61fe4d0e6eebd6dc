"""A real workspace of an earlier version: read as it is, migrated by the next writer, collected on, and rebuilt."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tarfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from tailpipe.catalog import doctor, manifest, schema
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.rebuild import rebuild
from tailpipe.collect.collect import collect
from tailpipe.collect.job import Job
from tailpipe.config.builder import build_config
from tailpipe.config.functions import Surroundings
from tailpipe.config.text import ConfigText
from tailpipe.model.coverage import Known
from tailpipe.model.request import Collect
from tailpipe.plugin import Registry
from tailpipe.testing import InProcessEngine

ARCHIVE = Path(__file__).parents[2] / "data" / "workspace-v4.tar.xz"
PARTITIONS = ("app.jobs", "app.prod")
TOLD = ("files", "artifacts", "coverage", "frontiers", "losses", "accounts", "rejected_samples", "cursors")

pytestmark = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="its logs are named by /proc")


class Old:
    """The unpacked workspace, and what the version that made it has answered."""

    def __init__(self, place: Path) -> None:
        self.home = place / "ws"
        self.logs = place / "logs"
        self.answers = json.loads((place / "answers.json").read_text())
        self.now = datetime.combine(date.fromisoformat(self.answers["today"]), datetime.min.time(), UTC)
        self.text = (place / "main.tpc").read_text()
        self.host: str | None = None
        with self.open(is_read_only=True) as catalog:
            self.newest = catalog.sequence()

    def open(self, *, is_read_only: bool = False) -> Catalog:
        return Catalog.open(self.home, is_read_only=is_read_only, clock=lambda: self.now, host=self.host)

    def version(self) -> int:
        with contextlib.closing(sqlite3.connect(self.home / ".tailpipe" / "catalog.db")) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])

    def rows(self, *, is_read_only: bool = False) -> list[tuple[str, ...]]:
        with self.open(is_read_only=is_read_only) as catalog:
            paths = catalog.snapshot().paths()
        with duckdb.connect() as connection:
            found = connection.execute(
                "SELECT tp_partition, tp_id, tp_date::varchar, message FROM read_parquet($1, hive_partitioning = false)"
                " ORDER BY ALL",
                [paths],
            )
            return found.fetchall()

    def old_rows(self) -> list[tuple[str, ...]]:
        names = ("tp_partition", "tp_id", "tp_date", "message")
        return sorted(tuple(row[name] for name in names) for row in self.answers["rows"])

    def coverage(self, *, is_read_only: bool = False) -> dict[str, list[dict[str, str]]]:
        with self.open(is_read_only=is_read_only) as catalog:
            return {name: _shown(catalog, name) for name in PARTITIONS}

    def old_coverage(self) -> dict[str, Any]:
        return {name: self.answers["partitions"][name]["coverage"] for name in PARTITIONS}

    def collect(self, **moment: int) -> None:
        self.now = self.now.replace(**moment)  # type: ignore[arg-type]
        around = Surroundings(now=self.now, env={}, home=str(self.home))
        config = build_config([ConfigText("main.tpc", self.text)], Registry.installed(), around)
        chosen = [(one, config.tables[one.table]) for one in config.partitions.values()]
        with self.open() as catalog:
            engine, request = InProcessEngine(), Collect(self.now)
            report = collect(config, [Job(*pair, catalog, engine, request) for pair in chosen], engine)
        assert [one.error for one in report.partitions] == ["", ""]

    def write(self, name: str, message: str, mode: str = "a") -> None:
        line = json.dumps({"time": f"{self.now:%Y-%m-%d}T10:00:00Z", "message": message})
        with (self.logs / name).open(mode) as file:
            file.write(line + "\n")

    def dump(self) -> dict[str, list[tuple[object, ...]]]:
        with contextlib.closing(sqlite3.connect(self.home / ".tailpipe" / "catalog.db")) as connection:
            found = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in TOLD}
            found["transactions"] = connection.execute(
                "SELECT name, kind, unit, committed_at, sequence, number, ingested_at, host FROM transactions"
                " WHERE sequence IS NOT NULL"
            ).fetchall()
        return {table: sorted(rows, key=repr) for table, rows in found.items()}


def _shown(catalog: Catalog, partition: str) -> list[dict[str, str]]:
    return [
        {
            "source": source,
            **{name: str(getattr(one, name)) for name in ("covered", "missing", "dropped", "frontier")},
        }
        for source, one in catalog.coverage(partition).items()
    ]


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Old:
    with tarfile.open(ARCHIVE) as archive:
        archive.extraction_filter = lambda member, _: member  # 3.14 filters unless told; 3.11.0 knows no argument
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    return Old(tmp_path)


def test_readers_answer_as_the_version_that_made_it(old: Old) -> None:
    assert old.version() == 4
    assert old.rows(is_read_only=True) == old.old_rows()
    assert old.coverage(is_read_only=True) == old.old_coverage()
    with old.open(is_read_only=True) as catalog:
        assert {one.totals.name for one in catalog.overview()} == set(PARTITIONS)
        assert {entry.host for entry in catalog.state("app.prod").ledger} == {None}
        assert catalog.cursors("app.prod") == {}
    assert {one.problem for one in doctor.examine(old.home, with_checksums=True)} == {"unfinished", "unlinked", "stale"}
    assert old.version() == 4


def test_the_next_writer_migrates_it_and_nothing_is_different(old: Old) -> None:
    with old.open() as catalog:
        for name in PARTITIONS:
            with catalog.writer(name):
                pass
    assert old.version() == schema.VERSION
    assert old.rows() == old.old_rows()
    assert old.coverage() == old.old_coverage()
    assert doctor.examine(old.home, with_checksums=True) == []
    rebuild(old.home)
    assert old.rows() == old.old_rows()


@pytest.mark.slow
@pytest.mark.parametrize("host", [None, "web-1"])
def test_it_is_collected_on_and_rebuilt_from_manifests_of_both_formats(old: Old, host: str | None) -> None:
    old.host = host
    before = old.old_rows()
    old.collect(hour=20)
    gained = set(old.rows()) - set(before)
    assert {message for *_, message in gained} == {"7 a", "7 b", "job"}  # what the killed runs had requested
    old.write("live/app.log", "live 5")
    (old.logs / "live" / "app.log.1").rename(old.logs / "live" / "app.log.2")
    old.collect(day=old.now.day + 1)
    old.write(f"days/{old.now:%Y-%m-%d}.log", "new day")
    old.collect(hour=21)
    rows = old.rows()
    assert set(before) <= set(rows)  # with the ids that they had
    assert sorted(message for *_, message in set(rows) - set(before) - gained) == ["job", "live 5", "new day"]
    assert len({row[1] for row in rows}) == len(rows)
    assert doctor.examine(old.home, with_checksums=True) == []
    _check_manifests(old, host)
    dumped = old.dump()
    starts = {str(origin)[:7] for _, origin, *_ in dumped["artifacts"]}
    assert starts == {"/proc/s", "command", *(["@web-1:"] if host else [])}
    rebuild(old.home)
    assert old.dump() == dumped
    assert old.rows() == rows
    assert doctor.examine(old.home, with_checksums=True) == []
    old.collect(hour=22)
    assert [row for row in old.rows() if row[0] == "prod"] == [row for row in rows if row[0] == "prod"]


def _check_manifests(old: Old, host: str | None) -> None:
    """All formats are there, and the first of the new ones of a partition says all that is known."""
    paths = sorted(Layout.of(old.home).manifests.glob("*.manifest"))
    formats = {path: int(pq.read_metadata(path).metadata[b"tailpipe.manifest"]) for path in paths}
    assert set(formats.values()) == {1, 2, 3}
    read = sorted((manifest.read(path) for path in paths if formats[path] == 3), key=lambda one: one.sequence)
    new = [one for one in read if one.sequence > old.newest]  # without the one that was committed before
    for name in PARTITIONS:
        first, *others = [one for one in new if one.partition == name]
        assert isinstance(first.coverage[0][1], Known)
        assert not any(isinstance(operation, Known) for one in others for _, operation in one.coverage)
        assert {one.host for one in (first, *others)} == {host}
