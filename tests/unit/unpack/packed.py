"""Packed bytes, made by Python's own modules, and streams that behave badly."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping

import zstandard

from tailpipe.unpack.unpack import Skipped, Unpacking, UnpackLimits

PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


class Pipe(io.RawIOBase):
    """A stream that cannot seek and gives at most `step` bytes at once, like a connection."""

    def __init__(self, data: bytes, step: int = 1 << 20) -> None:
        self._data = io.BytesIO(data)
        self._step = step

    def read(self, size: int = -1) -> bytes:
        return self._data.read(self._step if size < 0 else min(size, self._step))

    def seekable(self) -> bool:
        return False


def tar(members: Mapping[str, bytes], *extra: tarfile.TarInfo, format: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in extra:
            archive.addfile(info)
    return out.getvalue()


def zipped(
    members: Mapping[str, bytes], *extra: tuple[zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
        for info, data in extra:
            archive.writestr(info, data)
    return out.getvalue()


def unpack(
    data: bytes, name: str = "x", *, limits: UnpackLimits | None = None, is_pipe: bool = False, step: int = 1 << 20
) -> tuple[dict[str, bytes], list[Skipped]]:
    """All members by name, and what was left out."""
    unpacking = Unpacking(Pipe(data, step) if is_pipe else io.BytesIO(data), name, limits=limits)  # type: ignore[arg-type]
    found = {member.name: b"".join(member.chunks()) for member in unpacking}
    return found, unpacking.skipped
