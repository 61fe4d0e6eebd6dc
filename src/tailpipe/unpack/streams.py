"""Bytes in order: a reader that can look ahead, the limits of unpacking, and the decompressors.

A decompressor is again a reader, so that layers are put on top of each other and each holds no more
than it was asked for. Where a stream ends too early, is damaged or grows beyond the limits, reading it
raises UnpackError; an error of the source below passes through as it is.
"""

from __future__ import annotations

import bz2
import lzma
import re
from collections.abc import Callable
from copy import copy
from typing import Protocol, cast

import pyarrow as pa
from isal import igzip_lib

from tailpipe.errors import UnpackError
from tailpipe.frozen import frozen

MEGABYTE = 1024 * 1024
_INPUT = 256 * 1024
"""How many compressed bytes are handed to a decompressor at once."""
_AHEAD = 64 * 1024
"""What is looked at is soon read: so a small artifact comes in one piece, and not in several."""
_MAX_GZIP_NAME = 64 * 1024
_DAMAGED = (cast("type[Exception]", igzip_lib.IsalError), OSError, lzma.LZMAError)

Note = Callable[[str, str], None]
"""Takes the name of something that was left out, and why."""


@frozen
class UnpackLimits:
    """How much unpacking may take. A ratio alone proves no bomb: small logs of equal lines reach 294:1."""

    chunk_bytes: int = 16 * MEGABYTE
    """Size of the decompressed chunks; memory is a small multiple of it."""
    max_artifact_bytes: int = 64 * 1024 * MEGABYTE
    """Decompressed size of one packed artifact; plain artifacts have no limit."""
    max_member_bytes: int = 16 * 1024 * MEGABYTE
    """Decompressed size of one member of an archive."""
    max_ratio: int = 200
    """Decompressed bytes for each byte of the artifact, looked at only after `ratio_from_bytes`."""
    ratio_from_bytes: int = 64 * MEGABYTE
    max_nesting: int = 2
    """How many archives may lie in one another, and how many compressions over one another."""
    max_members: int = 100_000
    max_window_bytes: int = 128 * MEGABYTE
    """Memory that a decompressor may take for its own (xz; zstd has the same limit built in)."""


class Reader:
    """Bytes that are read once and in order; `offset` says how many were handed out.

    `file` is the artifact's name and `member` that of the archive's member, for messages. `pull` gives
    at most as many bytes as it is asked for and nothing only at the end; `leap` passes over bytes
    without reading them, where the source can.
    """

    def __init__(
        self,
        pull: Callable[[int], bytes],
        *,
        file: str,
        member: str = "",
        leap: Callable[[int], int] | None = None,
    ) -> None:
        self.file = file
        self.member = member
        self.offset = 0
        self._pull = pull
        self._leap = leap
        self._held = b""
        self._fault: UnpackError | None = None

    def read(self, size: int) -> bytes:
        """At most `size` bytes; nothing only at the end."""
        if self._held:
            data, self._held = self._held[:size], self._held[size:]
        else:
            data = self._next(size) if size else b""
        self.offset += len(data)
        return data

    def _next(self, size: int) -> bytes:
        if self._fault is not None:
            raise copy(self._fault)
        return self._pull(size)

    def _more(self, size: int) -> bytes:
        """The next bytes, or nothing before damage: it is raised once all bytes before it were handed out."""
        try:
            return self._next(size)
        except UnpackError as fault:
            self._fault = copy(fault)  # without a traceback, which would keep the file open
            return b""

    def fill(self, size: int) -> bytes:
        """`size` bytes; less only at the end."""
        data = self.read(size)
        if not data or len(data) == size:
            return data
        parts, count = [data], len(data)
        while count < size and (data := self._more(size - count)):
            parts.append(data)
            count += len(data)
            self.offset += len(data)
        return b"".join(parts)

    def peek(self, size: int) -> bytes:
        """The next bytes without taking them; less than `size` only at the end."""
        more = self._more if self._held else self._next
        while len(self._held) < size and (data := more(max(size - len(self._held), _AHEAD))):
            self._held = self._held + data if self._held else data
            more = self._more
        return self._held[:size]

    def unread(self, data: bytes) -> None:
        """Give back bytes that were read last."""
        self._held = data + self._held
        self.offset -= len(data)

    def skip(self, size: int | None = None) -> int:
        """Pass over `size` bytes or all that is left, and say how many there were."""
        start = self.offset
        if size is not None and self._leap is not None:
            held = min(size, len(self._held))
            self._held = self._held[held:]
            self.offset += held + (self._leap(size - held) if size > held else 0)
            return self.offset - start
        while size is None or self.offset - start < size:
            data = self.read(MEGABYTE if size is None else min(MEGABYTE, size - self.offset + start))
            if not data:
                break
        return self.offset - start

    def label(self, name: str) -> str:
        """What a member of this archive is called in messages."""
        return f"{self.member}!{name}" if self.member else name

    def fail(self, reason: str, *, offset: int | None = None, hint: str = "") -> UnpackError:
        """The error that says what is wrong with these bytes."""
        place = self.offset if offset is None else offset
        return UnpackError(reason, file=self.file, member=self.member, offset=place, hint=hint)

    def truncated(self) -> UnpackError:
        """The error that says that bytes are missing at the end, where it is."""
        self.skip()
        hint = "collect it again when the file is complete"
        return self.fail(f"is truncated at compressed byte {self.offset:,}", hint=hint)


