"""Windows event logs: binary files of events, each an XML document in a form of its own, read by the package `evtx`.

`event_data` and `user_data` are JSON, with the names that the event's provider has given. The rest comes from the part
`System`, which every event has. A file that begins with a bracket has the events as JSON: `windows_json` reads it.
"""

from __future__ import annotations

import importlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from tailpipe.errors import PluginError
from tailpipe.formats.windows_json import element_fields, json_events
from tailpipe.plugin import Document, DocumentParser, Found, Rejected, TailpipeError
from tailpipe.plugin.functions import document_parser

_MAGIC = b"ElfFile\0"
_HEADER_BYTES, _CHUNK_BYTES = 4096, 65536
_BEGINNING = 64
_FAULTS = 1000
"""So many broken chunks one after the other, and the rest is given up."""


class EvtxParser(DocumentParser):
    """Reads whole files; an event that is damaged is rejected, and so is a chunk of them."""

    def __init__(self) -> None:
        self._rows = document_parser(_rows)

    def read(self, document: Document) -> Iterator[Found]:
        """The events of a file. One that is cut off, or is no event log at all, is damaged."""
        try:
            yield from self._rows.read(document)
        except _DamagedError as problem:
            raise TailpipeError(f'"{document.name}" is not a readable event log: {problem}') from problem


class _DamagedError(Exception):
    """Why a file is none."""


def _library() -> Any:
    try:
        return importlib.import_module("evtx")
    except ImportError:
        raise PluginError(
            "Windows event logs need the package evtx, which is not installed; run: pip install 'tailpipe[evtx]'",
            plugins=(),
        ) from None


def _rows(file: BinaryIO) -> Iterable[Mapping[str, Any] | Rejected]:
    head = file.read(_BEGINNING).removeprefix(b"\xef\xbb\xbf").lstrip()
    file.seek(0)
    is_json = head.startswith((b"{", b"[", b"Record "))
    yield from json_events(file) if is_json else _binary_events(file)


def _binary_events(file: BinaryIO) -> Iterable[Mapping[str, Any] | Rejected]:
    _check(file)
    try:
        records = iter(_library().PyEvtxParser(file, number_of_threads=1).records_json())
    except (RuntimeError, OSError) as problem:
        raise _DamagedError(problem) from problem
    faults = 0
    while faults < _FAULTS:
        try:
            record = next(records)
            found: Mapping[str, Any] | Rejected = element_fields(json.loads(record["data"]))
        except StopIteration:
            return
        except (RuntimeError, ValueError, RecursionError) as problem:
            faults += 1
            found = Rejected(f"cannot be read: {problem}")
        else:
            faults = 0
        yield found


def _check(file: BinaryIO) -> None:
    """Refuse a file that is shorter than its header says: the library would return the chunks it finds."""
    head = file.read(_HEADER_BYTES)
    if not head.startswith(_MAGIC):
        raise _DamagedError("it does not begin with ElfFile")
    if len(head) < _HEADER_BYTES:
        raise _DamagedError("it is cut off")
    (chunks,) = struct.unpack_from("<H", head, 42)
    if file.seek(0, 2) < _HEADER_BYTES + chunks * _CHUNK_BYTES:
        raise _DamagedError("it is cut off")
    file.seek(0)
