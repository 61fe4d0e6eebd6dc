"""Windows event logs: binary files of events, each an XML document in a form of its own, read by the package `evtx`.

`event_data` and `user_data` are JSON, with the names that the event's provider has given. The rest comes from the part
`System`, which every event has.
"""

from __future__ import annotations

import importlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from tailpipe.errors import PluginError
from tailpipe.plugin import Document, DocumentParser, Found, Rejected, TailpipeError
from tailpipe.plugin.functions import document_parser

__all__ = ["EvtxParser", "event_fields"]

_MAGIC = b"ElfFile\0"
_HEADER_BYTES, _CHUNK_BYTES = 4096, 65536
_FAULTS = 1000
"""So many broken chunks one after the other, and the rest is given up."""


class EvtxParser(DocumentParser):
    """Reads whole files; an event that is damaged is rejected, and so is a chunk of them."""

    def __init__(self) -> None:
        self._rows = document_parser(_rows)
        _library()  # a package that is missing is no fault of the file

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
    _check(file)
    try:
        records = iter(_library().PyEvtxParser(file, number_of_threads=1).records_json())
    except (RuntimeError, OSError) as problem:
        raise _DamagedError(problem) from problem
    faults = 0
    while faults < _FAULTS:
        try:
            record = next(records)
            found: Mapping[str, Any] | Rejected = event_fields(json.loads(record["data"]))
        except StopIteration:
            return
        except (RuntimeError, ValueError, RecursionError) as problem:
            faults += 1
            found = Rejected(f"cannot be read: {problem}")
        else:
            faults = 0
        yield found


def _check(file: BinaryIO) -> None:
    """Refuse a file that is shorter than its header says: the library would give what is there."""
    head = file.read(_HEADER_BYTES)
    if not head.startswith(_MAGIC):
        raise _DamagedError("it does not begin with ElfFile")
    if len(head) < _HEADER_BYTES:
        raise _DamagedError("it is cut off")
    (chunks,) = struct.unpack_from("<H", head, 42)
    if file.seek(0, 2) < _HEADER_BYTES + chunks * _CHUNK_BYTES:
        raise _DamagedError("it is cut off")
    file.seek(0)


def event_fields(document: Any) -> Mapping[str, Any]:
    """The fields of an event; a `ValueError` says why there are none."""
    event = document.get("Event") if isinstance(document, dict) else None
    system = event.get("System") if isinstance(event, dict) else None
    if not isinstance(event, dict) or not isinstance(system, dict):
        raise ValueError("has no element Event with a System in it")
    return {
        "time_created": _attribute(system, "TimeCreated", "SystemTime"),
        "event_id": _text(system.get("EventID")),
        "qualifiers": _attribute(system, "EventID", "Qualifiers"),
        "channel": _text(system.get("Channel")),
        "computer": _text(system.get("Computer")),
        "provider_name": _attribute(system, "Provider", "Name"),
        "provider_guid": _attribute(system, "Provider", "Guid"),
        "event_record_id": _text(system.get("EventRecordID")),
        "version": _text(system.get("Version")),
        "level": _text(system.get("Level")),
        "task": _text(system.get("Task")),
        "opcode": _text(system.get("Opcode")),
        "keywords": _text(system.get("Keywords")),
        "process_id": _attribute(system, "Execution", "ProcessID"),
        "thread_id": _attribute(system, "Execution", "ThreadID"),
        "security_user_id": _attribute(system, "Security", "UserID"),
        "activity_id": _attribute(system, "Correlation", "ActivityID"),
        "related_activity_id": _attribute(system, "Correlation", "RelatedActivityID"),
        "event_data": event.get("EventData") or None,
        "user_data": event.get("UserData") or None,
    }


def _attribute(system: Mapping[str, Any], element: str, name: str) -> Any:
    found = system.get(element)
    attributes = found.get("#attributes") if isinstance(found, dict) else None
    return attributes.get(name) if isinstance(attributes, dict) else None


def _text(value: Any) -> Any:
    return value.get("#text") if isinstance(value, dict) else value
