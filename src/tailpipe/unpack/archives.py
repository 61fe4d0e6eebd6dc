"""Members of tar and zip archives, one after the other, without ever writing one to disk.

Names are labels and nothing more: no path is made of them. Directories are passed over. What is no
regular file, or cannot be read here, is left out with a note of its name and the reason.

A tar is read as it comes. A zip is read by its directory at the end, because only that says which
members are links, which were deleted, and how long a stored member is: so the zip must be seekable, and
one that is not is first copied as it is, still packed, to a temporary file without a name.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from tailpipe.errors import UnpackError
from tailpipe.unpack.streams import CODECS, MEGABYTE, Budget, Note, Reader, inflate

_BLOCK = 512
_MAX_HEADER = MEGABYTE
"""Size of a header extension of a tar: names and the like."""
_MAX_DIRECTORY = 32 * MEGABYTE
"""Size of the directory of a zip."""
_MANY = 0xFFFF
"""As the number of a zip's members: more than the field can hold."""
_TAR_LEFT_OUT = {
    b"1": "hard link",
    b"2": "symbolic link",
    b"3": "device",
    b"4": "device",
    b"6": "pipe",
    b"S": "sparse file",
}


def is_tar(block: bytes) -> bool:
    """Whether this is the header of a tar: its numbers are some, and its checksum is right."""
    if len(block) < _BLOCK or not block[0] or _number(block[124:136]) is None:
        return False
    return _number(block[148:156]) == sum(block[:148]) + 8 * ord(" ") + sum(block[156:_BLOCK])


def is_zip(head: bytes) -> bool:
    """Whether a zip begins like that."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def tar_members(source: Reader, note: Note) -> Iterator[tuple[str, Reader]]:
    """Name and bytes of each regular file; one not read to its end is passed over.

    An archive without its end mark is refused as truncated.
    """
    names: dict[str, str] = {}
    while True:
        block = source.fill(_BLOCK)
        if len(block) < _BLOCK:
            raise source.truncated()
        if not block.strip(b"\0"):
            break
        if not is_tar(block):
            raise source.fail(f"is not a tar archive after byte {source.offset - _BLOCK:,}")
        kind, size = block[156:157], _number(block[124:136]) or 0
        if kind in (b"L", b"K", b"x", b"g"):
            names |= _extension(source, kind, size)
            continue
        name = names.get("path") or _tar_name(block)
        member = _Slice(source, int(names.get("size", size)), name)
        reason = _TAR_LEFT_OUT.get(kind) or ("sparse file" if "sparse" in names else None)
        if kind == b"S":
            _skip_sparse_map(source, block)
        if reason is not None:
            note(source.label(name), reason)
        elif kind in (b"0", b"\0", b"7") and not name.endswith("/"):
            yield name, member.reader
        elif kind not in (b"5", b"0", b"\0"):
            note(source.label(name), f"member of the unknown kind {kind!r}")
        member.close()
        names = {}
    source.skip()


class _Slice:
    """The data of one member of a tar, padded to whole blocks."""

    def __init__(self, source: Reader, size: int, name: str) -> None:
        self._source = source
        self._left = size
        self._padding = -size % _BLOCK
        self.reader = Reader(self._pull, file=source.file, member=source.label(name))

    def _pull(self, size: int) -> bytes:
        data = self._source.read(min(size, self._left))
        if not data and self._left:
            raise self._source.truncated()
        self._left -= len(data)
        return data

    def close(self) -> None:
        self.reader.skip()
        if self._source.skip(self._padding) < self._padding:
            raise self._source.truncated()


def _extension(source: Reader, kind: bytes, size: int) -> dict[str, str]:
    """What a header before a member's own says about it."""
    if size > _MAX_HEADER:
        raise source.fail(f"has a tar header of {size:,} bytes, more than {_MAX_HEADER:,}")
    padded = size + -size % _BLOCK
    data = source.fill(padded)
    if len(data) < padded:
        raise source.truncated()
    if kind == b"L":
        return {"path": data[:size].rstrip(b"\0").decode("utf-8", "replace")}
    return _pax(source, data[:size]) if kind == b"x" else {}