class Budget:
    """The limits of one artifact, against what was read of it."""

    def __init__(self, limits: UnpackLimits, source: Reader) -> None:
        self.limits = limits
        self._source = source

    def check(self, reader: Reader, produced: int) -> None:
        """Refuse a stream that has grown to `produced` bytes, if that is too much."""
        limits = self.limits
        if produced > limits.max_artifact_bytes:
            raise reader.fail(f"expands to more than {limits.max_artifact_bytes:,} bytes (limit max_artifact_bytes)")
        if produced > limits.ratio_from_bytes and produced > limits.max_ratio * max(1, self._source.offset):
            beyond = limits.ratio_from_bytes // MEGABYTE
            raise reader.fail(f"expands more than {limits.max_ratio}:1 beyond {beyond} MB (limit max_ratio)")


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


@frozen
class Codec:
    """A compression: how it is recognized and how a stream of it is begun.

    `magic` are the beginnings that tell it. `open` takes the header, if it must, and gives the decompressor;
    a codec without it is read by Arrow. `may_trail` says whether its own tool passes over bytes that
    follow the last stream.
    """

    name: str
    suffixes: tuple[str, ...] = ()
    magic: tuple[bytes, ...] = ()
    open: Callable[[Reader, UnpackLimits], _Decompressor] | None = None
    may_trail: bool = False

    def begins(self, head: bytes) -> bool:
        """Whether a stream of this codec begins like that."""
        return head.startswith(self.magic)

    def may_begin(self, head: bytes) -> bool:
        """Whether these few bytes may be all that is left of such a stream's beginning."""
        return any(magic.startswith(head) for magic in self.magic)


def _open_gzip(source: Reader, _limits: UnpackLimits) -> _Decompressor:
    # The header is taken here: isal loses its way in one that has several fields and comes in pieces.
    flags = source.fill(10)[3:4]
    if not flags:
        raise source.truncated()
    if flags[0] & 4:
        source.skip(int.from_bytes(source.fill(2), "little"))
    for _ in range((flags[0] >> 3 & 1) + (flags[0] >> 4 & 1)):
        name = source.peek(_MAX_GZIP_NAME)
        end = name.find(b"\0")
        if end < 0 and len(name) == _MAX_GZIP_NAME:
            raise source.fail(f"is not a gzip stream after byte {source.offset:,}: its header has no end")
        source.skip(end + 1 if end >= 0 else len(name))
    source.skip(flags[0] & 2)
    decompressor: _Decompressor = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP_NO_HDR_VER)
    return decompressor


def _open_deflate(_source: Reader, _limits: UnpackLimits) -> _Decompressor:
    decompressor: _Decompressor = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE)
    return decompressor


def _open_bz2(_source: Reader, _limits: UnpackLimits) -> _Decompressor:
    return bz2.BZ2Decompressor()


def _open_xz(_source: Reader, limits: UnpackLimits) -> _Decompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limits.max_window_bytes)


_BZ2_MAGIC = tuple(b"BZh%d" % level + block for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90"))
_ZSTD_MAGIC = (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)))

CODECS = {
    codec.name: codec
    for codec in (
        Codec("gzip", (".gz", ".gzip", ".tgz"), (b"\x1f\x8b\x08",), _open_gzip, may_trail=True),
        Codec("zstd", (".zst", ".zstd", ".tzst"), _ZSTD_MAGIC),
        Codec("bzip2", (".bz2", ".tbz2", ".tbz"), _BZ2_MAGIC, _open_bz2, may_trail=True),
        Codec("xz", (".xz", ".txz"), (b"\xfd7zXZ\0",), _open_xz),
        Codec("deflate", open=_open_deflate, may_trail=True),
    )
}
_MAGIC_LENGTH = 10


