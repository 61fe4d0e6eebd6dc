"""Objects in a bucket or container: S3, GCS and Azure, by obstore."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from tailpipe.errors import ObjectStoreError, TailpipeError
from tailpipe.frozen import frozen
from tailpipe.storage.object_faults import Fault, fault_of, store_error
from tailpipe.storage.objects import (
    RESERVED,
    ObjectFacts,
    Requests,
    changed_error,
    check_key,
    check_sha256,
    list_prefix,
)

if TYPE_CHECKING:
    from obstore.store import AzureStore, GCSStore, S3Store

    RemoteStore = S3Store | GCSStore | AzureStore

T = TypeVar("T")

SINGLE_PUT_BYTES = 64 * 1024 * 1024
"""A file up to this size is one conditional request; a larger one goes up in parts."""
_PART_BYTES = 8 * 1024 * 1024
_PARTS_AT_ONCE = 4
_PART_RETRIES = 9
_CHUNK_BYTES = 1024 * 1024
_MEMORY_BYTES = 256 * 1024 * 1024
_PAGE = 1000
_DELETES_AT_ONCE = 16
_DIGEST = "sha256"
"""The name of the metadata field that holds the digest."""
_CLOCK = f"{RESERVED}/clock"
_CONNECT_TIMEOUT = timedelta(seconds=10)
_TIMEOUT = timedelta(minutes=5)


@frozen
class Backoff:
    """How often a request that may be repeated is repeated, and how long the pauses are; the clock is not read."""

    retries: int = 8
    first_pause: float = 0.1
    longest_pause: float = 10.0
    sleep: Callable[[float], None] = time.sleep

    def wait(self, failures: int) -> None:
        """Pause after so many failures in a row, a random while, so that many clients do not come back at once."""
        longest = min(self.longest_pause, self.first_pause * 2.0 ** min(failures, 30))
        self.sleep(random.uniform(longest / 2, longest))  # noqa: S311 - no secret


class RemoteObjects:
    """A bucket or container, or what is below a prefix in it.

    obstore repeats no request by itself: a put-if-absent that it had repeated would find its own object and look like
    a conflict. Reads, deletions and `replace` are repeated here; a put only if it was refused for certain.
    """

    def __init__(
        self,
        store: RemoteStore,
        location: str,
        root: str = "",
        *,
        backoff: Backoff | None = None,
        timeout: timedelta = _TIMEOUT,
    ) -> None:
        self.location = location
        self.requests = Requests()
        self.backoff = backoff or Backoff()
        self._root = f"{root}/" if root else ""
        self._store: Any = _rebuilt(store, timeout, retries=0)
        self._parts: Any = _rebuilt(store, timeout, retries=_PART_RETRIES)
        self._is_s3 = type(store).__name__ == "S3Store"

    def put(self, key: str, data: bytes, *, sha256: str | None = None) -> bool:
        """Write an object if there is none."""
        path, digest = self._path(key), check_sha256(data, sha256, self.location, key)
        return self._put(key, path, data, digest)

    def put_file(self, key: str, source: Path, *, sha256: str) -> bool:
        """Write a local file as an object if there is none; large ones in parts."""
        path, size = self._path(key), source.stat().st_size
        if size <= SINGLE_PUT_BYTES:
            with _MEMORY.take(size):
                data = source.read_bytes()
                return self._put(key, path, data, check_sha256(data, sha256, self.location, key))
        with source.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise changed_error(self.location, key)
        if self.head(key) is not None:
            return False
        with _MEMORY.take(_PART_BYTES * _PARTS_AT_ONCE):
            self._put_parts(key, path, source, size, sha256)
        return True

    def replace(self, key: str, data: bytes) -> None:
        """Write an object whether there is one or not."""
        self._replace(key, self._path(key), data)

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """The bytes of an object, or at most `length` of them from `start` on."""
        path = self._path(key)
        if length == 0:
            if self.head(key) is None:
                raise self._absent(key)
            return b""
        options: dict[str, Any] = {}
        if start or length is not None:
            options["range"] = {"offset": start} if length is None else (start, start + length)
        try:
            return self._repeated("get", "read", key, lambda: bytes(self._store.get(path, options=options).bytes()))
        except _RequestError as failed:
            if failed.fault.is_past_end:
                return b""
            raise (self._absent(key) if failed.fault.is_absent else failed.error) from None

    def fetch(self, key: str, target: Path) -> str:
        """Copy an object into a local file; a connection that is cut goes on where it was."""
        path, failures = self._path(key), 0
        with target.open("wb") as file:
            copy = _Copy(file)
            while True:
                before = copy.size
                self.requests.count("get")
                try:
                    copy.go_on(self._store, path)
                    return copy.digest.hexdigest()
                except Exception as error:  # noqa: BLE001 - obstore's own kinds, which are not imported here
                    fault = self._fault(error, "read", key)
                if fault.is_past_end and copy.size:  # it was cut behind the last byte
                    return copy.digest.hexdigest()
                if fault.is_absent:
                    raise self._absent(key)
                failures = 1 if copy.size > before else failures + 1
                if not fault.is_transient or failures > self.backoff.retries:
                    raise store_error(fault, self.location, "read", key)
                self.backoff.wait(failures)

    def copy(self, key: str, target: str) -> None:
        """Copy an object to another key; the bytes stay on the server."""
        path, new = self._path(key), self._path(target)
        try:
            self._repeated("copy", "copy", key, lambda: self._store.copy(path, new))
        except _RequestError as failed:
            raise (self._absent(key) if failed.fault.is_absent else failed.error) from None

    def head(self, key: str) -> ObjectFacts | None:
        """The facts of an object; None if there is none, or no bucket: the answer to HEAD does not say which."""
        path = self._path(key)
        try:
            answer = self._repeated("head", "read", key, lambda: self._store.get(path, options={"head": True}))
        except _RequestError as failed:
            if failed.fault.is_absent:
                return None
            raise failed.error from None
        return self._facts(answer.meta, answer.attributes.get(_DIGEST))

    def list(self, prefix: str, *, after: str | None = None) -> Iterator[ObjectFacts]:
        """The objects below a prefix, in the order of their keys."""
        below = f"{self._root}{list_prefix(prefix, self.location)}".removesuffix("/") or None
        offset = f"{self._root}{check_key(after, self.location)}" if after is not None else None
        found: dict[str, ObjectFacts] = {}

        def collect() -> None:
            # What has been listed before a failure is listed again; the pages of one listing need not be in order.
            count = 0
            for page in self._store.list(below, offset=offset, chunk_size=_PAGE):
                count += len(page)
                for meta in page:
                    facts = self._facts(meta)
                    found[facts.key] = facts
            self.requests.count("list", max(0, -(-count // _PAGE) - 1))

        try:
            self._repeated("list", "list", prefix, collect)
        except _RequestError as failed:
            raise failed.error from None
        # Not every server that speaks S3 lists in the order of the keys: some walk through directories.
        for key in sorted(found):
            if (after is None or key > after) and not key.startswith(f"{RESERVED}/"):
                yield found[key]

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that do not exist are fine."""
        paths = {self._path(key): key for key in keys}
        if self._is_s3:
            many = sorted(paths)
            for begin in range(0, len(many), _PAGE):
                self._delete(many[begin : begin + _PAGE], paths[many[begin]])
        elif paths:
            # In one request an object that does not exist would keep others from being deleted.
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(min(_DELETES_AT_ONCE, len(paths))) as pool:
                for done in [pool.submit(self._delete, path, key) for path, key in sorted(paths.items())]:
                    done.result()

    def now(self) -> datetime:
        """The time at which a small object that is written now says it was modified."""
        path = f"{self._root}{_CLOCK}"
        self._replace(_CLOCK, path, b"")
        try:
            answer = self._repeated("head", "read", _CLOCK, lambda: self._store.get(path, options={"head": True}))
        except _RequestError as failed:
            raise failed.error from None
        return self._facts(answer.meta).modified

    def _path(self, key: str) -> str:
        return f"{self._root}{check_key(key, self.location)}"

    def _facts(self, meta: Any, sha256: str | None = None) -> ObjectFacts:
        modified = meta["last_modified"].astimezone(UTC)
        etag = (meta["e_tag"] or "").strip('"') or None  # Azure quotes it in one answer and not in another
        return ObjectFacts(meta["path"].removeprefix(self._root), meta["size"], modified, etag, sha256)

    def _absent(self, key: str) -> FileNotFoundError:
        return FileNotFoundError(2, "no such object", f"{self.location.rstrip('/')}/{key}")

    def _put(self, key: str, path: str, data: bytes, digest: str) -> bool:
        failures = 0
        while True:
            self.requests.count("put")
            try:
                self._store.put(path, data, mode="create", attributes={_DIGEST: digest}, use_multipart=False)
            except Exception as error:  # noqa: BLE001 - obstore's own kinds, which are not imported here
                fault = self._fault(error, "write", key)
                if fault.is_present:
                    return False
                failures += 1
                if not fault.is_refused or failures > self.backoff.retries:
                    raise store_error(fault, self.location, "write", key, is_write=True) from None
                self.backoff.wait(failures)
            else:
                return True

    def _put_parts(self, key: str, path: str, source: Path, size: int, digest: str) -> None:
        self.requests.count("put", 2 + -(-size // _PART_BYTES))
        try:
            self._parts.put(
                path,
                source,
                attributes={_DIGEST: digest},
                use_multipart=True,
                chunk_size=_PART_BYTES,
                max_concurrency=_PARTS_AT_ONCE,
            )
        except Exception as error:  # noqa: BLE001 - obstore's own kinds, which are not imported here
            fault = self._fault(error, "write", key)
            raised = store_error(fault, self.location, "write", key, is_write=True)
            # The last request may have been repeated, and then the upload that it finishes is gone.
            raised.is_unknown |= fault.status == 404 and fault.code in ("", "NoSuchUpload")
            raise raised from None

    def _replace(self, key: str, path: str, data: bytes) -> None:
        attributes = {_DIGEST: hashlib.sha256(data).hexdigest()}
        try:
            self._repeated(
                "put", "write", key, lambda: self._store.put(path, data, attributes=attributes, use_multipart=False)
            )
        except _RequestError as failed:
            raise failed.error from None

    def _delete(self, paths: str | Sequence[str], key: str) -> None:
        try:
            self._repeated("delete", "delete", key, lambda: self._store.delete(paths))
        except _RequestError as failed:
            if not failed.fault.is_absent:
                raise failed.error from None

    def _repeated(self, kind: str, action: str, key: str, request: Callable[[], T]) -> T:
        """Make a request that may be made again; raises `_RequestError`."""
        failures = 0
        while True:
            self.requests.count(kind)
            try:
                return request()
            except Exception as error:  # noqa: BLE001 - obstore's own kinds, which are not imported here
                fault = self._fault(error, action, key)
            failures += 1
            if not fault.is_transient or failures > self.backoff.retries:
                is_write = kind in ("put", "copy", "delete")
                raise _RequestError(fault, store_error(fault, self.location, action, key, is_write=is_write))
            self.backoff.wait(failures)

    def _fault(self, error: Exception, action: str, key: str) -> Fault:
        if not _is_of_obstore(error):
            raise error
        fault = fault_of(error)
        provider = getattr(self._store, "credential_provider", None)
        if fault.has_no_credentials and provider is not None:
            # obstore keeps no more than the text of what the connection raised: ask it once more.
            try:
                provider()
            except TailpipeError as told:
                message = f'cannot {action} "{self.location.rstrip("/")}/{key}": {told.message}'
                raise ObjectStoreError(message, location=self.location, key=key, hint=told.hint) from None
        return fault


class _RequestError(Exception):
    """A request failed for good: what happened, and the error for the user."""

    def __init__(self, fault: Fault, error: ObjectStoreError) -> None:
        super().__init__(str(error))
        self.fault = fault
        self.error = error


class _Copy:
    """An object that is being copied into a local file."""

    def __init__(self, file: BinaryIO) -> None:
        self.size = 0
        self.digest = hashlib.sha256()
        self._file = file
        self._etag: str | None = None

    def go_on(self, store: Any, path: str) -> None:
        """Copy what is still missing."""
        # The etag makes sure that the rest is of the same object.
        options = {"range": {"offset": self.size}, "if_match": self._etag} if self.size else {}
        answer = store.get(path, options=options)
        self._etag = answer.meta["e_tag"]
        for chunk in answer.stream(min_chunk_size=_CHUNK_BYTES):
            self._file.write(chunk)
            self.digest.update(chunk)
            self.size += len(chunk)


class _Budget:
    """So many bytes may be in memory at once; a larger amount waits until it is alone."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._freed = threading.Condition()

    @contextmanager
    def take(self, size: int) -> Iterator[None]:
        with self._freed:
            self._freed.wait_for(lambda: self._used == 0 or self._used + size <= self._size)
            self._used += size
        try:
            yield
        finally:
            with self._freed:
                self._used -= size
                self._freed.notify_all()


_MEMORY = _Budget(_MEMORY_BYTES)
"""For the bodies of all puts of the process, which may be many at once."""


def _rebuilt(store: RemoteStore, timeout: timedelta, *, retries: int) -> Any:
    """A client of the bucket with our own limits of time and repetition."""
    arguments, options = cast("Any", store).__getnewargs_ex__()
    limits = {"connect_timeout": _CONNECT_TIMEOUT, "timeout": timeout, "user_agent": "tailpipe"}
    options["client_options"] = {**(options.get("client_options") or {}), **limits}
    options["retry_config"] = {"max_retries": retries, "retry_timeout": timedelta(minutes=3)}
    return type(store)(*arguments, **options)


def _is_of_obstore(error: Exception) -> bool:
    """Whether an error is about a request; FileNotFoundError and OSError of obstore have no number."""
    if isinstance(error, OSError):
        return error.errno is None
    return type(error).__module__.startswith("obstore")
