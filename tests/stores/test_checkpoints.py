"""Checkpoints: an empty machine is ready after few requests, however long the log is."""

from __future__ import annotations

import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from tailpipe.catalog.doctor import examine
from tailpipe.catalog.rebuild import rebuild
from tailpipe.operations.pull import Pull, pull
from tailpipe.stores import push as pushes
from tailpipe.stores.follow import FAR
from tailpipe.stores.keys import checkpoint_key
from tests.aws.conftest import TestBucket
from tests.aws.proxy import Proxy
from tests.object_faults import Busy, FaultyObjects, on_key
from tests.objects.conftest import remote
from tests.stores.conftest import Shared
from tests.stores.many_files import FIRST, checkpoints, fill, new_machine, pushing
from tests.stores.test_rebase import rows_of, take
from tests.unit.catalog.conftest import PARTITION


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> int:
    """A checkpoint after few versions, because a hundred take long."""
    monkeypatch.setattr(pushes, "CHECKPOINT_EVERY", 25)
    return 25


def _grow(host: Shared, first: int, last: int) -> None:
    for number in range(first, last):
        take(host, [f"s3://b/{number}"])
        host.push(is_fetched=number > first)


def _expected(count: int) -> Counter[str]:
    return rows_of([f"s3://b/{number}" for number in range(count)])


def test_an_empty_machine_reads_the_newest_checkpoint_and_what_came_after_it(
    lake: Shared, tmp_path: Path, often: int
) -> None:
    _grow(lake, 0, often + 3)
    assert [key for key in lake.keys("log") if key.endswith(".checkpoint")] == [checkpoint_key(PARTITION, often)]
    other = Shared(tmp_path / "web-2", lake.objects, "web-2")
    before = Counter(lake.objects.requests)
    other.push()
    spent = Counter(lake.objects.requests) - before
    assert spent == {"get": 1 + 1 + 3, "list": 1}  # the name of the store, the checkpoint, three entries
    assert other.rows() == lake.rows() == _expected(often + 3)
    assert other.ask("SELECT version FROM stores") == [(often + 3,)]
    take(other, ["s3://b/99"])
    other.push()
    lake.push()
    assert lake.rows() == other.rows()
    assert examine(other.home) == []
    rebuild(other.home)
    assert other.rows() == lake.rows()
    assert other.ask("SELECT version FROM stores") == [(often + 4,)]


def test_a_host_that_followed_each_version_rebases_from_the_newest_checkpoint(
    lake: Shared, tmp_path: Path, often: int
) -> None:
    other = Shared(tmp_path / "web-2", lake.objects, "web-2")
    count = often + often // 5
    for number in range(0, count, 10):  # never so far behind that it would read the checkpoint
        _grow(lake, number, number + 10)
        other.push()
    copies = {copy: copy.read_bytes() for copy in (other.home / ".tailpipe" / "log").rglob("*.manifest")}
    for copy in copies:
        copy.unlink()  # so that requests show which entries a rebase reads
    take(lake, ["s3://b/97"])
    take(other, ["s3://b/97", "s3://b/98"])
    lake.push()
    before = Counter(lake.objects.requests)
    [conflict] = other.push().conflicts
    assert conflict.taken == (("web-1", 1),)
    spent = Counter(lake.objects.requests) - before
    assert spent == {"list": 2, "get": 1 + (FAR - 1) + 1, "put": 2}  # and not the whole log
    lake.push()
    assert lake.rows() == other.rows() == _expected(count) + rows_of(["s3://b/97", "s3://b/98"])
    for copy, data in copies.items():
        copy.write_bytes(data)
    assert examine(other.home) == []
    rebuild(other.home)
    assert other.rows() == lake.rows()


def test_a_host_that_is_far_behind_uses_it_too_and_keeps_what_it_has_not_pushed(
    lake: Shared, tmp_path: Path, often: int
) -> None:
    take(lake, ["s3://b/0"])
    lake.push()
    other = Shared(tmp_path / "web-2", lake.objects, "web-2")
    other.push()
    take(other, ["s3://b/5", "s3://b/77"])
    _grow(lake, 1, often + 1)
    before = Counter(lake.objects.requests)
    [conflict] = other.push().conflicts
    assert conflict.taken == (("web-1", 1),)
    assert (Counter(lake.objects.requests) - before)["get"] == 2
    lake.push()
    assert lake.rows() == other.rows() == _expected(often + 1) + rows_of(["s3://b/77"])


def test_without_a_checkpoint_or_with_a_damaged_one_all_entries_are_read(
    lake: Shared, tmp_path: Path, often: int
) -> None:
    objects = lake.objects
    lake.objects = FaultyObjects(objects, _no_checkpoint, sleep=lambda _: None)
    _grow(lake, 0, often + 1)
    lake.objects = objects
    assert not [key for key in lake.keys("log") if key.endswith(".checkpoint")]
    objects.put(checkpoint_key(PARTITION, often), b"not a checkpoint")
    other = Shared(tmp_path / "web-2", objects, "web-2")
    other.push()
    assert other.rows() == _expected(often + 1)


def _no_checkpoint(method: str, key: str, number: int) -> Busy | None:
    fault = on_key("log/", Busy(), methods=["put"])(method, key, number)
    return Busy() if fault is not None and key.endswith(".checkpoint") else None


def test_the_run_that_made_the_tenth_version_puts_a_checkpoint_at_its_end(lake: Shared) -> None:
    for number in range(9):
        take(lake, [f"s3://b/{number}"])
        lake.push()
    with lake.open() as catalog, pushing(lake) as run:
        for number in (9, 10):
            take(lake, [f"s3://b/{number}"])
            with catalog.writer(PARTITION) as writer:
                run.after_commit(writer)
        assert checkpoints(lake) == []
        run.finish(catalog, [PARTITION])
    assert checkpoints(lake) == [checkpoint_key(PARTITION, 11)]
    take(lake, ["s3://b/11"])
    with lake.open() as catalog, pushing(lake) as run:
        run.finish(catalog, [PARTITION])
    assert len(checkpoints(lake)) == 1


@pytest.mark.slow
def test_a_new_machine_needs_few_requests_and_seconds_to_the_first_answer_over_ten_thousand_files(
    bucket: TestBucket, proxy: Proxy, tmp_path: Path
) -> None:
    host = Shared(tmp_path / "web-1", remote(bucket.url, bucket.name, prefix="/lake"))
    fill(host, versions=19, files=10_000)
    machine, begun = new_machine(tmp_path / "reader", proxy.url, bucket.name), time.process_time()
    [done] = pull(machine.home, Pull())
    assert (done.version, done.error) == (19, "")
    day = FIRST + timedelta(days=18)
    answer = machine.query(f"SELECT count(*) AS n FROM app_log WHERE tp_date = DATE '{day}'").to_pylist()
    assert answer == [{"n": 2}]
    assert machine.query("SELECT count(*) AS n FROM tp_catalog.files").to_pylist() == [{"n": 10_000 + 19}]
    assert len(proxy.asked) < 20, [(one.method, one.path) for one in proxy.asked]
    assert (
        time.process_time() - begun + 0.02 * len(proxy.asked) < 5
    )  # as if each request took 20 ms and nothing else ran
