"""Requests over a few workers: so many at once, the next ones wait, and more are refused.

A thread waits for each worker that runs. When the client leaves, the statement is interrupted, or its worker killed.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from tailpipe.serve.limits import Limits
from tailpipe.serve.problems import BusyError, LeftError
from tailpipe.workers.pool import Worker, Workers
from tailpipe.workers.worker import CancelledError, Request

Gone = Callable[[], Awaitable[None]]
"""Returns when the client has left."""
_AGAIN_SECONDS = 0.05


class Cache:
    """Cached answers by request, each with its commit; the oldest are evicted when the cache is full."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._held: OrderedDict[str, tuple[int, bytes]] = OrderedDict()
        self._size = 0

    def get(self, key: str) -> tuple[int, bytes] | None:
        """The answer with its commit, if one is held."""
        if (found := self._held.get(key)) is not None:
            self._held.move_to_end(key)
        return found

    def put(self, key: str, commit: int, answer: bytes) -> None:
        """Hold an answer, unless it would take much of the room."""
        if (old := self._held.pop(key, None)) is not None:
            self._size -= len(old[1]) + len(key)
        if len(answer) > self._room // 8:
            return
        self._held[key] = commit, answer
        self._size += len(answer) + len(key)
        while self._size > self._room:
            key, (_, answer) = self._held.popitem(last=False)
            self._size -= len(answer) + len(key)


class _Held:
    """The worker of one request while it runs, so that it is not interrupted later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self.is_cancelled = False

    def take(self, worker: Worker) -> None:
        with self._lock:
            self.check()
            self._worker = worker

    def let_go(self) -> None:
        with self._lock:
            self._worker = None

    def cancel(self) -> None:
        """End the request, if it runs; what has not begun does not begin."""
        with self._lock:
            self.is_cancelled = True
            if self._worker is not None:
                self._worker.cancel()

    def check(self) -> None:
        """Raise if it was cancelled."""
        if self.is_cancelled:
            raise LeftError


class _Turns:
    """So many at once, and so many that wait."""

    def __init__(self, count: int, most_waiting: int) -> None:
        self._free = asyncio.Semaphore(count)
        self._most_waiting = most_waiting
        self.waiting = 0

    @asynccontextmanager
    async def turn(self, gone: Gone) -> AsyncIterator[None]:
        """Wait until fewer run; a client that leaves meanwhile gives up its turn."""
        if self._free.locked() and self.waiting >= self._most_waiting:
            raise BusyError
        self.waiting += 1
        try:
            if self._free.locked():
                turn, leaving = asyncio.ensure_future(self._free.acquire()), asyncio.ensure_future(gone())
                try:
                    await asyncio.wait({turn, leaving}, return_when=asyncio.FIRST_COMPLETED)
                    if not turn.done():
                        raise LeftError
                except BaseException:
                    if not turn.cancel():
                        self._free.release()
                    raise
                finally:
                    leaving.cancel()
            else:
                await self._free.acquire()
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self._free.release()


class Pool:
    """Workers for requests. Statements of users never take all of them: views of the pages keep one."""

    def __init__(self, workers: Workers, limits: Limits) -> None:
        self.workers = workers
        self._limits = limits
        self._running: set[_Held] = set()
        self._threads = ThreadPoolExecutor(limits.statements, thread_name_prefix="statement")
        self._turns = _Turns(limits.statements, limits.waiting)
        self._sql_turns = _Turns(limits.statements - limits.statements // 4, limits.waiting)
        self._is_closed = False

    @property
    def _waiting(self) -> int:
        return self._turns.waiting + self._sql_turns.waiting

    async def run(self, gone: Gone, request: Request, seconds: float | None = None) -> bytes:
        """The answer to a request, whose statements share one time limit; `LeftError` if the client leaves."""
        async with self._turn(gone, request):
            held = _Held()
            future = self._submit(held, request, seconds or self._limits.seconds, lambda _: None)
            leaving = asyncio.ensure_future(gone())
            done = asyncio.wrap_future(future)
            both: set[asyncio.Future[Any]] = {done, leaving}
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                if not done.done():
                    raise LeftError
                return done.result()
            finally:
                leaving.cancel()
                await self._end(held, future)
                with suppress(asyncio.CancelledError, asyncio.InvalidStateError):
                    done.exception()  # else asyncio would tell that nobody looked at it

    @asynccontextmanager
    async def stream(self, gone: Gone, request: Request, seconds: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Parts of an answer as the request gives them; a caller that stops reading ends the statement."""
        async with self._turn(gone, request):
            held, loop = _Held(), asyncio.get_running_loop()
            queue: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue(2)

            def give(part: bytes | BaseException | None) -> None:
                while True:
                    held.check()
                    coming = asyncio.run_coroutine_threadsafe(asyncio.wait_for(queue.put(part), 1), loop)
                    with suppress(TimeoutError):
                        coming.result()
                        return

            def ended(future: Future[bytes]) -> None:
                # If it has ended already, this runs in the thread of the loop: waiting here would stop the server.
                end = queue.put(None if future.cancelled() else future.exception())
                try:
                    asyncio.run_coroutine_threadsafe(end, loop)
                except RuntimeError:  # the loop is closed
                    end.close()

            future = self._submit(held, request, seconds, give)
            future.add_done_callback(ended)

            async def parts() -> AsyncIterator[bytes]:
                while (part := await queue.get()) is not None:
                    if isinstance(part, BaseException):
                        raise part
                    yield part

            try:
                yield parts()
            finally:
                await self._end(held, future)
                while not queue.empty():  # makes room for the end, which no one may read
                    queue.get_nowait()

    def cancel_all(self) -> None:
        """End all statements and begin no other."""
        self._is_closed = True
        for held in list(self._running):
            held.cancel()

    def close(self) -> None:
        """End all statements and all workers."""
        self.cancel_all()
        self.workers.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    @asynccontextmanager
    async def _turn(self, gone: Gone, request: Request) -> AsyncIterator[None]:
        if self._is_closed:
            raise BusyError
        async with AsyncExitStack() as stack:
            if request.statement:
                await stack.enter_async_context(self._sql_turns.turn(gone))
            await stack.enter_async_context(self._turns.turn(gone))
            yield

    def _submit(self, held: _Held, request: Request, seconds: float, give: Callable[[bytes], None]) -> Future[bytes]:
        self._running.add(held)
        return self._threads.submit(self._job, held, request, seconds, give)

    def _job(self, held: _Held, request: Request, seconds: float, give: Callable[[bytes], None]) -> bytes:
        held.check()
        worker = self.workers.take()
        try:
            held.take(worker)
            return worker.run(request, seconds, give)
        except CancelledError:
            raise LeftError from None
        finally:
            held.let_go()
            self.workers.put_back(worker)

    async def _end(self, held: _Held, future: Future[Any]) -> None:
        """Wait until the worker is free again or dead; what still runs is interrupted until it hears it."""
        try:
            while not future.done():
                held.cancel()
                await asyncio.sleep(_AGAIN_SECONDS)
        except asyncio.CancelledError:
            held.cancel()
            raise
        finally:
            self._running.discard(held)
