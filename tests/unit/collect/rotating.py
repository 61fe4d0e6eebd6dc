"""Logs that are rotated at any instant of a collect: a source that lets things happen, and programs that rotate."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, cast

from tailpipe.config.config import Config
from tailpipe.kernel.task import Task
from tailpipe.plugin import Artifact, Window
from tailpipe.plugins.core.sources import File
from tests.unit.collect.support import CONFIG, LocalEngine, World

LAYOUT = "    file_layout = `(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`\n"
UNDATED = CONFIG.replace(LAYOUT, "")
PIECE = 96


_HOOK: list[Callable[[str], None]] = []
"""What is told of each step, if anybody is."""


def happen(hook: Callable[[str], None] | None = None) -> None:
    """Have each step of the source told to somebody from now on, or to nobody."""
    _HOOK[:] = [hook] if hook else []


def _step(what: str) -> None:
    for hook in list(_HOOK):
        hook(what)


class Eventful(File):
    """The source `file`, which says of each step that it takes, and reads in small pieces."""

    type = "file"

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        _step("list")
        for artifact in super().artifacts(window):
            yield artifact
            _step("listed")

    def open(self, artifact: Artifact) -> BinaryIO:
        _step("open")
        stream: Any = super().open(artifact)
        return cast("BinaryIO", io.BufferedReader(_Pieces(stream.detach()), PIECE))


class _Pieces(io.RawIOBase):
    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw

    def readinto(self, buffer: Any) -> int | None:
        count = self._raw.readinto(memoryview(buffer)[:PIECE])
        _step("read")
        return count

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def close(self) -> None:
        self._raw.close()
        super().close()


class Quiet(LocalEngine):
    """Nothing happens while it looks at samples: what they show has no rows."""

    def sample(self, tasks: Sequence[Task]) -> list[dict[str, str]]:
        hooks = list(_HOOK)
        happen()
        try:
            return super().sample(tasks)
        finally:
            _HOOK[:] = hooks


@dataclass
class Turning(World):
    """A world of undated logs whose clock is the real one, and whose source is eventful."""

    text: str = UNDATED
    engine: LocalEngine = field(default_factory=Quiet)
    written: list[str] = field(default_factory=list)

    @property
    def config(self) -> Config:
        config = super().config
        partitions = {
            name: replace(one, sources=tuple(_eventful(source) for source in one.sources))
            for name, one in config.partitions.items()
        }
        return replace(config, partitions=partitions)

    def collect(self, start: str | None = None, end: str | None = None, **options: Any) -> Any:
        self.now = datetime.now(UTC) - timedelta(minutes=2)  # each run adds them
        return super().collect(start, end, **options)

    def lines(self, count: int) -> bytes:
        """Rows that there were never before, no two files of which are of one size."""
        first = len(self.written)
        fresh = [f"{number:06d}{'.' * (number % 17)}" for number in range(first, first + count)]
        self.written += fresh
        day = datetime.now(UTC).date()
        return "".join(json.dumps({"time": f"{day}T00:00:00Z", "message": one}) + "\n" for one in fresh).encode()

    def append(self, name: str, count: int) -> Path:
        path = self.logs / name
        with path.open("ab") as file:
            file.write(self.lines(count))
        return path


def _eventful(source: Any) -> Eventful:
    return Eventful(**{one.name: getattr(source, one.name) for one in fields(source)})


def at(step: int, what: Callable[[], Iterator[None]]) -> None:
    """Let the parts of something happen one by one, from the given step of the source on."""
    parts: Iterator[None] | None = None
    left = step

    def happens(_: str) -> None:
        nonlocal left, parts
        left -= 1
        if left < 0:
            parts = what() if parts is None else parts
            next(parts, None)

    happen(happens)


def shift(world: Turning, first: int = 0) -> None:
    """Rename the chain by one, from the given number on: app.log.3 becomes app.log.4, and so on."""
    numbered = {}
    for path in world.logs.glob("app.log*"):
        digits = path.name.removeprefix("app.log").removesuffix(".gz").strip(".")
        numbered[int(digits or 0)] = path
    for number in sorted(numbered, reverse=True):
        path = numbered[number]
        if number >= first:
            path.rename(world.logs / f"app.log.{number + 1}{'.gz' if path.suffix == '.gz' else ''}")


def rename_chain(world: Turning) -> Iterator[None]:
    """All at once: app.log becomes app.log.1, and so on."""
    shift(world)
    world.append("app.log", 2)
    yield


def gzip_chain(world: Turning) -> Iterator[None]:
    """app.log becomes app.log.1, and app.log.1 app.log.2.gz, step by step, as a program does it."""
    shift(world, 2)
    yield
    plain, packed = world.logs / "app.log.1", world.logs / "app.log.2.gz"
    data = gzip.compress(plain.read_bytes())
    with packed.open("wb") as file:
        yield
        file.write(data[: len(data) // 2])
        file.flush()
        yield
        file.write(data[len(data) // 2 :])
    yield
    plain.unlink()
    yield
    (world.logs / "app.log").rename(plain)
    yield
    world.append("app.log", 2)
    yield


def gzip_in_place(world: Turning) -> Iterator[None]:
    """As gzip does it: app.log.2.gz is made of app.log.2, gets its time, and then that is removed."""
    shift(world)
    world.append("app.log", 1)
    yield
    plain, packed = world.logs / "app.log.2", world.logs / "app.log.2.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    yield
    facts = plain.stat()
    os.utime(packed, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    yield
    plain.unlink()
    yield


def copytruncate(world: Turning) -> Iterator[None]:
    """The content of app.log goes to another file, and it begins anew, longer than before."""
    shift(world, 1)
    log = world.logs / "app.log"
    (world.logs / "app.log.1").write_bytes(log.read_bytes())
    log.write_bytes(world.lines(9))
    yield


def slow_copytruncate(world: Turning) -> Iterator[None]:
    """The same as a program does it with a long log: it copies in parts, and cuts the log afterwards."""
    shift(world, 1)
    log, copy = world.logs / "app.log", world.logs / "app.log.1"
    data = log.read_bytes()
    for half in (data[: len(data) // 2], data[len(data) // 2 :]):
        with copy.open("ab") as file:
            file.write(half)
        yield
        yield
    log.write_bytes(world.lines(9))
    yield


def replace_all(world: Turning) -> Iterator[None]:
    """A new file of the same size takes the name of app.log; the old one goes elsewhere."""
    log = world.logs / "app.log"
    facts = log.stat()
    fresh = world.lines(9)[: facts.st_size]
    cut = fresh.rfind(b"\n") + 1
    world.written = world.written[: len(world.written) - 9 + fresh.count(b"\n")]
    log.rename(world.logs / "app.log.old")
    fresh = fresh[:cut] + b" " * (facts.st_size - cut - 1) + b"\n" if facts.st_size > cut else fresh[:cut]
    (world.logs / "new").write_bytes(fresh)
    (world.logs / "new").rename(log)
    yield
