"""Objects in a directory: a disk of this machine, or one that several machines have mounted."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from tailpipe.errors import ObjectStoreError
from tailpipe.storage.local import CANNOT_LINK, LOCAL
from tailpipe.storage.objects import (
    RESERVED,
    ObjectFacts,
    Requests,
    changed_error,
    check_key,
    check_sha256,
    is_plain,
    list_prefix,
)
from tailpipe.storage.storage import LocalTree

_CHUNK_BYTES = 1024 * 1024
_TRIES = 100
_STALE_SECONDS = 7 * 24 * 3600
_DRAFT = "draft-"
_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
_NAME = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.ELOOP)


class DirectoryObjects:
    """A directory that must exist, as a bucket must: a disk that is not mounted is not taken for an empty store.

    An object is written as a draft in `.tailpipe`, synced, and linked to its key, which fails if the key is taken; a
    killed writer leaves a draft, which a later one removes after a week. Directories have the mode 0700, files 0600.
    """

    def __init__(self, root: Path, location: str | None = None, *, tree: LocalTree = LOCAL) -> None:
        self.location = location or str(root)
        self.requests = Requests()
        self._tree = tree
        self._root = root
        self._is_swept = False

    def put(self, key: str, data: bytes, *, sha256: str | None = None) -> bool:
        """Write an object if there is none, durably."""
        path = self._path(key)
        check_sha256(data, sha256, self.location, key)
        return self._put(key, path, iter((data,)))

    def put_file(self, key: str, source: Path, *, sha256: str) -> bool:
        """Copy a local file to an object if there is none, durably; the file may be on another device."""
        path, digest = self._path(key), hashlib.sha256()

        def checked() -> Iterator[bytes]:
            while chunk := _read(file):
                digest.update(chunk)
                yield chunk
            if digest.hexdigest() != sha256:
                raise changed_error(self.location, key)

        try:
            with source.open("rb") as file:
                return self._put(key, path, checked())
        except _LocalError as fault:
            raise fault.error from None

    def replace(self, key: str, data: bytes) -> None:
        """Write an object whether there is one or not, in one step."""
        path = self._path(key)
        self.requests.count("put")
        with self._reported("write", key):
            draft = self._make_draft(iter((data,)))
            try:
                changed = self._with_directory(path, lambda: self._tree.rename(draft, path))
                self._settle(changed)
            finally:
                draft.unlink(missing_ok=True)

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """The bytes of an object, or at most `length` of them from `start` on."""
        path = self._path(key)
        self.requests.count("get")
        with self._reported("read", key), self._found(key):
            return self._tree.read(path, start, length)

    def fetch(self, key: str, target: Path) -> str:
        """Copy an object into a local file."""
        path, digest = self._path(key), hashlib.sha256()
        self.requests.count("get")
        with self._reported("read", key), self._found(key):
            source = path.open("rb")
        with source, target.open("wb") as file:
            while True:
                with self._reported("read", key):
                    chunk = source.read(_CHUNK_BYTES)
                if not chunk:
                    return digest.hexdigest()
                digest.update(chunk)
                file.write(chunk)

    def copy(self, key: str, target: str) -> None:
        """Copy an object to another key, durably."""
        path, new = self._path(key), self._path(target)
        with self._reported("read", key), self._found(key):
            source = path.open("rb")
        with source:
            self._put(target, new, iter(lambda: source.read(_CHUNK_BYTES), b""))

    def head(self, key: str) -> ObjectFacts | None:
        """The facts of an object; None if there is none."""
        path = self._path(key)
        self.requests.count("head")
        with self._reported("read", key):
            try:
                facts = _facts(key, path)
            except _ABSENT:
                facts = None
            if facts is None:
                self._check_root()
            return facts

    def list(self, prefix: str, *, after: str | None = None) -> Iterator[ObjectFacts]:
        """The objects below a prefix, in the order of their keys."""
        below = list_prefix(prefix, self.location)
        if after is not None:
            check_key(after, self.location)
        self.requests.count("list")
        with self._reported("list", prefix):
            self._check_root()
            yield from self._walk(below, after or "")

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects, durably, and the directories that are empty then."""
        self._check_root()
        changed: set[Path] = set()
        for key in keys:
            path = self._path(key)
            self.requests.count("delete")
            with self._reported("delete", key), suppress(*_ABSENT):
                path.unlink()
                changed.add(path.parent)
        for directory in sorted(changed, key=lambda path: -len(path.parts)):
            with self._reported("delete", ""):
                self._settle({self._prune(directory)})

    def now(self) -> datetime:
        """The time at which a file that is written now says it was modified: by the clock of the file server."""
        self.requests.count("put")
        with self._reported("write", f"{RESERVED}/clock"):
            draft = self._make_draft(iter((b"now",)))
            try:
                return _modified(draft.stat())
            finally:
                draft.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._root / check_key(key, self.location)

    def _put(self, key: str, path: Path, chunks: Iterator[bytes]) -> bool:
        self.requests.count("put")
        with self._reported("write", key):
            if self._tree.is_taken(path):
                self._settle({path.parent})  # its writer may not have come so far
                return False
            draft = self._make_draft(chunks)
            try:
                is_new, changed = self._publish(draft, path)
            finally:
                draft.unlink(missing_ok=True)
        with self._reported("write", key, is_unknown=True):
            self._settle(changed)
        return is_new

    def _make_draft(self, chunks: Iterator[bytes]) -> Path:
        """A file that no process reads yet, durable but for its name."""
        self._check_root()
        drafts = self._root / RESERVED
        if not drafts.is_dir():
            self._settle(self._tree.make_directory(drafts))
        draft = drafts / f"{_DRAFT}{os.urandom(8).hex()}"
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                for chunk in chunks:
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            self._sweep(drafts, draft)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return draft

    def _publish(self, draft: Path, path: Path) -> tuple[bool, set[Path]]:
        """Give the draft its name if that is free; returns whether it was, and what to sync."""
        is_new = True

        def link() -> None:
            nonlocal is_new
            try:
                self._tree.link(draft, path)
            except FileExistsError:
                # A file server whose reply is lost is asked again, and then the name is taken by our own link.
                is_new = self._tree.is_same(draft, path)
            except OSError as error:
                if error.errno not in CANNOT_LINK:
                    raise
                is_new = self._rename_if_absent(draft, path)

        changed = self._with_directory(path, link)
        return is_new, changed

    def _rename_if_absent(self, draft: Path, path: Path) -> bool:
        """For file systems without links: one writer at a time looks, then renames. A file made with O_EXCL would be
        visible before its bytes are."""
        with (self._root / RESERVED / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self._tree.is_taken(path):
                return False
            self._tree.rename(draft, path)
            return True

    def _with_directory(self, path: Path, step: Callable[[], object]) -> set[Path]:
        """Make the directory of an object and do the step; again, if the directory was empty and removed meanwhile."""
        for _ in range(_TRIES):
            with suppress(FileNotFoundError):
                changed = self._tree.make_directory(path.parent) | {path.parent}
                step()
                return changed
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path.parent))

    def _sweep(self, drafts: Path, fresh: Path) -> None:
        """Remove what killed writers have left, once; its age is measured by the clock of the file system."""
        if self._is_swept:
            return
        self._is_swept = True
        oldest = fresh.stat().st_mtime - _STALE_SECONDS
        with os.scandir(drafts) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.name.startswith(_DRAFT) and entry.stat().st_mtime < oldest:
                        Path(entry.path).unlink()

    def _prune(self, directory: Path) -> Path:
        """Remove directories that are empty; the first that stays."""
        while directory != self._root and self._tree.remove_empty(directory):
            directory = directory.parent
        return directory

    def _settle(self, directories: Iterable[Path]) -> None:
        for directory in sorted(set(directories)):
            # Others may have removed it when it was empty.
            with suppress(FileNotFoundError):
                self._tree.sync(directory)

    def _walk(self, prefix: str, after: str) -> Iterator[ObjectFacts]:
        try:
            with os.scandir(self._root / prefix) as entries:
                names = sorted(f"{one.name}/" if one.is_dir() else one.name for one in entries)
        except _ABSENT:
            return
        for name in names:
            key = f"{prefix}{name}"
            if key == f"{RESERVED}/" or not is_plain(key):
                continue
            if key.endswith("/"):
                # All keys below share this beginning, so they come before `after` as it does.
                if key > after or after.startswith(key):
                    yield from self._walk(key, after)
            elif key > after:
                with suppress(*_ABSENT):
                    if (facts := _facts(key, self._root / key)) is not None:
                        yield facts

    def _check_root(self) -> None:
        if not self._root.is_dir():
            raise ObjectStoreError(
                f'there is no directory "{self._root}"',
                location=self.location,
                hint=f"mount it, or create it: mkdir -p '{self._root}'",
            )

    @contextmanager
    def _found(self, key: str) -> Iterator[None]:
        try:
            yield
        except _ABSENT:
            self._check_root()
            raise _AbsentError(2, "no such object", f"{self.location}/{key}") from None

    @contextmanager
    def _reported(self, action: str, key: str, *, is_unknown: bool = False) -> Iterator[None]:
        """What the file system refuses, as an error of the store."""
        try:
            yield
        except _AbsentError:
            raise
        except OSError as error:
            reason, hint = _reason(error, self._root)
            place = f"{self.location}/{key}" if key else self.location
            raise ObjectStoreError(
                f'cannot {action} "{place}": {reason}',
                location=self.location,
                key=key,
                is_unknown=is_unknown,
                hint=hint,
            ) from error


class _AbsentError(FileNotFoundError):
    """An object that does not exist, as opposed to a file that the store itself has lost."""


class _LocalError(Exception):
    """A fault of the local file that is being copied, which must not look like one of the store."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def _read(file: BinaryIO) -> bytes:
    try:
        return file.read(_CHUNK_BYTES)
    except OSError as error:
        raise _LocalError(error) from error


def _facts(key: str, path: Path) -> ObjectFacts | None:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        return None
    etag = f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"
    return ObjectFacts(key, status.st_size, _modified(status), etag)


def _modified(status: os.stat_result) -> datetime:
    return datetime.fromtimestamp(status.st_mtime, UTC)


def _reason(error: OSError, root: Path) -> tuple[str, str]:
    text = (error.strerror or str(error)).lower()
    if error.errno in _FULL:
        return "the disk is full", "free some space, then run it again"
    if error.errno in _DENIED:
        return text, f'make "{root}" readable and writable for this user, or correct the location'
    if error.errno in _NAME:
        return text, "a directory cannot hold this key: use a bucket, or another key"
    return text, f'check the disk or the network mount of "{root}"'
