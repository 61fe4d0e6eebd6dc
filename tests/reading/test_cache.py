"""The cache: checked, bounded, for several processes, and never taken from a query that runs."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from tailpipe.errors import ObjectStoreError, StorageError
from tailpipe.stores import cache as cache_module
from tailpipe.stores.cache import Cache


def add(cache: Cache, data: bytes, directory: Path, *, claimed: bytes | None = None) -> str:
    """Let a store give these bytes."""
    digest = hashlib.sha256(claimed or data).hexdigest()

    def fetch(target: Path) -> str:
        target.write_bytes(data)
        return hashlib.sha256(data).hexdigest()

    cache.add(digest, len(claimed or data), directory / digest, fetch, "s3://bucket/key")
    return digest


def entries(cache: Cache) -> set[str]:
    return {path.name for path in cache.directory.iterdir() if len(path.name) == 64}


def age(cache: Cache, digest: str, seconds: int) -> None:
    facts = (cache.directory / digest).stat()
    os.utime(cache.directory / digest, (facts.st_atime, facts.st_mtime - seconds))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", limit=250)


def test_what_arrives_is_for_its_owner_alone(cache: Cache) -> None:
    session = cache.session()
    digest = add(cache, b"a" * 100, session.path)
    assert stat.S_IMODE((cache.directory / digest).stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(session.path.stat().st_mode) == 0o700
    session.close()


def test_other_bytes_than_expected_do_not_stay(cache: Cache) -> None:
    session = cache.session()
    with pytest.raises(ObjectStoreError, match="not the file that was stored"):
        add(cache, b"b" * 100, session.path, claimed=b"a" * 100)
    assert entries(cache) == set()
    assert not list(cache.directory.glob("*.part"))
    session.close()


@pytest.mark.parametrize("damaged", [b"x" * 100, b"a" * 99, b""])
def test_a_damaged_entry_is_noticed_and_removed(cache: Cache, damaged: bytes) -> None:
    session = cache.session()
    digest = add(cache, b"a" * 100, session.path)
    session.close()
    (cache.directory / digest).write_bytes(damaged)
    other = cache.session()
    assert not cache.link(digest, 100, other.path / digest)
    assert entries(cache) == set()
    assert not (other.path / digest).exists()
    other.close()


def test_what_was_not_used_for_longest_goes_first(cache: Cache) -> None:
    session = cache.session()
    first, second, third = (add(cache, bytes([n]) * 100, session.path) for n in range(3))
    for place, digest in enumerate((first, second, third)):
        age(cache, digest, 100 - place)
    other = cache.session()
    assert cache.link(first, 100, other.path / first), "used again"
    assert cache.evict() == 100
    assert entries(cache) == {first, third}
    assert cache.evict() == 0
    session.close()
    other.close()


def test_what_a_session_uses_stays_readable_when_it_is_evicted(cache: Cache) -> None:
    session = cache.session()
    digests = [add(cache, bytes([n]) * 200, session.path) for n in range(3)]
    cache.evict()
    assert len(entries(cache)) == 1
    assert [(session.path / digest).read_bytes() for digest in digests] == [bytes([n]) * 200 for n in range(3)]
    session.close()
    assert not session.path.exists()


def test_without_hard_links_files_are_copied(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(1, "operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    session = cache.session()
    digest = add(cache, b"a" * 100, session.path)
    assert (session.path / digest).read_bytes() == b"a" * 100
    other = cache.session()
    assert cache.link(digest, 100, other.path / digest)
    session.close()
    other.close()


def test_a_directory_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(StorageError, match="cannot write the cache"):
        Cache(tmp_path / "cache").session()


def test_what_a_killed_process_left_is_removed(cache: Cache) -> None:
    session = cache.session()
    part = cache.directory / f"{'0' * 64}.abc.part"
    fresh = cache.directory / f"{'1' * 64}.abc.part"
    for path in (part, fresh):
        path.write_bytes(b"half")
    os.utime(part, (0, 0))
    cache.evict()
    assert not part.exists()
    assert fresh.exists()
    session.close()


def _work(directory: str, number: int) -> bool:
    """Fetch and evict, as several queries do at once; whether everything was readable throughout."""
    cache = Cache(Path(directory), limit=1_000)
    session = cache.session()
    is_fine = True
    for turn in range(60):
        data = bytes([(turn + number) % 8]) * 300
        digest = hashlib.sha256(data).hexdigest()
        target = session.path / digest
        if not target.exists() and not cache.link(digest, 300, target):
            add(cache, data, session.path)
        cache.evict()
        is_fine &= target.read_bytes() == data
        if turn % 5 == 0:
            target.unlink()
    session.close()
    return is_fine


def test_several_processes_share_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        assert all(pool.starmap(_work, [(str(tmp_path / "cache"), number) for number in range(3)]))
    left = Cache(tmp_path / "cache", limit=1_000)
    left.evict()
    assert sum((left.directory / name).stat().st_size for name in entries(left)) <= 1_000
    assert cache_module.CACHE_BYTES == 20_000_000_000
