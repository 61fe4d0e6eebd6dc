"""The content that `open` of a source returns: checked, and as the stream of bytes or the events that the kernel reads.

A generator runs code of the source. Any exception of it is a failure of the artifact, with a message.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tailpipe.errors import TailpipeError
from tailpipe.model.artifact import Artifact
from tailpipe.model.event import Event
from tailpipe.model.source import Content

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER = 1024 * 1024
_END = object()


def opened(artifact: Artifact, open_: Callable[[Artifact], Content]) -> Content:
    """What the source gives for the artifact; an error of the machine passes through as it is."""
    try:
        return open_(artifact)
    except (TailpipeError, OSError, MemoryError):
        raise
    except Exception as error:
        raise _failure(artifact, error) from error


def byte_stream(artifact: Artifact, content: Content) -> BinaryIO:
    """The content as a binary stream; of a generator, one piece at a time is held."""
    if hasattr(content, "read"):
        return cast("BinaryIO", content)
    pieces = _Pieces(artifact, _iterated(artifact, content))
    return cast("BinaryIO", io.BufferedReader(pieces, _BUFFER))


def events_of(artifact: Artifact, open_: Callable[[Artifact], Content]) -> Iterator[Event]:
    """The events of the artifact, one after the other; their generator is closed in any case."""
    try:
        content = opened(artifact, open_)
    except OSError as error:  # of the network, not of this machine
        raise _failure(artifact, error) from error
    given = _iterated(artifact, content)
    try:
        for one in _guarded(artifact, given):
            if not isinstance(one, Event):
                raise _wrong(artifact, one, "an Event")
            yield one
    finally:
        _close(given)


class _Pieces(io.RawIOBase):
    """Pieces of bytes, made one after the other, as a stream."""

    def __init__(self, artifact: Artifact, given: Iterator[Any]) -> None:
        self._artifact = artifact
        self._given = given
        self._pieces = _guarded(artifact, given)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not self._rest:
            piece = next(self._pieces, _END)
            if piece is _END:
                return 0
            if not isinstance(piece, bytes | bytearray | memoryview):
                raise _wrong(self._artifact, piece, "bytes")
            self._rest = memoryview(piece).cast("B")
        view = memoryview(buffer).cast("B")
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def close(self) -> None:
        if not self.closed:
            _close(self._given)
        super().close()


def _iterated(artifact: Artifact, content: Any) -> Iterator[Any]:
    if isinstance(content, str | bytes | bytearray | dict) or not hasattr(content, "__iter__"):
        raise _wrong(artifact, content, "a binary stream or a generator", verb="returned")
    return iter(content)


def _guarded(artifact: Artifact, given: Iterator[Any]) -> Iterator[Any]:
    while True:
        try:
            one = next(given)
        except StopIteration:
            return
        except (TailpipeError, MemoryError):
            raise
        except Exception as error:
            raise _failure(artifact, error) from error
        yield one


def _close(given: Iterator[Any]) -> None:
    if (close := getattr(given, "close", None)) is not None:
        close()


def _failure(artifact: Artifact, error: Exception) -> TailpipeError:
    words = " ".join(str(error).split())
    notes = "; ".join(getattr(error, "__notes__", ()))
    problem = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return TailpipeError(f'cannot read "{artifact.uri}": {problem}' + (f" ({notes})" if notes else ""))


def _wrong(artifact: Artifact, value: object, expected: str, verb: str = "yielded") -> TailpipeError:
    hint = "its author has to set yields_events = True" if isinstance(value, Event) else ""
    kind = "None" if value is None else f"a value of the type {type(value).__name__}"
    what = f"open() of the source {verb} {kind}, expected {expected}"
    return TailpipeError(f'cannot read "{artifact.uri}": {what}', hint=hint)
