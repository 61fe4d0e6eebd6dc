"""A place for objects that goes wrong on request: lost replies, busy servers, cut bodies, killed writers.

FaultyObjects(objects, script({("put", 2): Lost()}))          the third put happens, but its reply is lost
FaultyObjects(objects, on_key("log/", Busy(), times=2))       two requests for keys of the log are refused
FaultyObjects(objects, seeded(7, 0.1, [Lost(), Busy()]))      one request in ten fails, the same ones each time
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from tailpipe.errors import ObjectStoreError
from tailpipe.storage.objects import ObjectFacts, Objects, Requests

T = TypeVar("T")
WRITES = frozenset({"put", "put_file", "replace", "copy", "delete"})


@dataclass(frozen=True)
class Lost:
    """The request is carried out, but no reply comes."""


@dataclass(frozen=True)
class Busy:
    """The server answers 503 and does nothing; whoever wrote cannot know that."""


@dataclass(frozen=True)
class CutBody:
    """The connection is cut in mid-body: a write has no effect, and a copy has the first bytes alone."""

    after: int = 0


@dataclass(frozen=True)
class Slow:
    """The request takes a while."""

    seconds: float = 0.05


@dataclass(frozen=True)
class Kill:
    """The process dies before the request, or after it."""

    is_done: bool = False


class KilledError(BaseException):
    """The end of a process, as far as one process can show it: no handler of `Exception` gets it."""


Fault = Lost | Busy | CutBody | Slow | Kill
Plan = Callable[[str, str, int], Fault | None]
"""Says what goes wrong with a method, a key (or prefix), and how many calls of the method were before."""


def script(faults: Mapping[tuple[str, int], Fault]) -> Plan:
    """What goes wrong with the n-th call of a method, counted from 0."""
    return lambda method, _, number: faults.get((method, number))


def on_key(beginning: str, fault: Fault, *, methods: Iterable[str] = (), times: int = 1) -> Plan:
    """What goes wrong with the first requests for keys that begin so."""
    wanted, left, lock = frozenset(methods), [times], threading.Lock()

    def plan(method: str, key: str, _: int) -> Fault | None:
        with lock:
            if not key.startswith(beginning) or (wanted and method not in wanted) or left[0] == 0:
                return None
            left[0] -= 1
            return fault

    return plan


def seeded(seed: int, rate: float, faults: Sequence[Fault]) -> Plan:
    """Faults by chance, and by the same chance each time: threads do not change what happens to a call."""

    def plan(method: str, _: str, number: int) -> Fault | None:
        chance = random.Random(f"{seed} {method} {number}")
        return chance.choice(faults) if chance.random() < rate else None

    return plan


class FaultyObjects(Objects):
    """Passes everything on to other objects, except what the plan says; `calls` are all requests so far."""

    def __init__(self, inner: Objects, plan: Plan, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.inner = inner
        self.plan = plan
        self.location = inner.location
        self.calls: list[tuple[str, str, Fault | None]] = []
        self._sleep = sleep
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def requests(self) -> Requests:  # type: ignore[override] # those of the place itself
        return self.inner.requests

    @property
    def faults(self) -> list[tuple[str, str, Fault]]:
        """The requests that went wrong."""
        return [(method, key, fault) for method, key, fault in self.calls if fault is not None]

    def put(self, key: str, data: bytes, *, sha256: str | None = None) -> bool:
        return self._do("put", key, lambda: self.inner.put(key, data, sha256=sha256))

    def put_file(self, key: str, source: Path, *, sha256: str) -> bool:
        return self._do("put_file", key, lambda: self.inner.put_file(key, source, sha256=sha256))

    def replace(self, key: str, data: bytes) -> None:
        self._do("replace", key, lambda: self.inner.replace(key, data))

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        return self._do("get", key, lambda: self.inner.get(key, start, length))

    def fetch(self, key: str, target: Path) -> str:
        def cut(size: int) -> None:
            target.write_bytes(self.inner.get(key, 0, size))

        return self._do("fetch", key, lambda: self.inner.fetch(key, target), cut)

    def copy(self, key: str, target: str) -> None:
        self._do("copy", key, lambda: self.inner.copy(key, target))

    def head(self, key: str) -> ObjectFacts | None:
        return self._do("head", key, lambda: self.inner.head(key))

    def list(self, prefix: str, *, after: str | None = None) -> Iterator[ObjectFacts]:
        return iter(self._do("list", prefix, lambda: tuple(self.inner.list(prefix, after=after))))

    def delete(self, keys: Iterable[str]) -> None:
        wanted = tuple(keys)
        self._do("delete", wanted[0] if wanted else "", lambda: self.inner.delete(wanted))

    def now(self) -> datetime:
        return self._do("now", "", self.inner.now)

    def _do(self, method: str, key: str, request: Callable[[], T], cut: Callable[[int], None] = lambda _: None) -> T:
        with self._lock:
            fault = self.plan(method, key, self._counts[method])
            self._counts[method] += 1
            self.calls.append((method, key, fault))
        match fault:
            case None:
                return request()
            case Slow(seconds):
                self._sleep(seconds)
                return request()
            case Lost():
                request()
            case Kill(is_done):
                if is_done:
                    request()
                raise KilledError(f"{method} {key}")
            case CutBody(after):
                cut(after)
            case Busy():
                pass
        raise ObjectStoreError(
            f'cannot {method} "{self.location}/{key}": {type(fault).__name__} by the test',
            location=self.location,
            key=key,
            is_unknown=method in WRITES,
            hint="run it again",
        )
