"""Hosts that have taken the same: what was pushed first stands, and everything else is brought together with it."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.doctor import examine
from tailpipe.catalog.rebuild import rebuild
from tailpipe.errors import CatalogError, StorageError
from tailpipe.kernel.task import row_prefix
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import Unit
from tailpipe.model.staged import Covered, Staged, StagedArtifact
from tests.crash.collector import stage
from tests.object_faults import FaultyObjects, Kill, KilledError, on_key
from tests.stores.conftest import Shared
from tests.unit.catalog.conftest import DAY, PARTITION, entry

BEFORE = date(2024, 1, 30)


def _other(host: Shared, tmp_path: Path, name: str = "web-2") -> Shared:
    return Shared(tmp_path / name, host.objects, name)


def take(host: Shared, objects: Sequence[str], *, day: date = DAY, rows: int = 2) -> None:
    """Collect objects of a bucket, which are the same for all hosts, into one file of a day."""
    with host.writer() as writer:
        transaction = writer.begin(Unit(day=day))
        ids = [f"{row_prefix(PARTITION, one, 0)}-{number}" for one in objects for number in range(rows)]
        file = stage(transaction.staging, "part-0", "a", day, ids)
        artifacts = tuple(StagedArtifact(entry(one, day, rows), Accounts(rows, rows)) for one in objects)
        transaction.commit(Staged((file,), artifacts, (Covered("s3", DaySet.of([day]), day),)))


def rows_of(objects: Sequence[str], rows: int = 2) -> Counter[str]:
    return Counter(f"{row_prefix(PARTITION, one, 0)}-{number}" for one in objects for number in range(rows))


def sound(host: Shared) -> None:
    """Disk, hive and catalog of a host agree, and a rebuild gives the same rows."""
    before, hive = host.rows(), host.hive()
    assert examine(host.home) == []
    rebuild(host.home)
    assert host.rows() == before
    assert host.hive() == hive
    assert [one for one in examine(host.home) if one.problem != "orphan"] == []


def test_the_second_host_drops_its_copy_and_says_who_was_first(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    take(host, ["s3://b/1", "s3://b/2"])
    host.push()
    take(other, ["s3://b/1", "s3://b/2"])
    pushed = other.push()
    assert [str(one) for one in pushed.conflicts] == [
        f"{PARTITION} 2024-01-31: web-1 had already collected 2 of 2 artifacts; dropped this copy"
    ]
    assert other.rows() == host.rows() == rows_of(["s3://b/1", "s3://b/2"])
    assert other.hive() == []
    assert len(host.keys("log")) == 1
    other.push()
    assert len(host.keys("log")) == 1
    sound(other)


def test_artifacts_that_nobody_has_taken_are_carried_over(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    take(host, ["s3://b/1", "s3://b/2"])
    host.push()
    take(other, ["s3://b/2", "s3://b/3", "s3://b/4"])
    pushed = other.push()
    assert [str(one) for one in pushed.conflicts] == [
        f"{PARTITION} 2024-01-31: web-1 had already collected 1 of 3 artifacts; 4 of 6 rows were kept"
    ]
    host.push()
    expected = rows_of([f"s3://b/{number}" for number in (1, 2, 3, 4)])
    assert other.rows() == host.rows() == expected
    assert len(other.hive()) == 1
    states = "SELECT source, state, days FROM coverage WHERE source = 's3@web-2' ORDER BY state"
    assert host.ask(states) == other.ask(states) != []
    for one in (host, other):
        sound(one)


def test_histories_of_their_own_are_brought_together(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    host.collect(["a"])
    host.push()
    other.collect(["b"])
    other.collect(["c"], day=BEFORE)
    pushed = other.push()
    assert (pushed.version, pushed.transactions, pushed.conflicts) == (2, 2, ())
    host.push()
    assert host.rows() == other.rows() == Counter("abc")
    assert len(other.hive()) == 2
    for one in (host, other):
        sound(one)


def test_of_two_replacements_of_a_day_the_first_stands(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    host.collect(["a"])
    host.push()
    other.push()
    host.replace(["x"])
    other.replace(["y"])
    host.push()
    [conflict] = other.push().conflicts
    assert str(conflict).endswith("other hosts had changed it before this replace was pushed, so it was dropped")
    assert other.rows() == host.rows() == Counter("x")
    sound(other)


def test_a_replacement_does_not_forget_what_another_host_has_added(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    host.collect(["a"])
    host.push()
    other.push()
    other.collect(["b"])
    host.replace(["x"])
    other.push()
    assert host.push().conflicts != ()
    other.push()
    assert host.rows() == other.rows() == Counter("ab")
    for one in (host, other):
        ledger = one.ask("SELECT count(*) FROM artifacts")
        assert ledger == [(2,)]


def test_what_is_added_here_while_another_host_replaces_the_day_stays_known(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    host.collect(["a"])
    host.push()
    other.push()
    other.collect(["b"])
    host.replace(["x"])
    host.push()
    assert other.push().conflicts == ()
    host.push()
    assert host.rows() == other.rows() == Counter("xb")
    origins = "SELECT origin FROM artifacts ORDER BY origin"
    assert host.ask(origins) == other.ask(origins)
    assert len(other.ask(origins)) == 2
    sound(other)


def test_a_deletion_that_met_another_change_is_made_again(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    host.collect(["a"])
    host.collect(["b"], day=BEFORE)
    host.push()
    other.push()
    host.replace(["x"])
    host.push()
    with other.writer() as writer:
        writer.delete(DaySet.of([DAY]))
    [conflict] = other.push().conflicts
    assert "the deletion was made again" in str(conflict)
    host.push()
    assert host.rows() == other.rows() == Counter("b")


def test_a_dropped_rewrite_leaves_the_files_of_the_log(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    host.collect(["a"])
    host.collect(["b"])
    host.push()
    other.push()
    _compact(host)
    host.push()
    _compact(other)
    [conflict] = other.push().conflicts
    assert conflict.kind == "rewrite"
    assert host.rows() == other.rows() == Counter("ab")


def _compact(host: Shared) -> None:
    with host.writer() as writer:
        rows = _live(writer)
        transaction = writer.begin(Unit(day=DAY), "rewrite")
        file = stage(transaction.staging, "part-0", "a", DAY, ["a", "b"])
        transaction.commit(Staged((file,), retires=tuple(rows), carried=2))


def _live(writer: Writer) -> list[str]:
    found = writer.database.connection.execute(
        "SELECT path FROM files WHERE state = 'live' AND tp_date = ? ORDER BY path", (DAY.isoformat(),)
    )
    return [path for (path,) in found]


def test_pins_and_places_of_files_survive(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    host.collect(["a"])
    host.collect(["b"], day=BEFORE)
    host.push()
    with host.open() as catalog, catalog.database.writing() as connection:
        connection.execute("UPDATE files SET is_pinned = 1 WHERE tp_date = ?", (DAY.isoformat(),))
    take(other, ["s3://b/1"])
    other.push()
    take(host, ["s3://b/1"])
    assert len(host.push().conflicts) == 1
    places = "SELECT here, there, is_pinned FROM files WHERE state = 'live' ORDER BY tp_date, is_pinned DESC"
    assert host.ask(places) == [(1, 1, 0), (1, 1, 1), (0, 1, 0)]
    assert host.rows() == Counter("ab") + rows_of(["s3://b/1"])


def test_dropped_files_go_after_the_grace_period(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    take(host, ["s3://b/1"])
    host.push()
    take(other, ["s3://b/1"])
    other.push()
    assert len(other.stored()) == 1
    other.clock.now += timedelta(hours=2)
    with other.writer() as writer:
        writer.clean()
    assert other.stored() == []
    sound(other)


POINTS = ("rebase.copied", "rebase.before", "rebase.after", "learn.before", "push.appended")


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_fault_anywhere_in_a_rebase_is_made_good_by_the_next_push(host: Shared, tmp_path: Path, point: str) -> None:
    other = _other(host, tmp_path)
    take(host, ["s3://b/1", "s3://b/2"])
    host.push()
    take(other, ["s3://b/2", "s3://b/3"])
    other.collect(["c"])
    with contextlib.suppress(StorageError, OSError):
        other.push(f"{point}=eio")
    other.push()
    host.push()
    missing = rows_of(["s3://b/1", "s3://b/2"]) + Counter("c")
    assert host.rows() == other.rows()
    assert not missing - host.rows()
    if not rows_of(["s3://b/3"]) <= host.rows():  # then the next collection finds that nobody has taken it
        assert other.ask("SELECT count(*) FROM artifacts WHERE origin = 's3://b/3'") == [(0,)]
    assert max(host.rows().values()) == 1
    sound(other)


def test_a_push_whose_reply_was_lost_is_not_taken_for_a_conflict(host: Shared, tmp_path: Path) -> None:
    take(host, ["s3://b/1"])
    host.push()
    take(host, ["s3://b/2"])
    objects = host.objects
    host.objects = FaultyObjects(objects, on_key("log/", Kill(is_done=True), methods=["put"]), sleep=lambda _: None)
    with pytest.raises(KilledError):
        host.push()
    host.objects = objects
    other = _other(host, tmp_path)
    other.push()
    take(other, ["s3://b/3"])
    other.push()
    pushed = host.push()
    assert (pushed.conflicts, pushed.version) == ((), 3)
    assert host.rows() == other.rows() == rows_of([f"s3://b/{number}" for number in (1, 2, 3)])


def test_the_same_path_on_two_hosts_gives_different_ids(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    counts: Mapping[str, Sequence[str]] = {"web-1": ["a", "b"], "web-2": ["c"]}
    for one in (host, other):
        origin = one.entry("/var/log/app.log", DAY, 1).origin
        ids = [f"{row_prefix(PARTITION, origin, 0)}-{number}" for number, _ in enumerate(counts[one.host])]
        one.collect(ids, origin="/var/log/app.log")
        one.push()
    host.push()
    for one in (host, other):
        found = one.rows()
        assert sum(found.values()) == len(found) == 3


def test_a_lost_manifest_of_what_is_not_pushed_is_named_with_the_way_out(lake: Shared, tmp_path: Path) -> None:
    other = _other(lake, tmp_path)
    take(lake, ["s3://b/1"])
    lake.push()
    other.push()
    take(other, ["s3://b/2", "s3://b/3"])
    take(lake, ["s3://b/3"])
    lake.push()
    [(name,)] = other.ask("SELECT name FROM transactions WHERE id NOT IN (SELECT transaction_id FROM pushed)")
    (other.home / ".tailpipe" / "manifests" / f"{name}.manifest").unlink()
    with pytest.raises(CatalogError, match=r"its manifest .* is missing or damaged") as caught:
        other.push()
    assert "tailpipe doctor --rebuild --accept-loss, then tailpipe collect" in caught.value.hint
    rebuild(other.home, accept_loss=True)
    other.push()
    assert other.rows() == rows_of(["s3://b/1", "s3://b/3"])
    take(other, ["s3://b/2"])
    other.push()
    lake.push()
    assert lake.rows() == other.rows() == rows_of([f"s3://b/{number}" for number in (1, 2, 3)])


def test_two_workspaces_with_the_name_of_one_host_are_reported_once_both_push(lake: Shared, tmp_path: Path) -> None:
    other = Shared(tmp_path / "second", lake.objects, lake.host)
    take(lake, ["s3://b/1"])
    lake.push()
    assert other.push().notes == ()  # a workspace that was lost and made anew looks the same
    take(lake, ["s3://b/2"])
    lake.push()
    [note] = other.push().notes
    assert note == (
        f'{PARTITION}: another workspace also pushes as host "web-1"; name each: workspace "default" {{ host = "…" }}'
    )
    take(other, ["s3://b/3"])
    other.push()
    assert len(lake.push().notes) == 1
    assert lake.push().notes == ()
