"""The disk: every change of a file or directory goes through here, so that a test can have another one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["CANNOT_EXCHANGE", "CANNOT_LINK", "NETWORK", "Disk"]

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "fuse.sshfs", "9p", "fuse.s3fs"})
CANNOT_LINK = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
CANNOT_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM})

_SYNCS_AT_ONCE = 16
_TRIES = 100
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # linux/fs.h
_RENAME_SWAP = 2  # sys/stdio.h of macOS


class Disk:
    """The local file system; directories are made 0700 and stored files 0400, whatever the umask is."""

    def make_directory(self, path: Path) -> set[Path]:
        """Make a directory and its parents; returns those that hold a new name and are to be synced."""
        if path.is_dir():
            return set()
        changed = self.make_directory(path.parent)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
            path.chmod(0o700)
        return changed | {path.parent}

    def free(self, path: Path) -> int:
        """How many bytes can still be written there."""
        return shutil.disk_usage(path).free

    def rename(self, source: Path, target: Path) -> None:
        """Move a file or directory within the file system, in one step."""
        source.rename(target)

    def link(self, source: Path, target: Path) -> None:
        """Give a stored file a second name; raises one of CANNOT_LINK where the file system has no links."""
        os.link(source, target)

    def copy(self, source: Path, target: Path) -> None:
        """Copy a stored file, durably; `target` is not yet visible to anyone."""
        target.unlink(missing_ok=True)
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

    def unlink(self, path: Path) -> None:
        """Remove a file, if it is there."""
        path.unlink(missing_ok=True)

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
        """Make a file readable by its owner alone, and writable by nobody."""
        path.chmod(0o400)

    def sync(self, path: Path) -> None:
        """Wait until a file's bytes, or a directory's entries, are on the disk."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def sync_all(self, paths: Iterable[Path]) -> None:
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

    def filesystem(self, path: Path) -> str:
        """The type of the file system of a path, or an empty text where the system does not tell."""
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
