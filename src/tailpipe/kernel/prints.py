"""Prints of an artifact's content: how a file that was moved, rotated or compressed is known again."""

from __future__ import annotations

from collections.abc import Iterable

from tailpipe.errors import ChangedError, UnpackError
from tailpipe.kernel.watch import GONE, watched
from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import DAMAGED, UNREADABLE, Span, fingerprints
from tailpipe.model.source import Source
from tailpipe.unpack.unpack import Member, Unpacking


def read_prints(source: Source, artifact: Artifact, spans: Iterable[Span]) -> dict[Span, str | None]:
    """The prints of parts of the decompressed bytes; None for a part that it does not have.

    An artifact that is gone or is another by now has no print: reading it will say so. One that is DAMAGED or
    UNREADABLE has a reason under that key.
    """
    wanted = tuple(spans)
    try:
        with watched(artifact, source.open) as (stream, _):
            return fingerprints(_Joined(Unpacking(stream, artifact.uri)), wanted)
    except ChangedError:
        return dict.fromkeys(wanted)
    except UnpackError as error:
        return {**dict.fromkeys(wanted), DAMAGED: error.message}
    except GONE as error:
        return {**dict.fromkeys(wanted), UNREADABLE: f'cannot read "{artifact.uri}": {error.strerror}'}


class _Joined:
    """The members of an artifact as one content, as they are when it is collected."""

    def __init__(self, members: Iterable[Member]) -> None:
        self._rest = iter(members)
        self._member = next(self._rest, None)

    def read(self, size: int, /) -> bytes:
        while self._member is not None:
            if data := self._member.read(size):
                return data
            self._member = next(self._rest, None)
        return b""

    def skip(self, size: int, /) -> int:
        passed = 0
        while self._member is not None and passed < size:
            passed += self._member.skip(size - passed)
            if passed < size:
                self._member = next(self._rest, None)
        return passed
