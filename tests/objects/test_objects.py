"""What every place for objects promises, whether it is a directory, a bucket or a container."""

from __future__ import annotations

import hashlib
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from tailpipe.errors import ObjectStoreError
from tailpipe.storage.objects import Objects
from tailpipe.storage.remote_objects import SINGLE_PUT_BYTES, RemoteObjects
from tests.objects.conftest import Open

ODD = [
    "tp_index=a%2Fb/tp_date=2024-01-01/part.parquet",
    "tp_index=a%252Fb/x",
    "with space/and + plus",
    "ünïcode/日本/😀",
    "a?x-id=PutObject&s3_endpoint=evil.example",
    "a#fragment",
    "a;b,c:d'e\"f",
    "[x]{y}<z>*~^`|",
    "..double",
    "dots../...",
    ".hidden",
    "%",
    "%zz",
]


def keys(objects: Objects, prefix: str, after: str | None = None) -> list[str]:
    return [one.key for one in objects.list(prefix, after=after)]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_an_object_is_put_once_and_stays(objects: Objects, opened: Open) -> None:
    assert objects.put("log/t.p/0000000001.manifest", b"first")
    assert not objects.put("log/t.p/0000000001.manifest", b"second")
    assert opened().get("log/t.p/0000000001.manifest") == b"first"


def test_parts_of_an_object_are_read_as_of_a_file(objects: Objects) -> None:
    objects.put("a/b", b"0123456789")
    assert objects.get("a/b", 3) == b"3456789"
    assert objects.get("a/b", 3, 4) == b"3456"
    assert objects.get("a/b", 8, 100) == b"89"
    assert objects.get("a/b", 10) == b""
    assert objects.get("a/b", 50, 5) == b""
    assert objects.get("a/b", 2, 0) == b""


def test_an_object_without_bytes_is_an_object(objects: Objects, tmp_path: Path) -> None:
    assert objects.put("a/empty", b"")
    assert not objects.put("a/empty", b"x")
    assert objects.get("a/empty") == b""
    assert objects.get("a/empty", 0, 10) == b""
    assert objects.fetch("a/empty", tmp_path / "copy") == sha256(b"")
    found = objects.head("a/empty")
    assert found is not None
    assert found.size == 0


def test_what_does_not_exist_is_absent(objects: Objects, tmp_path: Path) -> None:
    objects.put("a/b", b"x")
    for key in ("nothing", "a", "a/b/c", "a/bc"):
        assert objects.head(key) is None
        for start, length in ((0, None), (5, 10), (0, 0)):
            with pytest.raises(FileNotFoundError):
                objects.get(key, start, length)
        with pytest.raises(FileNotFoundError):
            objects.fetch(key, tmp_path / "copy")
    assert keys(objects, "nothing") == []
    assert keys(objects, "a/b") == []


def test_facts_of_an_object(objects: Objects) -> None:
    before = objects.now()
    objects.put("a/b", b"hello")
    found = objects.head("a/b")
    assert found is not None
    assert (found.key, found.size) == ("a/b", 5)
    assert found.modified.tzinfo is UTC
    assert before - timedelta(seconds=1) <= found.modified <= objects.now() + timedelta(seconds=1)
    assert found.sha256 == (sha256(b"hello") if isinstance(objects, RemoteObjects) else None)
    (listed,) = objects.list("a")
    assert (listed.key, listed.size, listed.etag) == ("a/b", 5, found.etag)


def test_derived_objects_are_replaced(objects: Objects) -> None:
    objects.replace("tags/q1.json", b"{}")
    first = objects.head("tags/q1.json")
    objects.replace("tags/q1.json", b"{more}")
    second = objects.head("tags/q1.json")
    assert objects.get("tags/q1.json") == b"{more}"
    assert first is not None
    assert second is not None
    assert first.etag != second.etag
    assert keys(objects, "") == ["tags/q1.json"]


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_a_file_becomes_an_object_and_a_file_again(objects: Objects, tmp_path: Path, size: int) -> None:
    source, data = tmp_path / "source", os.urandom(size)
    source.write_bytes(data)
    source.chmod(0o400)
    assert objects.put_file("data/x.parquet", source, sha256=sha256(data))
    assert not objects.put_file("data/x.parquet", source, sha256=sha256(data))
    assert objects.fetch("data/x.parquet", tmp_path / "copy") == sha256(data)
    assert (tmp_path / "copy").read_bytes() == data
    assert source.exists()


