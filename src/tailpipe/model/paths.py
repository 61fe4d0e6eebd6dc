"""Paths into JSON records: `actor.name`, `target[*].id`, and `"addr.remote".ip` for a key with a dot in it."""

from __future__ import annotations

import re

from tailpipe.errors import UsageError

EACH = None
"""The step `[*]`: every element of a list."""
Path = tuple[str | None, ...]

_STEP = re.compile(r'(?P<dot>\.)?(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^."\[\]]+))|(?P<each>\[\*\])')
_PLAIN = re.compile(r'(?:[A-Za-z_@]\w*|"(?:[^"]|"")+")(?:\[\*\])?(?:\.(?:[A-Za-z_@]\w*|"(?:[^"]|"")+")(?:\[\*\])?)*')


def parse_path(text: str) -> Path:
    """The keys of a path, with `EACH` for `[*]`."""
    steps: list[str | None] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None or (match["each"] is None and bool(match["dot"]) != bool(steps)):
            raise _misspelt(text)
        if match["each"] and (not steps or steps[-1] is EACH):
            raise _misspelt(text)
        key = match["bare"] if match["quoted"] is None else match["quoted"].replace('""', '"')
        if match["each"] is None and not key:
            raise _misspelt(text)
        steps.append(EACH if match["each"] else key)
        position = match.end()
    if not steps:
        raise _misspelt(text)
    return tuple(steps)


def is_plain_path(text: str) -> bool:
    """Whether a text can only be a path: names with dots or `[*]` between them, and nothing else of SQL."""
    return _PLAIN.fullmatch(text) is not None


def path_field(text: str) -> tuple[str, Path]:
    """The field that a path names, and its steps: a key alone is the field itself, without its quotes.

    What cannot be read as a path is the name of a field, as in CSV files; so is a name with `*` at its end.
    """
    if text.endswith("*"):
        return text, (text,)
    try:
        path = parse_path(text)
    except UsageError:
        return text, (text,)
    return (path[0], path) if len(path) == 1 and path[0] is not EACH else (text, path)


def _misspelt(text: str) -> UsageError:
    hint = 'write keys with a dot between them, such as actor.name or target[*].id; a key with a dot in quotes: "a.b"'
    return UsageError(f'"{text}" is not a path', hint=hint)
