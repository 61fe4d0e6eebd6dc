"""Other disks: without links, without exchange, full, and one that remembers what power loss would undo."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from pathlib import Path

from tailpipe.storage.local import LocalStorage


class NoLinks(LocalStorage):
    """A file system without hard links, as many network mounts and FAT are."""

    def link(self, source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), str(target))


class NoExchange(LocalStorage):
    """A file system without an exchanging rename."""

    def exchange(self, one: Path, other: Path) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(one))


class Neither(NoLinks, NoExchange):
    """A file system that has neither."""


class Journaled(LocalStorage):
    """Writes down each change and each fsync, so that `lose_power` can undo what was not made durable."""

    def __init__(self, journal: Path) -> None:
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def _note(self, *event: object) -> None:
        os.write(self._journal, (json.dumps([str(part) for part in event]) + "\n").encode())

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self._note("rename", source, target)

    def link(self, source: Path, target: Path) -> None:
        super().link(source, target)
        self._note("link", source, target)

    def exchange(self, one: Path, other: Path) -> None:
        super().exchange(one, other)
        self._note("exchange", one, other)

    def sync(self, path: Path) -> None:
        super().sync(path)
        self._note("sync", path)


def lose_power(journal: Path) -> int:
    """Undo, newest first, every change whose directory was not fsynced after it; returns how many."""
    events = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    undone = 0
    synced: set[str] = set()
    for event in reversed(events):
        if event[0] == "sync":
            synced.add(event[1])
        elif str(Path(event[2]).parent) not in synced or not _was_synced(events, event):
            undone += _undo(event, is_torn=not _was_synced(events, event))
    journal.unlink(missing_ok=True)
    return undone


def _was_synced(events: list[list[str]], event: list[str]) -> bool:
    """Whether the content of a renamed file had been fsynced under its old name."""
    return event[0] != "rename" or ["sync", event[1]] in events[: events.index(event)]


def _undo(event: list[str], *, is_torn: bool) -> int:
    kind, source, target = event[0], Path(event[1]), Path(event[2])
    with contextlib.suppress(FileNotFoundError):
        if is_torn and target.is_file():
            target.chmod(0o600)
            os.truncate(target, target.stat().st_size // 2)
        elif kind == "link":
            target.unlink()
        elif kind == "exchange":
            LocalStorage().exchange(source, target)
        elif source.parent.is_dir():
            target.rename(source)
        else:
            target.unlink()
        return 1
    return 0
