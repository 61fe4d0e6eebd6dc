"""A message while a statement runs long: that it still runs, and how to end it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SECONDS = 2.0
"""Most answers are ready by then, and a message that flickers does not help."""


@contextmanager
def patience(seconds: float = _SECONDS) -> Iterator[Callable[[], None]]:
    """Show a message on a terminal after some seconds, until the block ends or the yielded function is called.

    Call that function before anything else is shown; it may be called more than once.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    terminal, lock = sys.stderr, threading.Lock()
    is_over = is_shown = False

    def show() -> None:
        nonlocal is_shown
        with lock:
            if not is_over:
                is_shown = True
                terminal.write("still running; Ctrl-C ends it")
                terminal.flush()

    def end() -> None:
        nonlocal is_over
        with lock:
            if is_shown and not is_over:
                terminal.write("\r\x1b[K")
                terminal.flush()
            is_over = True

    timer = threading.Timer(seconds, show)
    timer.daemon = True
    timer.start()
    try:
        yield end
    finally:
        timer.cancel()
        end()