def _pax(source: Reader, data: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    while data:
        length, _, rest = data.partition(b" ")
        if not length.isdigit() or len(length) > 8 or not len(length) + 1 < int(length) <= len(data):
            raise source.fail(f"is not a tar archive after byte {source.offset:,}: a header makes no sense")
        key, _, value = rest[: int(length) - len(length) - 2].partition(b"=")
        data = data[int(length) :]
        if key == b"path":
            found["path"] = value.decode("utf-8", "replace")
        elif key == b"size" and value.isdigit() and len(value) < 20:
            found["size"] = value.decode()
        elif key.startswith(b"GNU.sparse."):
            found["sparse"] = "yes"
    return found


def _skip_sparse_map(source: Reader, block: bytes) -> None:
    is_extended = block[482:483] not in (b"\0", b"")
    while is_extended:
        more = source.fill(_BLOCK)
        if len(more) < _BLOCK:
            raise source.truncated()
        is_extended = more[504:505] != b"\0"


def _tar_name(block: bytes) -> str:
    name = block[:100].partition(b"\0")[0]
    if block[257:263] == b"ustar\0" and block[345]:
        name = block[345:500].partition(b"\0")[0] + b"/" + name
    return name.decode("utf-8", "replace")


def _number(field: bytes) -> int | None:
    """A number in octal digits, or in binary if it is too large for them; None if it is neither."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.partition(b"\0")[0].strip()
    if not all(byte in b"01234567" for byte in digits):
        return None
    return int(digits or b"0", 8)


def zip_members(file: IO[bytes], source: Reader, budget: Budget, note: Note) -> Iterator[tuple[str, Reader]]:
    """Name and bytes of each regular file, checked against its checksum once it is read to the end.

    `file` is the seekable zip, `source` the reader that messages and the budget go by.
    """
    for info in _directory(file, source):
        if info.filename.endswith("/"):
            continue
        reason = _reason(info)
        if reason is not None:
            note(source.label(info.filename), reason)
            continue
        packed = _packed(file, source, info)
        codec = None if info.compress_type == zipfile.ZIP_STORED else CODECS[_ZIP_METHODS[info.compress_type]]
        data = packed if codec is None else inflate(packed, codec, budget, note)
        member = _checked(data, packed, info)
        yield info.filename, member
        member.skip()


_ZIP_METHODS = {zipfile.ZIP_DEFLATED: "deflate", zipfile.ZIP_BZIP2: "bzip2", 93: "zstd", 95: "xz"}


def _reason(info: zipfile.ZipInfo) -> str | None:
    """Why a member is left out, if it is."""
    if info.flag_bits & 1:
        return "encrypted"
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "symbolic link"
    if kind not in (0, stat.S_IFREG):
        return "device"
    if info.compress_type != zipfile.ZIP_STORED and info.compress_type not in _ZIP_METHODS:
        return f"compressed by the unknown method {info.compress_type}"
    return None


class _Wary(io.RawIOBase):
    """A file for zipfile, which takes the length of the directory from the file's own claim."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if offset < 0 and whence == io.SEEK_SET:
            raise zipfile.BadZipFile("a place before the beginning")
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        if size > _MAX_DIRECTORY:
            raise zipfile.BadZipFile(f"a directory of {size:,} bytes, more than {_MAX_DIRECTORY:,}")
        return self._file.read(size)


def _directory(file: IO[bytes], source: Reader) -> list[zipfile.ZipInfo]:
    size = file.seek(0, io.SEEK_END)
    try:
        with zipfile.ZipFile(_Wary(file)) as archive:
            file.seek(size - len(archive.comment) - 12)
            claimed, found = int.from_bytes(file.read(2), "little"), archive.infolist()
            if claimed != _MANY and claimed != len(found) & _MANY:
                raise zipfile.BadZipFile(f"its directory has {len(found):,} of {claimed:,} members")
            return found
    except zipfile.BadZipFile as error:
        text = str(error)
        if text == "File is not a zip file":
            hint = "collect it again when the file is complete"
            raise source.fail(f"is truncated at compressed byte {size:,}", offset=size, hint=hint) from error
        raise source.fail(f"is not a zip archive: {text[:1].lower()}{text[1:]}", offset=size) from error
    except (ValueError, NotImplementedError, struct.error, OverflowError) as error:
        raise source.fail(f"is not a zip archive: {error}", offset=size) from error


def _packed(file: IO[bytes], source: Reader, info: zipfile.ZipInfo) -> Reader:
    """The bytes of the member in the zip."""
    file.seek(max(0, info.header_offset))  # a directory can claim anything
    header = file.read(30)
    if info.header_offset < 0 or len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise source.fail(f"is not a zip archive after byte {info.header_offset:,}", offset=info.header_offset)
    start = info.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))
    position, left = start, info.compress_size

    def pull(size: int) -> bytes:
        nonlocal position, left
        file.seek(position)
        data = file.read(min(size, left))
        if not data and left:
            raise source.fail(f"is truncated at compressed byte {position:,}", offset=position)
        position += len(data)
        left -= len(data)
        return data

    return Reader(pull, file=source.file, member=source.label(info.filename))


def _checked(data: Reader, packed: Reader, info: zipfile.ZipInfo) -> Reader:
    """The bytes of a member; at their end, length and checksum must be those of the directory."""
    checksum = length = 0

    def pull(size: int) -> bytes:
        nonlocal checksum, length
        found = data.read(size)
        checksum = zlib.crc32(found, checksum)
        length += len(found)
        if not found and (checksum, length) != (info.CRC, info.file_size):
            raise _mismatch(packed, info, length)
        return found

    return Reader(pull, file=packed.file, member=packed.member)


def _mismatch(packed: Reader, info: zipfile.ZipInfo, length: int) -> UnpackError:
    if length != info.file_size:
        return packed.fail(f"is damaged: it has {length:,} bytes, and {info.file_size:,} in the directory")
    return packed.fail("is damaged: its checksum is wrong")
