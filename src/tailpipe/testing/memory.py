"""Artifacts in memory, and garbage: what no log should hold, and some log does."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import BinaryIO

from tailpipe.model.artifact import Artifact
from tailpipe.model.option import fact
from tailpipe.model.source import Source
from tailpipe.model.window import Window

__all__ = ["Memory", "garbage"]


class Memory(Source):
    """One artifact, in memory."""

    type = "test_memory"
    content: bytes = fact("What the artifact holds.", default=b"")

    def artifacts(self, window: Window) -> Iterator[Artifact]:  # noqa: ARG002
        """List nothing: tests create the artifact themselves."""
        return iter(())

    def open(self, artifact: Artifact) -> BinaryIO:  # noqa: ARG002
        """What it holds."""
        return BytesIO(self.content)


def garbage() -> Mapping[str, bytes]:
    """Contents that are no log of any format, by what they are."""
    packed = gzip.compress(b'{"a": 1}\n' * 10_000)
    return {
        "nothing": b"",
        "a blank line": b"\n",
        "random bytes": random.Random(7).randbytes(16 * 1024),  # noqa: S311 - the same in every run
        "bytes of no encoding": b"\0\xff\xfe\n",
        "odd characters": "\ufeffé = \u2028 \U0001f6a2 \n\r\n".encode(),
        "a cut gzip file": packed[: len(packed) // 2],
        "a long line": b"x" * 100_000,
        "open brackets": b'{"a": [' * 2_000,
    }
