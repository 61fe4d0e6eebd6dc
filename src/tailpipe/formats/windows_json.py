"""Windows events as JSON, in the shapes that exporters and agents write, with the fields of `*.evtx` files.

- `{"Event": {"System": …, "EventData": …}}`, as evtx_dump and Chainsaw write it;
- `{"winlog": …}` of Winlogbeat, and the flat one of its older versions;
- flat objects of NXLog and of published datasets, in which the data of the event are next to its `EventID`.

What has no field of its own is in `other`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from tailpipe.plugin import Rejected

_LEVELS = {"critical": 1, "error": 2, "warning": 3, "information": 4, "verbose": 5}
_FIELDS: Mapping[str, tuple[str, str, str]] = {
    "time_created": ("TimeCreated@SystemTime", "time_created", "TimeCreated SystemTime @timestamp EventTime UtcTime"),
    "event_id": ("EventID", "event_id", "EventID event_id"),
    "qualifiers": ("EventID@Qualifiers", "", ""),
    "channel": ("Channel", "channel", "Channel log_name LogName"),
    "computer": ("Computer", "computer_name", "Computer computer_name Hostname MachineName"),
    "provider_name": ("Provider@Name", "provider_name", "ProviderName Provider_Name SourceName source_name"),
    "provider_guid": ("Provider@Guid", "provider_guid", "ProviderGuid Provider_Guid provider_guid"),
    "event_record_id": ("EventRecordID", "record_id", "EventRecordID RecordNumber RecordID record_number"),
    "version": ("Version", "version", "Version version"),
    "level": ("Level", "", "Level LevelValue level"),
    "task": ("Task", "task", "Task task"),
    "opcode": ("Opcode", "opcode", "OpcodeValue Opcode opcode"),
    "keywords": ("Keywords", "keywords", "Keywords keywords"),
    "process_id": ("Execution@ProcessID", "process.pid", "ExecutionProcessID ProcessID process_id"),
    "thread_id": ("Execution@ThreadID", "process.thread.id", "ExecutionThreadID ThreadID thread_id"),
    "security_user_id": ("Security@UserID", "user.identifier", "Security_UserID UserID"),
    "activity_id": ("Correlation@ActivityID", "activity_id", "ActivityID activity_id"),
    "related_activity_id": (
        "Correlation@RelatedActivityID",
        "related_activity_id",
        "RelatedActivityID related_activity_id",
    ),
    "message": ("", "", "Message message"),
}
"""Each field: the element of `System`, with `@` an attribute of it; the path in `winlog`; the keys in flat objects.

