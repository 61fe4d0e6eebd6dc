"""A time limit for statements: an engine that works longer is interrupted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tailpipe.errors import TimeLimitError, UsageError
from tailpipe.model.duration import parse_duration

_AGAIN_SECONDS = 0.1
_STUCK_SECONDS = 5.0


def parse_timeout(text: str) -> float:
    """Seconds of a duration such as `30s` or `1h30m`."""
    try:
        seconds = parse_duration(text).total_seconds()
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        hint = f"write {text}s for seconds" if text.strip().isdigit() and int(text) else "such as 30s, 5m or 1h30m"
        raise UsageError(f'the timeout "{text}" is not a duration', hint=hint)
    return seconds


class TimeLimit:
    """The time of one statement after the other. Only what the engine takes counts, not who reads the rows."""

    def __init__(self, seconds: float | None, interrupt: Callable[[], None]) -> None:
        self.seconds = seconds
        self.when_stuck: Callable[[], None] = lambda: None
        """Called if the engine does not end in some seconds after it was interrupted."""
        self.is_over = False
        self._interrupt = interrupt
        self._left = seconds or 0.0

    def begin(self) -> None:
        """The next statement has all the time."""
        self.is_over, self._left = False, self.seconds or 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the engine works."""
        if self.seconds is None:
            yield
            return
        if self._left <= 0:
            raise self.error()
        done = threading.Event()
        thread = threading.Thread(target=self._watch, args=(done, self._left), name="time limit", daemon=True)
        begun = time.monotonic()
        thread.start()
        try:
            yield
        finally:
            done.set()
            self._left -= time.monotonic() - begun
            thread.join()  # else it could interrupt the next statement

    def error(self) -> TimeLimitError:
        """What a statement fails with that took too long."""
        hint = "raise it with --timeout, .timeout or timeout_seconds, or read fewer rows with --from and --to"
        return TimeLimitError(f"stopped at the time limit of {_duration(self.seconds or 0.0)}", hint=hint)

    def _watch(self, done: threading.Event, seconds: float) -> None:
        if done.wait(seconds):
            return
        self.is_over = True
        stuck = time.monotonic() + _STUCK_SECONDS
        self._interrupt()
        while not done.wait(_AGAIN_SECONDS):  # what had not begun did not hear it
            self._interrupt()
            if time.monotonic() > stuck:
                self.when_stuck()


def _duration(seconds: float) -> str:
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
