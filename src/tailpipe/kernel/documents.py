"""Documents as a parser sees them: the bytes of one file, counted as they are read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, cast

from tailpipe.kernel.progress import Progress
from tailpipe.unpack.encoding import Decoder, repair
from tailpipe.unpack.unpack import Member

_SPOOL_BYTES = 8 * 1024 * 1024


class MemberDocument:
    """An artifact, or a member of an archive, that is read as a whole.

    `encoding` is that of its text, None for bytes of any other kind; `plain` is the stream of an artifact that is not
    packed, if it can seek, and `spill` a directory for what does not fit into memory.
    """

    def __init__(
        self,
        place: int,
        progress: Progress,
        member: Member,
        encoding: str | None,
        plain: BinaryIO | None,
        spill: str | None,
    ) -> None:
        self.place = place
        self.progress = progress
        self.failure: BaseException | None = None
        """What was raised while the bytes were read: no fault of the parser."""
        self.size = 0
        """How many bytes were handed out."""
        self._member = member
        self._encoding = encoding
        self._plain = plain
        self._spill = spill
        self._chunks = self._read()
        self._opened: list[BinaryIO] = []
        self._is_open = False

    @property
    def name(self) -> str:
        """The URI of the artifact, and the path inside it."""
        uri = self.progress.reading.artifact.uri
        return f"{uri}!{self._member.name}" if self._member.name else uri

    def chunks(self) -> Iterator[bytes]:
        """The bytes that were not read yet."""
        return self._chunks

    def open(self) -> BinaryIO:
        """All bytes as a file that can seek."""
        if self._plain is not None and self._encoding is None:
            for _ in self._chunks:
                pass
            self._plain.seek(0)
            self._is_open = True
            return self._plain
        copy = cast(BinaryIO, tempfile.SpooledTemporaryFile(_SPOOL_BYTES, dir=self._spill))  # noqa: SIM115
        self._opened.append(copy)
        for chunk in self._chunks:
            copy.write(chunk)
        copy.seek(0)
        return copy

    def gather(self) -> bool:
        """Whether it came in one chunk, which is then held until it is read."""
        first, second = next(self._chunks, b""), next(self._chunks, None)
        self._chunks = chain((first,) if second is None else (first, second), self._chunks)
        return second is None

    def finish(self) -> None:
        """Read what the parser has left, because it counts as taken; and let go of copies."""
        for _ in self._chunks:
            pass
        self.close()

    def close(self) -> None:
        """Let go of copies."""
        for file in self._opened:
            file.close()
        if self._is_open and self._plain is not None and not self._plain.closed:
            self._plain.seek(0, os.SEEK_END)  # where whoever unpacks it has left it

    def _read(self) -> Iterator[bytes]:
        try:
            for chunk in self._texts() if self._encoding else self._bytes():
                self.size += len(chunk)
                yield chunk
        except Exception as error:
            self.failure = error
            raise

    def _bytes(self) -> Iterator[bytes]:
        for chunk in self._member.chunks():
            self.progress.take(chunk)
            yield chunk
        self._reach()

    def _texts(self) -> Iterator[bytes]:
        """The member as UTF-8, cut between characters and repaired."""
        decoder = Decoder(self._encoding or "utf-8", self._member.opening)
        mark, rest = decoder.mark_bytes, b""
        for chunk in self._member.chunks():
            self.progress.take(chunk)
            text = decoder.decode(chunk[mark:] if mark else chunk)
            mark = 0
            text = rest + text if rest else text
            cut = _boundary(text)
            rest = text[cut:]
            yield self._repaired(text[:cut] if rest else text)
        self._reach()
        if last := rest + decoder.flush():
            yield self._repaired(last)

    def _reach(self) -> None:
        if not self._member.is_packed:
            self.progress.reach(self.progress.committed_bytes)

    def _repaired(self, text: bytes) -> bytes:
        whole = repair(text)
        if whole is not text:
            wrong = "\ufffd".encode()
            self.progress.note("invalid bytes", whole.count(wrong) - text.count(wrong))
        return whole


def _boundary(text: bytes) -> int:
    """Where the last character begins, if it may go on in the next chunk; else the end."""
    for back in range(1, min(4, len(text)) + 1):
        byte = text[-back]
        if byte < 0x80:
            return len(text)
        if byte >= 0xC0:
            return len(text) - back
    return len(text)
