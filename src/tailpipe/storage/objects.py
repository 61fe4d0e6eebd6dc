"""Objects outside the workspace: what every bucket, container or directory that holds them can do.

An object is immutable: it is put once under its final key and never changed. `replace` is for derived objects only,
which anyone can make again. A key is a path below the root of the store, with `/` between its parts.

What `head` proves about the bytes of an object:

    S3           size and SHA-256. The server checks the SHA-256 of what it receives (`x-amz-checksum-sha256`, for each
                 part of a multipart upload), and the same digest is kept in the object's metadata.
    GCS, Azure   size and SHA-256 as sent: the digest is kept in the object's metadata, but the server does not check
                 it. TLS protects the bytes on their way.
    directory    size alone; `sha256` is None. Whoever needs a proof reads the object again.

`sha256` is also None for objects that other programs have written.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from tailpipe.errors import ObjectStoreError

RESERVED = ".tailpipe"
"""The first part of keys that a store keeps for itself: drafts and the probe of its clock. They are never listed."""
_LONGEST_KEY = 1024
_COUNTING = threading.Lock()
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What a store says about an object."""

    key: str
    """Below the store's root, with `/` between its parts."""
    size: int
    modified: datetime
    """By the store's own clock, in UTC."""
    etag: str | None = None
    sha256: str | None = None
    """In hex, where the store returns it: `head` of a bucket or container, never `list`."""


class Requests(Counter[str]):
    """How many requests were made, by kind: put, get, copy, head, list, delete. Several threads may count."""

    def count(self, kind: str, number: int = 1) -> None:
        """Add requests."""
        with _COUNTING:
            self[kind] += number


class Objects(Protocol):
    """A place for immutable objects: a bucket, a container or a directory. Several threads may use it.

    What goes wrong at the store raises `ObjectStoreError`; what goes wrong with a local file raises `OSError`.
    """

    location: str
    """As users write it, without secrets."""
    requests: Requests

    def put(self, key: str, data: bytes, *, sha256: str | None = None) -> bool:
        """Write an object if there is none: False if there is one already, whatever its bytes are.

        A request whose outcome is unknown is not repeated: `ObjectStoreError.is_unknown` says so.
        """
        ...

    def put_file(self, key: str, source: Path, *, sha256: str) -> bool:
        """Write a local file as an object if there is none; it is never visible in part.

        A file that does not have this SHA-256 is refused. In buckets and containers a file above `SINGLE_PUT_BYTES`
        goes up in parts, after a look whether the object exists: of two writers at the same moment both may be told
        True, and one of the two whole objects stays. Names of data files are never used twice, so these are equal.
        """
        ...

    def replace(self, key: str, data: bytes) -> None:
        """Write an object whether there is one or not; for derived objects only."""
        ...

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """The bytes of an object, or at most `length` of them from `start` on; FileNotFoundError if there is none."""
        ...

    def fetch(self, key: str, target: Path) -> str:
        """Copy an object into a local file, which the caller syncs; returns the SHA-256 of the bytes, in hex."""
        ...

    def copy(self, key: str, target: str) -> None:
        """Copy an object to another key, which never gets other bytes; FileNotFoundError if there is none."""
        ...

    def head(self, key: str) -> ObjectFacts | None:
        """The facts of an object; None if there is none."""
        ...

    def list(self, prefix: str, *, after: str | None = None) -> Iterator[ObjectFacts]:
        """The objects below a prefix, in the order of their keys; with `after`, those with a greater key alone.

        A prefix ends between two parts of a key: `log/a` and `log/a/` are the same, and neither lists `log/ab`.
        """
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that do not exist are fine."""
        ...

    def now(self) -> datetime:
        """The time by the clock that stamps the objects, to the second at least; this writes a small object."""
        ...


def check_key(key: str, location: str) -> str:
    """The key, or an error if it could name anything but an object below the root."""
    parts = key.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise _refused(key, location, 'it has an empty part, "." or ".."')
    if not is_plain(key):
        raise _refused(key, location, "it has a control character or a backslash")
    if len(key.encode()) > _LONGEST_KEY:
        raise _refused(key, location, f"it has more than {_LONGEST_KEY} bytes")
    if parts[0] == RESERVED:
        raise _refused(key, location, f'"{RESERVED}" is reserved')
    return key


def is_plain(key: str) -> bool:
    """Whether every store takes the characters of a key as they are."""
    return not _CONTROL.search(key)


def list_prefix(prefix: str, location: str) -> str:
    """A prefix as all stores take it: empty, or ending with `/`."""
    plain = prefix.removesuffix("/")
    return f"{check_key(plain, location)}/" if plain or prefix else ""


def check_sha256(data: bytes, expected: str | None, location: str, key: str) -> str:
    """The SHA-256 of bytes that are about to be written; an error if others were expected."""
    found = hashlib.sha256(data).hexdigest()
    if expected is not None and found != expected:
        raise changed_error(location, key)
    return found


def changed_error(location: str, key: str) -> ObjectStoreError:
    """The bytes to be written are not those that were recorded."""
    return ObjectStoreError(
        f'cannot write "{location}/{key}": the local bytes do not match their recorded SHA-256',
        location=location,
        key=key,
        hint="run: tailpipe doctor --checksums",
    )


def _refused(key: str, location: str, reason: str) -> ObjectStoreError:
    return ObjectStoreError(
        f"{key!r} is not a valid object key in {location}: {reason}",
        location=location,
        key=key,
        hint="a key is a relative path such as data/part.parquet",
    )
