"""What the options of several formats have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tailpipe.model.format import RESERVED_FIELDS
from tailpipe.plugin import UsageError, option


def check_timezone(name: str) -> None:
    """Refuse an unknown time zone."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise UsageError(f'there is no time zone "{name}"', hint="use a name such as Europe/Berlin") from None


def check_size(value: int) -> None:
    """Refuse a size of nothing."""
    if value <= 0:
        raise UsageError("a size must be above 0")


def check_text(text: str) -> None:
    """Refuse no text, and text of several lines."""
    if not text or "\n" in text:
        raise UsageError("expected one or more characters, on one line")


def check_character(text: str) -> None:
    """Refuse more than one character."""
    if len(text) > 1:
        raise UsageError("expected a single character or empty text")


def check_count(value: int) -> None:
    """Refuse a count below 0."""
    if value < 0:
        raise UsageError("a count must be at least 0")


def check_fields(names: Sequence[str]) -> None:
    """Refuse names of fields that are empty, taken or there twice."""
    if not all(names):
        raise UsageError("a field needs a name")
    taken: set[str] = set()
    for name in names:
        if name.lower() in RESERVED_FIELDS:
            raise UsageError(f'a field cannot be named "{name}"', hint="the name is used for the line itself")
        if name.lower() in taken:  # DuckDB does not tell cases apart
            raise UsageError(f'the field "{name}" is duplicated')
        taken.add(name.lower())


def check_rest(name: str) -> None:
    """Refuse a name that no field can have."""
    if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) is None:
        raise UsageError(f'"{name}" is not a name of a field', hint="use letters, digits and _")
    check_fields([name])


def timezone_option() -> Any:
    """The option of every format that holds times, `str | None`."""
    return option(
        "Time zone of times that do not name one, such as `Europe/Berlin`; UTC if not given.",
        default=None,
        check=check_timezone,
    )


def encoding_option() -> Any:
    """The option of every format of text: `utf-8`, `utf-16` or `latin-1`."""
    return option("Encoding of the text.", default="utf-8")
