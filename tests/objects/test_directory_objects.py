"""A directory as a place for objects: kills, modes, full disks and file systems that can do less."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tailpipe.errors import ObjectStoreError
from tailpipe.storage.directory_objects import DirectoryObjects
from tailpipe.storage.local import LocalStorage
from tests.users import unprivileged

WRITER = """
import sys
from pathlib import Path
from tailpipe.storage.object_stores import open_objects
open_objects(sys.argv[1]).put_file("data/x", Path(sys.argv[2]), sha256="0" * 64)
"""
_PATIENCE = 60.0


class WithoutLinks(LocalStorage):
    """A file system that has no hard links, such as that of some network shares."""

    def link(self, source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), str(target))

    def rename(self, source: Path, target: Path) -> None:
        time.sleep(0.02)  # for all who have seen that the name is free
        super().rename(source, target)


class ForgetfulLinks(LocalStorage):
    """A file server whose reply is lost, so that the client asks again and finds the name taken."""

    def link(self, source: Path, target: Path) -> None:
        super().link(source, target)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))


class FailingSync(LocalStorage):
    """A disk that fails when directories are synced."""

    def sync(self, path: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))


class FullDisk(LocalStorage):
    """A disk without space for another directory entry."""

    def link(self, source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))


def keys(objects: DirectoryObjects) -> list[str]:
    return [one.key for one in objects.list("")]


def files_in(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_a_killed_writer_leaves_nothing_visible(tmp_path: Path) -> None:
    store, pipe = tmp_path / "store", tmp_path / "pipe"
    store.mkdir()
    os.mkfifo(pipe)
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(store), str(pipe)])
    end = time.monotonic() + _PATIENCE
    with pipe.open("wb", buffering=0) as feed:  # opens when the writer does
        feed.write(bytes(3 * 1024 * 1024))
        while not any(path.stat().st_size for path in (store / ".tailpipe").glob("draft-*")):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    objects = DirectoryObjects(store)
    assert keys(objects) == []
    assert objects.head("data/x") is None
    assert objects.put("data/x", b"whole")
    assert objects.get("data/x") == b"whole"


def test_old_drafts_are_removed_and_fresh_ones_kept(tmp_path: Path) -> None:
    drafts = tmp_path / ".tailpipe"
    drafts.mkdir()
    for name, days in (("draft-old", 8), ("draft-fresh", 6), ("lock", 99)):
        (drafts / name).touch()
        moment = time.time() - days * 86400
        os.utime(drafts / name, (moment, moment))
    DirectoryObjects(tmp_path).put("a", b"")
    assert files_in(tmp_path) == {"a", ".tailpipe/draft-fresh", ".tailpipe/lock"}


def test_files_and_directories_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        objects = DirectoryObjects(tmp_path)
        objects.put("a/b/c", b"")
        objects.replace("a/b/d", b"")
        objects.now()
    finally:
        os.umask(before)
    for path in (tmp_path / "a", tmp_path / "a/b", tmp_path / ".tailpipe"):
        assert path.stat().st_mode & 0o777 == 0o700
    for path in (tmp_path / "a/b/c", tmp_path / "a/b/d"):
        assert path.stat().st_mode & 0o777 == 0o600
    assert files_in(tmp_path) == {"a/b/c", "a/b/d"}


def test_a_directory_that_is_not_mounted_is_no_empty_store(tmp_path: Path) -> None:
    objects = DirectoryObjects(tmp_path / "mount")
    for call in (
        lambda: objects.put("a", b""),
        lambda: objects.replace("a", b""),
        lambda: objects.get("a"),
        lambda: objects.fetch("a", tmp_path / "copy"),
        lambda: objects.head("a"),
        lambda: list(objects.list("log")),
        lambda: objects.delete(["a"]),
        objects.now,
    ):
        with pytest.raises(ObjectStoreError, match="there is no directory") as caught:
            call()
        assert caught.value.location == str(tmp_path / "mount")
        assert "mkdir -p" in caught.value.hint
    assert not (tmp_path / "mount").exists()


def test_without_links_one_of_many_writers_wins(tmp_path: Path) -> None:
    places = [DirectoryObjects(tmp_path, tree=WithoutLinks()) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for race in range(20):
            key = f"x/{race}"
            written = list(pool.map(lambda n, key=key: places[n].put(key, b"%d" % n), range(8)))
            assert written.count(True) == 1
            assert places[0].get(f"x/{race}") == b"%d" % written.index(True)
    assert files_in(tmp_path) == {".tailpipe/lock", *(f"x/{race}" for race in range(20))}


def test_a_link_whose_reply_was_lost_is_our_own(tmp_path: Path) -> None:
    assert DirectoryObjects(tmp_path, tree=ForgetfulLinks()).put("a", b"1")
    assert not DirectoryObjects(tmp_path).put("a", b"2")
    assert files_in(tmp_path) == {"a"}


def test_a_failure_after_the_link_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    DirectoryObjects(tmp_path).now()  # makes the directory of the drafts
    with pytest.raises(ObjectStoreError, match="input/output error") as caught:
        DirectoryObjects(tmp_path, tree=FailingSync()).put("a", b"1")
    assert caught.value.is_unknown
    assert caught.value.key == "a"
    assert DirectoryObjects(tmp_path).get("a") == b"1"


def test_a_full_disk_is_named_and_nothing_stays(tmp_path: Path) -> None:
    with pytest.raises(ObjectStoreError, match=rf'cannot write "{tmp_path}/a": the disk is full') as caught:
        DirectoryObjects(tmp_path, tree=FullDisk()).put("a", b"1")
    assert not caught.value.is_unknown
    assert "free some space" in caught.value.hint
    assert files_in(tmp_path) == set()


def test_a_directory_of_somebody_else_is_refused() -> None:
    with unprivileged() as root:
        objects = DirectoryObjects(root)
        objects.put("open/a", b"")
        (root / "open").chmod(0o500)
        (root / "open/a").chmod(0o000)
        try:
            for call, action in (
                (lambda: objects.put("open/b", b""), "write"),
                (lambda: objects.get("open/a"), "read"),
                (lambda: objects.delete(["open/a"]), "delete"),
            ):
                with pytest.raises(ObjectStoreError, match=f"cannot {action} .*: permission denied") as caught:
                    call()
                assert "writable for this user" in caught.value.hint
                assert not caught.value.is_unknown
        finally:
            (root / "open").chmod(0o700)


def test_a_key_that_no_directory_can_hold_is_named(tmp_path: Path) -> None:
    objects = DirectoryObjects(tmp_path)
    objects.put("a", b"")
    for key in ("a/b", "x" * 300):
        with pytest.raises(ObjectStoreError, match="cannot write") as caught:
            objects.put(key, b"")
        assert "use a bucket" in caught.value.hint
    assert files_in(tmp_path) == {"a"}


def test_writers_and_deleters_of_one_directory_do_not_disturb_each_other(tmp_path: Path) -> None:
    def work(number: int) -> None:
        objects = DirectoryObjects(tmp_path)
        for step in range(100):
            assert objects.put(f"d/e/{number}-{step}", b"")
            objects.delete([f"d/e/{number}-{step}"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert keys(DirectoryObjects(tmp_path)) == []
    assert not (tmp_path / "d").exists()


def test_foreign_names_that_are_no_keys_are_not_listed(tmp_path: Path) -> None:
    (tmp_path / "fine").touch()
    (tmp_path / "line\nbreak").touch()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    assert keys(DirectoryObjects(tmp_path)) == ["fine"]
