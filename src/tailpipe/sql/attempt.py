"""Which statement runs, noted where a process that outlives a crash of the engine can read it."""

from __future__ import annotations

from mmap import mmap
from signal import SIGSEGV

from tailpipe.errors import CrashedError

_SIZE = 1024
_BEGUN = b"\x01"


class Attempt:
    """One attempt at a command that runs several statements; those that crashed an earlier one are not run again."""

    def __init__(self, crashed: tuple[str, ...] = (), *, is_repeated: bool = False) -> None:
        self.crashed = crashed
        """The names of these statements, in the order of their crashes."""
        self.is_repeated = is_repeated
        """Whether an earlier attempt crashed: then each statement runs alone, so that the next crash has a name."""
        self._note = mmap(-1, _SIZE)  # shared with the processes that are forked from this one

    def begin(self, name: str = "", text: str = "") -> None:
        """Note that a statement runs; an empty name means that several run at once, or none."""
        note = _BEGUN + name.encode()[: _SIZE - 2]
        self._note[: len(note) + 1] = note + b"\0"
        if name in self.crashed:
            raise CrashedError.of(SIGSEGV, text)

    @property
    def running(self) -> str:
        """The name of the statement that runs."""
        return self._noted[1:].decode(errors="replace")

    def following(self) -> Attempt | None:
        """The attempt after a crash of this one; None if it would crash as well, or nothing was begun."""
        name = self.running
        if not self._noted or name in self.crashed or (self.is_repeated and not name):
            return None
        return Attempt((*self.crashed, name) if name else self.crashed, is_repeated=True)

    @property
    def _noted(self) -> bytes:
        return self._note[:].partition(b"\0")[0]
