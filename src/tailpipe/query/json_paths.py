"""Paths of JSON: what DuckDB reads in one, spelt for Spark; what Spark would read in another way is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

_STEP = re.compile(r'\.(?:"(?P<quoted>[^"\\]+)"|(?P<plain>[^."\[\\]+))|\[(?P<index>\d+)\]')


def spark_path(text: str) -> str | None:
    """The path for Spark of one that DuckDB reads: a key, or steps behind a `$`; None if there is none.

    There is none for paths that count from the end of a list, that give many values, or that begin with `/`.
    """
    if text in ("", "$"):
        return "$"
    if text.startswith("/"):
        return None
    steps = list(_steps(text)) if text.startswith("$") else [_key(text)]
    return None if None in steps else "".join(["$", *filter(None, steps)])


def _steps(text: str) -> Iterator[str | None]:
    place = 1
    while place < len(text):
        match = _STEP.match(text, place)
        if match is None:
            yield None
            return
        yield f"[{match['index']}]" if match["index"] else _key(match["quoted"] or match["plain"])
        place = match.end()


def _key(name: str) -> str | None:
    """A key as a step: Spark leaves out blanks before one, and a star means all of them."""
    if name[:1].isspace() or name == "*":
        return None
    if not {".", "["} & set(name):
        return f".{name}"
    return None if {"'", "?"} & set(name) else f"['{name}']"
