"""Statements of many requests over a few sessions: so many at once, the next ones wait, and more are refused.

A statement runs in a thread. When its client leaves, the session is interrupted and used again.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from tailpipe.errors import TimeLimitError
from tailpipe.query.session import Session
from tailpipe.serve.limits import Limits
from tailpipe.serve.problems import BusyError, LeftError

__all__ = ["Cache", "Pool", "encoded"]

T = TypeVar("T")
Gone = Callable[[], Awaitable[None]]
"""Returns when the client has left."""
_AGAIN_SECONDS = 0.05
_LATE_SECONDS = 0.5
"""A single statement is ended by its own limit before that."""


class Cache:
    """Cached answers by request and commit; the oldest are evicted when the cache is full."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._held: OrderedDict[tuple[int, str], bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[int, str]) -> bytes | None:
        """The answer, if it is held."""
        with self._lock:
            if (found := self._held.get(key)) is not None:
                self._held.move_to_end(key)
            return found

    def put(self, key: tuple[int, str], answer: bytes) -> None:
        """Hold an answer, unless it would take much of the room."""
        with self._lock:
            if len(answer) > self._room // 8 or key in self._held:
                return
            self._held[key] = answer
            self._size += len(answer) + len(key[1])
            while self._size > self._room:
                (_, asked), old = self._held.popitem(last=False)
                self._size -= len(old) + len(asked)


class _Held:
    """The session of one statement, while it runs; nobody interrupts it later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: Session | None = None
        self.is_cancelled = False

    def take(self, session: Session) -> None:
        with self._lock:
            if self.is_cancelled:
                raise LeftError
            self._session = session

    def let_go(self) -> None:
        with self._lock:
            self._session = None

    def cancel(self) -> None:
        """End the statement, if it runs; what has not begun does not begin."""
        with self._lock:
            self.is_cancelled = True
            if self._session is not None:
                self._session.interrupt()

    def check(self) -> None:
        """Raise if it was cancelled."""
        if self.is_cancelled:
            raise LeftError


class Pool:
    """Sessions, made when they are first needed, each for one statement at a time."""

    def __init__(self, open_session: Callable[[], Session], limits: Limits) -> None:
        self._open = open_session
        self._limits = limits
        self._free: list[Session] = []
        self._running: set[_Held] = set()
        self._threads = ThreadPoolExecutor(limits.statements, thread_name_prefix="statement")
        self._turns = asyncio.Semaphore(limits.statements)
        self._waiting = 0
        self._is_closed = False

    async def run(self, gone: Gone, work: Callable[[Session], T], seconds: float | None = None) -> T:
        """The outcome of work with a session; if the client leaves, `LeftError`, and the statement ends.

        All statements of the work together have the time of one.
        """
        async with self._turn(gone):
            held = _Held()
            future = self._submit(held, work, seconds)
            leaving = asyncio.ensure_future(gone())
            done: asyncio.Future[T] = asyncio.wrap_future(future)
            both: set[asyncio.Future[Any]] = {done, leaving}
            try:
                allowed = seconds or self._limits.seconds
                await asyncio.wait(both, timeout=allowed + _LATE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if not done.done():
                    raise LeftError if leaving.done() else TimeLimitError(f"stopped at the time limit of {allowed:g} s")
                return done.result()
            finally:
                leaving.cancel()
                await self._end(held, future)
                with suppress(asyncio.CancelledError, asyncio.InvalidStateError):
                    done.exception()  # else asyncio would tell that nobody looked at it

    @asynccontextmanager
    async def stream(
        self, gone: Gone, work: Callable[[Session, Callable[[bytes], None]], None], seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Parts of an answer as work gives them; whoever stops reading ends the statement."""
        async with self._turn(gone):
            held, loop = _Held(), asyncio.get_running_loop()
            queue: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue(2)

            def give(part: bytes | BaseException | None) -> None:
                while True:
                    held.check()
                    coming = asyncio.run_coroutine_threadsafe(asyncio.wait_for(queue.put(part), 1), loop)
                    with suppress(TimeoutError):
                        coming.result()
                        return

            def working(session: Session) -> None:
                try:
                    work(session, give)
                    last = None
                except Exception as failure:  # noqa: BLE001 - whoever reads raises it
                    last = failure
                with suppress(LeftError):
                    give(last)

            future = self._submit(held, working, seconds)

            async def parts() -> AsyncIterator[bytes]:
                while (part := await queue.get()) is not None:
                    if isinstance(part, BaseException):
                        raise part
                    yield part

            try:
                yield parts()
            finally:
                await self._end(held, future)

    def cancel_all(self) -> None:
        """End all statements and begin no other."""
        self._is_closed = True
        for held in list(self._running):
            held.cancel()

    def close(self) -> None:
        """End all statements and let go of the sessions."""
        self.cancel_all()
        self._threads.shutdown(wait=True, cancel_futures=True)
        while self._free:
            self._free.pop().close()

    @asynccontextmanager
    async def _turn(self, gone: Gone) -> AsyncIterator[None]:
        """Wait until fewer statements run; a client that leaves meanwhile gives up its turn."""
        if self._is_closed or (self._turns.locked() and self._waiting >= self._limits.waiting):
            raise BusyError
        self._waiting += 1
        try:
            if self._turns.locked():
                turn, leaving = asyncio.ensure_future(self._turns.acquire()), asyncio.ensure_future(gone())
                try:
                    await asyncio.wait({turn, leaving}, return_when=asyncio.FIRST_COMPLETED)
                    if not turn.done():
                        raise LeftError
                except BaseException:
                    if not turn.cancel():
                        self._turns.release()
                    raise
                finally:
                    leaving.cancel()
            else:
                await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turns.release()

    def _submit(self, held: _Held, work: Callable[[Session], T], seconds: float | None) -> Future[T]:
        self._running.add(held)
        return self._threads.submit(self._job, held, work, seconds or self._limits.seconds)

    def _job(self, held: _Held, work: Callable[[Session], T], seconds: float) -> T:
        held.check()
        try:
            session = self._free.pop()
        except IndexError:
            session = self._open()
        is_whole = False
        try:
            session.limit.seconds = seconds
            session.refresh()
            held.take(session)
            outcome = work(session)
            is_whole = True
        except KeyboardInterrupt:
            is_whole = True
            raise LeftError from None
        except Exception:
            is_whole = True
            raise
        else:
            return outcome
        finally:
            held.let_go()
            if is_whole and not self._is_closed:
                self._free.append(session)
            else:
                session.close()

    async def _end(self, held: _Held, future: Future[Any]) -> None:
        """Wait until the thread is free again; what still runs is interrupted until it hears it."""
        try:
            while not future.done():
                held.cancel()
                await asyncio.sleep(_AGAIN_SECONDS)
        except asyncio.CancelledError:
            held.cancel()
            raise
        finally:
            self._running.discard(held)


def encoded(answer: Any) -> bytes:
    """An answer as JSON."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
