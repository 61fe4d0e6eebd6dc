"""Fetch objects: small ones ahead of their turn and several at a time, large ones in ranges.

Every request names the etag that was listed, so what is read is one version of the object from its first
byte to its last. A request that fails is made again, later and later, by chance a little sooner or later
than others; of a large object only the range in hand is asked for again.
"""

from __future__ import annotations

import io
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tailpipe.plugin import Artifact, ChangedError, TailpipeError
from tailpipe.plugins.aws.buckets import make_store
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.aws.faults import Answer, code_of, is_busy, request, told

if TYPE_CHECKING:
    from obstore.store import S3Store

__all__ = ["Ahead", "Bucket", "bucket_of"]

RANGE_BYTES = 8 * 1024 * 1024
"""An object up to this size is fetched whole; a larger one in ranges of it."""
_REQUESTS = 16
_AHEAD_BYTES = 64 * 1024 * 1024
_SOON_ENOUGH = 3
"""After so many objects in a row that could not be had, no time is spent on trying the next ones again."""
_SAID = {name: re.compile(rf"<{name}>\s*([^<>]+?)\s*</{name}>") for name in ("Code", "Message", "Region")}
_REDIRECTED = "redirect without LOCATION"
"""What obstore says if the bucket is in another region; it keeps to itself in which."""
_STATUS = re.compile(r"\b([345]\d\d) [A-Z]")


