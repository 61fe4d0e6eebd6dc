"""What queries over files in a store take: requests, bytes and seconds, with 20 ms for each request."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from tests.reading.support import Remote, asked, requests_of

from tailpipe.model.store import Store
from tailpipe.query.session import Session
from tailpipe.storage.directory_objects import DirectoryObjects
from tailpipe.stores.fetch import Reader

LATENCY = 0.02


class Slow(DirectoryObjects):
    """A directory that answers as late as a bucket does."""

    def fetch(self, key: str, target: Path) -> str:
        time.sleep(LATENCY)
        return super().fetch(key, target)

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        time.sleep(LATENCY)
        return super().get(key, start, length)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        small = _remote(Path(place) / "small")
        for day in range(80):
            small.add(day, rows=200)
        for turn in ("first", "second"):
            _measure(
                f"80 files of {small.files[0].size / 1e3:.0f} kB, {turn} time", small, "SELECT count(n) FROM app_log"
            )
        large = _remote(Path(place) / "large")
        for day in range(24):
            large.add(day, rows=230_000)
        _measure(f"24 files of {large.files[0].size / 1e6:.1f} MB, 1 column", large, "SELECT max(n) FROM app_log")


def _remote(place: Path) -> Remote:
    (place / "store").mkdir(parents=True)
    (place / ".tailpipe" / "files").mkdir(parents=True)
    return Remote(place / ".tailpipe", Store(name="lake", location=str(place / "store")))


def _measure(name: str, remote: Remote, sql: str) -> None:
    def reader() -> Reader:
        made: Any = remote.reader()
        made._opened["lake"] = Slow(Path(remote.store.location), remote.store.location)
        opened: Reader = made
        return opened

    begun = time.perf_counter()
    with Session(remote.snapshot(), {}, open_reader=reader) as session:
        asked(session, sql)
        seconds = time.perf_counter() - begun
        files: Any = session._files
        gate = files._reader._gate
        sent = f", {gate.sent / 1e6:.1f} MB" if gate is not None else ""
        print(f"{name}: {sum(requests_of(session).values())} requests{sent}, {seconds:.2f} s")
