"""Check a store: prove on objects of its own that it can do what a store must, and name what it lacks."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from tailpipe.errors import ObjectStoreError, TailpipeError
from tailpipe.frozen import frozen
from tailpipe.storage.locations import parse_location
from tailpipe.storage.objects import Objects

PROBES = "probe"
"""What the keys of the objects of a check begin with."""
_ROUNDS = 3
_WRITERS = 4

_PERMISSIONS = {
    "s3": {
        "write": "s3:PutObject",
        "read": "s3:GetObject",
        "list": "s3:ListBucket",
        "conditional write": "a server that honours If-None-Match on PUT",
        "delete": "s3:DeleteObject",
    },
    "gs": {
        "write": "storage.objects.create",
        "read": "storage.objects.get",
        "list": "storage.objects.list",
        "conditional write": "a server that honours x-goog-if-generation-match",
        "delete": "storage.objects.delete",
    },
    "az": {
        "write": "Storage Blob Data Contributor",
        "read": "Storage Blob Data Contributor",
        "list": "Storage Blob Data Contributor",
        "conditional write": "a server that honours If-None-Match on PUT",
        "delete": "Storage Blob Data Contributor",
    },
    "file": {
        "write": "write permission on the directory",
        "read": "read permission on the directory",
        "list": "read permission on the directory",
        "conditional write": "a file system with hard links or locks",
        "delete": "write permission on the directory",
    },
}

Result = Literal["ok", "failed", "skipped"]


@frozen
class Step:
    """What was tried; `needs` is the permission or property that it takes."""

    name: str
    result: Result
    needs: str
    message: str = ""
    hint: str = ""


class _LackError(Exception):
    """The store answers, but not as it must."""


def check_store(objects: Objects) -> list[Step]:
    """Try all that a store must be able to do, on objects below `probe/`, which are deleted again."""
    scheme = parse_location(objects.location).scheme
    needs = _PERMISSIONS["az" if scheme.startswith("abfs") else scheme]
    prefix = f"{PROBES}/{secrets.token_hex(8)}"
    probe = _Probe(objects, prefix)
    steps: list[Step] = []
    try:
        for name, attempt in probe.steps():
            if not probe.is_written and name not in ("write", "list"):
                steps.append(Step(name, "skipped", needs[name], "nothing could be written"))
                continue
            steps.append(_tried(name, attempt, needs[name]))
    finally:
        probe.clean()
    return steps


def _tried(name: str, attempt: Callable[[], None], needs: str) -> Step:
    try:
        attempt()
    except _LackError as lack:
        return Step(name, "failed", needs, str(lack))
    except TailpipeError as error:
        return Step(name, "failed", needs, error.message, error.hint)
    except OSError as error:
        return Step(name, "failed", needs, f"{error.strerror or error}")
    return Step(name, "ok", needs)


class _Probe:
    """The objects of one check."""

    def __init__(self, objects: Objects, prefix: str) -> None:
        self.objects = objects
        self.prefix = prefix
        self.data = secrets.token_bytes(1_000)
        self.is_written = False
        self.keys = [f"{prefix}/object", *(f"{prefix}/race-{number}" for number in range(_ROUNDS))]

    def steps(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """What is tried, in order."""
        yield from (
            ("write", self.write),
            ("read", self.read),
            ("list", self.list),
            ("conditional write", self.race),
            ("delete", self.delete),
        )

    def write(self) -> None:
        if not self.objects.put(self.keys[0], self.data):
            raise _LackError("the store reports that a new object exists already")
        self.is_written = True

    def read(self) -> None:
        if self.objects.get(self.keys[0]) != self.data or self.objects.get(self.keys[0], 10, 20) != self.data[10:30]:
            raise _LackError("other bytes are read than were written")
        facts = self.objects.head(self.keys[0])
        if facts is None or facts.size != len(self.data):
            raise _LackError("the size of an object is not reported")

    def list(self) -> None:
        found = [facts.key for facts in self.objects.list(self.prefix)]
        if not set(found) <= set(self.keys):
            raise _LackError("objects of other prefixes are listed")
        if self.is_written and self.keys[0] not in found:
            raise _LackError("an object that was written is not listed")

    def race(self) -> None:
        """Several writers of one key: exactly one must succeed, and its bytes must stay."""
        if self.objects.put(self.keys[0], b"other"):
            raise _LackError("an object that exists was overwritten by a conditional write")
        for key in self.keys[1:]:
            with ThreadPoolExecutor(_WRITERS) as pool:
                won = list(pool.map(lambda number, key=key: self._put(key, number), range(_WRITERS)))
            if won.count(True) != 1:
                raise _LackError(f"{won.count(True)} of {_WRITERS} conditional writes of one key succeeded, not one")
            if self.objects.get(key) != b"%d" % won.index(True):
                raise _LackError("the bytes of a conditional write that was refused were kept")

    def _put(self, key: str, number: int) -> bool:
        try:
            return self.objects.put(key, b"%d" % number)
        except ObjectStoreError as error:
            if not error.is_unknown:
                raise
            return self.objects.get(key) == b"%d" % number

    def delete(self) -> None:
        self.objects.delete(self.keys)
        left = [key for key in self.keys if self.objects.head(key) is not None]
        if left:
            raise _LackError("a deleted object still exists")

    def clean(self) -> None:
        """Delete what is left, as far as that is allowed."""
        try:
            self.objects.delete(self.keys)
        except (TailpipeError, OSError):
            return  # the step that deletes has told why
