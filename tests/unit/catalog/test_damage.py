"""Whatever happens to `catalog.db`, nobody gets a wrong answer: it is the right one, or an error with the next step."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog import doctor, manifest, seals
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.rebuild import rebuild
from tailpipe.catalog.snapshot import current
from tailpipe.errors import CatalogError, StorageError, WorkspaceError
from tailpipe.model.coverage import DaySet
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace

SEEDS = 600


def _database(workspace: Workspace) -> Path:
    return workspace.home / ".tailpipe" / "catalog.db"


def _answers(home: Path) -> tuple[object, ...]:
    """What queries, `status` and plans begin with."""
    snapshot = current(Layout.of(home))
    with Catalog.open(home, is_read_only=True) as catalog:
        totals = [(one.name, one.files, one.rows, one.size, one.rejected_rows) for one in catalog.partitions()]
        state = catalog.state(PARTITION)
    return snapshot.files, snapshot.columns, totals, state


def _copy(workspace: Workspace, home: Path) -> None:
    """A copy whose catalog is a file of its own; all others are never changed."""
    shutil.copytree(workspace.home, home, copy_function=os.link, ignore=shutil.ignore_patterns("catalog.db*"))
    shutil.copy(_database(workspace), home / ".tailpipe")


def _damaged(home: Path, right: tuple[object, ...]) -> str:
    """How a damaged workspace answers: right, or refused with the next step."""
    try:
        return "right" if _answers(home) == right else "wrong"
    except (CatalogError, StorageError, WorkspaceError) as problem:
        return "refused" if problem.hint else f"no next step: {problem.message}"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with enough of everything that its tables have more pages than one."""
    workspace = Workspace(tmp_path_factory.mktemp("large") / "ws")
    for number in range(6):
        day = DAY - timedelta(days=number)
        files = [(f"index {index}", day, ["1", "2"]) for index in range(10)]
        workspace.collect(files, day=day, origin=f"{number}.log")
    workspace.collect([("a", DAY, ["1"])], partition="app_log.other")
    workspace.collect([("a", DAY, ["1", "2"])], kind="replace")
    with workspace.open() as catalog:
        catalog.delete(PARTITION, DaySet.of([DAY - timedelta(days=3)]))
    with closing(sqlite3.connect(_database(workspace))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return workspace


def _flips(body: bytes) -> Iterator[bytes]:
    for seed in range(SEEDS):
        chance = random.Random(seed)
        changed = bytearray(body)
        # One bit, a few of them, or a run of bytes, anywhere: as disks and cables do it.
        start = chance.randrange(len(body))
        for _ in range(chance.choice((1, 1, 1, 3, 16))):
            changed[min(start, len(body) - 1)] ^= 1 << chance.randrange(8)
            start += chance.randrange(8)
        yield bytes(changed)


@pytest.mark.slow
def test_flipped_bits_give_the_right_answer_or_an_error(large: Workspace, tmp_path: Path) -> None:
    right = _answers(large.home)
    home = tmp_path / "ws"
    _copy(large, home)
    database = home / ".tailpipe" / "catalog.db"
    outcomes = {"right": 0, "refused": 0}
    for seed, body in enumerate(_flips(_database(large).read_bytes())):
        for name in ("catalog.db", "catalog.db-wal", "catalog.db-shm"):
            database.with_name(name).unlink(missing_ok=True)
        database.write_bytes(body)
        outcome = _damaged(home, right)
        assert outcome in outcomes, (seed, outcome)
        outcomes[outcome] += 1
    assert min(outcomes.values()) > 20, outcomes  # both happen: unused bytes, and used ones


def test_every_sealed_value_is_missed_when_it_changes(large: Workspace, tmp_path: Path) -> None:
    """A change by SQL, past our triggers, as a flipped bit that leaves the database well-formed."""
    changes = [
        *(
            f"UPDATE files SET {column} = {value} WHERE path = (SELECT max(path) FROM files WHERE state = 'live')"
            for column, value in (
                ("rows", "rows + 1"),
                ("bytes", "bytes + 1"),
                ("tp_date", "'2024-01-01'"),
                ("tp_index", "'z'"),
                ("unit", "'2024-01-01'"),
                ("min_timestamp", "min_timestamp + 1"),
                ("sha256", "'0'"),
                ("partition_id", "2"),
                ("path", "path || 'x'"),
            )
        ),
        "DELETE FROM files WHERE path = (SELECT max(path) FROM files WHERE state = 'live')",
        "UPDATE partitions SET name = 'app_log.prof' WHERE name = 'app_log.prod'",
        "DELETE FROM column_sets",
        "UPDATE column_sets SET columns = '{}'",
        "UPDATE artifacts SET committed_bytes = 1 WHERE origin = '4.log'",
        "DELETE FROM artifacts WHERE origin = '4.log'",
        "UPDATE coverage SET days = '' WHERE state = 'covered'",
        "DELETE FROM losses",
        "DELETE FROM seals",
        "UPDATE seals SET digest = digest + 1",
        "DROP TABLE seals",
    ]
    for number, change in enumerate(changes):
        home = tmp_path / str(number)
        _copy(large, home)
        database = home / ".tailpipe" / "catalog.db"
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            seals.install(connection)
            triggers = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
            for (name,) in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute(change)
        (finding, *_) = doctor.examine(home)
        assert (finding.problem, finding.repair) == ("damaged", "tailpipe doctor --rebuild"), change
        if "sha256" in change:
            continue  # nobody but the doctor reads it
        assert _damaged(home, ()) == "refused", change
        if " files " in change:
            with pytest.raises(CatalogError), Catalog.open(home) as catalog, catalog.writer(PARTITION):
                pytest.fail(change)


def _truncated(home: Path, workspace: Workspace) -> None:
    database = home / ".tailpipe" / "catalog.db"
    os.truncate(database, database.stat().st_size // 8192 * 4096)


def _emptied(home: Path, workspace: Workspace) -> None:
    os.truncate(home / ".tailpipe" / "catalog.db", 0)


def _removed(home: Path, workspace: Workspace) -> None:
    (home / ".tailpipe" / "catalog.db").unlink()


@pytest.mark.parametrize("damage", [_truncated, _emptied, _removed])
def test_a_cut_empty_or_lost_catalog_is_refused_and_rebuilt(
    large: Workspace, tmp_path: Path, damage: Callable[[Path, Workspace], None]
) -> None:
    right, home = _answers(large.home), tmp_path / "ws"
    _copy(large, home)
    damage(home, large)
    assert _damaged(home, right) == "refused"
    rebuild(home)
    assert _answers(home)[2:] == right[2:]
    assert doctor.examine(home, with_checksums=True) == []


def test_a_catalog_without_its_log_is_noticed(workspace: Workspace, tmp_path: Path) -> None:
    workspace.collect([("a", DAY, ["1"])])
    with workspace.open():  # as long as one is open, the log is not put into the database
        workspace.collect([("a", DAY, ["2"])], origin="b.log")
        shutil.copytree(workspace.home, tmp_path / "copy")
    home = tmp_path / "copy"
    (home / ".tailpipe" / "catalog.db-wal").unlink()
    (home / ".tailpipe" / "catalog.db-shm").unlink()
    with pytest.raises(CatalogError, match="is older than the data") as caught:
        current(Layout.of(home))
    assert "tailpipe doctor --rebuild" in caught.value.hint
    rebuild(home)
    assert current(Layout.of(home)).rows == 2


def test_an_old_copy_of_the_catalog_is_noticed_by_readers_and_writers(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    old = _database(workspace).read_bytes()
    workspace.collect([("a", DAY, ["2"])], origin="b.log")
    _database(workspace).write_bytes(old)
    for is_read_only in (True, False):
        with pytest.raises(CatalogError, match="is older than the data"):
            workspace.open(is_read_only=is_read_only)
    # Its newer files must not be taken for leftovers.
    with pytest.raises(CatalogError):
        doctor.repair(workspace.home)
    assert len(workspace.stored()) == 2
    (finding,) = doctor.examine(workspace.home)
    assert (finding.problem, finding.repair) == ("damaged", "tailpipe doctor --rebuild")
    rebuild(workspace.home)
    assert sorted(workspace.ids()) == ["1", "2"]


def test_a_catalog_with_which_one_went_on_after_it_was_put_back_is_rebuilt_with_both(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    old = _database(workspace).read_bytes()
    workspace.collect([("a", DAY, ["2"])], partition="app_log.other", origin="b.log")
    _database(workspace).write_bytes(old)
    Layout.of(workspace.home).head.unlink()  # as an earlier version left it
    workspace.collect([("a", date(2024, 1, 30), ["3"])], day=date(2024, 1, 30), origin="c.log")
    (finding, *_) = (one for one in doctor.examine(workspace.home) if one.problem == "unknown")
    assert finding.repair == "tailpipe doctor --rebuild"
    doctor.repair(workspace.home)
    assert len(workspace.stored()) == 3  # a file whose manifest is there is never swept
    for _ in range(2):
        rebuild(workspace.home)
        assert sorted(workspace.ids()) == ["1", "3"]
        assert sorted(workspace.ids("app_log.other")) == ["2"]
        assert doctor.examine(workspace.home, with_checksums=True) == []


def test_a_head_that_cannot_be_read_stops_nobody_and_is_written_again(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    head = Layout.of(workspace.home).head
    before = head.read_bytes()
    for body in (b"", b"{}", b"[]", before.replace(b'"sequence": 1', b'"sequence": 3'), b"\xff\xfe"):
        head.write_bytes(body)
        assert sorted(workspace.ids()) == ["1"]
        with workspace.open() as catalog, catalog.writer(PARTITION):
            pass
        assert head.read_bytes() == before


def test_two_workspaces_cannot_share_a_data_directory(tmp_path: Path) -> None:
    data = tmp_path / "data"
    one, other = tmp_path / "one", tmp_path / "other"
    with Catalog.open(one, data=data) as catalog, catalog.writer(PARTITION) as writer:
        writer.note((), ())
    for act in (
        lambda: Catalog.open(other, data=data),
        lambda: rebuild(other, data=data),
        lambda: doctor.repair(other, data=data),
    ):
        with pytest.raises(WorkspaceError) as caught:
            act()
        assert caught.value.hint
    with pytest.raises(WorkspaceError, match="another workspace, at") as caught:
        rebuild(other, data=data)
    assert str(one) in caught.value.message
    assert not (other / ".tailpipe" / "catalog.db").exists()


def test_a_location_may_be_a_symlink_or_move(workspace: Workspace, tmp_path: Path) -> None:
    workspace.collect([("a", DAY, ["1"])])
    link = tmp_path / "link"
    link.symlink_to(workspace.home)
    linked = Workspace(link)
    linked.collect([("a", DAY, ["2"])], origin="b.log")
    assert doctor.examine(link, with_checksums=True) == doctor.examine(workspace.home) == []
    rebuild(link)
    moved = Workspace(tmp_path / "moved")
    workspace.home.rename(moved.home)
    moved.collect([("a", DAY, ["3"])], origin="c.log")
    rebuild(moved.home)
    assert sorted(moved.ids()) == ["1", "2", "3"]


def test_flipped_bits_in_a_manifest_change_nothing_or_are_noticed(workspace: Workspace, tmp_path: Path) -> None:
    workspace.collect([("a", DAY, ["1"]), ("b", DAY, ["2"])])
    (path,) = Layout.of(workspace.home).manifests.glob("*.manifest")
    right, copy = manifest.read(path), tmp_path / path.name
    outcomes = {"same": 0, "refused": 0}
    for body in _flips(path.read_bytes()):
        copy.write_bytes(body)
        outcomes[_told(copy, right)] += 1
    assert min(outcomes.values()) > 20, outcomes


def _told(path: Path, right: Manifest) -> str:
    try:
        return "same" if manifest.read(path) == right else "wrong"
    except CatalogError as problem:
        return "refused" if path.name in problem.message else problem.message