Of these keys the first that has a value counts.
"""
_ELEMENTS = {name: place.partition("@")[::2] for name, (place, _, _) in _FIELDS.items() if place}
_WINLOG = {name: path.split(".") for name, (_, path, _) in _FIELDS.items() if path}
_FLAT = {name: keys.split() for name, (_, _, keys) in _FIELDS.items() if keys}
_AGENT = frozenset(
    [
        *("@version", "host", "port", "tags", "type", "beat", "agent", "ecs", "input", "offset", "Severity"),
        *("SeverityValue", "EventType", "EventReceivedTime", "SourceModuleName", "SourceModuleType", "Category"),
        *("AccountName", "AccountType", "Domain", "OpcodeDisplayName", "event_original_message", "timestamp"),
    ]
)
"""What agents say of themselves, or of the event in their own words."""


def json_events(file: BinaryIO) -> Iterator[Mapping[str, Any] | Rejected]:
    """The events of JSON lines, of an array, or of documents over many lines."""
    for text in _documents(file):
        try:
            found = json.loads(text)
            events = found if isinstance(found, list) else [found]
        except (ValueError, RecursionError):
            yield Rejected("is not JSON", text, is_unfinished=not text.endswith("\n"))
            continue
        for event in events:
            try:
                yield _event_fields(event)
            except ValueError as problem:
                yield Rejected(str(problem), json.dumps(event))


def _documents(file: BinaryIO) -> Iterator[str]:
    """The text of each document: a line that is one, or lines up to the bracket that closes the first."""
    pending = ""
    for raw in file:
        line = raw.decode("utf-8-sig", "replace")
        plain = line.strip().removesuffix(",")
        if pending and line.startswith(("{", "[{")):
            yield pending
            pending = ""
        if pending:
            pending += line
            if line.startswith(("}", "]")) or (line.startswith(("  }", " }")) and _is_json(pending)):
                yield pending.strip().removesuffix(",")
                pending = ""
        elif not plain or plain in ("[", "]") or plain.startswith("Record "):
            continue
        elif plain.startswith(("{", "[")) and not plain.endswith(("}", "]")):
            pending = line
        else:
            yield plain if line.endswith("\n") or _is_json(plain) else line
    if pending.strip():
        yield pending


def _is_json(text: str) -> bool:
    try:
        json.loads(text.strip().removesuffix(","))
    except (ValueError, RecursionError):
        return False
    return True


def _event_fields(document: Any) -> Mapping[str, Any]:
    """The fields of an event; a `ValueError` says why there are none."""
    if not isinstance(document, dict):
        raise ValueError("is no JSON object")
    if "Event" in document:
        return element_fields(document)
    plain = _nested(document) if any(key.startswith("winlog.") for key in document) else document
    if isinstance(plain.get("winlog"), dict):
        return _winlogbeat(plain)
    if any(key in plain for key in _FLAT["event_id"]):
        return _flat(plain)
    raise ValueError("has no element Event, no winlog and no EventID")


def element_fields(document: Any) -> Mapping[str, Any]:
    """The fields of an event that is an element `Event`; a `ValueError` says why there are none."""
    event = document.get("Event") if isinstance(document, dict) else None
    system = event.get("System") if isinstance(event, dict) else None
    if not isinstance(event, dict) or not isinstance(system, dict):
        raise ValueError("has no element Event with a System in it")
    return {
        **{name: _element(system, *place) for name, place in _ELEMENTS.items()},
        "event_data": event.get("EventData") or None,
        "user_data": event.get("UserData") or None,
    }


def _element(system: Mapping[str, Any], element: str, attribute: str) -> Any:
    """The text of an element, or of one of its attributes."""
    found = system.get(element)
    if not attribute:
        return found.get("#text") if isinstance(found, dict) else found
    attributes = found.get("#attributes") if isinstance(found, dict) else system.get(f"{element}_attributes")
    return attributes.get(attribute) if isinstance(attributes, dict) else None


def _winlogbeat(document: Mapping[str, Any]) -> Mapping[str, Any]:
    own: Mapping[str, Any] = document["winlog"]
    fields = {name: _inside(own, *path) for name, path in _WINLOG.items()}
    known = {"@timestamp", "message", "winlog", "log"}
    return {
        **fields,
        "time_created": fields["time_created"] or document.get("@timestamp"),
        "event_id": fields["event_id"] or _inside(document, "event", "code"),
        "level": _LEVELS.get(str(_inside(document, "log", "level")).lower()),
        "keywords": _joined(fields["keywords"]),
        "message": document.get("message"),
        "event_data": own.get("event_data") or None,
        "user_data": own.get("user_data") or None,
        "other": {key: value for key, value in document.items() if key not in known} or None,
    }


def _flat(document: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = {
        name: next((document[key] for key in keys if document.get(key) not in (None, "")), None)
        for name, keys in _FLAT.items()
    }
    fields["level"] = _LEVELS.get(str(fields["level"]).lower(), fields["level"])
    fields["keywords"] = _joined(fields["keywords"])
    taken = {key for keys in _FLAT.values() for key in keys} | {"event_data", "user_data"}
    data = {key: value for key, value in document.items() if key not in taken and key not in _AGENT}
    given = document.get("event_data")
    return {
        **fields,
        "event_data": (given if isinstance(given, dict) and given else data) or None,
        "user_data": document.get("user_data") or None,
        "other": {
            key: value
            for key, value in document.items()
            if key in _AGENT or (isinstance(given, dict) and given and key in data)
        }
        or None,
    }


def _inside(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _joined(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _nested(document: Mapping[str, Any]) -> dict[str, Any]:
    """An object whose keys had dots: `winlog.event_id`."""
    found: dict[str, Any] = {}
    for key, value in document.items():
        *path, last = key.split(".") if not key.startswith("@") else [key]
        inner = found
        for part in path:
            following = inner.setdefault(part, {})
            inner = following if isinstance(following, dict) else {}
        inner[last] = value
    return found
