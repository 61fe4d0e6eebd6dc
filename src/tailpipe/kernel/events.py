"""Events of an API: their messages are parsed by a format, whose fields get their facts as further columns.

    source ─► Event, Event, … ─► EventRun: messages as lines, facts as an Arrow table ─► Parsed

A row is identified by the key of its event, not by its place: the same event gets the same `tp_id` however often it
is requested.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailpipe.errors import TailpipeError
from tailpipe.frozen import frozen
from tailpipe.model.event import Event
from tailpipe.model.outputs import COMMON_TYPES, Output
from tailpipe.model.parsing import Lines, Parsed
from tailpipe.plugin.arrow import places_of
from tailpipe.sql.quoting import quoted

_ESCAPED = r'^\s*(\{\s*\\"|")'
"""How a JSON object begins that was put into a string once more, with the quotes of the string or without."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORM = "%Y-%m-%dT%H:%M:%SZ"
_OVERHEAD = 64
"""About how many bytes an event takes beside its texts."""


def event_outputs(outputs: Sequence[Output], prefix: str) -> tuple[Output, ...]:
    """What events add to the columns of a table; `prefix` is SQL for the beginning of each row's `tp_id`."""
    taken = {output.name for output in outputs}
    made = (
        Output("tp_id", COMMON_TYPES["tp_id"], transform=f"{prefix} || '-' || md5(_event_id)"),
        Output("tp_source_location", COMMON_TYPES["tp_source_location"], "_event_location"),
    )
    return (*outputs, *(output for output in made if output.name not in taken))


@frozen
class BadEvent:
    """An event that never gets to the parser: its place, why, its text, and a key that it is known by."""

    artifact: int
    ordinal: int
    reason: str
    raw: str
    key: str


@frozen
class EventRun:
    """A run of events of one artifact: their messages, and the table of their facts."""

    messages: Lines
    facts: pa.Table


class Gathering:
    """Events of one artifact on their way to Arrow; `columns` are the names of their facts."""

    def __init__(self, columns: Sequence[str], artifact: int, uri: str, line_bytes: int) -> None:
        self.size = 0
        self.bad: list[BadEvent] = []
        self._names = [name.removeprefix("_") for name in columns[4:]]
        self._known = frozenset(self._names)
        self._columns = columns
        self._artifact = artifact
        self._uri = uri
        self._line_bytes = line_bytes
        self._rows: list[tuple[Any, ...]] = []
        self._ordinals: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, event: Event, ordinal: int) -> None:
        """Take an event; one with a blank message is no row."""
        key, moment, message, found, location, fields = event
        text = self._text(event) if found is not None or not isinstance(message, str) else message
        text = text.rstrip("\r\n")
        if not text or text.isspace():
            return
        size = len(text)
        if not isinstance(key, str) or not key:
            self._reject(ordinal, "the event has no key", text)
        elif size > self._line_bytes:
            self._reject(ordinal, f"the message has {size:,} characters, more than {self._line_bytes:,}", text, key)
        else:
            if fields and not self._known.issuperset(fields):
                unknown = min(str(name) for name in fields if name not in self._known)
                raise self._wrong(event, f'has the field "{unknown}", which is not in event_fields of the source')
            facts = [_plain(fields.get(name)) for name in self._names] if fields else [None] * len(self._names)
            self._rows.append((key, self._microseconds(event, moment), text, _plain(location), *facts))
            self._ordinals.append(ordinal)
            self.size += size + len(key) + _OVERHEAD

    def run(self) -> EventRun:
        """The events in hand as a run; nothing is in hand after."""
        columns = list(zip(*self._rows, strict=True))
        messages = _texts(columns[2])
        facts = {
            name: _times(column) if name == "_event_time" else _texts(column)
            for name, column in zip(self._columns, columns, strict=True)
            if name != "_message"
        }
        lines = Lines(messages, np.array(self._ordinals, np.int64), self._artifact)
        self._rows, self._ordinals, self.size = [], [], 0
        return EventRun(lines, pa.table({**facts, "_message": messages}))

    def _text(self, event: Event) -> str:
        if event.object is not None and event.message is None:
            try:
                return json.dumps(event.object, ensure_ascii=False, separators=(",", ":"), default=_as_json)
            except (TypeError, ValueError, RecursionError) as error:
                raise self._wrong(event, f"holds what JSON cannot: {error}") from None
        if event.object is None and event.message is None:
            return ""
        what = "both a message and an object" if event.object is not None else "a message that is no text"
        raise self._wrong(event, f"has {what}")

    def _microseconds(self, event: Event, moment: object) -> int | None:
        if moment is None:
            return None
        if not isinstance(moment, datetime):
            raise self._wrong(event, f"has a time of the type {type(moment).__name__}, expected a datetime")
        if moment.tzinfo is None:
            raise self._wrong(event, "has a time without a zone")
        since = moment - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

    def _reject(self, ordinal: int, reason: str, text: str, key: str = "") -> None:
        # Without a key of its own it is known by its text, so that it is rejected once, however often it comes.
        known = key or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        self.bad.append(BadEvent(self._artifact, ordinal, reason, text, known))

    def _wrong(self, event: Event, what: str) -> TailpipeError:
        return TailpipeError(f'cannot read "{self._uri}": the event {str(event.key)[:100]!r} {what}')


