"""Progress: how far an artifact was read, and the prints of what was taken of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

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

    def take(self, data: bytes | memoryview) -> None:
        """Count bytes as taken."""
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
