"""The local file system as a storage: every change of a file or directory of a workspace goes through here."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tailpipe.storage.storage import LocalTree, Lock

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "fuse.sshfs", "9p", "fuse.s3fs"})
CANNOT_LINK = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
CANNOT_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})

_SYNCS_AT_ONCE = 16
_TRIES = 100
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # linux/fs.h
_RENAME_SWAP = 2  # sys/stdio.h of macOS


class LocalStorage(LocalTree):
    """The local file system; directories are made 0700 and stored files 0400, whatever the umask is.

    Each method that does more than one step calls the others, so a test replaces one of them.
    """

    # What an object store can do as well

    def prepare(self, path: Path) -> set[Path]:
        """Make the directory of an object; returns what to settle."""
        return self.make_directory(path.parent) | {path.parent}

    def put(self, path: Path, data: bytes, *, if_absent: bool = False) -> bool:
        """Write an object, atomically and durably; False if it was to be absent and is not."""
        changed = self.prepare(path)
        draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
        try:
            self.write(draft, data)
            is_put = self.put_file(draft, path, if_absent=if_absent)
        finally:
            self.delete(draft)
        self.settle(changed)
        return is_put

    def put_file(self, source: Path, path: Path, *, if_absent: bool = False) -> bool:
        """Make a finished file an object, atomically, and remove it; durable once its directory is settled."""
        if not if_absent:
            self.rename(source, path)
            return True
        try:
            self.link(source, path)  # unlike a rename it fails if the name is taken
        except FileExistsError:
            return False
        except OSError as problem:
            if problem.errno not in CANNOT_LINK:
                raise
            if self.exists(path):  # only the lock of the writer keeps others from coming in between
                return False
            self.rename(source, path)
            return True
        self.delete(source)
        return True

    def settle(self, paths: Iterable[Path]) -> None:
        """Sync many at once: the file system writes its journal once for all that wait, not for each."""
        found = sorted(set(paths))
        if len(found) < 2:
            for path in found:
                self.sync(path)
            return
        from concurrent.futures import ThreadPoolExecutor  # brings logging along: not for readers

        with ThreadPoolExecutor(min(_SYNCS_AT_ONCE, len(found))) as pool:
            for done in [pool.submit(self.sync, path) for path in found]:
                done.result()

    def read(self, path: Path, start: int = 0, length: int | None = None) -> bytes:
        """The bytes of an object, or so many of them from `start` on; FileNotFoundError if it does not exist."""
        with path.open("rb") as file:
            file.seek(start)
            return file.read() if length is None else file.read(length)

    def objects(self, path: Path) -> Iterator[Path]:
        """All objects below a path, in no particular order; none if it does not exist."""
        for root, _, names in os.walk(path):
            yield from (Path(root, name) for name in names)

    def exists(self, path: Path) -> bool:
        """Whether there is an object."""
        return path.exists()

    def size(self, path: Path) -> int:
        """How many bytes an object has; FileNotFoundError if it does not exist."""
        return path.stat().st_size

    def checksum(self, path: Path) -> str:
        """The SHA-256 of an object, in hex."""
        import hashlib  # slow to load, and not for readers

        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def delete(self, path: Path) -> None:
        """Delete an object, if it exists."""
        path.unlink(missing_ok=True)

    def free(self, path: Path) -> int:
        """How many bytes can still be written there."""
        return shutil.disk_usage(path).free

    # What only a local file system can do

    def make_directory(self, path: Path) -> set[Path]:
        """Make a directory and its parents; returns those that hold a new name and are to be synced."""
        if path.is_dir():
            return set()
        changed = self.make_directory(path.parent)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
            path.chmod(0o700)
        return changed | {path.parent}

    def is_directory(self, path: Path) -> bool:
        """Whether there is a directory."""
        return path.is_dir()

    def entries(self, path: Path) -> list[str]:
        """The names in a directory; FileNotFoundError if it does not exist."""
        return os.listdir(path)  # noqa: PTH208 - names, not paths

    def directories(self, path: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
        """Each directory below a path, and the path itself at last: with the names of its directories and files."""
        for root, directories, names in os.walk(path, topdown=False):
            yield Path(root), directories, names

    def is_taken(self, path: Path) -> bool:
        """Whether anything has that name, and be it a broken link."""
        return os.path.lexists(path)

    def is_same(self, one: Path, other: Path) -> bool:
        """Whether two names are there and of one file."""
        return one.exists() and other.exists() and one.samefile(other)

    def write(self, path: Path, data: bytes) -> None:
        """Write a private file that no process reads yet, durably but for its name."""
        self.delete(path)  # what a killed process has left may be protected
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        self.sync(path)

    def rename(self, source: Path, target: Path) -> None:
        """Move a file or directory within the file system, in one step."""
        source.rename(target)

    def link(self, source: Path, target: Path) -> None:
        """Give a stored file a second name; raises one of CANNOT_LINK where the file system has no links."""
        os.link(source, target)

    def copy(self, source: Path, target: Path) -> None:
        """Copy a stored file, durably; `target` is not yet visible to anyone."""
        self.delete(target)
        shutil.copyfile(source, target)
        self.protect(target)
        self.sync(target)

    def exchange(self, one: Path, other: Path) -> None:
        """Swap two directories in one step; raises one of CANNOT_EXCHANGE where that is unknown."""
        import ctypes  # slow to load, and only needed here

        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            result = library.renamex_np(os.fsencode(one), os.fsencode(other), _RENAME_SWAP)
        elif hasattr(library, "renameat2"):
            result = library.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
        else:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        if result != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(one), None, str(other))

    def remove_tree(self, path: Path) -> None:
        """Remove a directory of ours with all that is in it, if it is there.

        A task that was given up may still be writing there: what it makes next finds no directory of
        that name, what it takes away meanwhile is not missed, and what it was making goes as well.
        """
        aside = path.with_name(f"{path.name}.{os.urandom(4).hex()}")
        with contextlib.suppress(FileNotFoundError):
            path.rename(aside)
        tries = 0
        while aside.exists():
            try:
                shutil.rmtree(aside)
            except FileNotFoundError:
                continue
            except OSError as error:
                tries += 1
                if error.errno != errno.ENOTEMPTY or tries == _TRIES:
                    raise

    def remove_empty(self, path: Path) -> bool:
        """Remove a directory if nothing is in it, and say whether it was."""
        try:
            path.rmdir()
        except OSError:
            return False
        return True

    def protect(self, path: Path) -> None:
        """Make a file readable by its owner alone, and read-only."""
        path.chmod(0o400)

    def sync(self, path: Path) -> None:
        """Wait until a file's bytes, or a directory's entries, are on the disk."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def lock(self, path: Path, *, is_shared: bool = False) -> Lock:
        """Lock a file, which is made if need be; BlockingIOError if another process holds it."""
        while True:
            # Python opens close-on-exec: no JVM or command that we start can keep the lock after us.
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                # The file may have been removed and made anew between the two calls.
                with contextlib.suppress(FileNotFoundError):
                    if path.stat().st_ino == os.fstat(handle).st_ino:
                        return _FileLock(handle)
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def filesystem(self, path: Path) -> str:
        """The type of the file system of a path, or an empty text if the system does not report it."""
        try:
            lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        found, longest = "", -1
        target = path.resolve()
        for line in lines:
            _, mount, kind, *_ = line.split(" ")
            # The kernel writes a space in a mount point as \040.
            point = Path(mount.replace("\\040", " "))
            if target.is_relative_to(point) and len(point.parts) >= longest:
                found, longest = kind, len(point.parts)
        return found


class _FileLock:
    """A file that is locked as long as it is open."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def sign(self, text: bytes) -> None:
        """Replace the content of the lock file."""
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, text, 0)

    def release(self) -> None:
        """Free the lock, also in a process that another thread has forked and that has not begun its program yet."""
        with contextlib.suppress(OSError):
            fcntl.flock(self._handle, fcntl.LOCK_UN)
        os.close(self._handle)


LOCAL = LocalStorage()
"""The disk of everyone who is not a test; it has no state."""
