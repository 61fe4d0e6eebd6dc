"""A bucket in memory, listed as S3 lists its keys; it counts requests."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from datetime import UTC, datetime

from tailpipe.plugin import TailpipeError
from tailpipe.plugins.buckets.bucket import Bucket, Key, Page

_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class MemoryBucket(Bucket):
    """Keys without bytes."""

    def __init__(self, keys: Iterable[str], *, can_seek: bool = True, page_size: int = 1000) -> None:
        super().__init__("memory", "memory://memory/")
        self.keys = sorted(set(keys))
        self.can_seek = can_seek
        self.page_size = page_size
        self.asked: list[tuple[str, bool]] = []
        self.ignores_after = False

    def page(self, prefix: str, *, is_deep: bool, after: str = "", token: str | None = None) -> Page:
        assert self.can_seek or not after
        self.asked.append((prefix, is_deep))
        start = "" if self.ignores_after else after
        place = bisect_left(self.keys, prefix)
        place = max(place, bisect_right(self.keys, token if token is not None else start))
        keys: list[Key] = []
        folders: list[str] = []
        while place < len(self.keys) and (key := self.keys[place]).startswith(prefix):
            if len(keys) + len(folders) == self.page_size:
                last = max([*folders[-1:], *(one.name for one in keys[-1:])])
                return Page(tuple(keys), tuple(folders), last + ("\U0010ffff" if last.endswith("/") else ""))
            rest = key[len(prefix) :]
            if is_deep or "/" not in rest:
                keys.append(Key(key, 1, "e", _LONG_AGO))
                place += 1
            else:
                folders.append(prefix + rest.partition("/")[0] + "/")
                place = bisect_left(self.keys, folders[-1] + "\U0010ffff")
        return Page(tuple(keys), tuple(folders), None)

    @property
    def prefixes(self) -> list[str]:
        return sorted(prefix for prefix, _ in self.asked)

    def read(self, key: str, etag: str | None, start: int, end: int, *, is_patient: bool) -> bytes:
        raise NotImplementedError

    def is_busy(self, error: Exception) -> bool:
        return False

    def error(self, key: str, error: Exception) -> TailpipeError:
        return TailpipeError(str(error))
