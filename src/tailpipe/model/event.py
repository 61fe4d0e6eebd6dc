"""Events: what a source gives of an API, typed, instead of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

EVENT_COLUMNS = ("_event_id", "_event_time", "_message", "_event_location")
"""The fields that every event has beside those of the format."""


class Event(NamedTuple):
    """One event of an API: `key` identifies it in its partition for ever, whatever range it is requested with.

    The format of the table parses the `message`, or the `object`, a JSON object. One of the two is given.
    """

    key: str
    time: datetime | None = None
    """When it happened, with a zone; None if only the message says so."""
    message: str | None = None
    object: Mapping[str, Any] | None = None
    location: str | None = None
    """Where in the service it was, such as a stream; it becomes `tp_source_location`."""
    fields: Mapping[str, Any] = {}
    """More facts by name; the source declares the names as `event_fields`. `fields["zone"]` is the field `_zone`."""


def event_columns(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the facts of an event, which follow the fields of the format."""
    return (*EVENT_COLUMNS, *(f"_{name}" for name in fields))
