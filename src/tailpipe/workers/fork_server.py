"""The process that workers are forked from: it has one thread, has imported what they need, and has opened nothing.

A fork takes milliseconds where a new interpreter takes a third of a second. This process is the parent of the workers:
it alone kills and reaps them, so no number of a process is used twice, and they end with it. It ends with its server.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import signal
import socket
import struct
import sys
import tempfile
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tailpipe.errors import TailpipeError
from tailpipe.storage.scratch import make_scratch
from tailpipe.workers.frames import END, FAILURE, receive, send
from tailpipe.workers.worker import FailedError, serve

FORK, KILL = b"F", b"K"
COMMAND = struct.Struct("!cQ")
"""What is done, with the bytes that a new worker may allocate, or the number of one that ends."""
NUMBER = struct.Struct("!q")

_SET_DEATH_SIGNAL = 1
_CLOSING_SECONDS = 1.0
_LOOK_SECONDS = 0.02


def main(descriptor: int) -> None:
    """Answer commands until the server has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=descriptor)
    children: set[int] = set()
    try:
        _, data = receive(control)
        modules, prepare = pickle.loads(data)  # noqa: S301 - our own server has sent it
        shared, failure = _prepared(modules, prepare)
        gc.collect()
        gc.freeze()  # so that the pages of these objects stay shared
        while True:
            command, handles, _, _ = socket.recv_fds(control, COMMAND.size, 1)
            if len(command) < COMMAND.size:
                break
            kind, number = COMMAND.unpack(command)
            if kind == KILL:
                send(control, END, NUMBER.pack(_ended(number)))
                children.discard(number)
                continue
            if failure is not None:
                send(control, FAILURE, failure)
            else:
                children.add(pid := _forked(control, handles[0], shared, number))
                send(control, END, NUMBER.pack(pid))
            for handle in handles:
                os.close(handle)
    except (EOFError, OSError):
        pass
    _end_all(children)


def _prepared(modules: tuple[str, ...], prepare: Any) -> tuple[Any, bytes | None]:
    try:
        for name in modules:
            import_module(name)
        return prepare(), None
    except TailpipeError as error:
        return None, pickle.dumps(error)
    except Exception as error:  # noqa: BLE001 - the server raises it
        return None, pickle.dumps(FailedError(f"{type(error).__name__}: {error}"))


def _forked(control: socket.socket, handle: int, shared: Any, memory: int) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        control.close()
        if (prctl := getattr(ctypes.CDLL(None), "prctl", None)) is not None:  # elsewhere the socket's end must do
            prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)
        serve(socket.socket(fileno=handle), shared, memory)
    finally:
        os._exit(1)


def _ended(pid: int) -> int:
    """End a worker, if it runs; how it ended, as `os.waitstatus_to_exitcode` says it."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)  # to one that dies already, the signal makes no difference
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 0


def _end_all(children: set[int]) -> None:
    """Let workers remove their temporary files, then end those that do not react."""
    until = time.monotonic() + _CLOSING_SECONDS
    while children and time.monotonic() < until:
        for pid in tuple(children):
            if os.waitpid(pid, os.WNOHANG)[0]:
                children.discard(pid)
        time.sleep(_LOOK_SECONDS)
    for pid in children:
        _ended(pid)
    with suppress(OSError):  # what killed workers have left is removed by the next directory that is made
        make_scratch(Path(tempfile.gettempdir()), "tailpipe-query-").close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