def inflate(source: Reader, codec: Codec, budget: Budget, note: Note) -> Reader:
    """The decompressed bytes of all streams that follow one another in `source`."""
    produced = 0
    layer = _Arrow(source, codec) if codec.open is None else _Streams(source, codec, budget.limits, note)

    def pull(size: int) -> bytes:
        nonlocal produced
        data = layer.pull(size)
        produced += len(data)
        budget.check(source, produced)
        return data

    return Reader(pull, file=source.file, member=source.member)


class _Streams:
    """Streams one after the other, each with a decompressor of its own."""

    def __init__(self, source: Reader, codec: Codec, limits: UnpackLimits, note: Note) -> None:
        self._source = source
        self._codec = codec
        self._limits = limits
        self._note = note
        self._decompressor: _Decompressor | None = None
        self._count = 0

    def pull(self, size: int) -> bytes:
        while self._decompressor is not None or self._begin():
            if data := self._step(size):
                return data
        return b""

    def _begin(self) -> bool:
        source, codec = self._source, self._codec
        head = source.peek(_MAGIC_LENGTH)
        if codec.open is None or (not head and self._count):
            return False
        if (codec.magic and not codec.begins(head)) or (self._count and not codec.magic):
            if codec.may_begin(head):
                raise source.truncated()
            self._pass_over(is_tail=self._count > 0)
            return False
        self._count += 1
        self._decompressor = codec.open(source, self._limits)
        return True

    def _pass_over(self, *, is_tail: bool) -> None:
        """Zeros after the last stream are padding; other bytes are left out with a note, or refused."""
        source, codec, start = self._source, self._codec, self._source.offset
        is_padding = True
        while is_tail and (data := source.read(MEGABYTE)):
            is_padding = is_padding and not data.strip(b"\0")
        if is_tail and is_padding:
            return
        if not is_tail or not codec.may_trail:
            raise source.fail(f"is not a {codec.name} stream after byte {start:,}", offset=start)
        count = source.offset - start
        self._note(source.member, f"{count:,} bytes after the last {codec.name} stream, from byte {start:,}")

    def _step(self, size: int) -> bytes:
        decompressor, source = self._decompressor, self._source
        if decompressor is None:
            return b""
        start = source.offset
        given = source.read(_INPUT) if decompressor.needs_input else b""
        is_last = decompressor.needs_input and not given
        try:
            data = decompressor.decompress(given, size)  # also if all input is given: isal holds output back
        except _DAMAGED as error:
            reason = f"is damaged after compressed byte {start:,}: {_lower(error)}"
            raise source.fail(reason, offset=start) from error
        if decompressor.eof:
            source.unread(decompressor.unused_data)
            self._decompressor = None
        elif is_last and not data:
            raise source.truncated()
        return data


class _Arrow:
    """Streams that Arrow takes apart, for the codecs whose Python engines cannot bound what they give."""

    def __init__(self, source: Reader, codec: Codec) -> None:
        self._source = source
        self._codec = codec
        self._error: Exception | None = None
        self._stream: pa.CompressedInputStream | None = None
        self.closed = False

    def read(self, size: int) -> bytes:
        """The bytes that Arrow reads; an error of the source is kept, as Arrow cannot distinguish it from its own."""
        try:
            return self._source.read(size)
        except Exception as error:
            self._error = error
            raise

    def pull(self, size: int) -> bytes:
        source, codec = self._source, self._codec
        if self._stream is None:
            head = source.peek(_MAGIC_LENGTH)
            if not codec.begins(head):
                if codec.may_begin(head):
                    raise source.truncated()
                raise source.fail(f"is not a {codec.name} stream after byte 0")
            self._stream = pa.CompressedInputStream(pa.PythonFile(self, "r"), codec.name)
        try:
            data: bytes = self._stream.read(size)
        except OSError as error:
            if self._error is not None:
                raise self._error from None
            if str(error).startswith("Truncated"):
                raise source.truncated() from error
            raise source.fail(f"is damaged before compressed byte {source.offset:,}: {_lower(error)}") from error
        return data


def _lower(error: Exception) -> str:
    text = re.sub(r"^Error -?\d+ ", "", str(error)).strip().rstrip(".")
    return text[:1].lower() + text[1:]
