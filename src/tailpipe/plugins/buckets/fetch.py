"""Fetch objects: small ones ahead of their turn and several at a time, large ones in ranges.

Every request names the etag that was listed, so what is read is one version of the object from its first
byte to its last. A request that fails is made again, later and later, by chance a little sooner or later
than others; of a large object only the range in hand is requested again.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO, cast

from tailpipe.plugin import Artifact
from tailpipe.plugins.buckets.bucket import Bucket

RANGE_BYTES = 8 * 1024 * 1024
"""An object up to this size is fetched whole; a larger one in ranges of it."""
_REQUESTS = 16
_AHEAD_BYTES = 64 * 1024 * 1024


class Ahead:
    """Opens the artifacts of a task in their order, and fetches the next ones meanwhile.

    What is fetched and not yet read is bounded in number and bytes. Large objects are not fetched ahead:
    they come in ranges when it is their turn.
    """

    def __init__(self, artifacts: Iterable[Artifact], bucket_of: Callable[[Artifact], Bucket]) -> None:
        self._bucket_of = bucket_of
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
            return open_object(self._bucket_of(artifact), artifact, self._pool)
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
            bucket = self._bucket_of(artifact)
            key = bucket.key(artifact.uri)
            self._fetched[artifact.uri] = self._pool.submit(bucket.fetch, key, artifact.etag, 0, size)


def open_object(bucket: Bucket, artifact: Artifact, pool: ThreadPoolExecutor | None = None) -> BinaryIO:
    """The bytes of an object, whole or range by range."""
    key, size = bucket.key(artifact.uri), artifact.size or 0
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
