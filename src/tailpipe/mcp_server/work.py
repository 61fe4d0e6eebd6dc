"""Work in a thread that ends when its call is cancelled, or when its time is over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, cast

import anyio
import anyio.to_thread

from tailpipe.errors import TailpipeError, TimeLimitError, UsageError
from tailpipe.workers.pool import Workers

if TYPE_CHECKING:
    from tailpipe.mcp_server.reading import Reading

T = TypeVar("T")
_AGAIN_SECONDS = 0.1


class Stop:
    """What ends a piece of work from outside: by a cancelled call, or by its time limit."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.is_over = False
        """Whether the time limit was reached."""
        self.is_cancelled = False
        self._done, self._wanted = threading.Event(), threading.Event()
        self._ends: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def cancel(self) -> None:
        """End the work; it may be called from anywhere."""
        self.is_cancelled = True
        self._wanted.set()

    @property
    def is_wanted(self) -> bool:
        """Whether the work should end."""
        return self._wanted.is_set()

    @contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """While this runs, `end` is called repeatedly to end it: work that had not begun misses the first calls."""
        with self._lock:
            self._ends.append(end)
        try:
            yield
        finally:
            with self._lock:  # from here on it is not called any more
                self._ends.remove(end)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While the work runs."""
        thread = threading.Thread(target=self._watch, name="mcp limit", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            self._wanted.set()
            thread.join()

    def _watch(self) -> None:
        if not self._wanted.wait(self.seconds):
            self.is_over = True
            self._wanted.set()
        while not self._done.wait(_AGAIN_SECONDS):
            with self._lock:
                for end in self._ends:
                    end()

    def error(self) -> TailpipeError:
        """What work fails with that was ended."""
        if self.is_over:
            hint = "read fewer rows: narrow start and end, or the condition"
            return TimeLimitError(f"stopped at the time limit of {self.seconds:g} s", hint=hint)
        return TailpipeError("the call was cancelled")


class Worker:
    """Runs pieces of work, so many at a time."""

    def __init__(self, at_once: int = 4) -> None:
        self.at_once = at_once
        self._room = anyio.CapacityLimiter(at_once)

    @property
    def running(self) -> int:
        """How many pieces run."""
        return self._room.borrowed_tokens

    async def run(self, work: Callable[[Stop], T], seconds: float | None) -> T:
        """The result of the work. If the call is cancelled, the work is ended first: no thread is left behind."""
        stop = Stop(seconds)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancelling, stop)
            result, error = await anyio.to_thread.run_sync(done, work, stop, limiter=self._room)
            tasks.cancel_scope.cancel()
        if error is not None:
            raise error
        return cast(T, result)

    async def read(self, workers: Workers, reading: Reading) -> str:
        """The answer of a worker process; if the call is cancelled, its statement is ended first, or the process."""

        def work(stop: Stop) -> str:
            worker = workers.take()
            try:
                with stop.ending(worker.cancel):
                    return worker.run(reading, reading.limits.seconds).decode()
            finally:
                workers.put_back(worker)

        return await self.run(work, None)


async def _cancelling(stop: Stop) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        stop.cancel()


def done(work: Callable[[Stop], T], stop: Stop) -> tuple[T | None, Exception | None]:
    """Do the work; what it gives, or why it failed: what was interrupted says by what."""
    try:
        with stop.watching():
            if stop.is_cancelled:
                return None, stop.error()
            return work(stop), None
    except KeyboardInterrupt:
        return None, stop.error()
    except UsageError as error:
        return None, error
    except Exception as error:  # noqa: BLE001 - it is raised where the call is answered
        return None, stop.error() if stop.is_over else error
