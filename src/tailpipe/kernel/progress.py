"""Progress: how far an artifact was read, and the prints of what was taken of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from tailpipe.errors import TailpipeError
from tailpipe.kernel.task import Reading
from tailpipe.model.ledger import HEAD_BYTES

__all__ = ["Progress"]


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
    error: str | None = None

    def __post_init__(self) -> None:
        # Only a file can grow or be rotated; the prints of anything else would be looked at by nobody.
        self._digest = hashlib.blake2b(digest_size=16) if self.reading.artifact.kind == "file" else None
        self._head: str | None = None
        self._has_grown = False

    def take(self, data: bytes | memoryview) -> None:
        """Count bytes as taken, or raise if they are not those with which a known content begins."""
        known = self.reading.known_bytes - self.committed_bytes
        if 0 < known <= len(data):
            self._add(data[:known])
            if self.reading.known_print not in (None, self.fingerprint):
                raise self._other_content()
            data = data[known:]
        self._add(data)

    def check_end(self) -> None:
        """Raise if a known content has ended before what is known of it."""
        is_short = self.committed_bytes + self.unread_bytes < self.reading.known_bytes
        if is_short and self.reading.known_print is not None:
            raise self._other_content()

    def reach(self, size: int) -> None:
        """Note how many bytes the artifact had, as it lies at its source, when its end was reached."""
        listed = self.reading.artifact.size
        self._has_grown = listed is not None and size > listed

    @property
    def is_closed(self) -> bool:
        """Whether what ends without a line end is whole: who has written since the listing may go on with it."""
        return self.reading.is_closed and not self._has_grown

    def _other_content(self) -> TailpipeError:
        uri = self.reading.artifact.uri
        return TailpipeError(f'"{uri}" was rotated or rewritten while it was collected: collect it again')

    def _add(self, data: bytes | memoryview) -> None:
        if self._digest is not None:
            room = HEAD_BYTES - self.committed_bytes
            if 0 < room <= len(data):
                self._digest.update(data[:room])
                self._head = self._digest.hexdigest()
                self._digest.update(data[room:])
            else:
                self._digest.update(data)
        self.committed_bytes += len(data)

    def note(self, what: str, count: int = 1) -> None:
        """Count something that was noticed."""
        if count:
            self.notes[what] = self.notes.get(what, 0) + count

    @property
    def fingerprint(self) -> str | None:
        """The print of all that was taken."""
        return self._digest.hexdigest() if self._digest is not None else None

    @property
    def head(self) -> str | None:
        """The print of the first bytes."""
        return self._head or self.fingerprint
