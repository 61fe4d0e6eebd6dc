"""The server's side: warm workers that take one request at a time, and are replaced when they died or were killed."""

from __future__ import annotations

import json
import os
import pickle
import select
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tailpipe.errors import CrashedError, TailpipeError, TimeLimitError
from tailpipe.workers.fork_server import COMMAND, FORK, KILL, NUMBER
from tailpipe.workers.frames import CANCELLED, FAILURE, INTERRUPT, PART, REQUEST, receive, send
from tailpipe.workers.worker import CancelledError, Request

GRACE_SECONDS = 2.0
"""What does not end so long after it was interrupted is killed."""
_LATE_SECONDS = 0.5
"""A statement is ended by its own limit before that."""
_AGAIN_SECONDS = 0.05
_CLOSING_SECONDS = 5.0
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[2]); from tailpipe.workers.fork_server import main; " + (
    "main(int(sys.argv[1]))"
)
_UNSHARED = ("TAILPIPE_MCP_TOKEN",)
"""Variables that no worker needs."""
_MEMORY_SHARE = 0.75
_LEAST_MEMORY = 512 << 20
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_MODULES = ("tailpipe.query.session", "tailpipe.query.prune", "tailpipe.query.mistakes", "tailpipe.query.json_values")


class ForkServer:
    """A running process that workers are forked from."""

    def __init__(self, prepare: Callable[[], Any], modules: Sequence[str]) -> None:
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, str(theirs.fileno()), json.dumps(sys.path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the server
                env={name: value for name, value in os.environ.items() if name not in _UNSHARED},
            )
        self.close = weakref.finalize(self, _close, self._control, self._process)
        send(self._control, REQUEST, pickle.dumps((tuple(modules), prepare)))

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def fork(self, memory: int) -> tuple[int, socket.socket]:
        """The number of a new worker, and the socket to it."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                return self._command(FORK, memory, [theirs.fileno()]), ours
        except BaseException:
            ours.close()
            raise

    def end(self, pid: int) -> int:
        """End a worker, if it has not ended; how it did."""
        return self._command(KILL, pid, [])

    def _command(self, kind: bytes, number: int, handles: list[int]) -> int:
        with self._lock:
            socket.send_fds(self._control, [COMMAND.pack(kind, number)], handles)
            outcome, data = receive(self._control)
        if outcome == FAILURE:
            raise pickle.loads(data)  # noqa: S301 - a process of ours has sent it
        return int(NUMBER.unpack(data)[0])


def _close(control: socket.socket, process: subprocess.Popen[bytes]) -> None:
    control.close()
    try:
        process.wait(_CLOSING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Worker:
    """A process that runs requests, one at a time."""

    def __init__(self, server: ForkServer, memory: int) -> None:
        self._server, self._memory = server, memory
        self.pid, self._channel = server.fork(memory)
        self.let_go = weakref.finalize(self, self._channel.close)
        """The process then ends by itself, after it has removed its temporary files."""
        self._lock = threading.Lock()
        self._is_working = self._is_late = False
        self._cancelled_at: float | None = None
        self._was_killed = False

    @property
    def is_usable(self) -> bool:
        """Whether it waits for a request and has not kept much memory of the last ones."""
        if self._was_killed or _is_readable(self._channel, 0):  # only its end can be read
            return False
        return _data_bytes(self.pid) < self._memory // 2

    def run(self, request: Request, seconds: float, give: Callable[[bytes], None] = lambda _: None) -> bytes:
        """The answer to a request, whose parts go to `give`.

        A `TailpipeError` of the request is raised here, `CancelledError` if it was cancelled, `TimeLimitError` if
        nothing came in time, and `CrashedError` if the process died.
        """
        data = pickle.dumps(request)
        try:
            with self._lock:
                self._is_working, self._is_late, self._cancelled_at = True, False, None
                send(self._channel, REQUEST, data)
            kind, answer = self._received(seconds)
            while kind == PART:
                try:
                    give(answer)
                except BaseException:  # the request ends here
                    with suppress(EOFError, OSError):
                        while self._received(-_LATE_SECONDS)[0] == PART:
                            pass
                    raise
                kind, answer = self._received(seconds)
        except (EOFError, OSError):
            raise self._death(request.statement, seconds) from None
        finally:
            with self._lock:
                self._is_working = False
        if kind == FAILURE:
            raise pickle.loads(answer)  # noqa: S301 - a process of ours has sent it
        if kind == CANCELLED:
            raise self._ended(seconds)
        return answer

    def _received(self, seconds: float) -> tuple[bytes, bytes]:
        """The next message; a request that sends nothing for too long is cancelled, but slow receivers do not count."""
        until = time.monotonic() + seconds + _LATE_SECONDS
        while not _is_readable(self._channel, max(_AGAIN_SECONDS, until - time.monotonic())):
            self._is_late = True
            self.cancel()
        return receive(self._channel)

    def cancel(self) -> None:
        """Interrupt the running request, if any; call it repeatedly: after a grace period it kills the worker."""
        with self._lock:
            if not self._is_working or self._was_killed:
                return
            now = time.monotonic()
            self._cancelled_at = self._cancelled_at or now
            if now - self._cancelled_at < GRACE_SECONDS:
                with suppress(OSError):
                    send(self._channel, INTERRUPT)
                return
            self._was_killed = True
        self._end()

    def close(self) -> None:
        """End the process."""
        self._end()
        self.let_go()

    def _end(self) -> int:
        with suppress(OSError, EOFError):
            return self._server.end(self.pid)
        return 0  # the parent of the worker is gone, and the worker with it

    def _death(self, statement: str, seconds: float) -> TailpipeError:
        """Why the process has ended in the middle of a request."""
        was_killed, self._was_killed = self._was_killed, True
        code = self._end()
        if was_killed:
            return self._ended(seconds)
        return CrashedError.of(-code, statement)

    def _ended(self, seconds: float) -> TailpipeError:
        if not self._is_late:
            return CancelledError()
        return TimeLimitError(f"stopped at the time limit of {seconds:g} s", hint="read fewer rows")


def _is_readable(channel: socket.socket, seconds: float) -> bool:
    waiting = select.poll()
    waiting.register(channel, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


def _data_bytes(pid: int) -> int:
    """The memory that a process has allocated; 0 where the kernel does not report it."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


