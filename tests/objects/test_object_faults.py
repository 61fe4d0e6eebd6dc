"""The faults that other tests rely on: what happened, and what the caller is told of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tailpipe.errors import ObjectStoreError
from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.objects import Objects
from tests.object_faults import Busy, CutBody, FaultyObjects, Kill, KilledError, Lost, Slow, on_key, script, seeded


@pytest.fixture
def place(tmp_path: Path) -> Objects:
    (tmp_path / "store").mkdir()
    return open_objects(str(tmp_path / "store"))


def test_a_lost_reply_hides_a_write_that_happened(place: Objects) -> None:
    faulty = FaultyObjects(place, script({("put", 1): Lost()}))
    assert faulty.put("a", b"1")
    with pytest.raises(ObjectStoreError) as caught:
        faulty.put("b", b"2")
    assert caught.value.is_unknown
    assert place.get("b") == b"2"
    assert not faulty.put("b", b"2")
    assert [key for _, key, _ in faulty.faults] == ["b"]


def test_a_busy_server_and_a_cut_body_write_nothing(place: Objects, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"file")
    faulty = FaultyObjects(place, script({("put", 0): Busy(), ("put_file", 0): CutBody(2)}))
    with pytest.raises(ObjectStoreError) as caught:
        faulty.put("a", b"1")
    assert caught.value.is_unknown
    with pytest.raises(ObjectStoreError) as caught:
        faulty.put_file("b", tmp_path / "f", sha256=hashlib.sha256(b"file").hexdigest())
    assert caught.value.is_unknown
    assert list(faulty.list("")) == []


def test_a_copy_that_is_cut_has_the_first_bytes(place: Objects, tmp_path: Path) -> None:
    place.put("a", b"0123456789")
    faulty = FaultyObjects(place, on_key("a", CutBody(4), methods=["fetch"]))
    with pytest.raises(ObjectStoreError) as caught:
        faulty.fetch("a", tmp_path / "copy")
    assert not caught.value.is_unknown
    assert (tmp_path / "copy").read_bytes() == b"0123"
    assert faulty.fetch("a", tmp_path / "copy") == hashlib.sha256(b"0123456789").hexdigest()


def test_a_writer_is_killed_before_or_after(place: Objects) -> None:
    faulty = FaultyObjects(place, script({("put", 0): Kill(), ("put", 1): Kill(is_done=True)}))
    for key in ("before", "after"):
        with pytest.raises(KilledError):
            faulty.put(key, b"")
    assert [one.key for one in faulty.list("")] == ["after"]


def test_slowness_waits_and_goes_on(place: Objects) -> None:
    waited: list[float] = []
    faulty = FaultyObjects(place, script({("put", 0): Slow(3.0)}), sleep=waited.append)
    assert faulty.put("a", b"")
    assert waited == [3.0]


def test_faults_by_chance_are_the_same_each_time(place: Objects) -> None:
    plan = seeded(7, 0.3, [Lost(), Busy()])
    first = [plan("put", "", number) for number in range(100)]
    assert first == [seeded(7, 0.3, [Lost(), Busy()])("put", "", number) for number in range(100)]
    assert first != [seeded(8, 0.3, [Lost(), Busy()])("put", "", number) for number in range(100)]
    assert 10 < sum(one is not None for one in first) < 60
    assert {Lost(), Busy(), None} == set(first)
