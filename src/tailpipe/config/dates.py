"""Times in the config language: reading them, writing them in a layout."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tailpipe.errors import UsageError

_LAYOUT = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+", re.DOTALL)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: tuple[str, ...] = ("January", "February", "March", "April", "May", "June", "July")
_MONTHS += ("August", "September", "October", "November", "December")
_FIELDS: dict[str, Callable[[datetime], str]] = {
    "YYYY": lambda t: f"{t.year:04d}",
    "YY": lambda t: f"{t.year % 100:02d}",
    "MMMM": lambda t: _MONTHS[t.month - 1],
    "MMM": lambda t: _MONTHS[t.month - 1][:3],
    "MM": lambda t: f"{t.month:02d}",
    "M": lambda t: str(t.month),
    "DD": lambda t: f"{t.day:02d}",
    "D": lambda t: str(t.day),
    "EEEE": lambda t: _WEEKDAYS[t.weekday()],
    "EEE": lambda t: _WEEKDAYS[t.weekday()][:3],
    "HH": lambda t: f"{(t.hour + 11) % 12 + 1:02d}",
    "H": lambda t: str((t.hour + 11) % 12 + 1),
    "hh": lambda t: f"{t.hour:02d}",
    "h": lambda t: str(t.hour),
    "AA": lambda t: "AM" if t.hour < 12 else "PM",
    "aa": lambda t: "am" if t.hour < 12 else "pm",
    "mm": lambda t: f"{t.minute:02d}",
    "m": lambda t: str(t.minute),
    "ss": lambda t: f"{t.second:02d}",
    "s": lambda t: str(t.second),
    "ZZZZZ": lambda t: _offset(t, ":"),
    "ZZZZ": lambda t: _offset(t, ""),
    "ZZZ": lambda t: "UTC" if not t.utcoffset() else _offset(t, ""),
    "Z": lambda t: "Z" if not t.utcoffset() else _offset(t, ":"),
}


def parse_timestamp(text: str) -> datetime:
    """A time as `timestamp()` gives it: RFC 3339, with its zone kept; without one it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'"{text[:60]}" is not a time such as 2024-01-31T10:00:00Z') from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def format_date(layout: str, moment: datetime) -> str:
    """Write a time in a layout such as `YYYY-MM-DD hh:mm`; text in single quotes is copied."""
    parts: list[str] = []
    position = 0
    while position < len(layout):
        match = _LAYOUT.match(layout, position)
        if match is None:
            raise ValueError("a single quote is not closed in the layout")
        position = match.end()
        if match[1] is not None:
            parts.append(match[1].replace("''", "'"))
        elif match[2] is None:
            parts.append(match[0])
        elif match[0] in _FIELDS:
            parts.append(_FIELDS[match[0]](moment))
        else:
            hint = "write YYYY, MM, DD, hh, mm, ss; plain text stands in single quotes"
            raise UsageError(f'"{match[0]}" is no part of a date', hint=hint)
    return "".join(parts)


def _offset(moment: datetime, separator: str) -> str:
    minutes = int((moment.utcoffset() or timedelta()).total_seconds()) // 60
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02d}{separator}{abs(minutes) % 60:02d}"
