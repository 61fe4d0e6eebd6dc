"""Other storages: one in memory, without a disk or a rename, and one that records its calls and fails on request."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tailpipe.storage.local import LocalStorage
from tailpipe.storage.storage import LocalTree, Storage

STEPS = sorted(name for name in {*vars(Storage), *vars(LocalTree)} if not name.startswith("_"))


class MemoryStorage(Storage):
    """Objects in a dictionary, as an object store keeps them: there are no directories, and nothing is renamed."""

    def __init__(self) -> None:
        self.data: dict[Path, bytes] = {}

    def prepare(self, path: Path) -> set[Path]:
        return set()

    def put(self, path: Path, data: bytes, *, if_absent: bool = False) -> bool:
        if if_absent and path in self.data:
            return False
        self.data[path] = data
        return True

    def put_file(self, source: Path, path: Path, *, if_absent: bool = False) -> bool:
        if not self.put(path, source.read_bytes(), if_absent=if_absent):
            return False
        source.unlink()
        return True

    def settle(self, paths: Iterable[Path]) -> None:
        pass

    def read(self, path: Path, start: int = 0, length: int | None = None) -> bytes:
        return self._at(path)[start : None if length is None else start + length]

    def objects(self, path: Path) -> Iterator[Path]:
        return iter([one for one in self.data if one.is_relative_to(path) and one != path])

    def exists(self, path: Path) -> bool:
        return path in self.data

    def size(self, path: Path) -> int:
        return len(self._at(path))

    def checksum(self, path: Path) -> str:
        return hashlib.sha256(self._at(path)).hexdigest()

    def delete(self, path: Path) -> None:
        self.data.pop(path, None)

    def free(self, path: Path) -> int:
        return 1 << 60

    def _at(self, path: Path) -> bytes:
        if path not in self.data:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return self.data[path]


class FaultyStorage(LocalStorage):
    """The local disk. It records what is asked of it, and raises at one of the steps.

    `fails` is the number of the step, of all steps or of those named `step`, that raises instead of being done.
    """

    def __init__(
        self, fails: int | None = None, step: str = "", *, error: BaseException | None = None, is_done: bool = False
    ) -> None:
        self.calls: list[tuple[str, Path]] = []
        self._fails = fails
        self._step = step
        self._error = error or OSError(errno.EIO, os.strerror(errno.EIO), "the disk")
        self._is_done = is_done
        """Whether the step that raises is done before it does."""
        self._seen = 0
        self.has_failed = False
        for name in STEPS:
            setattr(self, name, self._noting(name))

    def _noting(self, name: str) -> Any:
        real = getattr(super(), name)

        def call(*arguments: Any, **more: Any) -> Any:
            self.calls.append((name, arguments[0] if isinstance(arguments[0], Path) else Path()))
            is_meant = self._step in ("", name)
            self._seen += is_meant
            if is_meant and self._seen - 1 == self._fails:
                self.has_failed = True
                if self._is_done:
                    real(*arguments, **more)
                raise self._error
            return real(*arguments, **more)

        return call

    def places(self, *names: str) -> list[Path]:
        """Where these steps were done."""
        return [path for name, path in self.calls if name in names]
