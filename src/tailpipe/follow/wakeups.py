"""Wake-ups: the loop sleeps until a time, until another thread rings, or until files change.

File changes come from inotify, where there is one. They only wake: what they miss, polling finds.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

_EVENT = struct.Struct("iIII")
_CLOSE_WRITE, _MOVED_TO, _CREATE, _MODIFY, _OVERFLOW, _ONLY_DIRECTORIES = 0x8, 0x80, 0x100, 0x2, 0x4000, 0x0100_0000
_MASK = _CLOSE_WRITE | _MOVED_TO | _CREATE | _MODIFY | _ONLY_DIRECTORIES
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_MOST = 4096
"""How many directories are watched; the kernel allows a user a limited number, and others want some too."""


class Wakeups:
    """Sleeps for the loop. `ring` may be called from any thread and from signal handlers."""

    def __init__(self) -> None:
        self._ours, self._theirs = os.pipe2(_FLAGS) if hasattr(os, "pipe2") else _pipe()
        self._inotify = _Inotify.open()
        self._poll = select.poll()
        self._poll.register(self._ours, select.POLLIN)
        self._owners: dict[int, set[str]] = {}
        self._places: dict[int, Path] = {}
        self._paths: dict[str, tuple[str, ...]] = {}
        if self._inotify is not None:
            self._poll.register(self._inotify.descriptor, select.POLLIN)

    @property
    def watched(self) -> int:
        """How many directories are watched."""
        return len(self._owners)

    def watch(self, paths: Mapping[str, Iterable[str]]) -> None:
        """Watch the directories of these paths, by partition, and no others any more."""
        if self._inotify is None:
            return
        self._poll.unregister(self._inotify.descriptor)
        self._inotify.close()
        self._owners, self._places = {}, {}
        self._paths = {partition: tuple(some) for partition, some in paths.items()}
        self._inotify = _Inotify.open()
        if self._inotify is None:
            return
        self._poll.register(self._inotify.descriptor, select.POLLIN)
        for partition in self._paths:
            self._add(partition)

    def wait(self, seconds: float | None) -> set[str]:
        """Sleep until then, or until it is woken; the partitions whose files have changed."""
        changed: set[str] = set()
        timeout = None if seconds is None else max(0, int(seconds * 1000 + 0.999))
        for descriptor, _ in self._poll.poll(timeout):
            if descriptor == self._ours:
                with suppress(BlockingIOError):
                    while os.read(self._ours, 4096):
                        pass
            elif self._inotify is not None:
                changed |= self._changed(self._inotify.read())
        return changed

    def ring(self) -> None:
        """Wake the loop."""
        with suppress(OSError):  # it is full, so the loop wakes anyway; or it is over
            os.write(self._theirs, b"\0")

    def close(self) -> None:
        """Give the descriptors back."""
        if self._inotify is not None:
            self._inotify.close()
        os.close(self._ours)
        os.close(self._theirs)

    def _changed(self, events: list[tuple[int, int, str]]) -> set[str]:
        changed: set[str] = set()
        for number, mask, name in events:
            if mask & _OVERFLOW:  # some were lost
                return {partition for some in self._owners.values() for partition in some}
            owners = self._owners.get(number, set())
            changed |= owners
            if mask & (_CREATE | _MOVED_TO) and number in self._places and (self._places[number] / name).is_dir():
                for partition in sorted(owners):
                    self._add(partition)
        return changed

    def _add(self, partition: str) -> None:
        """Watch the directories of a partition that exist; of a path that does not, the one in which it will appear."""
        for path in self._paths[partition]:
            root, is_there = _directory(path)
            if root is None:
                continue
            for place, directories, _ in os.walk(root):
                directories[:] = sorted(directories) if is_there else []
                number = self._inotify.add(place) if self._inotify and len(self._owners) < _MOST else None
                if number is None:
                    break
                self._owners.setdefault(number, set()).add(partition)
                self._places[number] = Path(place)


class _Inotify:
    """The calls of Linux, by ctypes."""

    def __init__(self, library: ctypes.CDLL, descriptor: int) -> None:
        self._library = library
        self.descriptor = descriptor

    @classmethod
    def open(cls) -> _Inotify | None:
        """None where there is no inotify, or no room for one more."""
        if not sys.platform.startswith("linux"):
            return None
        library = ctypes.CDLL(None, use_errno=True)
        if not hasattr(library, "inotify_init1"):
            return None
        descriptor = library.inotify_init1(_FLAGS)
        return cls(library, descriptor) if descriptor >= 0 else None

    def add(self, directory: str) -> int | None:
        """The number of the watch; None if the directory cannot be watched."""
        number = int(self._library.inotify_add_watch(self.descriptor, os.fsencode(directory), _MASK))
        return number if number >= 0 else None

    def read(self) -> list[tuple[int, int, str]]:
        """What has happened: watch, mask and name of each event."""
        found = []
        try:
            data = os.read(self.descriptor, 1 << 16)
        except OSError as problem:
            if problem.errno in (errno.EAGAIN, errno.EINTR):
                return []
            raise
        place = 0
        while place < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, place)
            name = data[place + _EVENT.size : place + _EVENT.size + length].rstrip(b"\0")
            found.append((number, mask, os.fsdecode(name)))
            place += _EVENT.size + length
        return found

    def close(self) -> None:
        os.close(self.descriptor)


def _directory(path: str) -> tuple[Path | None, bool]:
    """The directory where a path or glob appears (None for the root), and whether all before its pattern exists."""
    place = Path(os.path.expanduser(path))  # noqa: PTH111 - a name of an unknown user stays as it is
    patterns = [number for number, part in enumerate(place.parts) if any(sign in part for sign in "*?[")]
    if patterns:
        place = Path(*place.parts[: patterns[0]])
    is_there = place.exists()
    while place != place.parent and not place.is_dir():
        place = place.parent
    return (place if place.is_dir() and place != place.parent else None), is_there


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends
