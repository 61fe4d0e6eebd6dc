"""Samples: the decompressed beginning of an artifact, and what kind of bytes it has."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from io import BytesIO
from typing import BinaryIO

from tailpipe.errors import TailpipeError, UnpackError
from tailpipe.frozen import frozen
from tailpipe.kernel.content import byte_stream, opened
from tailpipe.model.artifact import Artifact
from tailpipe.model.option import fact
from tailpipe.model.source import Source
from tailpipe.model.window import Window
from tailpipe.unpack.unpack import Unpacking

_HEAD = 1024 * 1024
_DOCUMENT = 16 * _HEAD
_BINARY = 64 * _HEAD
_ODD = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27})
"""Control characters that text does not have."""
_FEW = 0.01


class UnusableError(TailpipeError):
    """An artifact that no config can be made from, and why."""


class Held(Source):
    """One artifact, in memory."""

    type = "sample"
    content: bytes = fact("What the artifact holds.", default=b"")

    def artifacts(self, window: Window) -> Iterator[Artifact]:  # noqa: ARG002
        """Nothing: its caller knows the artifact."""
        return iter(())

    def open(self, artifact: Artifact) -> BinaryIO:  # noqa: ARG002
        """What it holds."""
        return BytesIO(self.content)


@frozen
class Sample:
    """The beginning of an artifact, decompressed and cut at a line end. `encoding` is None if it is not text."""

    artifact: Artifact
    data: bytes
    is_whole: bool
    encoding: str | None
    bad_lines: int = 0
    """Lines with bytes that the encoding does not have."""

    @cached_property
    def text(self) -> str:
        """The bytes as text."""
        decoded = self.data.decode(self.encoding or "latin-1", "replace")
        return decoded.removeprefix("\ufeff")

    @cached_property
    def lines(self) -> list[str]:
        """The lines that are not blank, without their ends."""
        return [line.rstrip("\r") for line in self.text.split("\n") if line.strip()]

    def head(self, lines: int) -> Sample:
        """The sample cut to so many lines."""
        if self.encoding != "utf-8" or self.data.count(b"\n") <= lines:
            return self
        end = -1
        for _ in range(lines):
            end = self.data.index(b"\n", end + 1)
        return Sample(self.artifact, self.data[: end + 1], is_whole=False, encoding=self.encoding)


def read_sample(source: Source, artifact: Artifact) -> Sample:
    """Read the beginning of an artifact; `UnusableError` if there is nothing that can be looked at."""
    name = artifact.path or artifact.uri
    if artifact.problem:
        raise UnusableError(artifact.problem)
    if artifact.unavailable:
        raise UnusableError(f'cannot read "{name}": {artifact.unavailable}')
    try:
        with closing(byte_stream(artifact, opened(artifact, source.open))) as stream:
            data, is_whole = _read(stream, artifact.uri)
    except UnpackError as error:
        raise UnusableError(error.message, hint=error.hint) from error
    except OSError as error:
        raise UnusableError(f'cannot read "{name}": {(error.strerror or str(error)).lower()}') from error
    if not data.strip():
        raise UnusableError(f'"{name}" is empty', hint="choose a file with log lines in it")
    return _sample(artifact, name, data, is_whole=is_whole)


def _read(stream: BinaryIO, name: str) -> tuple[bytes, bool]:
    """The first bytes of the first member that has any, and whether they are all of it."""
    for member in Unpacking(stream, name):
        head = b"".join(_pieces(member.read, _HEAD))
        if not head.strip():
            continue
        limit = _HEAD
        if _looks_binary(head):
            limit = _BINARY  # such a file has no beginning that can be read alone
        elif b"\n" not in head or head.lstrip()[:1] in (b"[", b"{"):
            limit = _DOCUMENT
        rest = b"".join(_pieces(member.read, limit - len(head))) if len(head) == _HEAD else b""
        return head + rest, len(head) + len(rest) < limit
    return b"", True


def _pieces(read: object, size: int) -> Iterator[bytes]:
    left = size
    while left > 0 and (data := read(left)):  # type: ignore[operator]
        yield data
        left -= len(data)


def _sample(artifact: Artifact, name: str, data: bytes, *, is_whole: bool) -> Sample:
    encoding, bad_lines = _encoding(data)
    if encoding == "utf-8" and not is_whole:
        end = data.rfind(b"\n") + 1
        if not end and data.lstrip()[:1] not in (b"{", b"["):
            hint = "choose a file whose lines end with a line feed"
            raise UnusableError(f'the first line of "{name}" has more than {len(data):,} bytes', hint=hint)
        data = data[: end or len(data)]
    return Sample(artifact, data, is_whole, encoding, bad_lines)


def _encoding(data: bytes) -> tuple[str | None, int]:
    """The encoding, and how many lines do not keep to it; None for bytes that are no text."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _is_utf16(data[:4096]):
        return "utf-16", 0
    if _looks_binary(data):
        return None, 0
    lines = [line for line in data.split(b"\n") if not line.isascii()]
    wrong = sum(1 for line in lines if not _is_utf8(line))
    return ("latin-1", 0) if wrong and wrong == len(lines) else ("utf-8", wrong)


def _is_utf16(head: bytes) -> bool:
    """Whether every second byte is NUL, as in text of UTF-16 without a byte order mark."""
    half = len(head) // 2
    if half < 8:
        return False
    even, odd = head[::2].count(0), head[1::2].count(0)
    return max(even, odd) > 0.8 * half and min(even, odd) < 0.05 * half


def _looks_binary(data: bytes) -> bool:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _is_utf16(data[:4096]):
        return False
    head = data[:65536]
    odd = len(head) - len(head.translate(None, _ODD))
    return b"\0" in head[:8192] or odd > _FEW * len(head)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
