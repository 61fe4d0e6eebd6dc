"""Threads that are not waited for: when a listing is interrupted, the requests under way are left to themselves."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Crew(Generic[T]):
    """Calls functions in up to `size` threads. Unlike an executor's, they do not keep the process from ending."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._work: queue.SimpleQueue[tuple[Future[T], Callable[[], T]] | None] = queue.SimpleQueue()
        self._threads = 0
        self._is_closed = False

    def submit(self, call: Callable[..., T], *arguments: Any, **named: Any) -> Future[T]:
        """Have a function called; the future has what it returns or raises."""
        future: Future[T] = Future()
        self._work.put((future, lambda: call(*arguments, **named)))
        if self._threads < self._size:
            self._threads += 1
            threading.Thread(target=self._run, name=f"{self._name}-{self._threads}", daemon=True).start()
        return future

    def close(self) -> None:
        """Begin nothing more; what is under way is not waited for."""
        self._is_closed = True
        for _ in range(self._threads):
            self._work.put(None)

    def _run(self) -> None:
        while (one := self._work.get()) is not None:
            future, call = one
            if self._is_closed:
                continue
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001 - raised by whoever asks for the result
                future.set_exception(error)
