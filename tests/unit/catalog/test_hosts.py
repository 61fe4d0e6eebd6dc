"""Hosts in the catalog: whose artifacts and coverage are whose, numbers of pulled transactions, and cursors."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tailpipe.catalog import doctor, manifest, schema
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.enter import enter
from tailpipe.catalog.layout import Layout, is_our_name
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.rebuild import rebuild
from tailpipe.errors import CatalogError, CommitError, UsageError
from tailpipe.model.coverage import DaySet
from tailpipe.model.host import Host
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered, Staged
from tailpipe.model.window import Window
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace

BEFORE = date(2024, 1, 30)
LOG = "/var/log/app.log"


def _open(home: Path, host: str | None) -> Catalog:
    return Catalog.open(home, host=host)


def _entry(host: str | None, *, generation: int = 0, kind: str = "file", uri: str = LOG) -> LedgerEntry:
    own = Host(host)
    return LedgerEntry(
        own.origin(uri, kind),
        "file",
        Unit(day=DAY),
        datetime(2024, 2, 1, tzinfo=UTC),
        generation,
        uri,
        kind,  # type: ignore[arg-type]
        host=own.of(kind),
    )


def _note(home: Path, host: str | None, *entries: LedgerEntry, days: DaySet | None = None) -> Manifest:
    """Let a host note artifacts; returns the manifest as others would pull it."""
    with _open(home, host) as catalog, catalog.writer(PARTITION) as writer:
        covers = [Covered("file", days, DAY)] if days else []
        done = writer.note(entries, covers)
        return manifest.read(catalog.database.layout.manifest(done.transaction))


def _pull(home: Path, host: str | None, *pushed: Manifest, pushed_by: str) -> None:
    with _open(home, host) as catalog, catalog.database.writing() as connection:
        for one in pushed:
            enter(connection, one, pushed_by=pushed_by)


def _manifests(home: Path) -> list[Manifest]:
    found = [manifest.read(path) for path in Layout.of(home).manifests.glob("*.manifest")]
    return sorted(found, key=lambda one: one.sequence)


def _names(home: Path) -> dict[str, str | None]:
    with _open(home, None) as catalog:
        return {entry.origin: entry.uri for entry in catalog.state(PARTITION).ledger}


def test_the_origin_of_a_file_or_command_names_its_host_and_looks_like_no_path_or_url() -> None:
    host = Host("web-1")
    assert host.origin(LOG, "file") == "@web-1:/var/log/app.log"
    assert host.origin("command:top", "run") == "@web-1:command:top"
    assert host.origin("s3://b/k", "object") == "s3://b/k"
    assert host.origin("log-group:x", "range") == "log-group:x"
    assert Host().origin(LOG, "file") == LOG


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a@b", "a/b", "-a", "é", "x" * 254])
def test_a_name_that_could_be_confused_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is not the name of a host"):
        _open(tmp_path / "ws", name)


def test_a_name_of_one_host_is_not_taken_from_another(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    _note(one, "web-1", _entry("web-1"))
    _note(two, "web-2", _entry("web-2"))
    _pull(one, "web-1", *_manifests(two), pushed_by="web-2")
    assert _names(one) == {"@web-1:/var/log/app.log": LOG, "@web-2:/var/log/app.log": LOG}
    # Another content under the name takes it from what this host has had there, and from no other.
    _note(one, "web-1", _entry("web-1", generation=1))
    with _open(one, "web-1") as catalog:
        found = {entry.identity: entry.uri for entry in catalog.state(PARTITION).ledger}
    assert found == {
        ("@web-1:/var/log/app.log", 0): None,
        ("@web-1:/var/log/app.log", 1): LOG,
        ("@web-2:/var/log/app.log", 0): LOG,
    }


def test_a_name_goes_over_from_what_was_collected_before_there_was_a_store(tmp_path: Path) -> None:
    home = tmp_path / "ws"
    _note(home, None, _entry(None))
    _note(home, "web-1", _entry("web-1"))
    assert _names(home) == {LOG: None, "@web-1:/var/log/app.log": LOG}
    _note(home, "renamed", _entry("renamed"))
    assert _names(home) == {LOG: None, "@web-1:/var/log/app.log": None, "@renamed:/var/log/app.log": LOG}
    before = _names(home)
    with _open(home, None) as catalog:
        assert all(catalog.database.host.owns(name) for name in ("web-1", "renamed", None))
    assert doctor.examine(home) == []
    assert _names(home) == before


def test_objects_are_the_same_for_all_hosts(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    shared = _entry("web-1", kind="object", uri="s3://b/k")
    assert shared.host is None
    _note(one, "web-1", shared)
    _pull(two, "web-2", *_manifests(one), pushed_by="web-1")
    with _open(two, "web-2") as catalog:
        (entry,) = catalog.state(PARTITION).ledger
    assert (entry.origin, entry.host) == ("s3://b/k", None)


def test_each_host_has_a_coverage_of_its_own_and_a_deletion_is_for_all(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    _note(one, "web-1", days=DaySet.of([DAY]))
    _note(two, "web-2", days=DaySet.of([BEFORE]))
    _pull(one, "web-1", *_manifests(two), pushed_by="web-2")
    with _open(one, "web-1") as catalog:
        assert {source: str(known.covered) for source, known in catalog.coverage(PARTITION).items()} == {
            "file": "2024-01-31"
        }
        assert [str(known.covered) for known in catalog.overview()[0].coverage.values()] == ["2024-01-31"]
        catalog.delete(PARTITION, DaySet.of([DAY, BEFORE]))
        rows = catalog.database.connection.execute(
            "SELECT source, days FROM coverage WHERE state = 'dropped'"
        ).fetchall()
    assert dict(rows) == {"file@web-1": "2024-01-31", "file@web-2": "2024-01-30"}


def test_a_source_that_was_known_before_keeps_its_coverage_when_the_workspace_gets_a_host(tmp_path: Path) -> None:
    home = tmp_path / "ws"
    for host in (None, "web-1", "renamed", None):
        _note(home, host, days=DaySet.of([DAY]))
        with _open(home, host) as catalog, catalog.writer(PARTITION) as writer:
            writer.begin_run(Window.of_day(DAY), {"late": DaySet.of([BEFORE])}, frontiers={"late": DAY})
            assert set(catalog.coverage(PARTITION)) == {"file", "late"}
    with contextlib.closing(sqlite3.connect(home / ".tailpipe" / "catalog.db")) as connection:
        keys = {key for (key,) in connection.execute("SELECT source FROM coverage")}
    assert keys == {"file", "late"}
    _note(tmp_path / "new", "web-1", days=DaySet.of([DAY]))
    _note(tmp_path / "new", "renamed", days=DaySet.of([BEFORE]))
    with _open(tmp_path / "new", "renamed") as catalog:
        assert len(catalog.coverage(PARTITION)["file"].covered) == 2


def test_pulled_transactions_get_free_numbers_and_leave_no_gap_in_those_of_the_workspace(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for number in range(3):
        _note(two, "web-2", days=DaySet.of([date(2024, 1, 1 + number)]))
    _note(one, "web-1", days=DaySet.of([DAY]))
    _pull(one, "web-1", *_manifests(two)[:2], pushed_by="web-2")
    _note(one, "web-1", days=DaySet.of([BEFORE]))
    _pull(one, "web-1", *_manifests(two)[2:], pushed_by="web-2")
    with _open(one, "web-1") as catalog:
        rows = catalog.database.connection.execute(
            "SELECT sequence, number, host FROM transactions WHERE sequence IS NOT NULL ORDER BY sequence"
        ).fetchall()
        assert rows == [(1, 1, "web-1"), (2, None, "web-2"), (3, None, "web-2"), (4, 2, "web-1"), (5, None, "web-2")]
        assert catalog.sequence() == 5  # a snapshot of before is no longer true
    assert [one.previous for one in _manifests(one)][1] == _manifests(one)[0].transaction
    assert doctor.examine(one) == []  # the store has the manifests of the others
    # The manifests of this workspace tell the whole of its own history.
    rebuild(one)
    with _open(one, "web-1") as catalog:
        assert str(catalog.coverage(PARTITION)["file"].covered) == "2024-01-30..2024-01-31"
    _pull(one, "web-1", *_manifests(two), pushed_by="web-2")
    _note(one, "web-1", days=DaySet.of([date(2024, 1, 29)]))
    assert [one.sequence for one in _manifests(one)] == [1, 2, 3]


def test_files_of_a_pulled_transaction_are_in_the_store_and_not_here(workspace: Workspace, tmp_path: Path) -> None:
    workspace.collect([("a", DAY, ["1"])])
    [made] = _manifests(workspace.home)
    pushed = replace(made, added=(replace(made.added[0], key="data/a.parquet"),))
    _pull(tmp_path / "two", "web-2", pushed, pushed_by="web-1")
    with _open(tmp_path / "two", "web-2") as catalog, workspace.open() as other:
        query = "SELECT here, there FROM files"
        assert catalog.database.connection.execute(query).fetchall() == [(0, 1)]
        assert other.database.connection.execute(query).fetchall() == [(1, 0)]
        (entry,) = catalog.state(PARTITION).ledger
        assert (entry.host, catalog.coverage(PARTITION)) == ("web-1", {})


def test_a_transaction_that_is_known_or_does_not_follow_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    workspace.collect([("a", DAY, ["1"])])
    workspace.collect([("a", DAY, ["2"])], kind="replace")
    first, second = _manifests(workspace.home)
    with pytest.raises(CommitError, match="is not a live file of it"):
        _pull(tmp_path / "two", "web-2", second, pushed_by="web-1")
    _pull(tmp_path / "two", "web-2", first, pushed_by="web-1")
    with pytest.raises(sqlite3.IntegrityError):
        _pull(tmp_path / "two", "web-2", first, pushed_by="web-1")
    _pull(tmp_path / "two", "web-2", second, pushed_by="web-1")
    with _open(tmp_path / "two", "web-2") as catalog:
        assert catalog.snapshot().rows == 1


def test_a_rebuild_knows_the_names_that_the_workspace_had(tmp_path: Path) -> None:
    home = tmp_path / "ws"
    _note(home, "web-1", days=DaySet.of([DAY]))
    _note(home, "renamed")
    rebuild(home)
    with _open(home, None) as catalog:
        assert catalog.database.host.before == {"web-1", "renamed"}
        assert str(catalog.coverage(PARTITION)["file"].covered) == "2024-01-31"


def test_an_image_of_a_renamed_workspace_brings_its_names_back(tmp_path: Path) -> None:
    home = tmp_path / "ws"
    first = _note(home, "web-1", days=DaySet.of([DAY]))
    _note(home, "renamed")
    Layout.of(home).manifest(first.transaction).unlink()
    doctor.repair(home)
    (Layout.of(home).database).unlink()
    rebuild(home)
    with _open(home, "third") as catalog:
        assert catalog.database.host.before == {"web-1", "renamed", "third"}
        assert str(catalog.coverage(PARTITION)["file"].covered) == "2024-01-31"


def test_names_of_transactions_are_long_and_those_of_earlier_versions_are_ours_too() -> None:
    assert is_our_name("00000001-0011223344556677-0000.parquet") == "00000001-0011223344556677"
    assert is_our_name("00000001-00112233-0000") == "00000001-00112233"
    assert is_our_name("00000001-001122334455-0000") is None


def test_cursors_change_with_a_transaction_and_come_back_by_a_rebuild(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        assert catalog.cursors(PARTITION) == {}
        writer.begin(Unit(day=DAY)).commit(Staged(cursors={"detections": "1", "queue": "a"}))
        writer.note(cursors={"detections": "2", "queue": None, "other": ""})
        assert catalog.cursors(PARTITION) == {"detections": "2", "other": ""}
        assert catalog.cursors("app_log.none") == {}
    rebuild(workspace.home)
    with workspace.open(is_read_only=True) as catalog:
        assert catalog.cursors(PARTITION) == {"detections": "2", "other": ""}
    for path in Layout.of(workspace.home).manifests.glob("*.manifest"):
        path.unlink()
    doctor.repair(workspace.home)  # an image
    rebuild(workspace.home)
    with workspace.open() as catalog:
        assert catalog.cursors(PARTITION) == {"detections": "2", "other": ""}
        catalog.database.connection.execute("DROP TRIGGER cursors_entered")
        catalog.database.connection.execute("UPDATE cursors SET value = '3'")
        with pytest.raises(CatalogError, match="the cursors of a partition are not as they were committed"):
            catalog.cursors(PARTITION)


def test_the_stamp_of_its_rows_is_known_of_each_transaction(workspace: Workspace) -> None:
    stamp = datetime(2024, 2, 1, 12, 30, tzinfo=UTC)
    query = "SELECT ingested_at FROM transactions ORDER BY id"
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        writer.begin(Unit(day=DAY)).commit(Staged(ingested_at=stamp))
        writer.note()
        before = catalog.database.connection.execute(query).fetchall()
    assert before == [(stamp.isoformat(),), (None,)]
    assert [one.ingested_at for one in _manifests(workspace.home)] == [stamp, None]
    rebuild(workspace.home)
    with workspace.open() as catalog:
        assert catalog.database.connection.execute(query).fetchall() == before


def test_what_a_run_has_requested_is_in_the_next_manifest_and_in_no_other(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        writer.begin_run(Window.of_day(DAY), {"file": DaySet.of([DAY])}, frontiers={"file": DAY})
        writer.begin_run(Window.of_day(BEFORE), {"file": DaySet.of([BEFORE])})
        with pytest.raises(CommitError):
            writer.begin(Unit(day=DAY)).commit(Staged(carried=1))  # refused: they wait for the next one
        writer.note((), [Covered("file", DaySet.of([DAY]), DAY)])
        writer.note()
    texts = [[f"{key}: {operation}" for key, operation in one.coverage] for one in _manifests(workspace.home)]
    assert texts == [
        [
            "file: advance 2024-01-31",
            "file: request 2024-01-31",
            "file: request 2024-01-30",
            "file: cover 2024-01-31 settled before 2024-01-31",
        ],
        [],
    ]


def test_a_pending_change_that_is_damaged_is_replaced_by_the_coverage_itself(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        writer.begin_run(Window.of_day(DAY), {"file": DaySet.of([DAY])}, frontiers={"file": DAY})
        catalog.database.connection.execute("UPDATE pending SET operation = 'requesu 2024-01-31' WHERE id = 2")
        writer.note()
        before = catalog.coverage(PARTITION)
    assert [str(operation) for _, operation in _manifests(workspace.home)[0].coverage] == [
        "known missing 2024-01-31; frontier 2024-01-31"
    ]
    rebuild(workspace.home)
    with workspace.open() as catalog:
        assert catalog.coverage(PARTITION) == before


def test_an_image_tells_what_is_pending_by_itself(workspace: Workspace) -> None:
    done = workspace.collect([("a", DAY, ["1"])])
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        writer.begin_run(Window.of_day(DAY), {"file": DaySet.of([DAY, BEFORE])}, frontiers={"file": DAY})
        before = catalog.coverage(PARTITION)
    Layout.of(workspace.home).manifest(done.transaction).unlink()
    doctor.repair(workspace.home)
    (made,) = _manifests(workspace.home)
    assert (made.coverage, bool(made.image)) == ((), True)
    rebuild(workspace.home)
    with workspace.open() as catalog:
        assert catalog.coverage(PARTITION) == before


def test_a_published_migration_is_never_edited() -> None:
    from hashlib import sha256

    prints = [sha256(text.encode()).hexdigest()[:16] for text in schema.MIGRATIONS[:4]]
    assert prints == ["d6edbea398c0dd2a", "345cb636a5452878", "0d07f86b553fa372", "6029806d95cf0237"]
