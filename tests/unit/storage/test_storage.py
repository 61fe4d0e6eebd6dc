"""What every storage does: the same cases on the local disk and on one that has neither directories nor a rename."""

from __future__ import annotations

import ast
import hashlib
import re
import threading
from pathlib import Path

import pytest

import tailpipe.catalog
from tailpipe.storage.local import LocalStorage
from tailpipe.storage.storage import Storage
from tests.crash.disks import NoLinks
from tests.storages import MemoryStorage


@pytest.fixture(params=[LocalStorage, NoLinks, MemoryStorage])
def storage(request: pytest.FixtureRequest) -> Storage:
    made: Storage = request.param()
    return made


def test_an_object_is_put_read_in_parts_listed_and_deleted(storage: Storage, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "one"
    assert not storage.exists(path)
    assert list(storage.objects(tmp_path)) == []
    assert storage.put(path, b"0123456789")
    assert storage.exists(path)
    assert (storage.read(path), storage.read(path, 3), storage.read(path, 3, 4)) == (b"0123456789", b"3456789", b"3456")
    assert storage.size(path) == 10
    assert storage.checksum(path) == hashlib.sha256(b"0123456789").hexdigest()
    storage.put(tmp_path / "a" / "two", b"")
    assert sorted(storage.objects(tmp_path)) == sorted([path, tmp_path / "a" / "two"])
    assert list(storage.objects(tmp_path / "a" / "b")) == [path]
    storage.delete(path)
    storage.delete(path)
    assert list(storage.objects(tmp_path)) == [tmp_path / "a" / "two"]
    assert storage.free(tmp_path) > 0


def test_what_does_not_exist_is_not_found(storage: Storage, tmp_path: Path) -> None:
    for ask in (storage.read, storage.size, storage.checksum):
        with pytest.raises(FileNotFoundError):
            ask(tmp_path / "nothing")


def test_an_object_is_replaced_unless_it_must_be_absent(storage: Storage, tmp_path: Path) -> None:
    path = tmp_path / "one"
    assert storage.put(path, b"first", if_absent=True)
    assert not storage.put(path, b"second", if_absent=True)
    assert storage.read(path) == b"first"
    assert storage.put(path, b"third")
    assert storage.read(path) == b"third"
    assert list(storage.objects(tmp_path)) == [path]


@pytest.mark.parametrize("if_absent", [False, True])
def test_a_finished_file_becomes_an_object(
    storage: Storage, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, if_absent: bool
) -> None:
    staged, path = tmp_path_factory.mktemp("staging") / "staged", tmp_path / "a" / "one"
    staged.write_bytes(b"rows")
    changed = storage.prepare(path)
    assert storage.put_file(staged, path, if_absent=if_absent)
    storage.settle(changed)
    assert storage.read(path) == b"rows"
    assert not staged.exists()
    staged.write_bytes(b"other")
    assert storage.put_file(staged, path, if_absent=if_absent) is not if_absent
    assert storage.read(path) == (b"rows" if if_absent else b"other")


def test_of_many_who_put_one_absent_object_one_succeeds(tmp_path: Path) -> None:
    storage, won = LocalStorage(), []
    start = threading.Barrier(8)

    def put(number: int) -> None:
        start.wait()
        if storage.put(tmp_path / "one", str(number).encode(), if_absent=True):
            won.append(number)

    threads = [threading.Thread(target=put, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(number).encode() for number in won] == [storage.read(tmp_path / "one")]
    assert list(storage.objects(tmp_path)) == [tmp_path / "one"]


def test_a_lock_is_held_by_one_or_shared_by_many(tmp_path: Path) -> None:
    tree, path = LocalStorage(), tmp_path / "lock"
    alone = tree.lock(path)
    alone.sign(b"it is mine")
    assert tree.read(path) == b"it is mine"
    for is_shared in (False, True):
        with pytest.raises(BlockingIOError):
            tree.lock(path, is_shared=is_shared)
    alone.release()
    shared = [tree.lock(path, is_shared=True) for _ in range(2)]
    with pytest.raises(BlockingIOError):
        tree.lock(path)
    for one in shared:
        one.release()
    tree.lock(path).release()


FILE_CALLS = re.compile(
    "chmod|exists|glob|is_dir|is_file|iterdir|lstat|mkdir|open|read_bytes|read_text|rename|rglob|rmdir|samefile|stat"
    "|symlink_to|touch|unlink|walk|write_bytes|write_text|fsync|flock|listdir|scandir|lexists|copyfile|rmtree"
)
ALLOWED = {
    ("home", "exists"),  # of catalog.db, which SQLite opens
    ("database", "stat"),
    ("database", "chmod"),
    ("database", "exists"),
    ("rebuild", "exists"),
    ("root_facts", "read_text"),  # of the mark of another disk
    ("snapshot", "exists"),
    ("verify", "is_file"),  # of what a task has staged
    ("verify", "stat"),
}


def test_the_catalog_touches_files_through_its_storage_alone() -> None:
    found = set()
    for path in Path(tailpipe.catalog.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner, name = ast.unparse(node.func.value).rpartition(".")[2], node.func.attr
                if FILE_CALLS.fullmatch(name) and owner not in ("storage", "tree", "Catalog"):
                    found.add((path.stem, name))
    assert found - ALLOWED == set()
    assert ALLOWED - found == set()
