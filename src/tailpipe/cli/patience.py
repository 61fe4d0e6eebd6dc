"""A word to whoever waits for an answer: that the statement still runs, and how to end it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["patience"]

_SECONDS = 2.0
"""Most answers are there by then, and a word that flickers by helps nobody."""


@contextmanager
def patience(seconds: float = _SECONDS) -> Iterator[Callable[[], None]]:
    """While it lasts, a terminal is told after some seconds that work goes on.

    What it gives ends that earlier: call it before anything else is shown, as often as you like.
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
