"""A file on an SFTP server as a stream; it must stay the file that was listed, to its last byte."""

from __future__ import annotations

import io
import stat
from typing import Any

from tailpipe.plugin import Artifact, ChangedError
from tailpipe.plugins.sftp.connection import asyncssh
from tailpipe.plugins.sftp.session import Session

_HEAD = 1024
_MOST = 4 << 20
"""So many bytes are requested at once."""


class RemoteFile(io.RawIOBase):
    """Reads at offsets. At its end, the file must not be shorter, nor begin otherwise, than when it was opened.

    After a lost connection it is opened again, and must then be as it was.
    """

    def __init__(self, session: Session, path: bytes, artifact: Artifact) -> None:
        self._session = session
        self._path = path
        self._artifact = artifact
        self._offset = 0
        self._handle: Any = None
        self._link: Any = None
        self._facts: tuple[int, int] = (0, 0)
        self._head = b""
        self._session.call(self._open)
        if self._facts[0] < (artifact.size or 0):
            raise self._changed("was truncated after it was listed")
        self._head = self._at(0, min(_HEAD, self._facts[0]))

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go elsewhere."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._offset, io.SEEK_END: self._size() if whence == io.SEEK_END else 0}
        self._offset = max(0, base[whence] + offset)
        return self._offset

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer, as far as one request does."""
        view = memoryview(buffer).cast("B")
        data = self._at(self._offset, min(len(view), _MOST))
        view[: len(data)] = data
        self._offset += len(data)
        if not data and len(view):
            self._check()
        return len(data)

    def close(self) -> None:
        """Close the file on the server, too, unless the connection is gone."""
        if not self.closed and self._handle is not None:
            handle, self._handle = self._handle, None
            if self._link is self._session._client:
                self._session.call(lambda _: _closed(handle))
        super().close()

    async def _open(self, client: Any) -> None:
        library = asyncssh()
        try:
            facts = await client.lstat(self._path)
            if not stat.S_ISREG(facts.permissions or 0):
                raise self._changed("is no longer a file")
            self._handle = await client.open(self._path, "rb", encoding=None)
            self._link = client
            found = await self._handle.stat()
        except (library.SFTPNoSuchFile, library.SFTPNoSuchPath):
            raise self._changed("was removed or renamed after it was listed") from None
        except library.SFTPPermissionDenied:
            raise PermissionError(13, "permission denied") from None
        facts_now = (int(found.size or 0), int(found.mtime or 0))
        if self._head and facts_now != self._facts:
            raise self._changed("changed while the connection was lost")
        self._facts = facts_now

    def _at(self, offset: int, size: int) -> bytes:
        async def read(client: Any) -> bytes:
            if self._link is not client:
                await self._open(client)
            return bytes(await self._handle.read(size, offset))

        return self._session.call(read) if size else b""

    def _size(self) -> int:
        async def size(client: Any) -> int:
            if self._link is not client:
                await self._open(client)
            return int((await self._handle.stat()).size or 0)

        return self._session.call(size)

    def _check(self) -> None:
        size = self._size()
        if size < self._offset or size < self._facts[0] or self._at(0, len(self._head)) != self._head:
            raise self._changed("was truncated or rewritten while it was collected")
        if self._artifact.is_compressed and size != self._artifact.size:
            raise self._changed("was still being written while it was collected")

    def _changed(self, what: str) -> ChangedError:
        return ChangedError(f'"{self._artifact.uri}" {what}')


async def _closed(handle: Any) -> None:
    await handle.close()
