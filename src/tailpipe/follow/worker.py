"""Workers: threads that do the jobs of the loop, so that one that hangs does not hold up the others."""

from __future__ import annotations

import ctypes
import queue
import threading
from collections.abc import Callable
from contextlib import suppress

from tailpipe.follow.schedule import Turn
from tailpipe.frozen import frozen


class Stopped(BaseException):
    """Ends a run between two commits; what is committed stays, and the next run goes on."""


@frozen
class Result:
    """The result of a job: `value` is what it returned, `error` what it raised."""

    turn: Turn
    value: object = None
    error: BaseException | None = None


Work = Callable[[], object]


class Worker:
    """A thread that does one job after the other, and calls `done` with the result of each."""

    def __init__(self, done: Callable[[Result], None]) -> None:
        self._done = done
        self._lock = threading.Lock()
        self._can_interrupt = False
        self.was_interrupted = False
        """Whether a job was interrupted in it. It gets no other one: its connection to Java may be out of step."""
        self._jobs: queue.SimpleQueue[tuple[Turn, Work] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tailpipe-follow", daemon=True)
        self._thread.start()
        self.turn: Turn | None = None
        """What it does; None if it waits for work."""

    @property
    def ident(self) -> int | None:
        """The number of its thread."""
        return self._thread.ident

    def give(self, turn: Turn, work: Work) -> None:
        """Have a job done."""
        self.turn = turn
        self._jobs.put((turn, work))

    def dismiss(self) -> None:
        """Let the thread end once it has done its job."""
        self._jobs.put(None)

    def join(self, seconds: float) -> bool:
        """Wait for its end; whether it has come."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def interrupt(self) -> bool:
        """Raise `Stopped` in its job, once, as soon as Python code runs; whether it was raised."""
        with self._lock:
            if not self._can_interrupt or self._thread.ident is None:
                return False
            self._can_interrupt, self.was_interrupted = False, True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(Stopped))
        return True

    def _run(self) -> None:
        while (given := self._jobs.get()) is not None:
            turn, work = given
            try:
                self._can_interrupt = True
                result = Result(turn, work())
            except BaseException as error:  # noqa: BLE001 - the loop decides what it means
                result = Result(turn, error=error)
            with suppress(Stopped), self._lock:  # an interrupt that comes as the job ends must not end the thread
                self._can_interrupt = False
            self.turn = None
            self._done(result)
