"""Watch a file while it is read: is it the one that was listed, and does it stay so to its last byte?

A name says little: a rotation gives it to another file between the listing and the reading. So it is the
descriptor that is held against the listing, and what is read of it is of one file, wherever its name is by then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from tailpipe.errors import ChangedError, TailpipeError
from tailpipe.kernel.content import byte_stream, opened
from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import HEAD_BYTES
from tailpipe.model.source import Content
from tailpipe.plugin.files import is_listed_file

GONE = (FileNotFoundError, PermissionError, IsADirectoryError)
"""What may happen to one artifact while all is well with the machine; any other OSError is a fault, and raises."""


@contextmanager
def watched(artifact: Artifact, open_: Callable[[Artifact], Content]) -> Iterator[tuple[BinaryIO, Watch]]:
    """The bytes of an artifact while they are read. Raises ChangedError if it is not, or not any more, as listed."""
    try:
        stream = byte_stream(artifact, opened(artifact, open_))
    except FileNotFoundError as error:
        raise ChangedError(f'"{artifact.uri}" was removed or renamed after it was listed') from error
    with stream:
        watch = Watch(artifact, stream)
        try:
            yield stream, watch
        except (TailpipeError, ValueError, OSError):  # Arrow's errors are of the last two kinds
            watch.check()  # what looks like damage may be a file that somebody is just writing
            raise
        watch.check()


class Watch:
    """One open file, and how it was when it was opened; whatever is no file on disk is not looked at."""

    def __init__(self, artifact: Artifact, stream: BinaryIO) -> None:
        self.is_packed = False
        """Whether a compression or an archive was read: such a file is whole, or it is not there yet."""
        self._artifact = artifact
        self._stream = stream
        self._descriptor = stream.fileno() if artifact.file is not None else None
        if self._descriptor is not None:
            facts = os.fstat(self._descriptor)
            if not is_listed_file(artifact, facts):
                raise ChangedError(f'"{artifact.uri}" was rotated or replaced after it was listed')
            self._size = facts.st_size
            self._head = os.pread(self._descriptor, HEAD_BYTES, 0)

    def check(self) -> None:
        """Raise ChangedError if the file was cut or rewritten since it was opened."""
        if self._descriptor is None or self._stream.closed:
            return
        size = os.fstat(self._descriptor).st_size
        is_cut = size < max(self._size, self._stream.tell())
        if is_cut or os.pread(self._descriptor, len(self._head), 0) != self._head:
            raise ChangedError(f'"{self._artifact.uri}" was truncated or rewritten while it was collected')
        if self.is_packed and size != self._artifact.size:
            raise ChangedError(f'"{self._artifact.uri}" was still being written while it was collected')
