"""Prints of an artifact's content: how a file that was moved, rotated or compressed is known again."""

from __future__ import annotations

from collections.abc import Iterable

from tailpipe.errors import UnpackError
from tailpipe.kernel.unpack import Unpacking
from tailpipe.model.artifact import Artifact
from tailpipe.model.ledger import fingerprints
from tailpipe.model.source import Source

__all__ = ["read_prints"]


def read_prints(source: Source, artifact: Artifact, lengths: Iterable[int]) -> dict[int, str | None]:
    """The prints of the first decompressed bytes; None for a length that it does not have.

    An artifact that is gone or damaged has no print: reading it will say so.
    """
    wanted = tuple(lengths)
    try:
        with source.open(artifact) as stream:
            for member in Unpacking(stream, artifact.uri):
                return fingerprints(member.chunks(), wanted)
    except (OSError, UnpackError):
        pass
    return dict.fromkeys(wanted)
