"""The cache of files that are in a store alone: `cache/<sha256>`, checked when they arrive and when they are used.

    .tailpipe/cache/<sha256>            a whole file, as the store has it
    .tailpipe/cache/<sha256>.<x>.part   one that is arriving
    .tailpipe/cache/session-<x>/        links to the entries that one session uses

A session reads its links and nothing else: it cannot reach what others have fetched, and an entry that is evicted
meanwhile stays readable by its link. So eviction needs to know of no session, and no session of eviction.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tailpipe.errors import ObjectStoreError, StorageError
from tailpipe.storage.local import CANNOT_LINK
from tailpipe.storage.scratch import Scratch, make_scratch

CACHE_BYTES = 20 * 1000**3
"""How large the cache may become, unless the workspace says otherwise."""
_ENTRY = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[0-9a-f]{64}\.[0-9a-f]+\.part")
_LEFT_SECONDS = 24 * 3600.0
"""A part that is older is of a process that was killed."""
_CHUNK = 1024 * 1024

Fetch = Callable[[Path], str]
"""Writes a file and returns the SHA-256 of its bytes, in hex."""


class Cache:
    """Files by their SHA-256, in one directory that several processes use at once.

    `limit` bounds the bytes of all entries; those that were not used for longest go first.
    """

    def __init__(self, directory: Path, limit: int = CACHE_BYTES) -> None:
        self.directory = directory
        self.limit = limit

    def session(self) -> Scratch:
        """A directory for the links of one session; those of dead processes are removed."""
        with _writing(self.directory):
            return make_scratch(self.directory, "session-")

    def size_of(self, sha256: str) -> int | None:
        """How many bytes an entry has; None if there is none."""
        try:
            return (self.directory / sha256).stat().st_size
        except OSError:
            return None

    def link(self, sha256: str, size: int, target: Path) -> bool:
        """Let a session read an entry as `target`; False if there is none. One that is damaged is removed."""
        entry = self.directory / sha256
        try:
            _link(entry, target)
            os.utime(entry)  # used now; the time of access is not kept on every disk
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unwritable(self.directory, error) from error
        if target.stat().st_size == size and _sha256(target) == sha256:
            return True
        target.unlink()
        with suppress(FileNotFoundError):
            entry.unlink()
        return False

    def add(self, sha256: str, size: int, target: Path, fetch: Fetch, name: str) -> None:
        """Fetch an entry and let a session read it as `target`; `name` is for the message if its bytes are others."""
        draft = self.directory / f"{sha256}.{secrets.token_hex(6)}.part"
        try:
            with _writing(self.directory):
                os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                found = fetch(draft)
                if found != sha256 or draft.stat().st_size != size:
                    raise ObjectStoreError(
                        f'"{name}" is not the file that was stored: its SHA-256 or size differs',
                        location=name,
                        hint="restore the object in the store, or delete the day and collect it again",
                    )
                _link(draft, target)
                draft.replace(self.directory / sha256)
        finally:
            with suppress(FileNotFoundError):
                draft.unlink()

    def evict(self) -> int:
        """Bring the cache below its limit; returns the bytes removed. One process at a time does it."""
        with self._alone() as is_alone:
            if not is_alone:
                return 0
            entries, now = [], time.time()
            with os.scandir(self.directory) as found:
                for one in found:
                    with suppress(FileNotFoundError):
                        facts = one.stat(follow_symlinks=False)
                        if _ENTRY.fullmatch(one.name):
                            entries.append((facts.st_mtime_ns, facts.st_size, one.path))
                        elif _PART.fullmatch(one.name) and now - facts.st_mtime > _LEFT_SECONDS:
                            Path(one.path).unlink()
            total, gone = sum(size for _, size, _ in entries), 0
            for _, size, path in sorted(entries):
                if total - gone <= self.limit:
                    break
                with suppress(FileNotFoundError):
                    Path(path).unlink()
                gone += size
            return gone

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        lock = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            except OSError:  # a file system without locks: two that evict at once evict more than they must
                pass
            yield True
        finally:
            os.close(lock)


def _link(source: Path, target: Path) -> None:
    """Make `target` the same file, or a copy of it where the disk has no hard links."""
    try:
        target.hardlink_to(source)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in CANNOT_LINK:
            raise
        copy = target.with_name(f"{target.name}.copy")
        shutil.copyfile(source, copy)
        copy.chmod(0o600)
        copy.rename(target)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """Turn what the disk says into a message with a way out."""
    try:
        yield
    except OSError as error:
        raise _unwritable(directory, error) from error


def _unwritable(directory: Path, error: OSError) -> StorageError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(
            f"no space left for the cache in {directory}",
            path=str(directory),
            hint="free some space, or narrow the query to fewer days",
        )
    reason = (error.strerror or str(error)).lower()
    return StorageError(
        f"cannot write the cache in {directory}: {reason}", path=str(directory), hint="check its owner and permissions"
    )
