"""Tiers: what leaves this disk, when it goes, and what is never unlinked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog import doctor
from tailpipe.catalog.clean import GRACE, UNPUSHED
from tailpipe.catalog.rebuild import rebuild
from tailpipe.catalog.repair import repair
from tailpipe.errors import ObjectStoreError
from tailpipe.model.coverage import DaySet
from tailpipe.stores.part import Part
from tailpipe.stores.tiers import Tiered, TierFile, pin, settle
from tests.object_faults import Busy, FaultyObjects
from tests.stores.conftest import Shared
from tests.unit.catalog.conftest import DAY

BEFORE = date(2024, 1, 30)


def newer(files: Sequence[TierFile]) -> Collection[str]:
    """A rule: the last day alone stays."""
    return [file.path for file in files if file.tp_date >= DAY]


def none(files: Sequence[TierFile]) -> Collection[str]:
    return []


def everything(files: Sequence[TierFile]) -> Collection[str]:
    return [file.path for file in files]


def tier(host: Shared, rule: object = newer, *, grace: timedelta = GRACE) -> Tiered:
    with host.writer() as writer:
        return settle(writer, host.objects, rule, grace=grace)  # type: ignore[arg-type]


def filled(host: Shared) -> Shared:
    host.collect(["new"])
    host.collect(["old"], day=BEFORE)
    host.push()
    return host


def test_a_file_leaves_the_hive_at_once_and_the_disk_after_the_grace_period(host: Shared) -> None:
    filled(host)
    tiered = tier(host)
    assert (tiered.left, tiered.freed_files) == (1, 0)
    assert len(host.hive()) == 1
    assert len(host.stored()) == 2  # whoever has listed it can still open it
    assert doctor.examine(host.home, with_checksums=True) == []
    host.clock.pass_(minutes=59)
    assert tier(host).freed_files == 0
    host.clock.pass_(minutes=2)
    tiered = tier(host)
    assert (tiered.left, tiered.freed_files) == (0, 1)
    assert len(host.stored()) == 1
    assert host.rows() == Counter(["new", "old"])
    assert doctor.examine(host.home, with_checksums=True) == []
    before = Counter(host.objects.requests)
    assert tier(host) == Tiered()
    assert Counter(host.objects.requests) == before


def test_nothing_leaves_that_the_log_does_not_name(lake: Shared) -> None:
    lake.collect(["a"], day=BEFORE)
    assert tier(lake, none) == Tiered()
    faulty = FaultyObjects(
        lake.objects, lambda method, key, _: Busy() if key.startswith("log/") and method == "put" else None
    )
    lake.objects = faulty
    with pytest.raises(ObjectStoreError):
        lake.push()
    assert tier(lake, none) == Tiered()  # its object is there, but nobody would find it
    assert len(lake.hive()) == 1


def test_a_file_whose_object_is_gone_or_another_stays_and_is_pushed_again(host: Shared) -> None:
    filled(host)
    tier(host)
    host.clock.pass_(hours=2)
    [(key,)] = host.ask("SELECT key FROM files WHERE here = 0")
    host.objects.delete([str(key)])
    tiered = tier(host)
    assert (tiered.freed_files, tiered.unproved) == (0, (key,))
    assert len(host.stored()) == len(host.hive()) == 2
    assert host.rows() == Counter(["new", "old"])
    assert tier(host) == Tiered()
    before = Counter(host.objects.requests)
    assert host.push().files == 1  # under the key that the log says
    assert (Counter(host.objects.requests) - before)["put"] == 1
    assert len(host.keys("log")) == 1
    host.clock.pass_(hours=2)
    tier(host)
    host.clock.pass_(hours=2)
    assert tier(host).freed_files == 1
    assert host.rows() == Counter(["new", "old"])


def test_a_damaged_object_frees_nothing(lake: Shared, tmp_path: Path) -> None:
    filled(lake)
    tier(lake)
    lake.clock.pass_(hours=2)
    [(key,)] = lake.ask("SELECT key FROM files WHERE here = 0")
    place = tmp_path / "lake" / str(key)
    place.chmod(0o600)
    place.write_bytes(bytes(place.stat().st_size))
    assert tier(lake).unproved == (key,)
    assert len(lake.stored()) == 2


def test_a_store_that_does_not_answer_frees_nothing(lake: Shared) -> None:
    filled(lake)
    tier(lake)
    lake.clock.pass_(hours=2)
    inner = lake.objects
    lake.objects = FaultyObjects(inner, lambda *_: Busy())
    with pytest.raises(ObjectStoreError):
        tier(lake)
    assert len(lake.stored()) == 2
    lake.objects = inner
    assert tier(lake).freed_files == 1


def test_what_the_rule_lets_stay_again_comes_back_while_it_is_on_the_disk(lake: Shared) -> None:
    filled(lake)
    tier(lake)
    assert tier(lake, everything).returned == 1
    assert len(lake.hive()) == 2
    tier(lake)
    lake.clock.pass_(hours=2)
    tier(lake)
    assert tier(lake, everything).returned == 0
    assert lake.rows() == Counter(["new", "old"])


def test_a_pinned_file_stays_until_it_is_let_go(lake: Shared) -> None:
    filled(lake)
    with lake.writer() as writer:
        assert pin(writer, Part(DaySet.of([BEFORE])), is_pinned=True) == 1
        assert pin(writer, is_pinned=True) == 1
        assert pin(writer, is_pinned=True) == 0
    assert tier(lake, none).left == 0
    with lake.writer() as writer:
        pin(writer, Part(DaySet.of([DAY])), is_pinned=False)
    assert tier(lake, none).left == 1
    assert lake.ask("SELECT tp_date FROM files WHERE here = 1") == [(BEFORE.isoformat(),)]


def test_a_snapshot_is_out_of_date_once_files_have_left(lake: Shared) -> None:
    filled(lake)
    with lake.open() as catalog:
        before = catalog.sequence()
    tier(lake)
    with lake.open() as catalog:
        assert catalog.sequence() != before


def test_rejected_rows_stay_here(lake: Shared) -> None:
    lake.collect(["a"], rejected=3)
    lake.push()
    assert tier(lake, none).left == 1
    assert lake.ask("SELECT role FROM files WHERE here = 1") == [("rejected",)]


def test_a_retired_file_waits_for_the_push_of_what_retired_it_but_not_for_ever(lake: Shared) -> None:
    lake.collect(["a"])
    lake.push()
    lake.replace(["b"])
    lake.clock.pass_(hours=2)
    with lake.writer() as writer:
        assert writer.clean().files == 0
    lake.push()
    with lake.writer() as writer:
        assert writer.clean().files == 1
    lake.replace(["c"])
    lake.clock.pass_(hours=UNPUSHED.total_seconds() / 3600)
    with lake.writer() as writer:
        assert writer.clean().files == 1
    assert lake.rows() == Counter("c")


def test_a_file_that_is_in_the_store_alone_is_replaced_and_deleted_like_any_other(lake: Shared) -> None:
    filled(lake)
    tier(lake, none)
    lake.clock.pass_(hours=2)
    tier(lake, none)
    assert lake.stored() == []
    lake.replace(["b"])
    lake.push()
    lake.clock.pass_(hours=2)
    with lake.writer() as writer:
        writer.clean()
    assert lake.rows() == Counter(["b", "old"])
    assert doctor.examine(lake.home, with_checksums=True) == []


def test_a_lost_local_file_is_fetched_from_the_store(lake: Shared) -> None:
    filled(lake)
    for path in (*lake.stored(), *lake.hive()):
        path.unlink()
    findings = [one for one in doctor.examine(lake.home) if one.problem == "missing"]
    assert len(findings) == 2
    assert all("the store has a copy" in one.message for one in findings)
    done = repair(lake.home, fetch=lambda _, key, target: lake.objects.fetch(key, target), host="web-1")
    assert (done.healed, done.remote, done.lost_units) == (2, 0, ())
    assert len(lake.stored()) == len(lake.hive()) == 2
    assert lake.rows() == Counter(["new", "old"])
    assert doctor.examine(lake.home, with_checksums=True) == []


def test_a_damaged_local_file_counts_as_remote_if_the_store_cannot_be_asked(lake: Shared) -> None:
    filled(lake)
    damaged = lake.stored()[0]
    damaged.chmod(0o600)
    damaged.write_bytes(b"?" * damaged.stat().st_size)
    for link in lake.hive():
        if not link.samefile(lake.stored()[1]):
            link.unlink()
    done = repair(lake.home, with_checksums=True, host="web-1")
    assert (done.healed, done.remote, done.lost_units) == (0, 1, ())
    assert lake.rows() == Counter(["new", "old"])
    assert doctor.examine(lake.home, with_checksums=True) == []


def _state(host: Shared) -> list[list[tuple[object, ...]]]:
    return [
        host.ask("SELECT path, key, here, there, state FROM files ORDER BY path"),
        host.ask("SELECT t.name, version FROM pushed JOIN transactions t ON t.id = transaction_id ORDER BY 1"),
        host.ask("SELECT store, version FROM stores"),
        host.ask("SELECT name, number IS NULL, host FROM transactions WHERE sequence IS NOT NULL ORDER BY name"),
        host.ask("SELECT origin, generation, committed_bytes, host FROM artifacts ORDER BY 1, 2"),
        host.ask("SELECT source, state, days FROM coverage ORDER BY 1, 2"),
    ]


def test_a_rebuild_knows_the_store_again_without_asking_it(host: Shared, tmp_path: Path) -> None:
    other = Shared(tmp_path / "two", host.objects, "web-2")
    filled(host)
    other.push()
    other.collect(["theirs"])
    other.push()
    host.push()
    host.replace(["replaced"])
    host.push()
    host.collect(["not pushed"], day=BEFORE)
    tier(host)
    host.clock.pass_(hours=2)
    tier(host)
    for one in (host, other):
        before = _state(one)
        (one.home / ".tailpipe" / "catalog.db").unlink()
        requests = Counter(host.objects.requests)
        rebuild(one.home, clock=one.clock)
        assert Counter(host.objects.requests) == requests
        assert _state(one)[1:] == before[1:]
        live = [row for row in before[0] if row[-1] == "live"]
        assert [row for row in _state(one)[0] if row[-1] == "live"] == live
        assert doctor.examine(one.home, with_checksums=True) == []
    assert host.push().transactions == 1
    assert other.push().pulled == 2
    assert host.rows() == other.rows()


def test_a_rebuild_without_the_copies_of_the_log_learns_them_again_by_a_push(lake: Shared) -> None:
    filled(lake)
    tier(lake)
    lake.clock.pass_(hours=2)
    tier(lake)
    for path in (lake.home / ".tailpipe" / "log").rglob("*.manifest"):
        path.unlink()
    (lake.home / ".tailpipe" / "catalog.db").unlink()
    rebuild(lake.home, clock=lake.clock)
    pushed = lake.push()
    assert (pushed.transactions, pushed.version, pushed.files) == (0, 1, 0)
    assert lake.rows() == Counter(["new", "old"])
    assert doctor.examine(lake.home) == []