def test_a_large_file_goes_up_in_parts(objects: Objects, tmp_path: Path) -> None:
    source, data = tmp_path / "source", os.urandom(1024) * (SINGLE_PUT_BYTES // 1024) + b"more"
    source.write_bytes(data)
    assert objects.put_file("data/large", source, sha256=sha256(data))
    if isinstance(objects, RemoteObjects):
        assert objects.requests == {"head": 1, "put": 2 + 9}
    assert not objects.put_file("data/large", source, sha256=sha256(data))
    found = objects.head("data/large")
    assert found is not None
    assert found.size == len(data)
    assert found.sha256 == (sha256(data) if isinstance(objects, RemoteObjects) else None)
    assert objects.get("data/large", SINGLE_PUT_BYTES - 2, 100) == data[-6:]
    assert objects.fetch("data/large", tmp_path / "copy") == sha256(data)


def test_bytes_that_are_not_those_recorded_are_refused(objects: Objects, tmp_path: Path) -> None:
    source = tmp_path / "source"
    for size in (10, SINGLE_PUT_BYTES + 1):
        source.write_bytes(bytes(size))
        with pytest.raises(ObjectStoreError, match="do not match their recorded SHA-256") as caught:
            objects.put_file("data/x", source, sha256=sha256(b"other"))
        assert not caught.value.is_unknown
    with pytest.raises(ObjectStoreError, match="do not match their recorded SHA-256"):
        objects.put("data/x", b"one", sha256=sha256(b"other"))
    assert keys(objects, "") == []


def test_a_local_file_that_does_not_exist_is_no_fault_of_the_store(objects: Objects, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing"):
        objects.put_file("data/x", tmp_path / "nothing", sha256=sha256(b""))
    objects.put("data/y", b"x")
    with pytest.raises(FileNotFoundError, match="no-directory"):
        objects.fetch("data/y", tmp_path / "no-directory" / "y")


def test_of_eight_writers_one_wins(objects: Objects, opened: Open, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for number in range(8):
        (tmp_path / "files" / str(number)).write_bytes(b"%d" % number)
    places = [opened() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda n: places[n].put("log/t/1", b"%d" % n), range(8)))
        from_files = list(
            pool.map(
                lambda n: places[n].put_file("d/1", tmp_path / "files" / str(n), sha256=sha256(b"%d" % n)), range(8)
            )
        )
    assert written.count(True) == 1
    assert objects.get("log/t/1") == b"%d" % written.index(True)
    assert from_files.count(True) == 1
    assert objects.get("d/1") == b"%d" % from_files.index(True)
    assert keys(objects, "") == ["d/1", "log/t/1"]


@pytest.mark.parametrize("key", ODD)
def test_odd_keys_are_taken_as_they_are(objects: Objects, key: str, tmp_path: Path) -> None:
    assert objects.put(f"odd/{key}", key.encode())
    assert not objects.put(f"odd/{key}", b"")
    assert objects.get(f"odd/{key}") == key.encode()
    objects.fetch(f"odd/{key}", tmp_path / "copy")
    found = objects.head(f"odd/{key}")
    assert found is not None
    assert found.key == f"odd/{key}"
    assert keys(objects, "odd/") == [f"odd/{key}"]
    objects.delete([f"odd/{key}"])
    assert keys(objects, "") == []


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/a",
        "a/",
        "a//b",
        "..",
        "a/../b",
        "./a",
        "a/.",
        "a\0b",
        "a\nb",
        "a\\b",
        "a\udcffb",
        "x" * 1025,
        ".tailpipe/x",
    ],
)
def test_keys_that_could_name_something_else_are_refused(objects: Objects, key: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    for call in (
        lambda: objects.put(key, b""),
        lambda: objects.put_file(key, tmp_path / "f", sha256=sha256(b"")),
        lambda: objects.replace(key, b""),
        lambda: objects.get(key),
        lambda: objects.fetch(key, tmp_path / "copy"),
        lambda: objects.head(key),
        lambda: objects.delete([key]),
        lambda: list(objects.list("", after=key)),
    ):
        with pytest.raises(ObjectStoreError, match="is not a valid object key") as caught:
            call()
        assert caught.value.hint
    assert not objects.requests


def test_a_listing_is_in_the_order_of_keys(objects: Objects) -> None:
    names = ["a/b", "a-b", "a.b", "a0", "B", "é", "z/1", "z-1", "z/0/9", "😀", "\uffee"]
    for name in names:
        objects.put(f"p/{name}", b"")
    objects.put("pp/x", b"")
    objects.put("o", b"")
    expected = sorted(f"p/{name}" for name in names)
    assert keys(objects, "p") == keys(objects, "p/") == expected
    assert keys(objects, "") == ["o", *expected, "pp/x"]
    assert keys(objects, "p/z") == ["p/z/0/9", "p/z/1"]


def test_a_listing_begins_after_a_key(objects: Objects) -> None:
    for version in range(1, 13):
        objects.put(f"log/t/{version:010}", b"")
    objects.put("log/u/0000000001", b"")
    assert keys(objects, "log/t", "log/t/0000000010") == ["log/t/0000000011", "log/t/0000000012"]
    assert keys(objects, "log/t", "log/t/00000000095")[0] == "log/t/0000000010"
    assert keys(objects, "log/t", "log/t/0000000012") == []
    assert keys(objects, "log", "log/t/0000000012") == ["log/u/0000000001"]
    assert len(keys(objects, "log/t", "a")) == 12


def test_more_objects_than_a_page_are_listed_and_deleted(objects: Objects) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(lambda n: objects.put(f"many/{n:05}", b""), range(1100)))
    assert objects.requests["put"] == 1100
    assert keys(objects, "many") == [f"many/{n:05}" for n in range(1100)]
    assert keys(objects, "many", "many/01097") == ["many/01098", "many/01099"]
    objects.delete(f"many/{n:05}" for n in range(1099))
    assert keys(objects, "") == ["many/01099"]