def with_events(parsed: Parsed, runs: Iterable[EventRun], columns: Sequence[str]) -> Parsed:
    """The parsed messages with the facts of their events, which win over fields of the same name."""
    runs = list(runs)
    table = pa.concat_tables(run.facts for run in runs).combine_chunks()
    for name, column in places_of([run.messages for run in runs]).items():
        table = table.append_column(name, column)
    hidden = [name for name in parsed.fields if name.lower() in columns]
    left_out = f" EXCLUDE ({', '.join(map(quoted, hidden))})" if hidden else ""
    added = ", ".join(f"events.{quoted(name)}" for name in columns)
    # Each has its event. A left join keeps the order of the rows, and is a hash join without an optimizer.
    joined = f"({parsed.sql}) AS inside LEFT JOIN events USING (_artifact, _ordinal)"
    fields = {name: kind for name, kind in parsed.fields.items() if name not in hidden}
    return replace(
        parsed,
        sql=f"SELECT inside.*{left_out}, {added} FROM {joined}",
        tables={**parsed.tables, "events": table},
        fields={**fields, **dict.fromkeys(columns, "VARCHAR")},
    )


def bad_events(rows: Sequence[BadEvent], fields: Mapping[str, str]) -> Parsed:
    """Events to reject; all their fields but the key are null."""
    table = pa.table(
        {
            "_artifact": pa.array([row.artifact for row in rows], pa.int32()),
            "_ordinal": pa.array([row.ordinal for row in rows], pa.int64()),
            "_bad": pa.array([row.reason for row in rows], pa.string()),
            "_raw": _texts([row.raw for row in rows]),
            "_event_id": _texts([row.key for row in rows]),
        }
    )
    others = {name: kind for name, kind in fields.items() if name.lower() != "_event_id"}
    nulls = "".join(f", NULL::{kind} AS {quoted(name)}" for name, kind in others.items())
    sql = f"SELECT _artifact, _ordinal, _bad, _raw, _event_id{nulls} FROM bad_events"
    return Parsed(sql, {"bad_events": table}, {"_event_id": "VARCHAR", **others}, len(rows))


def unescaped(run: EventRun) -> EventRun:
    """The run with JSON objects that were escaped once more as they were before; any other message as it is."""
    messages = run.messages.text
    is_escaped = pc.match_substring_regex(messages, _ESCAPED)
    if not pc.any(is_escaped).as_py():
        return run
    mended = [_object_in(text) for text in messages.filter(is_escaped).to_pylist()]
    messages = pc.replace_with_mask(messages, is_escaped, pa.array(mended, pa.string()))
    place = run.facts.column_names.index("_message")
    return EventRun(replace(run.messages, text=messages), run.facts.set_column(place, "_message", messages))


def _object_in(text: str) -> str:
    try:
        inside = json.loads(text if text.lstrip().startswith('"') else f'"{text}"', strict=False)
    except ValueError:
        return text
    return inside if isinstance(inside, str) else text


def _texts(values: Sequence[Any]) -> pa.Array:
    """Texts as Arrow takes them: half a surrogate pair is no character, and becomes a question mark."""
    try:
        return pa.array(values, pa.string())
    except (UnicodeEncodeError, pa.ArrowInvalid):
        mended = [None if one is None else one.encode("utf-8", "replace").decode() for one in values]
        return pa.array(mended, pa.string())


def _times(microseconds: Sequence[int | None]) -> pa.Array:
    """Times as text, with three digits of a second, or six where that would lose some."""
    exact = pa.array(microseconds, pa.timestamp("us"))
    short = pc.strftime(pc.floor_temporal(exact, unit="millisecond").cast(pa.timestamp("ms")), format=_FORM)
    is_short = np.array([one is None or one % 1000 == 0 for one in microseconds])
    return short if is_short.all() else pc.if_else(pa.array(is_short), short, pc.strftime(exact, format=_FORM))


def _plain(value: Any) -> str | None:
    """The value of a field as text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime) and value.tzinfo is not None:
        moment = value.astimezone(UTC).replace(tzinfo=None)
        return moment.isoformat(timespec="microseconds" if moment.microsecond % 1000 else "milliseconds") + "Z"
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_as_json)
    return str(value)


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of the type {type(value).__name__}")
