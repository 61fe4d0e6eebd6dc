"""The ledger: what the catalog remembers of each artifact that it has taken."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field
from datetime import date, datetime
from functools import partial
from typing import Literal, Protocol

from tailpipe.frozen import frozen
from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, DaySet

HEAD_BYTES = 1024
"""How many decompressed bytes, at most, the `head` of a ledger entry is taken over."""

TAIL_BYTES = 64 * 1024
"""How many of the last committed bytes the `fingerprint` of a ledger entry is taken over."""

Span = tuple[int, int]
"""Decompressed bytes of a content: from the first number on, up to the second."""

UNREADABLE: Span = (-1, -1)
"""Stands among the prints of a content that may not be read, with the reason."""

DAMAGED: Span = (-2, -2)
"""Stands among the prints of a content that cannot be unpacked to its end, with the reason."""

_PIECE = 1024 * 1024
_TAIL = "tail:"
_digest = partial(hashlib.blake2b, digest_size=16)


@frozen
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


@frozen
class LedgerEntry:
    """One artifact that was taken, as it was found then, and how far it was read.

    `origin` and `generation` identify it for ever and are part of each row's `tp_id`. `uri` is the name under which its
    content was last seen: the origin, another name after a rotation, or None once another entry was committed under
    that name, so no two entries of a partition have the same `uri`.

    Prints are over decompressed bytes: `fingerprint` over the last of the `committed_bytes`, `head` over the first of
    them. `unread_bytes` came after them and ended no line. `as_of` is the `now` of the run that took it. `host` owns
    the file or command; None without a store, and for objects and ranges, which are the same for all hosts.
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
    """The dates of the rows that were read and left out, because nobody had requested them."""
    host: str | None = None

    @property
    def identity(self) -> tuple[str, int]:
        """The key of the artifact in its partition."""
        return self.origin, self.generation

    @property
    def probes(self) -> list[tuple[Span, str]]:
        """By what its content is known again: prints and what they are over, the cheapest to read first.

        Entries of earlier versions have a `fingerprint` over all committed bytes, and of a content that is
        shorter than HEAD_BYTES a `head` that is the same.
        """
        size = self.committed_bytes
        if not size:
            return []
        text = self.fingerprint or ""
        start = max(0, size - TAIL_BYTES) if text.startswith(_TAIL) else 0
        whole = ((start, size), text.removeprefix(_TAIL))
        if not self.head or self.head == text:
            return [whole]
        return [((0, _head_length(size)), self.head), whole]

    @property
    def tail_print(self) -> str | None:
        """The fingerprint as `printed` gives it; None if it is one of earlier versions."""
        is_over_all = self.committed_bytes > TAIL_BYTES and not (self.fingerprint or "").startswith(_TAIL)
        return None if is_over_all else self.fingerprint


class Content(Protocol):
    """Decompressed bytes that are read once and in order."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; nothing only at the end."""
        ...

    def skip(self, size: int, /) -> int:
        """Pass over `size` bytes, and say how many there were."""
        ...


def _head_length(size: int) -> int:
    """Over how many bytes the head of a content of that size is taken: a power of two, so there are few of them."""
    return min(HEAD_BYTES, 1 << size.bit_length() - 1) if size else 0


def spans_of(size: int) -> tuple[Span, Span]:
    """What the head and the fingerprint of a content of `size` bytes are over."""
    return (0, _head_length(size)), (max(0, size - TAIL_BYTES), size)


def printed(size: int, head: bytes, tail: bytes) -> tuple[str, str]:
    """The head and the fingerprint of a content of `size` bytes.

    It begins with `head` and ends with `tail`: HEAD_BYTES and TAIL_BYTES, or all that it has.
    """
    first, last = _digest(head[: _head_length(size)]).hexdigest(), _digest(tail).hexdigest()
    return first, f"{_TAIL if size > len(tail) else ''}{last}"


def fingerprints(content: Content, spans: Iterable[Span]) -> dict[Span, str | None]:
    """The prints of parts of a content, in one pass; what no part covers is passed over.

    A content that ends before a part does has no print of it: None.
    """
    found: dict[Span, str | None] = dict.fromkeys(spans)
    ends: dict[int, list[int]] = defaultdict(list)
    for start, end in found:
        ends[end].append(start)
    last = dict(sorted(found))
    begun: dict[int, hashlib.blake2b] = {}
    place, held = 0, memoryview(b"")
    for edge in sorted({*ends, *last}):
        while place < edge:
            if begun:
                wanted = max(last[start] for start in begun) - place
                held = held or memoryview(content.read(min(_PIECE, wanted)))
                part, held = held[: edge - place], held[edge - place :]
                for digest in begun.values():
                    digest.update(part)
                passed = len(part)
            else:
                passed = content.skip(edge - place)
            if not passed:
                return found
            place += passed
        if edge in last:
            begun[edge] = _digest()
        for start in ends[edge]:
            found[start, edge] = begun[start].hexdigest()
            if last[start] == edge:
                del begun[start]
    return found
