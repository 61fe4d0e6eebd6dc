"""The catalog remembers where its files are: another data_dir is reported, and never taken for a loss."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.errors import WorkspaceError
from tailpipe.model.artifact import Accounts
from tailpipe.model.ledger import Unit
from tailpipe.model.staged import Staged, StagedArtifact
from tests.crash.collector import stage
from tests.unit.catalog.conftest import DAY, PARTITION, entry


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A workspace whose files are in `data`."""
    home = tmp_path / "home"
    with Catalog.open(home, data=tmp_path / "data") as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        files = tuple(stage(transaction.staging, f"part-{name}", name, DAY, [name]) for name in ("a", "b"))
        accounts = Accounts(read=2, kept=2)
        transaction.commit(Staged(files, (StagedArtifact(entry("a.log", DAY, 2), accounts),)))
    return home


def rows(home: Path, data: Path) -> int:
    with Catalog.open(home, data=data, is_read_only=True) as catalog:
        return catalog.snapshot().rows


@pytest.mark.parametrize("is_read_only", [True, False])
def test_another_data_dir_without_the_files_is_refused_and_stays_empty(home: Path, is_read_only: bool) -> None:
    old, new = home.parent / "data", home.parent / "new"
    with pytest.raises(WorkspaceError) as caught:
        Catalog.open(home, data=new, is_read_only=is_read_only)
    assert caught.value.message == (
        f"data_dir is now {new}, but the files of the workspace are in {old}: all 2 files are missing"
    )
    assert caught.value.hint == (
        f'move what is in {old} to {new}, or set data_dir = "{old}" again; nothing was changed'
    )
    assert not new.exists()
    for deed in (doctor.examine, doctor.repair):
        with pytest.raises(WorkspaceError, match="data_dir is now"):
            deed(home, data=new)
    assert not new.exists()
    assert doctor.examine(home, data=old) == []


def test_files_that_were_moved_are_found_and_the_new_place_is_remembered(home: Path) -> None:
    old, new = home.parent / "data", home.parent / "new"
    old.rename(new)
    assert rows(home, new) == 2
    Catalog.open(home, data=new).close()
    with pytest.raises(WorkspaceError, match=f"the files of the workspace are in {new}"):
        Catalog.open(home, data=old)
    assert not old.exists()


def test_files_that_were_moved_in_part_are_counted(home: Path) -> None:
    old, new = home.parent / "data", home.parent / "new"
    shutil.copytree(old, new)
    next(path for path in (new / ".tailpipe" / "files").rglob("*") if path.is_file()).unlink()
    with pytest.raises(WorkspaceError, match="1 of 2 files are missing"):
        Catalog.open(home, data=new)


def test_a_workspace_without_data_dir_is_moved_whole_and_gets_one_later(tmp_path: Path, home: Path) -> None:
    both = tmp_path / "both"
    with Catalog.open(both):
        pass
    both.rename(tmp_path / "moved")
    with Catalog.open(tmp_path / "moved") as catalog:
        assert catalog.database.connection.execute("SELECT value FROM facts").fetchall() == [(".",)]
    Catalog.open(tmp_path / "moved", data=tmp_path / "elsewhere").close()  # nothing was collected yet
    assert rows(home, tmp_path / "data") == 2


@pytest.mark.parametrize("is_read_only", [True, False])
def test_a_disk_that_is_not_mounted_is_no_new_beginning(home: Path, is_read_only: bool) -> None:
    data = home.parent / "data"
    data.rename(home.parent / "away")
    data.mkdir()
    with pytest.raises(WorkspaceError, match="all 2 files of the workspace are missing in") as caught:
        Catalog.open(home, data=data, is_read_only=is_read_only)
    assert caught.value.hint is not None
    assert "its disk is mounted" in caught.value.hint
    assert list(data.iterdir()) == []
    # Whoever knows that they are lost says so, and goes on.
    assert {finding.problem for finding in doctor.examine(home, data=data)} >= {"missing"}
    assert doctor.repair(home, data=data).lost_units == ((PARTITION, str(DAY)),)
    assert rows(home, data) == 0
    Catalog.open(home, data=home.parent / "new").close()


def test_a_catalog_that_remembers_no_place_takes_the_one_where_its_files_are(home: Path) -> None:
    old, new = home.parent / "data", home.parent / "new"
    with Catalog.open(home, data=old) as catalog:
        catalog.database.connection.execute("DELETE FROM facts")
    with pytest.raises(WorkspaceError, match="all 2 files of the workspace are missing in"):
        Catalog.open(home, data=new)
    assert rows(home, old) == 2
    Catalog.open(home, data=old).close()
    with pytest.raises(WorkspaceError, match="data_dir is now"):
        Catalog.open(home, data=new)
