"""A bucket or container: one page of its listing, and one range of an object's bytes."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tailpipe.plugin import Artifact, TailpipeError

_SOON_ENOUGH = 3
"""After this many failed objects in a row, the next ones are not retried."""


@dataclass(frozen=True)
class Key:
    """An object as a listing shows it; `archived` is its storage class if it cannot be read from there."""

    name: str
    size: int
    etag: str
    modified: datetime
    archived: str = ""


@dataclass(frozen=True)
class Page:
    """Some keys and folders below a prefix, and where the next page begins."""

    keys: tuple[Key, ...]
    folders: tuple[str, ...]
    next: str | None


class Bucket(ABC):
    """A bucket that is listed and fetched from; several threads may use it.

    A cloud brings the requests (`page`, `read`) and how they fail (`is_busy`, `error`). Both repeat no request: `fetch`
    does, as long as the service is busy.
    """

    can_seek: bool = True
    """Whether keys are listed in their order, and a listing may begin after any of them."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address
        """What stands before a key in the URI of an artifact, such as `s3://logs/`."""
        self._failures = 0
        self._lock = threading.Lock()

    @abstractmethod
    def page(self, prefix: str, *, is_deep: bool, after: str = "", token: str | None = None) -> Page:
        """One page of the keys below a prefix: of all, or of those and the folders up to the next slash.

        `after` is a key that the first page begins behind, `token` the `next` of the page before.
        """

    @abstractmethod
    def read(self, key: str, etag: str | None, start: int, end: int, *, is_patient: bool) -> bytes:
        """The bytes of a range of the version `etag`; without patience, a request to a busy service is not repeated."""

    @abstractmethod
    def is_busy(self, error: Exception) -> bool:
        """Whether the same request may succeed a little later."""

    @abstractmethod
    def error(self, key: str, error: Exception) -> TailpipeError:
        """The failure to read an object, as a message: `ChangedError` if it is gone or another by now."""

    def fetch(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        """The bytes of a range, which must be in the object; none of an object without bytes."""
        try:
            data = self.read(key, etag, start, end, is_patient=self._failures < _SOON_ENOUGH)
        except Exception as error:  # noqa: BLE001 - libraries raise kinds of their own
            with self._lock:
                self._failures += self.is_busy(error)
            raise self.error(key, error) from None
        self._failures = 0
        return data

    @property
    def identity(self) -> str:
        """What distinguishes it from all other buckets, of other servers too."""
        return self.address

    def uri(self, key: str) -> str:
        """What names an object for ever."""
        return self.address + key

    def key(self, uri: str) -> str:
        """The key of an artifact of this bucket."""
        return uri.removeprefix(self.address)

    def artifact(self, key: Key, path: str = "") -> Artifact:
        """An object as an artifact; a layout is held against `path`."""
        reason = f"in storage class {key.archived}: restore it first" if key.archived else ""
        return Artifact(
            uri=self.uri(key.name),
            size=key.size,
            modified=key.modified,
            etag=key.etag or None,
            kind="object",
            fields={"tp_source_name": self.name},
            path=path or key.name,
            unavailable=reason,
        )


class StoredBucket(Bucket):
    """A bucket whose objects are fetched by obstore."""

    def __init__(self, name: str, address: str) -> None:
        super().__init__(name, address)
        self._making = threading.Lock()
        self._store: Any = None

    @abstractmethod
    def make_store(self) -> Any:
        """The bucket as a store of obstore, that repeats no request."""

    @abstractmethod
    def get_by_request(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        """Some bytes of an object whose key obstore would change."""

    def get(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        """Some bytes of an object, once; all that there are if none are named."""
        if not _is_plain(key):
            return self.get_by_request(key, etag, start, end)
        options: dict[str, Any] = {"if_match": f'"{etag}"'} if etag else {}
        options |= {"range": (start, end)} if end > start else {}
        with self._making:
            if self._store is None:
                self._store = self.make_store()
            store = self._store
        return bytes(store.get(key, options=options).bytes())

    def get_all(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        """The bytes of a range, once; an error if the answer has more or fewer."""
        data = self.get(key, etag, start, end)
        if len(data) != end - start:
            raise ConnectionError(f"{len(data)} of {end - start} bytes came")
        return data

    def forget_store(self) -> None:
        """Make another store for the next request: the service has refused the login of this one."""
        with self._making:
            self._store = None


def _is_plain(key: str) -> bool:
    """Whether obstore takes the key for what it is, and not for a path that it may tidy up."""
    parts = key.split("/")
    return key.isprintable() and not any(part in ("", ".", "..") for part in parts)
