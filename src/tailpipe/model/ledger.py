"""The ledger: what the catalog remembers of each artifact that it has taken."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, DaySet

__all__ = ["HEAD_BYTES", "LedgerEntry", "Unit", "fingerprints"]

HEAD_BYTES = 1024
"""How many decompressed bytes, at most, the `head` of a ledger entry is taken over."""


@dataclass(frozen=True)
class Unit:
    """What is committed and replaced as one: the Day `day`, or the pack `pack` of undated artifacts."""

    day: date | None = None
    pack: str | None = None

    def __post_init__(self) -> None:
        if (self.day is None) == (self.pack is None):
            raise ValueError("a unit is either a day or a pack")

    @property
    def key(self) -> str:
        """Its name in the catalog: `2024-01-31` or `pack:NAME`."""
        return f"pack:{self.pack}" if self.day is None else self.day.isoformat()

    @classmethod
    def from_key(cls, key: str) -> Unit:
        """The unit of that name."""
        kind, _, name = key.partition(":")
        return cls(pack=name) if kind == "pack" else cls(day=date.fromisoformat(key))

    def __str__(self) -> str:
        return self.key


@dataclass(frozen=True)
class LedgerEntry:
    """One artifact that was taken, as it was found then, and how far it was read.

    `origin` and `generation` are its identity for ever and part of each row's `tp_id`. `uri` is the name
    under which its content was last seen: the origin, another name after a rotation, or None once another
    entry was committed under that name. So no two entries of a partition have the same `uri`, and whoever
    commits an entry clears its `uri` from all others.

    Prints are over decompressed bytes: `fingerprint` over the `committed_bytes`, `head` over the first
    of them, at most HEAD_BYTES. `unread_bytes` were there after them but ended no line. `as_of` is the
    `now` of the run that took it.
    """

    origin: str
    source: str
    unit: Unit
    as_of: datetime
    generation: int = 0
    uri: str | None = None
    kind: Literal["file", "object", "range", "run"] = "file"
    size: int | None = None
    modified: datetime | None = None
    etag: str | None = None
    committed_bytes: int = 0
    committed_ordinals: int = 0
    unread_bytes: int = 0
    fingerprint: str | None = None
    head: str | None = None
    taken: DaySet = field(default=EVERY_DAY)
    """The dates to which its rows were cut; a dated artifact is taken whole."""
    left_out: DaySet = field(default=NO_DAYS)
    """The dates of the rows that were read and left out, because nobody had asked for them."""

    @property
    def identity(self) -> tuple[str, int]:
        """What tells it from every other artifact of the partition."""
        return self.origin, self.generation

    @property
    def head_length(self) -> int:
        """How many bytes `head` is taken over."""
        return min(self.committed_bytes, HEAD_BYTES)


def fingerprints(chunks: Iterable[bytes], lengths: Iterable[int]) -> dict[int, str | None]:
    """The prints of the first bytes of a content, in one pass, for each of the lengths asked for.

    `chunks` are the decompressed bytes in order; no more of them are taken than the longest print
    needs. A content that is shorter than a length has no print of it: None.
    """
    found: dict[int, str | None] = dict.fromkeys(lengths)
    digest, seen = hashlib.blake2b(digest_size=16), 0
    supply = filter(None, chunks)
    rest = b""
    for length in sorted(found):
        while seen < length:
            rest = rest or next(supply, b"")
            if not rest:
                return found
            part, rest = rest[: length - seen], rest[length - seen :]
            digest.update(part)
            seen += len(part)
        found[length] = digest.hexdigest()
    return found
