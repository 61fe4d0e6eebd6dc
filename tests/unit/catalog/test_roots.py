"""A partition whose files are on another disk: they move there and back, and an unmounted disk loses nothing."""

from __future__ import annotations

import errno
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.failpoints import Failpoints
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.rebuild import rebuild
from tailpipe.errors import CatalogError, StorageError, TailpipeError, WorkspaceError
from tailpipe.storage.local import LocalStorage
from tests.crash.harness import read_ids
from tests.crash.soak import another_disk
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace

ROWS = Counter("abc")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A directory on another file system."""
    with another_disk(tmp_path) as place:
        if place.stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("NOT RUN: there is no second file system on this machine, such as /dev/shm")
        yield place


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    """Two days with an index each in the workspace itself."""
    workspace.collect([("x", DAY, "ab")])
    workspace.collect([("y", date(2024, 1, 30), "c")], day=date(2024, 1, 30), origin="b.log")
    return workspace


def wanting(workspace: Workspace, root: Path | None, partition: str = PARTITION) -> Layout:
    layout = Layout.of(workspace.home)
    return replace(layout, wanted={partition: root or layout.data})


def move(workspace: Workspace, root: Path | None) -> None:
    """What the next command that writes does when the config names another path."""
    with Catalog.open(wanting(workspace, root), clock=workspace.clock) as catalog, catalog.writer(PARTITION) as writer:
        writer.clean()


def stored(root: Path) -> list[Path]:
    return sorted(path for path in root.glob(".tailpipe/files/**/*") if path.is_file())


def hive(root: Path) -> Counter[str]:
    return read_ids([str(path) for path in root.glob("tp_table=*/**/*.parquet")])


def clean_later(workspace: Workspace) -> None:
    workspace.clock.pass_(hours=2)
    with workspace.open() as catalog:
        catalog.settle(PARTITION)


def test_files_move_to_another_disk_and_the_old_copies_go_after_the_grace_period(filled: Workspace, disk: Path) -> None:
    before = filled.stored()
    with pytest.raises(OSError, match=os.strerror(errno.EXDEV)):
        os.link(before[0], disk / "link")
    move(filled, disk)
    assert filled.ids() == hive(disk) == ROWS
    assert filled.hive() == []
    assert filled.stored() == before  # for readers that took their snapshot before
    assert [path.stat().st_mode & 0o777 for path in stored(disk)] == [0o400] * 2
    assert doctor.examine(filled.home, with_checksums=True) == []
    clean_later(filled)
    assert filled.stored() == []
    assert filled.ids() == ROWS


def test_later_writers_go_on_there_whatever_their_config_says_of_other_partitions(
    filled: Workspace, disk: Path
) -> None:
    move(filled, disk)
    filled.collect([("x", DAY, "d"), ("z", DAY, "e")], origin="c.log")
    filled.collect([("x", DAY, "q")], kind="replace")
    filled.collect([(None, DAY, "r")], partition="app_log.other")
    assert filled.ids() == hive(disk) == Counter("cq")
    assert filled.ids("app_log.other") == filled.hive_ids() == Counter("r")
    assert list((disk / ".tailpipe" / "staging").iterdir()) == filled.staging() == []
    with filled.open() as catalog:
        catalog.delete(PARTITION)
    assert hive(disk) == Counter()
    clean_later(filled)
    assert stored(disk) == []


def test_files_come_back_and_the_disk_is_left_as_it_was(filled: Workspace, disk: Path) -> None:
    (disk / "notes.txt").touch()
    move(filled, disk)
    move(filled, None)
    assert filled.ids() == filled.hive_ids() == ROWS
    assert hive(disk) == Counter()
    clean_later(filled)
    assert sorted(path for path in disk.rglob("*") if path.is_file()) == [disk / "notes.txt"]
    assert doctor.examine(filled.home, with_checksums=True) == []


def test_an_unmounted_disk_stops_writers_and_readers_and_loses_nothing(filled: Workspace, disk: Path) -> None:
    move(filled, disk)
    away = disk.with_name(f"{disk.name}-away")
    disk.rename(away)
    disk.mkdir()  # the mount point
    deeds: list[Callable[[], object]] = [
        lambda: filled.collect([("x", DAY, "d")], origin="c.log"),
        lambda: move(filled, None),
        filled.ids,
    ]
    for deed in deeds:
        with pytest.raises(WorkspaceError, match="which is not mounted") as caught:
            deed()
        assert caught.value.hint.startswith("mount its disk; nothing was changed")
    (finding,) = doctor.examine(filled.home)
    assert (finding.problem, finding.path) == ("unmounted", str(disk))
    done = doctor.repair(filled.home)
    assert (len(done.locked), done.lost_units) == (1, ())
    assert list(disk.iterdir()) == []
    disk.rmdir()
    away.rename(disk)
    assert filled.ids() == hive(disk) == ROWS
    assert doctor.examine(filled.home, with_checksums=True) == []


def test_the_loss_of_a_disk_can_be_accepted(filled: Workspace, disk: Path) -> None:
    move(filled, disk)
    shutil.rmtree(disk)
    done = doctor.repair(filled.home, accept_loss=True)
    assert [unit for _, unit in done.lost_units] == ["2024-01-30", "2024-01-31"]
    filled.collect([("x", DAY, "ab")], kind="replace")
    assert filled.ids() == hive(disk) == Counter("ab")


def test_a_lost_catalog_is_rebuilt_with_the_files_of_the_other_disk(filled: Workspace, disk: Path) -> None:
    move(filled, disk)
    clean_later(filled)
    (filled.home / ".tailpipe" / "catalog.db").unlink()
    mark = disk / ".tailpipe" / "workspace"
    name = mark.read_text()
    mark.unlink()
    with pytest.raises(CatalogError, match="which is not mounted"):
        rebuild(filled.home)
    mark.write_text(name)
    assert rebuild(filled.home).rows == 3
    assert filled.ids() == hive(disk) == ROWS
    assert doctor.examine(filled.home, with_checksums=True) == []


def test_a_damaged_file_is_healed_from_the_hive_of_the_other_disk(filled: Workspace, disk: Path) -> None:
    move(filled, disk)
    first, second = stored(disk)
    first.unlink()
    (disk / second.relative_to(disk / ".tailpipe" / "files")).with_name(f"{second.name}.parquet").unlink()
    assert {finding.problem for finding in doctor.examine(filled.home)} == {"missing", "unlinked"}
    done = doctor.repair(filled.home)
    assert (done.healed, done.relinked) == (1, 1)
    assert filled.ids() == hive(disk) == ROWS


def test_what_is_damaged_in_the_workspace_moves_as_the_intact_copy_of_the_hive(filled: Workspace, disk: Path) -> None:
    path = filled.stored()[0]
    path.unlink()
    move(filled, disk)
    clean_later(filled)
    assert filled.ids() == hive(disk) == ROWS


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda disk, home: disk / "missing", "does not exist"),
        (lambda disk, home: home / "inside", "overlaps with the directory of the workspace"),
        (lambda disk, home: _foreign(disk), "contains data of another program"),
        (lambda disk, home: _others(disk), "belongs to another workspace"),
    ],
)
def test_a_path_that_cannot_be_used_is_refused_and_nothing_changes(
    filled: Workspace, disk: Path, make: Callable[[Path, Path], Path], message: str
) -> None:
    with pytest.raises(WorkspaceError, match=message):
        move(filled, make(disk, filled.home))
    assert filled.ids() == filled.hive_ids() == ROWS


def _foreign(disk: Path) -> Path:
    (disk / "theirs.parquet").touch()
    return disk


def _others(disk: Path) -> Path:
    (disk / ".tailpipe").mkdir()
    (disk / ".tailpipe" / "workspace").write_text("another")
    return disk


class ReadOnly(LocalStorage):
    """A disk below a directory that may not be written; root may write everywhere, so its mode does not help."""

    def __init__(self, top: Path) -> None:
        self._top = top

    def make_directory(self, path: Path) -> set[Path]:
        if path.is_relative_to(self._top):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return super().make_directory(path)


def test_a_path_without_permission_is_refused(filled: Workspace, disk: Path) -> None:
    layout = wanting(filled, disk)
    with Catalog.open(layout, storage=ReadOnly(disk)) as catalog, pytest.raises(StorageError) as caught:
        catalog.delete(PARTITION)
    assert caught.value.message == f"cannot use {disk / '.tailpipe'}: permission denied"
    assert filled.ids() == filled.hive_ids() == ROWS


def test_a_full_disk_leaves_the_files_where_they_are(filled: Workspace, disk: Path) -> None:
    layout = wanting(filled, disk)
    with pytest.raises(StorageError):
        _move_failing(layout, filled)
    assert filled.ids() == filled.hive_ids() == ROWS
    move(filled, disk)
    assert filled.ids() == hive(disk) == ROWS


def _move_failing(layout: Layout, workspace: Workspace) -> None:
    points = Failpoints({"root.copied": (1, "enospc")})
    with Catalog.open(layout, clock=workspace.clock, failpoints=points) as catalog, catalog.writer(PARTITION):
        raise AssertionError("the disk was full")


def test_a_move_that_is_given_up_leaves_no_copies(filled: Workspace, disk: Path) -> None:
    with pytest.raises(TailpipeError):
        _move_failing(wanting(filled, disk), filled)
    assert len(stored(disk)) == 2
    move(filled, None)
    assert stored(disk) == []
    assert filled.ids() == filled.hive_ids() == ROWS
