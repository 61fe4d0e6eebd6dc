"""Unpack an artifact: from a stream of bytes and a name to its members, each in decompressed chunks.

What the bytes are is told by their beginning; the name matters only where it promises what the beginning
does not hold. Compressions and archives may lie in one another (`logs.tar.gz`, a `.gz` in a zip), to the
depth of the limits. Nothing is extracted to disk, and memory is bounded by the size of a chunk.

    unpacking = Unpacking(stream, "logs.zip")
    for member in unpacking:
        for chunk in member.chunks():
            …
    unpacking.skipped
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Literal

from tailpipe.frozen import frozen
from tailpipe.model.meter import Meter
from tailpipe.unpack.archives import is_tar, is_zip, tar_members, zip_members
from tailpipe.unpack.streams import CODECS, MEGABYTE, Budget, Codec, Reader, UnpackLimits, inflate

__all__ = ["Member", "Skipped", "UnpackLimits", "Unpacking"]

_OPENING = 64 * 1024
_FOREIGN = {
    b"\x04\x22\x4d\x18": "lz4",
    b"\xff\x06\x00\x00sNaPpY": "snappy",
    b"\x1f\x9d": "compress (.Z)",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
}
_TEXT_BYTES = bytes([7, 8, 9, 10, 12, 13, 27, *range(32, 127), *range(128, 256)])

_Kind = Codec | Literal["tar", "zip", "plain", "unreadable"]


@frozen
class Skipped:
    """Something in an artifact that was left out: a link, a device, an encrypted member, bytes at the end.

    `name` is the member's, or empty for the artifact itself.
    """

    name: str
    reason: str


class Member:
    """A file in an archive, or the whole artifact if it is none; its chunks are read once, in order.

    `name` is a label for messages, with `!` between the archives, and empty for the whole artifact.
    `opening` is how its decompressed bytes begin, at most 64 KB, also if the chunks begin later. If it
    `is_packed`, they are others than those of the artifact.
    """

    def __init__(
        self,
        reader: Reader,
        limits: UnpackLimits,
        count: Callable[[int], None],
        *,
        is_packed: bool = False,
        meter: Meter | None = None,
    ) -> None:
        self.name = reader.member
        self.is_packed = is_packed
        self.opening = reader.peek(_OPENING)
        self._reader = reader
        self._fill = (meter or Meter()).timed("unpack", reader.fill)
        self._chunk_bytes = limits.chunk_bytes
        self._count = count

    def chunks(self, start: int = 0, seen: Callable[[bytes], None] | None = None, unseen: int = 0) -> Iterator[bytes]:
        """The decompressed bytes from `start` on, in chunks of the same size but the last.

        What lies before is dropped; `seen` gets it, but for the first `unseen` bytes.
        """
        skipped = self.skip(start if seen is None else unseen)
        while seen is not None and skipped < start and (data := self.read(min(MEGABYTE, start - skipped))):
            seen(data)
            skipped += len(data)
        if skipped < start:
            raise self._reader.fail(f"ends at byte {skipped:,}, before the {start:,} bytes that were taken of it")
        while chunk := self._fill(self._chunk_bytes):
            self._count(len(chunk))
            yield chunk

    def read(self, size: int) -> bytes:
        """The next decompressed bytes, at most `size`; nothing only at the end."""
        data = self._reader.read(size)
        self._count(len(data))
        return data

    def skip(self, size: int) -> int:
        """Pass over the next bytes, by a leap in a plain file that can seek, and say how many there were."""
        skipped = self._reader.skip(size)
        self._count(skipped)
        return skipped

    def finish(self) -> None:
        """Read what is left, because the checksum at the end speaks for all of it."""
        while data := self._reader.read(MEGABYTE):
            self._count(len(data))


class Unpacking:
    """The members of one artifact, in the order of the archive.

    Iterate once, and read a member before the next. Raises UnpackError where the artifact is cut off,
    damaged or expands beyond the limits; rows read before that must then not be kept. `stream` stands at
    its beginning. `spool_dir` is where a zip that cannot seek is kept while it is read, if it is larger
    than a chunk.
    """

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        *,
        limits: UnpackLimits | None = None,
        spool_dir: Path | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.skipped: list[Skipped] = []
        self._name = name
        self._limits = limits or UnpackLimits()
        self._spool_dir = spool_dir
        self._stream = stream
        self._meter = meter or Meter()
        self._source = Reader(
            self._meter.timed("fetch", stream.read), file=name, leap=self._leap if stream.seekable() else None
        )
        self._budget = Budget(self._limits, self._source)
        self._members = 0
        self._delivered = 0

    def __iter__(self) -> Iterator[Member]:
        yield from self._open(self._source, self._name, depth=0)

    def _open(self, reader: Reader, name: str, depth: int) -> Iterator[Member]:
        """The members in `reader`, which is inside `depth` archives."""
        layers = 0
        while isinstance(kind := self._kind(reader, name), Codec):
            if layers == self._limits.max_nesting:
                self._refuse(reader, f"is packed by more than {layers} compressions over one another")
                return
            layers += 1
            reader = inflate(reader, kind, self._budget, self._leave_out)
            name = _without_suffix(name)
        if kind == "plain":
            is_packed = depth + layers > 0
            count = self._counter(reader, is_packed=is_packed)
            member = Member(reader, self._limits, count, is_packed=is_packed, meter=self._meter)
            yield member
            member.finish()
        elif kind == "unreadable":
            return
        elif depth == self._limits.max_nesting:
            self._refuse(reader, f"is an archive in more than {depth - 1} others")
        elif kind == "tar":
            for name, inner in tar_members(reader, self._leave_out):
                yield from self._open(inner, name, depth + 1)
        else:
            with self._seekable(reader) as file:
                for name, inner in zip_members(file, reader, self._budget, self._leave_out):
                    yield from self._open(inner, name, depth + 1)

    def _kind(self, reader: Reader, name: str) -> _Kind:
        """What the bytes are, by their beginning, or else by the name."""
        head = reader.peek(512)
        for codec in CODECS.values():
            if codec.magic and codec.begins(head):
                return codec
        if is_zip(head) or is_tar(head):
            return "zip" if is_zip(head) else "tar"
        for magic, packer in _FOREIGN.items():
            if head.startswith(magic):
                self._refuse(reader, f"is packed by {packer}, which cannot be read")
                return "unreadable"
        return _by_name(reader, head, name.lower())

    def _refuse(self, reader: Reader, reason: str) -> None:
        """Leave a member out because of what it is; a whole artifact like that is an error."""
        if not reader.member:
            raise reader.fail(reason)
        self._leave_out(reader.member, reason.removeprefix("is "))

    def _leave_out(self, name: str, reason: str) -> None:
        self.skipped.append(Skipped(name, reason))
        self._count_member()

    def _count_member(self) -> None:
        self._members += 1
        if self._members > self._limits.max_members:
            raise self._source.fail(f"has more than {self._limits.max_members:,} members (limit max_members)")

    def _counter(self, reader: Reader, *, is_packed: bool) -> Callable[[int], None]:
        """What a member reports the sizes of its chunks to, so that it is stopped at the limits."""
        self._count_member()
        size, limit = 0, self._limits.max_member_bytes

        def count(more: int) -> None:
            nonlocal size
            size += more
            self._delivered += more
            if reader.member and size > limit:
                raise reader.fail(f"expands to more than {limit:,} bytes (limit max_member_bytes)")
            if is_packed:
                self._budget.check(reader, self._delivered)

        return count

    def _leap(self, size: int) -> int:
        position = self._stream.tell()
        end = max(position, self._stream.seek(0, io.SEEK_END))
        return self._stream.seek(min(position + size, end)) - position

    @contextmanager
    def _seekable(self, reader: Reader) -> Iterator[IO[bytes]]:
        """The bytes of `reader` as a file that can seek: the stream itself, or a copy of them."""
        if reader is self._source and self._stream.seekable():
            reader.offset = self._stream.seek(0, io.SEEK_END)
            yield self._stream
            return
        directory = None if self._spool_dir is None else str(self._spool_dir)
        with tempfile.SpooledTemporaryFile(self._limits.chunk_bytes, dir=directory) as file:
            while data := reader.read(MEGABYTE):
                file.write(data)
                if reader.offset > self._limits.max_artifact_bytes:
                    raise reader.fail(f"is larger than {self._limits.max_artifact_bytes:,} bytes")
            yield file


def _by_name(reader: Reader, head: bytes, name: str) -> _Kind:
    """The kind of bytes whose beginning does not show it.

    Text is plain whatever compression its name promises, as some tools unpack without renaming. Other
    bytes must be what the name says, and a name that promises an archive is always held to it.
    """
    for codec in CODECS.values():
        if name.endswith(codec.suffixes):
            if codec.may_begin(head):
                raise reader.truncated()
            if head.translate(None, _TEXT_BYTES):
                raise reader.fail(f"is not a {codec.name} stream after byte 0")
    for suffix in (".zip", ".tar"):
        if name.endswith(suffix):
            if (suffix == ".tar" and len(head) < 512) or b"PK\3\4".startswith(head):
                raise reader.truncated()
            if suffix == ".tar" and not head.strip(b"\0"):
                return "tar"
            raise reader.fail(f"is not a {suffix[1:]} archive after byte 0")
    return "plain"


def _without_suffix(name: str) -> str:
    """The name after unpacking one compression: `x.tgz` is an `x.tar`."""
    stem, _, suffix = name.rpartition(".")
    if not any(f".{suffix.lower()}" in codec.suffixes for codec in CODECS.values()):
        return name
    return f"{stem}.tar" if suffix.lower().startswith("t") else stem
