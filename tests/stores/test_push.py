"""Pushing a partition: what goes up, in how many requests, and what becomes of faults on the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tailpipe.catalog.log_entry import read_entry
from tailpipe.errors import ObjectStoreError, StorageError, TailpipeError
from tailpipe.model.coverage import DaySet
from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.objects import Objects
from tailpipe.stores.keys import data_key
from tailpipe.stores.push import Progress, preview, push
from tailpipe.stores.upload import Limits, is_proved
from tests.object_faults import Busy, CutBody, FaultyObjects, Kill, KilledError, Lost, Plan, Slow, on_key
from tests.stores.conftest import Shared
from tests.unit.catalog.conftest import DAY, PARTITION

BEFORE = date(2024, 1, 30)


def _counted(objects: Objects, before: Counter[str]) -> Counter[str]:
    return Counter(objects.requests) - before


def _faulty(host: Shared, plan: Plan) -> FaultyObjects:
    faulty = FaultyObjects(host.objects, plan, sleep=lambda _: None)
    host.objects = faulty
    return faulty


def _other(host: Shared, tmp_path: Path, name: str = "web-2") -> Shared:
    objects = host.objects.inner if isinstance(host.objects, FaultyObjects) else host.objects
    return Shared(tmp_path / name, objects, name)


def test_the_first_push_brings_all_live_files_and_an_image(host: Shared, tmp_path: Path) -> None:
    host.collect(["a"], rejected=2)
    host.collect(["b", "c"], day=BEFORE)
    pushed = host.push()
    assert (pushed.version, pushed.transactions, pushed.files) == (1, 2, 3)
    assert host.keys("log") == [f"log/{PARTITION}/0000000001.manifest"]
    assert len(host.keys("data")) == 2
    assert len(host.keys("rejected")) == 1
    other = _other(host, tmp_path)
    assert other.push().pulled == 3  # the image is one too
    assert other.rows() == host.rows() == Counter("abc")
    assert other.ask("SELECT DISTINCT here, there FROM files") == [(0, 1)]
    assert host.ask("SELECT DISTINCT here, there FROM files") == [(1, 1)]


def test_what_is_in_an_image_and_names_no_host_is_of_the_one_that_pushed_it(host: Shared, tmp_path: Path) -> None:
    before = replace(host, host="web-1")
    with before.open() as catalog:
        catalog.database.connection.execute("DELETE FROM facts WHERE name LIKE 'host:%'")
    host.collect(["a"])
    with host.open() as catalog, catalog.database.writing() as connection:
        connection.execute("UPDATE artifacts SET host = NULL, origin = '/var/log/a.log'")
        connection.execute("UPDATE coverage SET source = 'file'")
        connection.execute("UPDATE frontiers SET source = 'file'")
    host.push()
    other = _other(host, tmp_path)
    other.push()
    assert other.ask("SELECT host FROM artifacts") == [("web-1",)]
    assert other.ask("SELECT DISTINCT source FROM coverage") == [("file@web-1",)]
    assert other.ask("SELECT DISTINCT number FROM transactions") == [(None,)]
    with other.open() as catalog:
        assert catalog.coverage(PARTITION) == {}


def test_later_pushes_bring_transactions_and_what_came_and_went_stays_away(host: Shared, tmp_path: Path) -> None:
    host.collect(["a"])
    host.push()
    host.collect(["b"])
    host.replace(["c", "d"])  # retires the files of a, which is pushed, and of b, which is not
    pushed = host.push()
    assert (pushed.version, pushed.transactions, pushed.files) == (2, 2, 1)
    assert len(host.keys("data")) == 2  # those of a stay for the history
    other = _other(host, tmp_path)
    other.push()
    assert other.rows() == host.rows() == Counter("cd")
    assert other.ask("SELECT count(*) FROM files WHERE there = 0") == [(1,)]


def test_a_push_of_k_files_takes_k_and_two_requests_and_nothing_to_do_takes_one(host: Shared) -> None:
    host.collect(["a"])
    host.push()
    for number in range(5):
        host.collect([f"x{number}"], day=BEFORE)
    before = Counter(host.objects.requests)
    assert host.push().files == 5
    assert _counted(host.objects, before) == {"put": 6, "list": 1}
    before = Counter(host.objects.requests)
    assert host.push().transactions == 0
    assert _counted(host.objects, before) == {"list": 1}


def test_after_a_fetch_a_push_needs_no_listing(host: Shared) -> None:
    host.collect(["a"])
    host.push()
    host.collect(["b"])
    before = Counter(host.objects.requests)
    host.push(is_fetched=True)
    assert _counted(host.objects, before) == {"put": 2}
    before = Counter(host.objects.requests)
    host.push(is_fetched=True)
    assert not _counted(host.objects, before)


def test_a_preview_says_what_a_push_will_do_without_a_request(host: Shared) -> None:
    host.collect(["a"])
    host.collect(["b"])
    before = Counter(host.objects.requests)
    with host.open() as catalog:
        told = preview(catalog, PARTITION, host.target())
    assert not _counted(host.objects, before)
    pushed = host.push()
    assert (told.transactions, told.files, told.size) == (pushed.transactions, pushed.files, pushed.size)
    assert told.requests >= sum(_counted(host.objects, before).values())
    with host.open() as catalog:
        told = preview(catalog, PARTITION, host.target())
        assert (told.transactions, told.files, told.requests, told.since) == (0, 0, 1, None)
        assert preview(catalog, "t.unknown", host.target()).transactions == 0


def test_progress_counts_files_and_bytes(lake: Shared) -> None:
    for number in range(3):
        lake.collect([f"x{number}"])
    seen: list[Progress] = []
    with lake.writer() as writer:
        pushed = push(writer, replace(lake.target(), emit=seen.append))
    assert (seen[-1].files, seen[-1].size) == (seen[-1].total_files, seen[-1].total_size) == (3, pushed.size)


def test_deletions_and_coverage_travel(host: Shared, tmp_path: Path) -> None:
    host.collect(["a"])
    host.collect(["b"], day=BEFORE)
    host.push()
    with host.writer() as writer:
        writer.delete(DaySet.of([BEFORE]))
    host.push()
    other = _other(host, tmp_path)
    other.push()
    assert other.rows() == Counter("a")
    states = "SELECT state, days FROM coverage ORDER BY state"
    assert other.ask(states) == host.ask(states)


def test_hosts_with_different_artifacts_both_land(host: Shared, tmp_path: Path) -> None:
    other = _other(host, tmp_path)
    host.collect(["a"])
    host.push()
    other.push()
    other.collect(["b"])
    host.collect(["c"])
    assert other.push().version == 2
    pushed = host.push(is_fetched=True)  # it is late: its number is taken
    assert (pushed.version, pushed.pulled) == (3, 1)
    other.push()
    assert host.rows() == other.rows() == Counter("abc")
    assert other.ask("SELECT max(version) FROM stores") == [(3,)]


@pytest.mark.parametrize("fault", [Lost(), Busy(), CutBody(), Slow(0)])
def test_a_fault_at_the_commit_is_resolved_by_reading(host: Shared, tmp_path: Path, fault: Lost | Busy) -> None:
    host.collect(["a"])
    faulty = _faulty(host, on_key("log/", fault, methods=["put"]))
    assert host.push().version == 1
    assert len(faulty.faults) == 1
    assert host.keys("log") == [f"log/{PARTITION}/0000000001.manifest"]
    assert host.push().transactions == 0


@pytest.mark.parametrize("fault", [Lost(), Busy(), CutBody(), Slow(0)])
def test_a_fault_of_an_upload_is_tried_again(host: Shared, tmp_path: Path, fault: Lost | Busy) -> None:
    host.collect(["a"])
    host.collect(["b"])
    faulty = _faulty(host, on_key("data/", fault, methods=["put_file"], times=2))
    assert host.push().files == 2
    assert len(faulty.faults) == 2
    other = _other(host, tmp_path)
    other.push()
    assert other.rows() == Counter("ab")


@pytest.mark.parametrize("fault", [Lost(), Busy()])
def test_what_makes_a_location_a_store_survives_a_fault(host: Shared, fault: Lost | Busy) -> None:
    host.collect(["a"])
    _faulty(host, on_key("tailpipe.json", fault, methods=["put"]))
    assert host.push().version == 1
    assert host.keys("tailpipe.json") == []  # it is an object, not a prefix
    assert b'"format": 1' in host.objects.get("tailpipe.json")


def test_a_push_whose_commit_was_not_heard_of_is_recognised_by_the_next(host: Shared) -> None:
    host.collect(["a"])
    host.push()
    host.collect(["b"])
    _faulty(host, on_key("log/", Kill(is_done=True), methods=["put"]))
    with pytest.raises(KilledError):
        host.push()
    assert host.ask("SELECT count(*) FROM pushed") == [(1,)]
    host.collect(["c"])
    pushed = host.push(is_fetched=True)  # even if nobody looks before
    assert (pushed.version, pushed.transactions, pushed.pulled) == (3, 1, 0)
    assert host.rows() == Counter("abc")


def test_an_unreachable_store_leaves_all_as_it_was_and_says_what_to_do(host: Shared) -> None:
    host.collect(["a"])
    _faulty(host, lambda *_: Busy())
    with pytest.raises(ObjectStoreError) as caught:
        host.push()
    assert caught.value.hint
    assert host.ask("SELECT count(*) FROM pushed") == [(0,)]
    host.objects = host.objects.inner  # type: ignore[attr-defined]
    assert host.push().version == 1


def test_what_was_uploaded_before_a_push_failed_is_not_sent_again(host: Shared) -> None:
    for number in range(4):
        host.collect([f"x{number}"])
    faulty = _faulty(host, on_key("log/", Busy(), methods=["put"], times=100))
    with pytest.raises(ObjectStoreError):
        host.push()
    assert host.ask("SELECT count(*) FROM files WHERE key IS NOT NULL AND there = 0") == [(4,)]
    host.objects = faulty.inner
    before = Counter(host.objects.requests)
    host.push()
    counted = _counted(host.objects, before)
    assert (counted["put"], counted["head"]) == (1, 4)


def test_an_object_with_other_bytes_in_the_way_is_named(lake: Shared) -> None:
    lake.collect(["a"])
    [(path,)] = lake.ask("SELECT path FROM files")
    key = data_key(lake.partition_by, PARTITION, "a", DAY, Path(str(path)).name)
    lake.objects.put(key, b"something else")
    with pytest.raises(ObjectStoreError, match="differs from"):
        lake.push()
    assert lake.keys("log") == []


def test_a_damaged_local_file_never_goes_up(lake: Shared) -> None:
    lake.collect(["a"])
    [stored] = lake.stored()
    stored.chmod(0o600)
    stored.write_bytes(b"x" * stored.stat().st_size)
    with pytest.raises(ObjectStoreError, match="SHA-256"):
        lake.push()
    assert lake.keys("data") == []
    stored.unlink()
    with pytest.raises(StorageError, match="cannot read"):
        lake.push()
    assert lake.keys("log") == []


def test_another_store_under_the_same_name_is_refused(lake: Shared, tmp_path: Path) -> None:
    lake.collect(["a"])
    lake.push()
    (tmp_path / "elsewhere").mkdir()
    lake.objects = open_objects(str(tmp_path / "elsewhere"))
    lake.collect(["b"])
    with pytest.raises(ObjectStoreError, match="is not the store"):
        lake.push()
    assert lake.keys("log") == []


def test_a_store_that_was_moved_is_the_same_store(lake: Shared, tmp_path: Path) -> None:
    lake.collect(["a"])
    lake.push()
    (tmp_path / "lake").rename(tmp_path / "moved")
    lake.objects = open_objects(str(tmp_path / "moved"))
    lake.collect(["b"])
    assert lake.push().version == 2


def test_a_log_with_a_hole_is_refused(lake: Shared, tmp_path: Path) -> None:
    for name in "abc":
        lake.collect([name])
        lake.push()
    lake.objects.delete([f"log/{PARTITION}/0000000002.manifest"])
    other = _other(lake, tmp_path)
    with pytest.raises(ObjectStoreError, match=r"0000000002\.manifest.*is missing"):
        other.push()
    assert other.rows() == Counter("a")


def test_a_lost_manifest_is_made_good_by_an_image(lake: Shared, tmp_path: Path) -> None:
    lake.collect(["a"])
    lake.push()
    lake.collect(["b"])
    for path in (lake.home / ".tailpipe" / "manifests").glob("*.manifest"):
        path.unlink()
    lake.push()
    entry = read_entry(lake.objects.get(f"log/{PARTITION}/0000000002.manifest"), 2, "x")
    assert entry.is_whole
    assert lake.push().transactions == 0


def test_keys_follow_partition_by_and_stay_what_they_were(lake: Shared) -> None:
    lake.partition_by = ("tp_table", "tp_year", "tp_month", "tp_partition")
    lake.collect(["a"])
    lake.push()
    lake.partition_by = ("tp_table", "tp_date")
    lake.collect(["b"])
    lake.push()
    keys = [str(key).rpartition("/")[0] for (key,) in lake.ask("SELECT key FROM files ORDER BY path")]
    assert sorted(keys) == [
        "data/app_log/tp_date-2024-01-31",
        "data/app_log/tp_year-2024/tp_month-01/tp_partition-prod",
    ]
    assert lake.rows() == Counter("ab")


def test_a_rate_is_kept_on_average(lake: Shared) -> None:
    for number in range(4):
        lake.collect([f"x{number}"])
    moments, slept = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)

    limits = Limits(bytes_per_second=1000, clock=lambda: moments[0], sleep=sleep)
    with lake.writer() as writer:
        pushed = push(writer, lake.target(limits))
    # The last of four files waits for the first three.
    assert max(slept) == pytest.approx(pushed.size * 3 / 4 / 1000, rel=0.1)


def test_a_push_ends_when_its_time_is_over_and_the_next_goes_on(lake: Shared) -> None:
    for number in range(3):
        lake.collect([f"x{number}"])
    ticks = iter(range(1000))
    limits = Limits(seconds=2.5, clock=lambda: float(next(ticks)), sleep=lambda _: None)
    with lake.writer() as writer, pytest.raises(TailpipeError, match=r"longer than 2\.5 seconds"):
        push(writer, lake.target(limits))
    assert lake.keys("log") == []
    assert lake.push().version == 1
    assert lake.rows() == Counter({"x0": 1, "x1": 1, "x2": 1})


def test_proof_needs_size_and_checksum(host: Shared, tmp_path: Path) -> None:
    from hashlib import sha256

    (tmp_path / "file").write_bytes(b"abc")
    digest = sha256(b"abc").hexdigest()
    host.objects.put_file("data/x", tmp_path / "file", sha256=digest)
    assert is_proved(host.objects, "data/x", 3, digest)
    assert not is_proved(host.objects, "data/x", 4, digest)
    assert not is_proved(host.objects, "data/x", 3, "0" * 64)
    assert not is_proved(host.objects, "data/y", 3, digest)
