"""Windows events as JSON, in the shapes that exporters and agents write, with the fields of `*.evtx` files.

- `{"Event": {"System": …, "EventData": …}}`, as evtx_dump and Chainsaw write it;
- `{"winlog": …}` of Winlogbeat, and the flat one of its older versions;
- flat objects of NXLog and of published datasets, in which the data of the event stand beside its `EventID`.

What has no field of its own is in `other`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from tailpipe.plugin import Rejected

__all__ = ["element_fields", "json_events"]

_LEVELS = {"critical": 1, "error": 2, "warning": 3, "information": 4, "verbose": 5}
_SYSTEM: Mapping[str, tuple[str, ...]] = {
    "time_created": ("TimeCreated", "SystemTime", "@timestamp", "EventTime", "UtcTime"),
    "event_id": ("EventID", "event_id"),
    "channel": ("Channel", "log_name", "LogName"),
    "computer": ("Computer", "computer_name", "Hostname", "MachineName"),
    "provider_name": ("ProviderName", "Provider_Name", "SourceName", "source_name"),
    "provider_guid": ("ProviderGuid", "Provider_Guid", "provider_guid"),
    "event_record_id": ("EventRecordID", "RecordNumber", "RecordID", "record_number"),
    "version": ("Version", "version"),
    "level": ("Level", "LevelValue", "level"),
    "task": ("Task", "task"),
    "opcode": ("OpcodeValue", "Opcode", "opcode"),
    "keywords": ("Keywords", "keywords"),
    "process_id": ("ExecutionProcessID", "ProcessID", "process_id"),
    "thread_id": ("ExecutionThreadID", "ThreadID", "thread_id"),
    "security_user_id": ("Security_UserID", "UserID"),
    "activity_id": ("ActivityID", "activity_id"),
    "related_activity_id": ("RelatedActivityID", "related_activity_id"),
    "message": ("Message", "message"),
}
"""Where flat objects have the fields; the first that is there counts."""
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
    if any(key in plain for key in _SYSTEM["event_id"]):
        return _flat(plain)
    raise ValueError("has no element Event, no winlog and no EventID")


def element_fields(document: Any) -> Mapping[str, Any]:
    """The fields of an event that is an element `Event`; a `ValueError` says why there are none."""
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


def _winlogbeat(document: Mapping[str, Any]) -> Mapping[str, Any]:
    own: Mapping[str, Any] = document["winlog"]
    level = _inside(document, "log", "level")
    known = {"@timestamp", "message", "winlog", "log"}
    return {
        "time_created": own.get("time_created") or document.get("@timestamp"),
        "event_id": own.get("event_id") or _inside(document, "event", "code"),
        "channel": own.get("channel"),
        "computer": own.get("computer_name"),
        "provider_name": own.get("provider_name"),
        "provider_guid": own.get("provider_guid"),
        "event_record_id": own.get("record_id"),
        "version": own.get("version"),
        "level": _LEVELS.get(str(level).lower()),
        "task": own.get("task"),
        "opcode": own.get("opcode"),
        "keywords": _joined(own.get("keywords")),
        "process_id": _inside(own, "process", "pid"),
        "thread_id": _inside(own, "process", "thread", "id"),
        "security_user_id": _inside(own, "user", "identifier"),
        "activity_id": own.get("activity_id"),
        "related_activity_id": own.get("related_activity_id"),
        "message": document.get("message"),
        "event_data": own.get("event_data") or None,
        "user_data": own.get("user_data") or None,
        "other": {key: value for key, value in document.items() if key not in known} or None,
    }


def _flat(document: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = {name: _first(document, keys) for name, keys in _SYSTEM.items()}
    fields["level"] = _LEVELS.get(str(fields["level"]).lower(), fields["level"])
    fields["keywords"] = _joined(fields["keywords"])
    taken = {key for keys in _SYSTEM.values() for key in keys} | {"event_data", "user_data"}
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


def _first(document: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((document[key] for key in keys if document.get(key) not in (None, "")), None)


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


def _attribute(system: Mapping[str, Any], element: str, name: str) -> Any:
    found = system.get(element)
    attributes = found.get("#attributes") if isinstance(found, dict) else system.get(f"{element}_attributes")
    return attributes.get(name) if isinstance(attributes, dict) else None


def _text(value: Any) -> Any:
    return value.get("#text") if isinstance(value, dict) else value