class Workers:
    """Workers that share what `prepare` gives; callers take one and put it back.

    `prepare` and requests can be pickled. It is called once, in the process that workers are forked from, and must open
    nothing and start no thread. Up to `most` workers together have as much memory as the machine can spare.
    """

    def __init__(self, prepare: Callable[[], Any], most: int, modules: Sequence[str] = ()) -> None:
        self._prepare, self._modules = prepare, (*_MODULES, *modules)
        self.memory = _memory_for(most)
        self._lock = threading.Lock()
        self._free: list[Worker] = []
        self._is_closed = False
        self._server = ForkServer(prepare, self._modules)

    def take(self) -> Worker:
        """A worker that waits for a request."""
        while True:
            with self._lock:
                worker = self._free.pop() if self._free else None
            if worker is None:
                break
            if worker.is_usable:
                return worker
            worker.close()
        if self._is_closed:
            raise CancelledError
        try:
            return Worker(self._server, self.memory)
        except (OSError, EOFError):
            with self._lock:
                self._server.close()
                self._server = ForkServer(self._prepare, self._modules)
            return Worker(self._server, self.memory)

    def put_back(self, worker: Worker) -> None:
        """Give back a worker whose request is over."""
        if worker.is_usable:
            with self._lock:
                if not self._is_closed:
                    self._free.append(worker)
                    return
        worker.close()

    def run(self, request: Request, seconds: float) -> bytes:
        """The answer to a request, by any worker."""
        worker = self.take()
        try:
            return worker.run(request, seconds)
        finally:
            self.put_back(worker)

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            self._is_closed = True
            free, self._free = self._free, []
        for worker in free:
            worker.let_go()
        self._server.close()


def _memory_for(workers: int) -> int:
    """The bytes that each worker may allocate: together they leave some memory of the machine or container to others.

    The kernel limits anonymous memory (RLIMIT_DATA): DuckDB's own setting does not count the texts of functions.
    """
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # there is none, or it is "max"
            memory = min(memory, int(Path(path).read_text()))
    return max(_LEAST_MEMORY, int(memory * _MEMORY_SHARE) // workers)
