"""Checkpoints: an empty machine is ready after few requests, however long the log is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tailpipe.catalog.doctor import examine
from tailpipe.catalog.rebuild import rebuild
from tailpipe.stores import push as pushes
from tailpipe.stores.keys import checkpoint_key
from tests.object_faults import Busy, FaultyObjects, on_key
from tests.stores.conftest import Shared
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


def test_an_empty_machine_knows_ten_thousand_files_after_few_requests(lake: Shared, tmp_path: Path, often: int) -> None:
    _grow(lake, 0, often - 1)
    with lake.open() as catalog, catalog.database.writing() as connection:  # as if pushed before: objects are not read
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
            " INSERT INTO files SELECT path || '-' || i, partition_id, transaction_id, unit, role, tp_index, tp_date,"
            " rows, bytes, sha256, min_timestamp, max_timestamp, columns_id, state, retired_by, retired_at, 0, 1,"
            " key || '-' || i, NULL, 0 FROM n, (SELECT * FROM files ORDER BY path LIMIT 1)"
        )
    _grow(lake, often - 1, often + 2)
    other = Shared(tmp_path / "web-2", lake.objects, "web-2")
    before = sum(lake.objects.requests.values())
    other.push()
    [(files,)] = other.ask("SELECT count(*) FROM files WHERE state = 'live'")
    assert files == 10_000 + often + 2
    assert sum(lake.objects.requests.values()) - before < 20
