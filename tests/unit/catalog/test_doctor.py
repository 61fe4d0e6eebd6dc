"""The doctor finds what differs between disk and catalog, and repairs it without harming strangers."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from tailpipe.catalog import doctor
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import Unit
from tailpipe.model.staged import Staged, StagedArtifact
from tailpipe.storage.local import LocalStorage
from tests.crash.collector import stage_rejected
from tests.crash.disks import NoLinks
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace, entry

BEFORE = date(2024, 1, 30)


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    workspace.collect([("a", DAY, ["1", "2"])])
    workspace.collect([("a", BEFORE, ["3"])], day=BEFORE, origin="b.log")
    return workspace


def _problems(workspace: Workspace, **options: bool) -> list[str]:
    return [finding.problem for finding in doctor.examine(workspace.home, **options)]  # type: ignore[arg-type]


def test_a_sound_workspace_has_no_findings(filled: Workspace) -> None:
    assert doctor.examine(filled.home, with_checksums=True) == []


def test_a_missing_file_is_told_with_its_unit_and_marked_to_be_collected_again(filled: Workspace) -> None:
    lost = next(path for path in filled.stored() if "2024-01-31" in str(path))
    next(path for path in filled.hive() if "2024-01-31" in str(path)).unlink()
    lost.unlink()
    (finding, *_) = doctor.examine(filled.home)
    assert (finding.problem, finding.unit, finding.repair) == (
        "missing",
        "2024-01-31",
        "tailpipe doctor --repair",
    )
    assert f"{PARTITION} 2024-01-31: {lost} (2 rows) is missing" == finding.message
    assert doctor.repair(filled.home).lost_units == ((PARTITION, "2024-01-31"),)
    assert filled.ids() == filled.hive_ids() == Counter(["3"])
    with filled.open() as catalog:
        state = catalog.state(PARTITION)
    assert state.coverage["file"].missing == DaySet.of([DAY])
    assert state.lost == {Unit(day=DAY): DaySet.of([DAY])}
    (finding,) = doctor.examine(filled.home)
    assert (finding.problem, finding.unit) == ("lost", "2024-01-31")
    assert finding.repair == f"tailpipe collect {PARTITION}"
    filled.collect([("a", DAY, ["1", "2"])], kind="replace")
    assert doctor.examine(filled.home, with_checksums=True) == []


def test_a_flipped_byte_is_found_by_its_checksum_only(filled: Workspace) -> None:
    victim = next(path for path in filled.stored() if "2024-01-31" in str(path))
    body = bytearray(victim.read_bytes())
    body[len(body) // 2] ^= 1
    victim.chmod(0o600)
    victim.write_bytes(body)
    assert _problems(filled) == []
    assert _problems(filled, with_checksums=True) == ["altered"]
    (finding,) = doctor.examine(filled.home, with_checksums=True)
    assert finding.repair == "tailpipe doctor --repair --checksums"  # without it nothing would be found
    doctor.repair(filled.home, with_checksums=True)
    assert filled.ids() == Counter(["3"])


def test_a_shortened_file_is_found_by_its_size(filled: Workspace) -> None:
    victim = filled.stored()[0]
    victim.chmod(0o600)
    victim.write_bytes(victim.read_bytes()[:-1])
    assert _problems(filled) == ["altered"]


def test_a_removed_link_is_linked_again(filled: Workspace) -> None:
    filled.hive()[0].unlink()
    assert _problems(filled) == ["unlinked"]
    assert doctor.repair(filled.home).relinked == 1
    assert doctor.examine(filled.home) == []
    assert filled.hive_ids() == filled.ids()


def test_a_public_file_that_someone_overwrote_is_put_right(filled: Workspace) -> None:
    public = filled.hive()[0]
    public.unlink()
    public.write_bytes(b"something else")
    assert _problems(filled) == ["unlinked"]
    doctor.repair(filled.home)
    assert filled.hive_ids() == filled.ids()


def test_a_retired_file_in_the_hive_is_taken_out(filled: Workspace) -> None:
    old = filled.hive()[-1]
    body = old.read_bytes()
    filled.collect([("a", DAY, ["1", "2"])], kind="replace")
    old.write_bytes(body)
    assert _problems(filled) == ["stale"]
    doctor.repair(filled.home)
    assert doctor.examine(filled.home) == []


def test_a_partition_that_is_locked_stops_no_other(filled: Workspace) -> None:
    with filled.open() as catalog, catalog.writer("a.first"), catalog.writer("z.last"):
        pass
    filled.hive()[0].unlink()
    with filled.open() as catalog, catalog.writer("a.first"):
        done = doctor.repair(filled.home)
    assert (done.relinked, len(done.locked)) == (1, 1)
    assert 'partition "a.first" is being written by' in done.locked[0]
    assert doctor.repair(filled.home).locked == ()


def test_orphans_and_leftovers_of_a_lost_transaction_are_swept(filled: Workspace) -> None:
    stored = filled.stored()[0]
    orphan = stored.with_name("00000099-0123abcd-0000")
    orphan.write_bytes(b"x")
    (filled.home / ".tailpipe" / "staging" / "00000099-0123abcd").mkdir()
    assert _problems(filled) == ["orphan"]
    assert doctor.repair(filled.home).swept == 1
    assert not orphan.exists()
    assert filled.staging() == []


@pytest.mark.parametrize("name", ["mine.parquet", "notes.txt", "00000099-0123abcd-0000.parquet"])
def test_a_strangers_file_in_the_hive_is_told_and_never_removed(filled: Workspace, name: str) -> None:
    strangers = [public.with_name(name) for public in filled.hive()]
    for stranger in strangers:
        stranger.write_bytes(b"precious")
    assert _problems(filled) == ["foreign", "foreign"]
    doctor.repair(filled.home)
    filled.collect([("a", DAY, ["1"])], kind="replace")
    with filled.open() as catalog:
        catalog.delete(PARTITION)
    assert [stranger.read_bytes() for stranger in strangers] == [b"precious", b"precious"]


def test_copies_are_sound_where_there_are_no_links(workspace: Workspace) -> None:
    workspace.storage = NoLinks()
    workspace.collect([("a", DAY, ["1"])])
    (public,), (stored,) = workspace.hive(), workspace.stored()
    assert not public.samefile(stored)
    assert doctor.examine(workspace.home, with_checksums=True) == []


def test_a_lost_manifest_is_made_good_from_the_catalog(filled: Workspace) -> None:
    one, other = sorted((filled.home / ".tailpipe" / "manifests").glob("*.manifest"))
    one.unlink()
    assert _problems(filled) == ["unrecorded"]
    other.chmod(0o600)
    other.write_bytes(other.read_bytes()[:100])
    assert _problems(filled, with_checksums=True) == ["unrecorded", "unrecorded"]
    assert _commands(filled) == {"tailpipe doctor --repair", "tailpipe doctor --repair --checksums"}
    assert doctor.repair(filled.home, with_checksums=True).recorded == 1
    assert doctor.examine(filled.home, with_checksums=True) == []
    with filled.open() as catalog:
        state, accounts = catalog.state(PARTITION), catalog.accounts(PARTITION)
    (filled.home / ".tailpipe" / "catalog.db").unlink()
    doctor.rebuild(filled.home)
    assert filled.ids() == filled.hive_ids() == Counter(["1", "2", "3"])
    with filled.open() as catalog:
        assert (catalog.state(PARTITION), catalog.accounts(PARTITION)) == (state, accounts)
    filled.collect([("a", DAY, ["1", "2", "4"])], kind="replace")
    doctor.rebuild(filled.home)
    assert filled.ids() == Counter(["1", "2", "3", "4"])
    assert doctor.examine(filled.home, with_checksums=True) == []


@pytest.mark.parametrize("disk", [LocalStorage, NoLinks])
@pytest.mark.parametrize("damage", ["gone", "shortened", "directory"])
def test_a_stored_file_is_healed_from_the_hive(workspace: Workspace, disk: type[LocalStorage], damage: str) -> None:
    workspace.storage = disk()
    workspace.collect([("a", DAY, ["1", "2"])])
    (stored,), (public,) = workspace.stored(), workspace.hive()
    body = stored.read_bytes()
    if damage == "shortened":
        stored.unlink()
        stored.write_bytes(body[:-5])
    elif damage == "directory":
        shutil.rmtree(workspace.home / ".tailpipe" / "files")
    else:
        stored.unlink()
    (finding, *_) = doctor.examine(workspace.home)
    assert finding.message.endswith("; the hive has an intact copy")
    done = doctor.repair(workspace.home, storage=disk())
    assert (done.healed, done.lost_units) == (1, ())
    assert stored.read_bytes() == body
    assert stored.stat().st_mode & 0o777 == 0o400
    assert workspace.ids() == workspace.hive_ids() == Counter(["1", "2"])
    assert doctor.examine(workspace.home, with_checksums=True) == []
    assert public.exists()


def test_a_sound_copy_heals_a_flipped_bit_where_there_are_no_links(workspace: Workspace) -> None:
    workspace.storage = NoLinks()
    workspace.collect([("a", DAY, ["1"])])
    (stored,), (public,) = workspace.stored(), workspace.hive()
    _flip(stored)
    assert _commands(workspace) == {"tailpipe doctor --repair --checksums"}
    assert doctor.repair(workspace.home, with_checksums=True, storage=NoLinks()).healed == 1
    assert stored.read_bytes() == public.read_bytes()
    _flip(public)
    assert _commands(workspace) == {"tailpipe doctor --repair --checksums"}
    doctor.repair(workspace.home, with_checksums=True, storage=NoLinks())
    assert stored.read_bytes() == public.read_bytes()
    assert workspace.ids() == workspace.hive_ids() == Counter(["1"])
    assert doctor.examine(workspace.home, with_checksums=True) == []


def test_what_is_left_of_a_damaged_file_is_set_aside_and_never_deleted(filled: Workspace) -> None:
    damaged = next(path for path in filled.stored() if "2024-01-31" in str(path))
    _flip(damaged)
    body = damaged.read_bytes()
    done = doctor.repair(filled.home, with_checksums=True)
    assert (done.set_aside, done.lost_units) == (1, ((PARTITION, "2024-01-31"),))
    assert [path.read_bytes() for path in _set_aside(filled)] == [body]
    assert filled.ids() == filled.hive_ids() == Counter(["3"])
    filled.clock.pass_(hours=3)
    with filled.open() as catalog:
        catalog.settle(PARTITION)
    assert len(_set_aside(filled)) == 1


def test_the_only_copy_of_a_damaged_file_is_set_aside_from_the_hive(workspace: Workspace) -> None:
    workspace.storage = NoLinks()
    workspace.collect([("a", DAY, ["1"])])
    (stored,), (public,) = workspace.stored(), workspace.hive()
    stored.unlink()
    _flip(public)
    body = public.read_bytes()
    assert doctor.repair(workspace.home, storage=NoLinks()).lost_units == ((PARTITION, "2024-01-31"),)
    assert [path.read_bytes() for path in _set_aside(workspace)] == [body]
    assert workspace.hive() == []


def test_a_file_of_an_unknown_transaction_is_set_aside_with_its_link(filled: Workspace) -> None:
    stored = filled.stored()[0].with_name("00000099-0123abcd-0000")
    public = filled.hive()[0].with_name("00000099-0123abcd-0000.parquet")
    stored.write_bytes(b"rows that nobody else has")
    public.hardlink_to(stored)
    assert _problems(filled) == ["orphan"]
    assert doctor.repair(filled.home).set_aside == 1
    assert [path.read_bytes() for path in _set_aside(filled)] == [b"rows that nobody else has"]
    assert not public.exists()
    assert doctor.examine(filled.home) == []


def test_rejected_rows_that_are_damaged_are_set_aside(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        rejected = stage_rejected(transaction.staging, "rejected", 2)
        artifact = StagedArtifact(entry("a.log", DAY, 2), Accounts(read=2, rejected=2))
        transaction.commit(Staged((rejected,), (artifact,)))
    (path,) = (one for one in (workspace.home / ".tailpipe" / "rejected").rglob("*") if one.is_file())
    _flip(path)
    assert doctor.repair(workspace.home, with_checksums=True).lost_units == ((PARTITION, "2024-01-31"),)
    assert len(_set_aside(workspace)) == 1


def _set_aside(workspace: Workspace) -> list[Path]:
    return [path for path in (workspace.home / ".tailpipe" / "set-aside").rglob("*") if path.is_file()]


def _commands(workspace: Workspace) -> set[str]:
    return {finding.repair for finding in doctor.examine(workspace.home, with_checksums=True)}


def _flip(path: Path) -> None:
    body = bytearray(path.read_bytes())
    body[len(body) // 3] ^= 4
    path.chmod(0o600)
    path.write_bytes(body)
    path.chmod(0o400)


def test_a_damaged_catalog_is_told_with_the_command_that_rebuilds_it(filled: Workspace) -> None:
    database = filled.home / ".tailpipe" / "catalog.db"
    body = bytearray(database.read_bytes())
    body[4096 : len(body)] = b"\0" * (len(body) - 4096)
    database.write_bytes(body)
    (finding, *_) = doctor.examine(filled.home)
    assert (finding.problem, finding.repair) == ("damaged", "tailpipe doctor --rebuild")


def test_examining_changes_nothing(filled: Workspace) -> None:
    filled.hive()[0].unlink()

    def state() -> list[Path]:
        return sorted(path for path in filled.home.rglob("*") if not path.name.startswith("catalog.db-"))

    before = state()
    doctor.examine(filled.home, with_checksums=True)
    assert state() == before
