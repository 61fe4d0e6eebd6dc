"""Entries of the log of a partition: one object in a store for each push, with one or more transactions."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from tailpipe.catalog import manifest as manifests
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.errors import CatalogError, NewerError
from tailpipe.frozen import frozen

FORMAT = 1


@frozen
class LogEntry:
    """One push: a version of the log in a store, who made it, its random name that no other has, and what it brings.

    If it `is_whole`, its one manifest has an image of all that its host knew, and what came before it says nothing.
    """

    version: int
    store: str
    host: str
    push: str
    manifests: tuple[Manifest, ...]
    is_whole: bool
    data: bytes
    """The object itself."""
    is_checkpoint: bool = False
    """Whether it is no push, but the state at a version, derived from the log."""


def make_entry(
    made: Sequence[Manifest],
    version: int,
    store: str,
    host: str,
    *,
    is_whole: bool = False,
    is_checkpoint: bool = False,
) -> LogEntry:
    """The entry of a push that has not been made yet, or a checkpoint, which is whole too."""
    is_whole = is_whole or is_checkpoint
    push = secrets.token_hex(16)
    header = {"format": FORMAT, "store": store, "host": host, "push": push, "version": version, "is_whole": is_whole}
    if is_checkpoint:
        header["is_checkpoint"] = True
    return LogEntry(version, store, host, push, tuple(made), is_whole, manifests.pack(made, header), is_checkpoint)


def read_entry(data: bytes, version: int, where: str) -> LogEntry:
    """The entry of an object, or CatalogError if it is not the whole object of that version."""
    made, header = manifests.unpack(data, where)
    number = header.get("format")
    if isinstance(number, int) and number > FORMAT:
        raise NewerError(
            f"{where} was written by a newer tailpipe (format {number}, this one knows {FORMAT})",
            path=where,
            hint="upgrade tailpipe",
        )
    host, push = header.get("host"), header.get("push")
    if not isinstance(host, str) or not isinstance(push, str) or header.get("version") != version or not made:
        raise CatalogError(f"{where} is not version {version} of a log", path=where, hint="check the store for copies")
    is_whole, is_checkpoint = (bool(header.get(name)) for name in ("is_whole", "is_checkpoint"))
    return LogEntry(version, str(header.get("store", "")), host, push, tuple(made), is_whole, data, is_checkpoint)
