"""Names: which are valid in SQL, in a path, and in a reference of the config."""

from __future__ import annotations

import re
from typing import Literal

from tailpipe.errors import UsageError

Spelling = Literal["camel", "pascal"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARTITION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_REFERENCE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_LENGTH_LIMIT = 100


def check_name(name: str) -> None:
    """Refuse a name that is not valid in SQL and in a path without quotes."""
    _check(_NAME, name, "use letters, digits and _, not beginning with a digit")


def check_partition_name(name: str) -> None:
    """Refuse a name that is not valid in a path."""
    _check(_PARTITION, name, "use letters, digits, _ and -, not beginning with -")


def check_reference_name(name: str) -> None:
    """Refuse a name that a reference such as `connection.aws.prod` could not spell."""
    _check(_REFERENCE, name, "use letters, digits, _ and -, beginning with a letter or _")


def check_directory(path: str) -> None:
    """Refuse an address: it would silently become a local directory of that name."""
    if match := _SCHEME.match(path):
        hint = f"{match[1]}:// addresses are not supported here; name a mounted path"
        raise UsageError(f'"{path}" is not a directory', hint=hint)


def spelt(name: str, keys: Spelling) -> str:
    """A name in snake case as a log spells it: `event_name` as `eventName` or `EventName`."""
    first, *rest = name.split("_")
    return "".join([first.capitalize() if keys == "pascal" else first, *(word.capitalize() for word in rest)])


def _check(pattern: re.Pattern[str], name: str, hint: str) -> None:
    if len(name) > _LENGTH_LIMIT:
        raise UsageError(f'"{name[:20]}…" is too long for a name', hint=f"use at most {_LENGTH_LIMIT} characters")
    if not pattern.fullmatch(name):
        raise UsageError(f'"{name}" is not a name', hint=hint)
