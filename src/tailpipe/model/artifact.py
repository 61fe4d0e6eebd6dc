"""Artifacts: the smallest things that are collected once, and the accounts of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import date, datetime
from typing import Literal

from tailpipe.frozen import frozen

_COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".zip", ".tgz")


@frozen
class FileId:
    """What a file system knows a file by, whatever its name: `host`, device, number, and last change of it.

    Only hosts that are the same may compare devices and times; `links` is how many names the file has.
    """

    host: str
    device: int
    number: int
    changed_ns: int
    links: int = 1


@frozen
class Artifact:
    """A file, an object, a time range of an API, or one run of a command, as a source lists it.

    `uri` names it for ever; `day` is what its layout says, or None if its path has no date. `kind`
    says how its content may change: a `file` can grow, be truncated or rotated; an `object` is only
    ever replaced whole; a `range` of an API can be asked again; a `run` of a command gives a Day anew.
    """

    uri: str
    size: int | None = None
    modified: datetime | None = None
    etag: str | None = None
    day: date | None = None
    kind: Literal["file", "object", "range", "run"] = "file"
    fields: Mapping[str, str] = field(default_factory=dict)
    """Named parts of the path that fill common columns of the same name."""
    unavailable: str = ""
    """Why the source cannot give its bytes now, such as its class of storage: it is reported, and not collected.

    One without a `path` is no log, and is reported whatever the layout.
    """
    problem: str = ""
    """Why it cannot be read, if listing it has shown that already, such as a directory without permission."""
    file: FileId | None = field(default=None, compare=False)
    """Which file was listed, so that a file which has its name by the time of reading is not taken for it."""
    path: str = ""
    """What a file layout is held against: the path below the directory or prefix that the source was given."""

    @property
    def is_compressed(self) -> bool:
        """Whether its name says that it is compressed, or an archive."""
        return self.uri.lower().endswith(_COMPRESSED)


@frozen
class Accounts:
    """Where the rows of an artifact went; what was read must be accounted for, row by row."""

    read: int = 0
    kept: int = 0
    filtered: int = 0
    rejected: int = 0
    out_of_window: int = 0
    duplicate: int = 0

    @property
    def is_balanced(self) -> bool:
        """Whether every row that was read went somewhere."""
        return self.read == self.kept + self.filtered + self.rejected + self.out_of_window + self.duplicate

    @property
    def elsewhere(self) -> dict[str, int]:
        """How many rows were left out, by why; duplicates apart, which are here."""
        found = {"rejected": self.rejected, "filtered": self.filtered, "out of window": self.out_of_window}
        return {why: count for why, count in found.items() if count}

    def __add__(self, other: Accounts) -> Accounts:
        return Accounts(*(one + more for one, more in zip(vars(self).values(), vars(other).values(), strict=True)))