class Bucket:
    """A bucket that objects are fetched from; several threads may use it."""

    def __init__(self, connection: Aws, name: str, region: str | None, request_payer: bool) -> None:
        self.connection = connection
        self.name = name
        self.region = region
        self.request_payer = request_payer
        self._given_up = 0
        self._making = threading.Lock()
        self._made: S3Store | None = None

    def fetch(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        """The bytes of a range, which must lie in the object; none of an object without bytes."""
        retries = 0 if self._given_up >= _SOON_ENOUGH else self.connection.max_retries
        try:
            data = request(lambda: self._get_all(key, etag, start, end), self._renew, retries=retries, fault=_fault)
        except Exception as error:  # noqa: BLE001 - of two libraries, one of which raises its own kinds
            fault = _fault(error)
            self._given_up += is_busy(fault)
            raise self._told(key, fault) from None
        self._given_up = 0
        return data

    def _get_all(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        data = self._get(key, etag, start, end)
        if len(data) != end - start:
            raise ConnectionError(f"{len(data)} of {end - start} bytes came")
        return data

    def _get(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        if not _is_plain(key):
            return self._get_slowly(key, etag, start, end)
        options: dict[str, Any] = {"if_match": f'"{etag}"'} if etag else {}
        if end > start:
            options["range"] = (start, end)
        return bytes(self._store.get(key, options=cast("Any", options)).bytes())

    def _get_slowly(self, key: str, etag: str | None, start: int, end: int) -> bytes:
        """By boto3, which takes a key as it is, while obstore takes it for a path that it may tidy up."""
        asked: dict[str, Any] = {"IfMatch": f'"{etag}"'} if etag else {}
        asked |= {"Range": f"bytes={start}-{end - 1}"} if end > start else {}
        asked |= {"RequestPayer": "requester"} if self.request_payer else {}
        client = self.connection.client("s3", self.region)
        return bytes(client.get_object(Bucket=self.name, Key=key, **asked)["Body"].read())

    @property
    def _store(self) -> S3Store:
        with self._making:
            if self._made is None:
                self._made = make_store(self.connection, self.name, self.region, request_payer=self.request_payer)
            return self._made

    def _renew(self) -> None:
        self.connection.renew()
        with self._making:
            self._made = None

    def _told(self, key: str, fault: Exception) -> TailpipeError:
        uri, code = f"s3://{self.name}/{key}", code_of(fault)
        if code in ("NoSuchKey", "404"):
            return ChangedError(f'"{uri}" was deleted after it was listed')
        if code in ("PreconditionFailed", "412", "InvalidRange", "416"):
            return ChangedError(f'"{uri}" was replaced after it was listed')
        if code == "InvalidObjectState":
            return TailpipeError(f'"{uri}" is archived', hint="restore it, then collect again")
        return told(fault, self.connection, f'read "{uri}"')


class Ahead:
    """Opens the artifacts of a task in their order, and fetches the next ones meanwhile.

    What is fetched and not yet read is bounded in number and bytes. Large objects are not fetched ahead:
    they come in ranges when it is their turn.
    """

    def __init__(self, artifacts: Iterable[Artifact], whose: Callable[[Artifact], tuple[Bucket, str]]) -> None:
        self._whose = whose
        self._waiting = deque(artifacts)
        self._fetched: dict[str, Future[bytes]] = {}
        self._sizes: dict[str, int] = {}
        self._pool = ThreadPoolExecutor(_REQUESTS, "tailpipe-fetch")

    def open(self, artifact: Artifact) -> BinaryIO:
        """The bytes of one; a failure to get them is raised here."""
        self._fill()
        future = self._fetched.pop(artifact.uri, None)
        self._sizes.pop(artifact.uri, None)
        if future is None:
            return open_object(*self._whose(artifact), artifact, self._pool)
        data = future.result()
        self._fill()
        return io.BytesIO(data)

    def close(self) -> None:
        """Let go of what is on its way."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _fill(self) -> None:
        while self._waiting and len(self._fetched) < 2 * _REQUESTS and sum(self._sizes.values()) < _AHEAD_BYTES:
            artifact = self._waiting.popleft()
            size = artifact.size or 0
            if size > RANGE_BYTES:
                continue
            self._sizes[artifact.uri] = size
            bucket, key = self._whose(artifact)
            self._fetched[artifact.uri] = self._pool.submit(bucket.fetch, key, artifact.etag, 0, size)


def open_object(bucket: Bucket, key: str, artifact: Artifact, pool: ThreadPoolExecutor | None = None) -> BinaryIO:
    """The bytes of an object, whole or range by range."""
    size = artifact.size or 0
    if size <= RANGE_BYTES:
        return io.BytesIO(bucket.fetch(key, artifact.etag, 0, size))
    return cast("BinaryIO", io.BufferedReader(_Ranges(bucket, key, artifact.etag, size, pool), 1024 * 1024))


class _Ranges(io.RawIOBase):
    """A large object, of which one range is held; the next is on its way if there is a pool."""

    def __init__(self, bucket: Bucket, key: str, etag: str | None, size: int, pool: ThreadPoolExecutor | None) -> None:
        self._bucket = bucket
        self._key = key
        self._etag = etag
        self._size = size
        self._pool = pool
        self._position = 0
        self._held: tuple[int, bytes] = (0, b"")
        self._coming: tuple[int, Future[bytes]] | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        if self._position >= self._size:
            return 0
        start, data = self._held
        if not start <= self._position < start + len(data):
            start = self._position - self._position % RANGE_BYTES
            data = self._range(start)
            self._held = (start, data)
        piece = data[self._position - start : self._position - start + len(buffer)]
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def _fetch(self, start: int) -> bytes:
        return self._bucket.fetch(self._key, self._etag, start, min(start + RANGE_BYTES, self._size))

    def _range(self, start: int) -> bytes:
        coming, self._coming = self._coming, None
        data = coming[1].result() if coming is not None and coming[0] == start else self._fetch(start)
        following = start + RANGE_BYTES
        if self._pool is not None and following < self._size:
            self._coming = (following, self._pool.submit(self._fetch, following))
        return data


@lru_cache(maxsize=16)
def bucket_of(connection: Aws, name: str, region: str | None, request_payer: bool) -> Bucket:
    """The bucket; the same one each time, in a process, so that its connections are used again."""
    return Bucket(connection, name, region, request_payer)


def _is_plain(key: str) -> bool:
    """Whether obstore takes the key for what it is."""
    parts = key.split("/")
    return key.isprintable() and not any(part in ("", ".", "..") for part in parts)


def _fault(error: Exception) -> Exception:
    """What went wrong, with the code that the service gave, whichever library tells it."""
    if isinstance(error, TailpipeError) or not type(error).__module__.startswith(("obstore", "builtins")):
        return error
    text = str(error)
    said = {name: found[1] for name, pattern in _SAID.items() if (found := pattern.search(text))}
    code, status = said.get("Code"), _STATUS.search(text)
    if status and is_busy(Answer(status[1])) and not (code and is_busy(Answer(code))):
        return Answer(status[1])
    if code:
        return Answer(code, said.get("Message", ""), said.get("Region", ""))
    if status or _REDIRECTED in text:
        return Answer(status[1] if status else "PermanentRedirect")
    return Answer("NoSuchKey") if isinstance(error, FileNotFoundError) else Answer("ConnectionError")
