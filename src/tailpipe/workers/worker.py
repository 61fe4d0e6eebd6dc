"""The worker's side: it runs one request after the other and sends what they give, until its server has gone.

A second thread reads the socket, so that an interrupt is heard while the engine works.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, Protocol

from tailpipe.errors import TailpipeError
from tailpipe.sql.memory import too_much_memory
from tailpipe.storage.scratch import remove_scratch
from tailpipe.workers.frames import CANCELLED, END, FAILURE, INTERRUPT, PART, receive, send

_log = logging.getLogger(__name__)


class Request(Protocol):
    """Work that can be pickled."""

    @property
    def statement(self) -> str:
        """The SQL that is run, for messages; empty if it is none of a user's."""

    def __call__(self, shared: Any, call: Call, /) -> bytes:
        """The answer; `shared` is what all requests of a worker share."""


class CancelledError(TailpipeError):
    """The request was cancelled."""

    def __init__(self) -> None:
        super().__init__("cancelled")


class FailedError(Exception):
    """A bug in the worker; the log of the server has the rest."""


class Call:
    """One request while it runs: where its parts go, and how it is interrupted."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._interrupts: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self.is_cancelled = False

    def give(self, part: bytes) -> None:
        """Send a part of the answer."""
        self.check()
        send(self._channel, PART, part)

    def check(self) -> None:
        """Raise if the request was cancelled."""
        if self.is_cancelled:
            raise CancelledError

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """While this runs, `interrupt` is called when the request is cancelled, perhaps many times."""
        self.check()
        with self._lock:
            self._interrupts.append(interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)

    def cancel(self) -> None:
        """Cancel the request."""
        self.is_cancelled = True
        with self._lock:
            for interrupt in self._interrupts:
                interrupt()


class _Channel:
    """Reads requests and interrupts in a thread of its own; the process ends with the server."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._call: Call | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._read, name="requests", daemon=True).start()

    def next(self) -> tuple[bytes, Call]:
        """The next request."""
        data = self._requests.get()
        with self._lock:
            self._call = Call(self._channel)
            return data, self._call

    def end(self) -> None:
        """From here on an interrupt is too late."""
        with self._lock:
            self._call = None

    def _read(self) -> None:
        try:
            while True:
                kind, data = receive(self._channel)
                if kind != INTERRUPT:
                    self._requests.put(data)
                    continue
                with self._lock:
                    if self._call is not None:
                        self._call.cancel()
        except (EOFError, OSError):
            _leave()


def serve(channel: socket.socket, shared: Any, memory: int) -> NoReturn:
    """Run requests until the server has gone; more than `memory` bytes cannot be allocated."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it would hold rows of logs
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    requests = _Channel(channel)
    while True:
        data, call = requests.next()
        kind, answer = _answer(data, shared, call)
        requests.end()
        try:
            send(channel, kind, answer)
        except OSError:
            _leave()


def _answer(data: bytes, shared: Any, call: Call) -> tuple[bytes, bytes]:
    try:
        request: Request = pickle.loads(data)  # noqa: S301 - our own server has sent it
        return END, request(shared, call)
    except (KeyboardInterrupt, CancelledError):
        return CANCELLED, b""
    except TailpipeError as error:
        failure: Exception = error
    except MemoryError:
        failure = too_much_memory()
    except Exception as error:  # noqa: BLE001 - whoever waits for the answer raises it
        if call.is_cancelled:
            return CANCELLED, b""
        _log.error("a request failed: %s", type(error).__name__)
        _log.debug("a request failed", exc_info=error)
        failure = FailedError(type(error).__name__)
    return FAILURE, pickle.dumps(failure)


def _leave() -> NoReturn:
    remove_scratch()
    os._exit(0)
