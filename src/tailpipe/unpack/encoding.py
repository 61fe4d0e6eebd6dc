"""Encodings: whatever text is written in, it goes on as UTF-8, and bytes that are none are repaired and counted.

A decoder only brings text into the form of UTF-8; what was wrong in the text is still wrong afterwards, as
bytes that are no UTF-8. So there is one place, `repair`, where wrong bytes become U+FFFD.
"""

from __future__ import annotations

import codecs
import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_WRONG = b"\xff"
"""Stands in for a unit of UTF-16 that is no character: no byte of UTF-8 either."""
_REPLACEMENT = "�".encode()
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")


class Decoder:
    """Text of one encoding to UTF-8, chunk by chunk; a character that is cut in two waits for the next chunk.

    `opening` is how the text begins, at least its first 4 KB. A byte order mark there says more than
    `encoding`; UTF-16 without one is taken for what makes most of its characters ASCII. `mark_bytes` is
    the length of the mark, which is no part of the text.
    """

    def __init__(self, encoding: str, opening: bytes) -> None:
        self.mark_bytes = 0
        self._form = encoding
        marks = {"utf-8": [codecs.BOM_UTF8, *_BYTE_ORDERS], "utf-16": _BYTE_ORDERS}.get(encoding, [])
        for mark in marks:
            if opening.startswith(mark):
                self.mark_bytes = len(mark)
                self._form = _BYTE_ORDERS.get(mark, "utf-8")
                break
        else:
            if encoding == "utf-16":
                self._form = _guess_byte_order(opening[:4096])
        self.held = b""
        """Bytes of a character that is not there as a whole."""

    def decode(self, chunk: bytes) -> bytes:
        """The text of the chunk, and of what was held before it."""
        if self._form == "utf-8":
            return chunk
        if self._form == "latin-1":
            return chunk if chunk.isascii() else chunk.decode("latin-1").encode()
        data = self.held + chunk
        end = len(data) & ~1
        if end and _is_high_surrogate(data[end - 2 : end], self._form):
            end -= 2
        self.held = data[end:]
        return self._from_utf16(data[:end])

    def flush(self) -> bytes:
        """What is left of a text that ends in the middle of a character."""
        left, self.held = self.held, b""
        return self._from_utf16(left[: len(left) & ~1]) + (_WRONG if len(left) % 2 else b"")

    def raw_length(self, text: bytes) -> int:
        """How many bytes this text was, before it was decoded."""
        if self._form == "utf-8":
            return len(text)
        if self._form == "latin-1":
            return len(text) if text.isascii() else len(text.decode())
        return len(text.decode("utf-8", "replace").encode("utf-16-le"))

    def _from_utf16(self, data: bytes) -> bytes:
        try:
            return data.decode(self._form).encode()
        except UnicodeDecodeError:
            text = data.decode(self._form, "surrogatepass").encode("utf-8", "surrogatepass")
            return _SURROGATE.sub(_WRONG, text)


_BYTE_ORDERS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def _guess_byte_order(opening: bytes) -> str:
    return "utf-16-be" if opening[::2].count(0) > opening[1::2].count(0) else "utf-16-le"


def _is_high_surrogate(unit: bytes, form: str) -> bool:
    return 0xD8 <= unit[1 if form == "utf-16-le" else 0] <= 0xDB


def repair(buffer: bytes) -> bytes:
    """The bytes if they are UTF-8; else a copy in which each wrong sequence is U+FFFD.

    Line ends and padding stay, so the lines of both are the same in number and order.
    """
    if buffer.isascii():
        return buffer
    offsets = pa.array([0, len(buffer)], pa.int64()).buffers()[1]
    text = pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(buffer))
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return buffer.decode("utf-8", "replace").encode()
    return buffer


def replacements(text: bytes, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many U+FFFD there are in each line, given where the lines end."""
    data = np.frombuffer(text, np.uint8)
    places = np.flatnonzero(data[:-2] == _REPLACEMENT[0])
    is_there = (data[places + 1] == _REPLACEMENT[1]) & (data[places + 2] == _REPLACEMENT[2])
    lines = np.searchsorted(ends, places[is_there])
    return np.bincount(lines, minlength=len(ends))
