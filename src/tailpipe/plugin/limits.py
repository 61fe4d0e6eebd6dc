"""Limits on the requests to one service, shared by all tasks on a host: how many at a time, how many a second.

Tasks run in processes of their own, so the limits are kept in files that processes lock: one file for each slot, one
that holds when the next request may be sent, and one until when the service wants none. On a cluster each host has its
own files, so the limits hold per host.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import random
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from pathlib import Path

from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen

__all__ = ["RequestLimit"]

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_POLL = 0.02
_LONGEST_POLL = 0.5
_STALE = 60.0
"""A turn that is further away than this, and than a hundred requests, was left by a clock that has been set back."""
_LONGEST_HOLD = 86_400.0


@frozen
class RequestLimit:
    """At most `parallel` requests at a time and `per_second` of them in a second, over all processes of a host.

    `name` says whose limits they are, such as the address of a connection: who gives the same name shares them.
    Nobody waits longer than `time_limit` seconds for a turn. A process that ends frees its slots, however it ends.
    """

    name: str
    parallel: int | None = None
    per_second: float | None = None
    time_limit: float = 600.0
    directory: Path | None = None
    """Where the files are; a directory of the user in the system's temporary one if not given."""
    sleep: Callable[[float], object] = field(default=time.sleep, compare=False)
    clock: Callable[[], float] = field(default=time.time, compare=False)

    def __post_init__(self) -> None:
        if self.parallel is not None and self.parallel < 1:
            raise ValueError("parallel is at least 1")
        if self.per_second is not None and not self.per_second > 0:
            raise ValueError("per_second is more than 0")

    @contextmanager
    def request(self) -> Iterator[None]:
        """Wait for a turn, and hold it. Hold it for one request only, not while its answer is worked on."""
        deadline = self.clock() + self.time_limit
        with ExitStack() as held:
            if self.parallel is not None:
                held.callback(os.close, self._take_slot(self.parallel, deadline))
            while (rest := self._held_for()) > 0:
                self._pause(rest, deadline)
            if self.per_second is not None:
                self._await_turn(1 / self.per_second, deadline)
            yield

    def hold(self, seconds: float) -> None:
        """Block all requests for so many seconds, because the service has said that no request remains."""
        until = self.clock() + min(seconds, _LONGEST_HOLD)
        with self._locked("hold") as place:
            if until > _moment(place):
                os.pwrite(place, f"{until:032.9f}".encode(), 0)

    def _held_for(self) -> float:
        """How long requests are blocked; a moment too far away was left by a clock that has been set back."""
        try:
            place = os.open(self._place() / "hold", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return 0.0
        try:
            rest = _moment(place) - self.clock()
        finally:
            os.close(place)
        return rest if rest <= _LONGEST_HOLD else 0.0

    @contextmanager
    def _locked(self, name: str) -> Iterator[int]:
        place = os.open(self._place() / name, _FLAGS, 0o600)
        try:
            fcntl.flock(place, fcntl.LOCK_EX)
            yield place
        finally:
            os.close(place)

    def _take_slot(self, count: int, deadline: float) -> int:
        """The descriptor of a slot that is locked; closing it frees the slot."""
        directory, pause = self._place(), _POLL
        while True:
            for number in random.sample(range(count), count):
                slot = os.open(directory / f"slot-{number}", _FLAGS, 0o600)
                try:
                    fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(slot)
                except BaseException:
                    os.close(slot)
                    raise
                else:
                    return slot
            self._pause(pause, deadline)
            pause = min(_LONGEST_POLL, pause * 2)

    def _await_turn(self, interval: float, deadline: float) -> None:
        """Reserve the next moment at which a request may be sent, and sleep until then."""
        with self._locked("turn") as place:
            now, turn = self.clock(), _moment(place)
            if not now < turn < now + max(_STALE, 100 * interval):
                turn = now
            if turn > deadline:
                raise self._timeout()
            os.pwrite(place, f"{turn + interval:032.9f}".encode(), 0)
        if turn > now:
            self.sleep(turn - now)

    def _pause(self, seconds: float, deadline: float) -> None:
        if self.clock() + seconds > deadline:
            raise self._timeout()
        self.sleep(seconds)

    def _timeout(self) -> TailpipeError:
        hint = "other tasks use up the limits, or the service requires a longer pause"
        return TailpipeError(f"no request to {self.name} could be sent for {self.time_limit:g} seconds", hint=hint)

    def _place(self) -> Path:
        root = self.directory or Path(tempfile.gettempdir()) / f"tailpipe-limits-{os.getuid()}"
        place = root / hashlib.blake2b(self.name.encode("utf-8", "replace"), digest_size=8).hexdigest()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = root.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
            raise TailpipeError(f'"{root}" is not a directory of this user', hint="remove it, or set TMPDIR")
        return place


def _moment(place: int) -> float:
    """The moment in a file; 0 if it is empty, or was written in part."""
    with suppress(ValueError):
        return float(os.pread(place, 64, 0) or b"0")
    return 0.0
