"""Progress: how far an artifact was read, and the prints of what was taken of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tailpipe.errors import ChangedError
from tailpipe.kernel.task import Fault, Reading
from tailpipe.model.ledger import HEAD_BYTES, TAIL_BYTES, printed


@dataclass
class Progress:
    """What is known of an artifact while it is read; the bytes are decompressed ones, from the very first.

    Bytes are taken in order and for good: those that end no line yet are not among them.
    """

    reading: Reading
    committed_bytes: int = 0
    committed_ordinals: int = 0
    unread_bytes: int = 0
    notes: dict[str, int] = field(default_factory=dict)
    fault: Fault | None = None

    def __post_init__(self) -> None:
        if self.fault is None and self.reading.artifact.problem:
            self.fault = Fault(self.reading.artifact.problem)
        # Only a file can grow or be rotated; the prints of anything else would be looked at by nobody.
        self._is_printed = self.reading.artifact.kind == "file"
        self._head = b""
        self._tail = b""
        self._prints: tuple[str, str] | None = None
        self._has_grown = False

    @property
    def error(self) -> str | None:
        """Why it cannot be read to its end."""
        return self.fault.reason if self.fault else None

    def leap(self, start: int, opening: bytes) -> int:
        """Count the first of the `start` bytes that were taken before as taken; say how many: no print needs them.

        `opening` is how the content begins.
        """
        leapt = max(0, start - TAIL_BYTES)
        if leapt:
            self._head = opening[:HEAD_BYTES]
            self.committed_bytes += leapt
        return leapt

    def take(self, data: bytes | memoryview) -> None:
        """Count bytes as taken, or raise if they are not those with which a known content begins."""
        known = self.reading.committed_bytes - self.committed_bytes
        if 0 < known <= len(data):
            self._add(data[:known])
            if self.reading.committed_print not in (None, self.prints[1]):
                raise self._other_content()
            data = data[known:]
        self._add(data)

    def end(self) -> None:
        """All is taken. Raise if a known content has ended before what is known of it."""
        if self._is_printed:
            self._prints = printed(self.committed_bytes, self._head, self._tail)
            self._head = self._tail = b""  # there may be thousands of artifacts in a task
        is_short = self.committed_bytes + self.unread_bytes < self.reading.committed_bytes
        if is_short and self.reading.committed_print is not None:
            raise self._other_content()

    def reach(self, size: int) -> None:
        """Note how many bytes the artifact had at its source when its end was reached."""
        listed = self.reading.artifact.size
        self._has_grown = listed is not None and size > listed

    @property
    def is_closed(self) -> bool:
        """Whether what ends without a line end is whole: who has written since the listing may go on with it."""
        return self.reading.is_closed and not self._has_grown

    def _other_content(self) -> ChangedError:
        return ChangedError(f'"{self.reading.artifact.uri}" was rotated or rewritten while it was collected')

    def _add(self, data: bytes | memoryview) -> None:
        if self._is_printed:
            if len(self._head) < HEAD_BYTES:
                self._head += data[: HEAD_BYTES - len(self._head)]
            self._tail = bytes(data[-TAIL_BYTES:]) if len(data) >= TAIL_BYTES else (self._tail + data)[-TAIL_BYTES:]
        self.committed_bytes += len(data)

    def note(self, what: str, count: int = 1) -> None:
        """Count something that was noticed."""
        if count:
            self.notes[what] = self.notes.get(what, 0) + count

    @property
    def prints(self) -> tuple[str | None, str | None]:
        """The print of the first bytes that were taken, and that of the last."""
        if not self._is_printed:
            return None, None
        return self._prints or printed(self.committed_bytes, self._head, self._tail)
