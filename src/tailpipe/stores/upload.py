"""Put files into a store, many at once, and prove that objects are what they should be."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from tailpipe.errors import ObjectStoreError, StorageError, TailpipeError
from tailpipe.frozen import frozen
from tailpipe.storage.objects import Objects
from tailpipe.stores.log import pause

AT_ONCE = 32
_TRIES = 5
_PIECE = 8 * 1024 * 1024


@frozen
class Upload:
    """A local file that is to become an object."""

    source: Path
    key: str
    size: int
    sha256: str
    is_expected: bool = False
    """Whether it was put before, as far as is known: then it is looked at first."""


@frozen
class Limits:
    """What a push may take: bytes in a second on average, and seconds in all."""

    bytes_per_second: float | None = None
    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def begin(self) -> Pace:
        """The pace of a push that begins now."""
        return Pace(self)


class Pace:
    """Lets files go up one after the other as fast as the limits allow."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._begun = self._free = limits.clock()
        self._lock = threading.Lock()
        self.sleep = limits.sleep

    def wait_for(self, size: int) -> None:
        """Wait until so many bytes may be sent, or raise if the time is over."""
        limits, rate = self._limits, self._limits.bytes_per_second
        self.check()
        if rate is None:
            return
        with self._lock:
            now = limits.clock()
            start = max(now, self._free)
            self._free = start + size / rate
        if start > now:
            limits.sleep(start - now)
        self.check()

    def check(self) -> None:
        """Raise if the time is over."""
        seconds = self._limits.seconds
        if seconds is not None and self._limits.clock() - self._begun > seconds:
            raise TailpipeError(f"the push took longer than {seconds:g} seconds", hint="run: tailpipe push")


def upload(
    objects: Objects, uploads: Sequence[Upload], pace: Pace, reach: Callable[[str], None] = lambda _: None
) -> Iterator[list[Upload]]:
    """Put files if there is no such object, 32 at once; yields the finished ones as they come.

    After the first failure no further one is begun; those under way are waited for and yielded before it is raised.
    """
    if not uploads:
        return
    waiting = iter(uploads)
    failed: BaseException | None = None
    with ThreadPoolExecutor(min(AT_ONCE, len(uploads)), "push") as pool:
        running: dict[Future[None], Upload] = {}
        while True:
            while failed is None and len(running) < AT_ONCE and (one := next(waiting, None)) is not None:
                running[pool.submit(_put, objects, one, pace, reach)] = one
            if not running:
                break
            over, _ = wait(running, return_when=FIRST_COMPLETED)
            problems = {future: future.exception() for future in over}
            done = [running.pop(future) for future in over if problems[future] is None]
            for future, problem in problems.items():
                if problem is not None:
                    running.pop(future)
                    failed = failed or problem
            if done:
                yield done
    if failed is not None:
        raise failed


def _put(objects: Objects, one: Upload, pace: Pace, reach: Callable[[str], None]) -> None:
    """Put one file, or find that its object is there; a name is never used twice, so a put may be made again."""
    if one.is_expected and is_proved(objects, one.key, one.size, one.sha256):
        return
    for failures in range(_TRIES):
        pace.wait_for(one.size)
        reach("push.put")
        try:
            if objects.put_file(one.key, one.source, sha256=one.sha256):
                return
            if is_proved(objects, one.key, one.size, one.sha256):
                return
        except ObjectStoreError as error:
            if not error.is_unknown or failures == _TRIES - 1:
                raise
            pause(failures, pace.sleep)
            continue
        except OSError as problem:
            reason = (problem.strerror or str(problem)).lower()
            raise StorageError(
                f"cannot read {one.source}: {reason}", path=str(one.source), hint="run: tailpipe doctor --repair"
            ) from problem
        raise ObjectStoreError(
            f'"{objects.location}/{one.key}" differs from {one.source}',
            location=objects.location,
            key=one.key,
            hint="move the object away, then push again",
        )


def is_proved(objects: Objects, key: str, size: int, sha256: str) -> bool:
    """Whether the store has these bytes: by what HEAD says, or where it says no checksum by reading the object."""
    facts = objects.head(key)
    if facts is None or facts.size != size:
        return False
    if facts.sha256 is not None:
        return facts.sha256 == sha256
    digest, read = hashlib.sha256(), 0
    try:
        while read < size and (piece := objects.get(key, read, _PIECE)):
            digest.update(piece)
            read += len(piece)
    except FileNotFoundError:
        return False
    return read == size and digest.hexdigest() == sha256
