"""What the catalog needs of the place where its files are: what any object store can do, and what only a disk can.

`Storage` is the part that an object store can implement: whole objects are put under their final name, listed, read in
parts and deleted. There is no rename. An address is a path of the layout; a store of objects makes its key of the part
below its root. `LocalTree` adds what only a local file system can do: the hive, staging and locks need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol


class Storage(Protocol):
    """Immutable objects under their final names. What fails raises `OSError`."""

    def prepare(self, path: Path) -> set[Path]:
        """Make room for an object; returns what to settle. An object store has nothing to do."""
        ...

    def put(self, path: Path, data: bytes, *, if_absent: bool = False) -> bool:
        """Write an object, atomically and durably; False if it was to be absent and is not."""
        ...

    def put_file(self, source: Path, path: Path, *, if_absent: bool = False) -> bool:
        """Make a finished local file an object, atomically, and remove it; durable once `path` is settled."""
        ...

    def settle(self, paths: Iterable[Path]) -> None:
        """Wait until files and directories are durable. An object store has nothing to do."""
        ...

    def read(self, path: Path, start: int = 0, length: int | None = None) -> bytes:
        """The bytes of an object, or so many of them from `start` on; FileNotFoundError if it does not exist."""
        ...

    def objects(self, path: Path) -> Iterator[Path]:
        """All objects below a path, in no particular order; none if it does not exist."""
        ...

    def exists(self, path: Path) -> bool:
        """Whether there is an object."""
        ...

    def size(self, path: Path) -> int:
        """How many bytes an object has; FileNotFoundError if it does not exist."""
        ...

    def checksum(self, path: Path) -> str:
        """The SHA-256 of an object, in hex."""
        ...

    def delete(self, path: Path) -> None:
        """Delete an object, if it exists."""
        ...

    def free(self, path: Path) -> int:
        """How many bytes can still be written there."""
        ...


class Lock(Protocol):
    """A lock that is held; the kernel frees it when the process dies."""

    def sign(self, text: bytes) -> None:
        """Replace the content of the lock file."""
        ...

    def release(self) -> None:
        """Free the lock."""
        ...


class LocalTree(Storage, Protocol):
    """A local file system: directories, links, renames and locks."""

    def make_directory(self, path: Path) -> set[Path]:
        """Make a directory and its parents; returns the directories that hold a new name and are to be synced."""
        ...

    def is_directory(self, path: Path) -> bool:
        """Whether there is a directory."""
        ...

    def entries(self, path: Path) -> list[str]:
        """The names in a directory; FileNotFoundError if it does not exist."""
        ...

    def directories(self, path: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
        """Each directory below a path, and the path itself at last: with the names of its directories and files."""
        ...

    def is_taken(self, path: Path) -> bool:
        """Whether anything has that name, and be it a broken link."""
        ...

    def is_same(self, one: Path, other: Path) -> bool:
        """Whether two names are there and of one file."""
        ...

    def write(self, path: Path, data: bytes) -> None:
        """Write a private file that no process reads yet, durably but for its name."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Move a file or directory within the file system, in one step."""
        ...

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name; raises one of CANNOT_LINK where the file system has no links."""
        ...

    def copy(self, source: Path, target: Path) -> None:
        """Copy a stored file, durably; `target` is not yet visible to anyone."""
        ...

    def exchange(self, one: Path, other: Path) -> None:
        """Swap two directories in one step; raises one of CANNOT_EXCHANGE where that is unknown."""
        ...

    def protect(self, path: Path) -> None:
        """Make a file readable by its owner alone, and read-only."""
        ...

    def sync(self, path: Path) -> None:
        """Wait until a file's bytes, or a directory's entries, are on the disk."""
        ...

    def remove_tree(self, path: Path) -> None:
        """Remove a directory of ours with all that is in it, if it is there."""
        ...

    def remove_empty(self, path: Path) -> bool:
        """Remove a directory if nothing is in it, and say whether it was."""
        ...

    def lock(self, path: Path, *, is_shared: bool = False) -> Lock:
        """Lock a file, which is made if need be; BlockingIOError if another process holds it."""
        ...

    def filesystem(self, path: Path) -> str:
        """The type of the file system of a path, or an empty text if the system does not report it."""
        ...
