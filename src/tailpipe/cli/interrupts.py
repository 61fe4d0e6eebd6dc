"""End a query early, by Ctrl-C or a signal, without leaving anything behind.

An engine may be deep in one function, where Python receives no signal. Therefore a thread ends the process within a
second after SIGTERM or a second Ctrl-C.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from tailpipe.cli import render
from tailpipe.errors import EXIT_FAILED, EXIT_INTERRUPTED

if TYPE_CHECKING:
    from tailpipe.query.limit import TimeLimit

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_PATIENCE_SECONDS = 1.0
_CLOSING_SECONDS = 2.0
_LOOK_MILLISECONDS = 50
_OVER = b"\0"


def _end_at_once(code: int) -> NoReturn:
    """End the process without waiting for any thread: remove its temporary files, and leave the terminal usable."""
    from tailpipe.storage.scratch import remove_scratch

    remove_scratch()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def end_late(limit: TimeLimit) -> NoReturn:
    """End the process, because its engine does not react to the end of the time limit."""
    failure = limit.error()
    render.error(failure)
    _end_at_once(failure.exit_code)


@contextmanager
def terminated_cleanly() -> Iterator[None]:
    """SIGTERM and SIGHUP end what is inside as an exception does; a process that ignores them goes on doing so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def end(number: int, _: FrameType | None) -> NoReturn:
        received.append(number)
        raise SystemExit(128 + number)

    before = {one: signal.getsignal(one) for one in _ENDING}
    for one, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(one, end)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        if received:  # DuckDB calls it an interrupt, as it does Ctrl-C
            raise SystemExit(128 + received[0])


@contextmanager
def closed_in_time(close: Callable[[], None], code: int | None = None) -> Iterator[None]:
    """Close a session at the end; after a failure, an interrupt or with a `code`, end the process if that takes long.

    Closing waits for threads of DuckDB, which may be inside a function that cannot be interrupted.
    """
    try:
        yield
    except BaseException as failure:
        code = _exit_code(failure)
        raise
    finally:
        timer = threading.Timer(_CLOSING_SECONDS, _end_at_once, [code])
        timer.daemon = True
        if code is not None:
            timer.start()
        close()
        timer.cancel()


def _exit_code(failure: BaseException) -> int:
    if isinstance(failure, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    code = getattr(failure, "code", None) or getattr(failure, "exit_code", None)
    return code if isinstance(code, int) else EXIT_FAILED


@contextmanager
def guarded() -> Iterator[None]:
    """Run an engine like `terminated_cleanly`; if it does not react, end the process a second after the signal.

    A first Ctrl-C is left to the engine; a second one, too, ends the process a second after the first.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    watcher = threading.Thread(target=_watch, args=(ours, _terminal()), name="signals", daemon=True)
    before = signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    watcher.start()
    try:
        with terminated_cleanly():
            yield
    finally:
        signal.set_wakeup_fd(before)
        os.write(theirs, _OVER)
        watcher.join()
        os.close(ours)
        os.close(theirs)


def _watch(signals: int, terminal: list[object] | None) -> None:
    """Wait for signals until it is over; end the process if that takes too long after them."""
    first: float | None = None
    presses, is_reported, code = 0, False, 0
    waiting = select.poll()
    waiting.register(signals, select.POLLIN)
    while True:
        is_idle = first is None or (is_reported and not code)
        received = os.read(signals, 64) if waiting.poll(None if is_idle else _LOOK_MILLISECONDS) else b""
        if _OVER in received:
            return
        presses += received.count(signal.SIGINT)
        ending = [number for number in received if number in _ENDING]
        if presses or ending:
            first = first or time.monotonic()
        if ending:
            code = 128 + ending[0]
        elif presses > 1 and not code:
            code = EXIT_INTERRUPTED
        if first is None or time.monotonic() - first < _PATIENCE_SECONDS:
            continue
        if code:
            _restore(terminal)
            _end_at_once(code)
        if not is_reported:
            is_reported = True
            render.say("\nstill cancelling; Ctrl-C again ends tailpipe")


def _terminal() -> list[object] | None:
    """The settings of the terminal, which a prompt or a pager may have changed when the process ends."""
    import termios

    with suppress(termios.error, OSError, ValueError):
        return termios.tcgetattr(sys.stdin.fileno())
    return None


def _restore(settings: list[object] | None) -> None:
    import termios

    if settings is not None:
        with suppress(termios.error, OSError, ValueError):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, settings)  # type: ignore[arg-type]