def test_deleting_what_does_not_exist_is_fine(objects: Objects) -> None:
    for name in ("a", "b/c", "b/d"):
        objects.put(name, b"")
    objects.delete(["a", "nothing", "b/c", "b/c", "b/c/x", "no/where"])
    assert keys(objects, "") == ["b/d"]
    objects.delete([])
    objects.delete(["b/d"])
    assert keys(objects, "") == []
    assert objects.put("b/d/e", b"where an object was, there may be objects below")


def test_requests_are_counted(objects: Objects) -> None:
    objects.put("a", b"")
    objects.put("a", b"")
    objects.get("a")
    objects.head("a")
    list(objects.list(""))
    objects.delete(["a"])
    assert objects.requests == {"put": 2, "get": 1, "head": 1, "list": 1, "delete": 1}


def test_the_clock_is_never_listed(objects: Objects) -> None:
    first = objects.now()
    assert first.tzinfo is UTC
    assert objects.now() >= first
    assert keys(objects, "") == []


def test_the_error_survives_pickling() -> None:
    error = ObjectStoreError("cannot", location="s3://x", key="a", is_unknown=True, hint="go on")
    again = pickle.loads(pickle.dumps(error))
    assert (again.message, again.location, again.key, again.is_unknown, again.hint) == (
        "cannot",
        "s3://x",
        "a",
        True,
        "go on",
    )
