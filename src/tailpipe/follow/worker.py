"""Workers: threads that do the jobs of the loop, so that one that hangs does not hold up the others."""

from __future__ import annotations

import ctypes
import queue
import threading
from collections.abc import Callable

from tailpipe.follow.schedule import Turn
from tailpipe.frozen import frozen

__all__ = ["Result", "Stopped", "Work", "Worker"]


class Stopped(BaseException):
    """Ends a run between two commits; what is committed stays, and the next run goes on."""


@frozen
class Result:
    """What became of a job: `value` is what it returned, `error` what it raised."""

    turn: Turn
    value: object = None
    error: BaseException | None = None


Work = Callable[[], object]


class Worker:
    """A thread that does one job after the other, and calls `done` with what became of each."""

    def __init__(self, done: Callable[[Result], None]) -> None:
        self._done = done
        self._jobs: queue.SimpleQueue[tuple[Turn, Work] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tailpipe-follow", daemon=True)
        self._thread.start()
        self.turn: Turn | None = None
        """What it does; None if it waits for work."""

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

    def interrupt(self) -> None:
        """Raise `Stopped` in the thread, wherever it is in our code; code of others hears it when it returns."""
        if self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(Stopped))

    def _run(self) -> None:
        while (given := self._jobs.get()) is not None:
            turn, work = given
            try:
                result = Result(turn, work())
            except BaseException as error:  # noqa: BLE001 - the loop decides what it means
                result = Result(turn, error=error)
            self.turn = None
            self._done(result)
