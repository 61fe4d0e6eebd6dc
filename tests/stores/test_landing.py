"""Tasks that share no disk with the driver: they put their files into the store, and the log is written first.

The engine of these tests runs in this process, but its tasks work in private directories as on a cluster.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.layout import Layout
from tailpipe.collect.events import Planned
from tailpipe.errors import CommitError, ConflictError
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import Unit
from tailpipe.model.request import Collect
from tailpipe.model.staged import Covered, Staged, StagedArtifact
from tailpipe.model.store import Store
from tailpipe.operations.compact import Compact, compact
from tailpipe.operations.doctor import rebuild
from tailpipe.operations.facts import coverage
from tailpipe.storage.object_stores import open_objects
from tailpipe.stores.depot import StoreDepot
from tailpipe.stores.landing import Landing
from tailpipe.stores.log import store_id
from tailpipe.stores.pull import pull
from tailpipe.stores.sweep import sweep
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.crash.collector import stage, stage_rejected
from tests.stores.conftest import Shared
from tests.unit.catalog.conftest import DAY

TODAY = datetime.now(UTC).date()
NAME = "app.x"
POINTS = ("intent.after", "land.checked", "land.appended", "learn.copied", "learn.before", "land.learned")
"""Where a driver is killed."""
CONFIG = """
workspace "default" {
  host  = "driver"
  store = store.lake
}
store "lake" {
  location = "LAKE"
  HERE
}
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "message"      { type = "varchar" }
  column "account"      { type = "varchar" }
  column "event"        { type = "varchar" }
}
partition "app" "x" {
  tp_index   = "account"
  dedupe_key = ["event"]
  filter     = "message <> 'noise'"
  source "file" {
    paths       = ["LOGS"]
    file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{DATA}.jsonl`
  }
}
"""


@dataclass
class Site:
    """An install directory, its logs, and a store."""

    root: Path
    lake: Path
    logs: Path
    has_cluster: bool = True
    here: str = ""

    def open(self, **options: Any) -> Workspace:
        self.lake.mkdir(exist_ok=True)
        (self.root / "config").mkdir(parents=True, exist_ok=True)
        text = CONFIG.replace("LAKE", str(self.lake)).replace("LOGS", str(self.logs))
        text = text.replace("HERE", self.here)
        (self.root / "config" / "main.tpc").write_text(text)
        scratch = self.root / "scratch"
        scratch.mkdir(exist_ok=True)
        depot = StoreDepot(Store(name="lake", location=str(self.lake)))
        engine = InProcessEngine({"lake": depot} if self.has_cluster else None, scratch)
        return Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(self.root)}, engine=engine, **options)

    def rows(self) -> list[dict[str, Any]]:
        with self.open().session() as session:
            columns = "* EXCLUDE (tp_ingest_timestamp)"
            return list(session.run(f"SELECT {columns} FROM app ORDER BY tp_id").table().to_pylist())

    def facts(self) -> tuple[Accounts, Any, int]:
        with Catalog.open(self.root / "data" / "default", is_read_only=True) as catalog:
            found = catalog.accounts(NAME)
            rejected = sum(file.rows for file in catalog.rejected_snapshot(NAME).files)
        return found, coverage(self.open().home, NAME), rejected

    def ask(self, sql: str) -> list[Any]:
        with Catalog.open(self.root / "data" / "default", is_read_only=True) as catalog:
            return catalog.database.connection.execute(sql).fetchall()


def write(logs: Path, name: str, *events: tuple[str, str], back: int = 2, mode: str = "w") -> None:
    day = TODAY - timedelta(days=back)
    logs.mkdir(exist_ok=True)
    with (logs / f"{day}-{name}.jsonl").open(mode) as file:
        for event, account in events:
            message = "noise" if event == "n" else f"of {name}"
            row = {"time": f"{day}T10:00:00Z", "message": message, "account": account, "event": event}
            file.write("not json\n" if event == "bad" else json.dumps(row) + "\n")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path / "there", tmp_path / "lake", tmp_path / "logs")


@pytest.fixture
def plain(tmp_path: Path) -> Site:
    """The same logs, collected in the usual way into a store of its own."""
    return Site(tmp_path / "here", tmp_path / "other-lake", tmp_path / "logs", has_cluster=False)


@pytest.mark.slow
def test_rows_ids_accounts_and_coverage_are_those_of_local_mode_through_all_kinds_of_commits(
    site: Site, plain: Site
) -> None:
    def both(**options: Any) -> None:
        for one in (site, plain):
            report = one.open().collect(**options)
            assert report.is_done, report
        assert site.rows() == plain.rows()
        assert site.facts() == plain.facts()

    write(site.logs, "a", ("1", "x"), ("2", "y"), ("bad", ""), ("n", "x"))
    write(site.logs, "b", ("2", "y"), ("3", "x"))  # an event of the other file
    write(site.logs, "a", ("4", "x"), back=3)
    both()
    assert {row["event"] for row in site.rows()} == {"1", "2", "3", "4"}
    write(site.logs, "b", ("1", "x"), ("5", "z"), mode="a")  # grown, with an event that is live
    write(site.logs, "c", ("6", "x"))
    both()
    both(overwrite=True)
    for one in (site, plain):
        compact(one.open().home, Compact())
    assert site.rows() == plain.rows()
    assert site.ask("SELECT count(*) FROM files WHERE state = 'live' AND role = 'data'") == plain.ask(
        "SELECT count(*) FROM files WHERE state = 'live' AND role = 'data'"
    )


def test_files_are_in_the_store_alone_and_nothing_stays_in_scratch_or_staging(site: Site) -> None:
    write(site.logs, "a", ("1", "x"), ("bad", ""))
    assert site.open().collect().is_done
    assert site.ask("SELECT DISTINCT here, there FROM files WHERE state = 'live'") == [(0, 1)]
    internal = site.root / "data" / "default" / ".tailpipe"
    assert [path for path in (internal / "files").rglob("*") if path.is_file()] == []
    assert list((internal / "staging").iterdir()) == []
    assert list((site.root / "scratch").iterdir()) == []
    keys = [one.key for one in open_objects(str(site.lake)).list("data")]
    ((name,),) = site.ask("SELECT name FROM transactions WHERE kind = 'append'")
    assert [key.rpartition("/")[2].startswith(f"{name}-0000-00000-") for key in keys] == [True]


@pytest.mark.slow
def test_a_driver_on_an_empty_disk_goes_on_where_the_last_one_was(site: Site, plain: Site) -> None:
    write(site.logs, "a", ("1", "x"))
    assert site.open().collect().is_done
    shutil.rmtree(site.root)
    write(site.logs, "b", ("2", "y"))
    write(site.logs, "a", ("3", "x"), mode="a")
    assert site.open().collect().is_done
    assert plain.open().collect().is_done
    assert site.rows() == plain.rows()
    shutil.rmtree(site.root)
    report = site.open().collect()
    assert report.is_done
    assert report.partitions[0].units == frozenset()


@pytest.mark.slow
def test_what_the_rule_wants_here_is_fetched_at_the_end_of_the_run(site: Site) -> None:
    site.here = "here {\n    where = \"tp_index = 'x'\"\n  }"
    write(site.logs, "a", ("1", "x"), ("2", "y"))
    assert site.open().collect().is_done
    assert site.ask("SELECT tp_index, here, is_pinned FROM files WHERE role = 'data' ORDER BY 1") == [
        ("x", 1, 0),
        ("y", 0, 0),
    ]
    assert len(list((site.root / "data" / "default").glob("tp_table=*/**/*.parquet"))) == 1
    assert [row["event"] for row in site.rows()] == ["1", "2"]


@pytest.mark.slow
def test_a_catalog_that_was_lost_is_told_again_by_the_copies_of_the_log(site: Site) -> None:
    write(site.logs, "a", ("1", "x"), ("bad", ""))
    assert site.open().collect().is_done
    before, facts = site.rows(), site.facts()
    for path in (site.root / "data" / "default" / ".tailpipe").glob("catalog.db*"):
        path.unlink()
    rebuild(site.open().home, accept_loss=False)
    assert site.rows() == before
    assert site.facts() == facts


def test_collecting_without_a_push_is_refused(site: Site) -> None:
    write(site.logs, "a", ("1", "x"))
    (summary,) = site.open().collect(Collect(datetime.now(UTC), push=False)).partitions
    assert summary.error is not None
    assert "is collected directly into its store on a cluster" in summary.error


# The protocol itself, with files that a test has put


@pytest.mark.slow
def test_a_driver_that_is_killed_anywhere_loses_nothing_and_lands_nothing_twice(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.stores.landing_child", str(tmp_path), *POINTS],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    for point in POINTS:
        place = tmp_path / point
        host = Shared(place / "ws", open_objects(str(place / "lake")))
        is_in_log = point not in ("intent.after", "land.checked")
        empty = Shared(place / "empty", host.objects, host="web-1")
        empty.push()
        assert bool(empty.rows()) == is_in_log, point  # a new driver on an empty disk knows what the log says
        assert host.objects.head("tailpipe.json") is not None
        for one in (host, empty):
            with one.writer() as writer:
                pull(writer, one.objects, "web-1")
            if not is_in_log and not one.rows():
                landed(one, ["1", "2"])
            with one.writer() as writer:
                pull(writer, one.objects, "web-1")
            assert one.rows() == Counter(["1", "2"]), point
            assert list((one.home / ".tailpipe" / "staging").iterdir()) == [], point
        with pytest.raises(ConflictError, match="is committed up to"):  # never twice
            landed(host, ["1", "2"])
        assert host.rows() == Counter(["1", "2"]), point


def test_of_two_drivers_with_the_same_artifacts_one_is_refused_and_others_both_land(lake: Shared) -> None:
    other = Shared(lake.home.parent / "other", lake.objects, host="web-1")
    landed(lake, ["1"])
    landed(other, ["2"])

    def overtake(*_: object) -> None:
        landed(other, ["3"])

    landed(lake, ["4"], spoil=overtake)  # the log grew meanwhile by another artifact
    with pytest.raises(ConflictError, match="is committed up to"):
        landed(lake, ["5"], spoil=lambda *_: landed(other, ["5"]))
    for one in (lake, other):
        with one.writer() as writer:
            pull(writer, one.objects, "web-1")
        assert one.rows() == Counter(["1", "2", "3", "4", "5"])


def test_a_driver_that_lost_a_race_reports_in_that_run_who_had_taken_what(site: Site, tmp_path: Path) -> None:
    other = Site(tmp_path / "other", site.lake, site.logs)
    hidden, day = tmp_path / "hidden", TODAY - timedelta(days=2)
    write(site.logs, "a", ("1", "x"))
    write(site.logs, "b", ("2", "x"))
    write(site.logs, "c", ("3", "x"), back=3)

    def overtake(event: object) -> None:
        if isinstance(event, Planned):  # the other driver takes all but one
            name = f"{day}-b.jsonl"
            (site.logs / name).rename(hidden)
            other.open().collect()
            hidden.rename(site.logs / name)

    [done] = site.open().collect(emit=overtake).partitions
    assert done.push is not None
    assert sorted(done.push.conflicts) == [
        f"{NAME} {day - timedelta(days=1)}: driver had already collected 1 of 1 artifact; dropped this copy",
        f"{NAME} {day}: driver had already collected 1 of 2 artifacts; this collection reads the other 1",
    ]
    assert done.is_done
    assert sorted(row["event"] for row in site.rows()) == ["1", "2", "3"]


def test_files_that_a_sweep_may_delete_are_not_committed(lake: Shared) -> None:
    landed(lake, ["1"])

    def clean(*_: object) -> None:
        with lake.open() as catalog:
            identity = str(store_id(catalog.database, lake.objects, may_make=False))
        sweep(Layout.of(lake.home.parent / "cleaner"), lake.objects, identity, "cleaner", history=timedelta(0))

    with pytest.raises(ConflictError, match="the store was cleaned meanwhile"):
        landed(lake, ["2"], spoil=clean)
    landed(lake, ["2"])
    assert lake.rows() == Counter(["1", "2"])


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda file: replace(file, size=file.size - 1), "bytes or more instead of"),
        (lambda file: replace(file, size=file.size + 1), "bytes or more instead of"),
        (lambda file: replace(file, rows=9), "holds 1 rows instead of 9"),
        (lambda file: replace(file, key="data/none.parquet"), "is missing in the store"),
        (lambda file: replace(file, key="tailpipe.json", size=55), "is not a parquet file"),
        (lambda file: replace(file, key=None), "is not in the store"),
    ],
)
def test_an_object_that_is_not_what_the_task_said_is_refused(lake: Shared, harm: Any, told: str) -> None:
    with pytest.raises(CommitError, match=told):
        landed(lake, ["1"], change=harm)
    assert lake.rows() == Counter()


def landed(
    shared: Shared, ids: list[str], *, failpoint: str = "", spoil: Any = lambda *_: None, change: Any = None
) -> None:
    """Land one file with these rows, from an artifact of its own."""
    with shared.writer(failpoint) as writer:
        landing = Landing(shared.target())
        landing.begin(writer)
        transaction = writer.begin(Unit(day=DAY))
        directory = transaction.staging
        staged = [stage(directory, "part-0", "a", DAY, ids), stage_rejected(directory, "rejected", 1)]
        depot = StoreDepot(Store(name="lake", location=shared.objects.location))
        files = depot.put(landing.place(transaction), directory, staged, "00000-1")
        spoil()
        if change is not None:
            files = (change(files[0]), *files[1:])
        entry = shared.entry(f"/var/log/{ids[0]}.log", DAY, len(ids) + 1)
        artifact = StagedArtifact(entry, Accounts(len(ids) + 1, len(ids), 0, 1))
        landing.commit(writer, transaction, Staged(files, (artifact,), (Covered("file", DaySet.of([DAY]), DAY),)))
