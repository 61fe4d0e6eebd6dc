"""A lost or damaged catalog is told again from the manifests, row for row."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.rebuild import rebuild
from tailpipe.errors import CatalogError, LockedError, StorageError
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import Unit
from tailpipe.model.staged import Covered, Staged, StagedArtifact
from tests.crash.collector import stage
from tests.storages import FaultyStorage
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace, entry, to_third_version

BEFORE = date(2024, 1, 30)
EMPTY = date(2024, 1, 29)
TOLD = ("files", "artifacts", "coverage", "losses", "accounts", "rejected_samples", "column_sets")


@pytest.fixture
def lived(workspace: Workspace) -> Workspace:
    """A workspace with a replaced, a deleted, an empty and a plain day, in two partitions."""
    workspace.collect([("a", DAY, ["1", "2"])])
    workspace.collect([("a", DAY, ["1", "2", "3"])], kind="replace")
    workspace.collect([("a", BEFORE, ["4"])], day=BEFORE, origin="b.log")
    workspace.collect([("a", DAY, ["5"])], partition="app_log.other")
    with workspace.open() as catalog:
        catalog.delete(PARTITION, DaySet.of([BEFORE]))
        with catalog.writer(PARTITION) as writer:
            covers = (Covered("file", DaySet.of([EMPTY]), DAY),)
            writer.begin(Unit(day=EMPTY)).commit(Staged(covers=covers))
    return workspace


def _dump(home: Path) -> dict[str, list[tuple[object, ...]]]:
    with contextlib.closing(sqlite3.connect(home / ".tailpipe" / "catalog.db")) as connection:
        return {table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr) for table in TOLD}


def test_the_rebuilt_catalog_is_the_same(lived: Workspace) -> None:
    before = _dump(lived.home)
    told = rebuild(lived.home)
    assert (told.transactions, told.files, told.rows) == (6, 2, 4)
    assert _dump(lived.home) == before
    assert doctor.examine(lived.home, with_checksums=True) == []


@pytest.mark.parametrize("damage", ["missing", "garbage", "zeroed", "empty"])
def test_a_lost_catalog_comes_back_without_collecting(lived: Workspace, damage: str) -> None:
    database = lived.home / ".tailpipe" / "catalog.db"
    before = _dump(lived.home)
    if damage == "missing":
        database.unlink()
    elif damage == "garbage":
        database.write_bytes(b"this is no database at all, and long enough to be one " * 100)
    elif damage == "empty":
        database.write_bytes(b"")
    else:
        body = database.read_bytes()
        database.write_bytes(body[:4096] + b"\0" * (len(body) - 4096))
    with pytest.raises(CatalogError) as caught, Catalog.open(lived.home, is_read_only=True) as catalog:
        catalog.snapshot()
    assert "tailpipe doctor --rebuild" in caught.value.hint
    assert caught.value.exit_code == 1
    rebuild(lived.home)
    assert _dump(lived.home) == before
    assert lived.ids() == Counter(["1", "2", "3"])
    with lived.open() as catalog:
        coverage = catalog.state(PARTITION).coverage["file"]
    assert (coverage.covered, coverage.dropped) == (DaySet.of([DAY, EMPTY]), DaySet.of([BEFORE]))
    lived.collect([("a", DAY, ["6"])], origin="later.log")
    assert lived.ids() == lived.hive_ids() - Counter(["5"]) == Counter(["1", "2", "3", "6"])


def test_writing_is_refused_while_the_catalog_is_lost(lived: Workspace) -> None:
    (lived.home / ".tailpipe" / "catalog.db").unlink()
    with pytest.raises(CatalogError, match="is missing") as caught:
        lived.collect([("a", DAY, ["7"])], origin="c.log")
    assert "tailpipe doctor --rebuild" in caught.value.hint


def test_a_commit_that_was_not_published_is_not_forgotten(lived: Workspace) -> None:
    committed = lived.collect([("a", DAY, ["8"])], origin="c.log", failpoint="commit.after=enospc")
    assert "no space left" in committed.problem
    rebuild(lived.home)
    assert lived.ids() == Counter(["1", "2", "3", "8"])
    doctor.repair(lived.home)
    assert doctor.examine(lived.home, with_checksums=True) == []


def test_a_lost_file_does_not_stop_the_rebuild(lived: Workspace) -> None:
    next(path for path in lived.stored() if "tp_partition=other" in str(path)).unlink()
    for public in lived.hive():
        public.unlink()
    (lived.home / ".tailpipe" / "catalog.db").unlink()
    rebuild(lived.home)
    assert {finding.problem for finding in doctor.examine(lived.home)} == {"missing", "unlinked"}
    assert doctor.repair(lived.home).lost_units == (("app_log.other", "2024-01-31"),)
    assert [finding.problem for finding in doctor.examine(lived.home, with_checksums=True)] == ["lost"]
    assert lived.ids() == lived.hive_ids() == Counter(["1", "2", "3"])


@pytest.mark.parametrize("number", [0, 1])
def test_a_rebuild_that_is_interrupted_can_be_begun_again(lived: Workspace, number: int) -> None:
    before = _dump(lived.home)
    storage = FaultyStorage(number, "rename")
    with pytest.raises(StorageError):
        rebuild(lived.home, storage=storage)
    assert storage.has_failed
    rebuild(lived.home)
    assert _dump(lived.home) == before
    assert doctor.examine(lived.home, with_checksums=True) == []


def test_the_old_catalog_is_set_aside(lived: Workspace) -> None:
    assert Path(rebuild(lived.home).set_aside).exists()


def test_a_rebuild_waits_for_nobody_and_disturbs_nobody(lived: Workspace) -> None:
    with lived.open() as catalog, catalog.writer(PARTITION), pytest.raises(LockedError, match="is in use"):
        rebuild(lived.home)


def test_without_manifests_there_is_nothing_to_tell(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="has no manifests"):
        rebuild(tmp_path)


@pytest.mark.parametrize("is_gone", [True, False])
def test_stored_files_without_a_catalog_and_manifests_are_no_empty_workspace(lived: Workspace, is_gone: bool) -> None:
    layout = Layout.of(lived.home)
    stored = sorted(path.name for path in layout.files.rglob("*") if path.is_file())
    layout.head.unlink()
    shutil.rmtree(layout.manifests)
    if not is_gone:
        layout.manifests.mkdir()
    for path in layout.internal.glob("catalog.db*"):
        path.unlink()
    for is_read_only in (True, False):
        with pytest.raises(CatalogError, match="is missing"):
            Catalog.open(lived.home, is_read_only=is_read_only)
    with pytest.raises(CatalogError, match="there is none, but there are stored files") as caught:
        rebuild(lived.home)
    assert "--accept-loss" in caught.value.hint
    assert rebuild(lived.home, accept_loss=True).orphans == len(stored)
    kept = layout.internal / "set-aside" / "files"
    assert sorted(path.name for path in kept.rglob("*") if path.is_file()) == stored
    assert doctor.examine(lived.home) == []


def test_a_rebuild_works_when_the_location_is_lost_and_the_data_directory_is_not(tmp_path: Path) -> None:
    home, data = tmp_path / "home", tmp_path / "data"
    with Catalog.open(home, data=data) as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        staged = stage(transaction.staging, "part", "a", DAY, ["1"])
        transaction.commit(Staged((staged,), (StagedArtifact(entry("a.log", DAY, 1), Accounts(read=1, kept=1)),)))
    shutil.rmtree(home)
    with pytest.raises(CatalogError, match="is missing") as caught:
        Catalog.open(home, data=data, is_read_only=True)
    assert "tailpipe doctor --rebuild" in caught.value.hint
    assert rebuild(home, data=data).rows == 1
    assert doctor.examine(home, data=data, with_checksums=True) == []
    with Catalog.open(home, data=data) as catalog:
        assert catalog.snapshot().rows == 1


def _compacted(workspace: Workspace) -> list[Path]:
    """Two appends to a day put together by a rewrite, then an append; returns the manifests in their order."""
    workspace.collect([("a", DAY, ["1"])])
    workspace.collect([("a", DAY, ["2"])], origin="b.log")
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY), "rewrite")
        staged = stage(transaction.staging, "part", "a", DAY, ["1", "2"])
        old = tuple(file.path for file in catalog.snapshot().files)
        transaction.commit(Staged((staged,), retires=old, carried=2))
    workspace.collect([("a", DAY, ["3"])], origin="c.log")
    return sorted((workspace.home / ".tailpipe" / "manifests").glob("*.manifest"))


@pytest.mark.parametrize("is_old", [True, False])
@pytest.mark.parametrize("how", ["lost", "flipped"])
@pytest.mark.parametrize("number", range(4))
def test_a_history_with_a_hole_is_refused_and_never_gives_rows_twice(
    workspace: Workspace, number: int, how: str, is_old: bool
) -> None:
    victim = _compacted(workspace)[number]
    if is_old:
        to_third_version(workspace)
        if number == 3 and how == "lost":
            return  # of the newest manifest of an earlier version nothing speaks any more
    if how == "lost":
        victim.unlink()
    else:
        victim.chmod(0o600)
        victim.write_bytes(b"PAR1 not really")
    (workspace.home / ".tailpipe" / "catalog.db").unlink()
    if is_old and number == 3:
        rebuild(workspace.home)  # the same: what cannot be read has no number
    else:
        with pytest.raises(CatalogError, match="manifests are incomplete") as caught:
            rebuild(workspace.home)
        name = victim.name if how == "flipped" or (not is_old and number < 3) else f"commit {number + 1}"
        assert name in caught.value.message
        assert "tailpipe doctor --rebuild --accept-loss" in caught.value.hint
        rebuilt = rebuild(workspace.home, accept_loss=True)
        assert rebuilt.holes
    expected = [(), ("1",), ("1", "2"), ("1", "2")][number]
    assert workspace.ids() == workspace.hive_ids() == Counter(expected)
    assert doctor.examine(workspace.home, with_checksums=True) == []
    kept = [path for path in (workspace.home / ".tailpipe" / "set-aside" / "files").rglob("*") if path.is_file()]
    assert len(kept) + len(workspace.stored()) == 4  # whatever was given up is still there
    workspace.collect([("a", BEFORE, ["9"])], day=BEFORE, origin="d.log")
    rebuild(workspace.home)  # once accepted, it is no longer a hole
    assert workspace.ids() == Counter([*expected, "9"])


def test_a_lost_manifest_of_one_partition_leaves_the_others_as_they_are(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    lost = workspace.collect([("a", DAY, ["2"])], partition="app_log.other")
    workspace.collect([("a", DAY, ["3"])], origin="b.log")
    workspace.collect([("a", DAY, ["4"])], partition="app_log.other", origin="b.log")
    Layout.of(workspace.home).manifest(lost.transaction).unlink()
    with pytest.raises(CatalogError, match=f"{lost.transaction}.manifest of app_log.other is lost"):
        rebuild(workspace.home)
    assert rebuild(workspace.home, accept_loss=True).cut == 1
    assert workspace.ids() == Counter(["1", "3"])
    assert workspace.ids("app_log.other") == Counter()


def test_a_workspace_of_the_third_version_goes_on_and_can_be_rebuilt(lived: Workspace) -> None:
    before = lived.ids()
    to_third_version(lived)
    assert lived.ids() == before  # readers do not change it
    assert doctor.examine(lived.home, with_checksums=True) == []
    assert not Layout.of(lived.home).head.exists()
    lived.collect([("a", DAY, ["6"])], origin="later.log")
    assert doctor.examine(lived.home, with_checksums=True) == []
    dumped = _dump(lived.home)
    rebuild(lived.home)
    assert _dump(lived.home) == dumped
    assert lived.ids() == before + Counter(["6"])
