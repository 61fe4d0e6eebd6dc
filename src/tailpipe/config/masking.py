"""Lines as they may be shown: the values of what is, or looks like, a secret become dots."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["masked"]

_WORDS = ("secret", "passw", "token", "credential", "private", "api_?key", "access_?key")
_VALUE = (
    r'"(?:[^"\\]|\\.)*"?'  # quoted, closed or not
    r"|`[^`]*`?"
    r"|\[[^\]]*\]?"
    r"|(?!(?:true|false|null)\b)[\w+/-][\w+/.=-]*(?![\w+/.=(-])"  # bare, but for a call such as env("…")
)


def masked(line: str, names: frozenset[str] = frozenset()) -> str:
    """The line without the values of arguments of these names; every character keeps its column."""
    return _pattern(names).sub(lambda match: match[1] + _dots(match[2]), line)


@lru_cache(maxsize=8)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    # The counts are bounded so that no line, however long, takes more than one pass.
    exact = [rf"(?<![\w-]){re.escape(name)}(?=[\s\"=:])" for name in sorted(names)]
    words = "|".join([*exact, *(rf"{word}[\w-]{{0,64}}" for word in _WORDS)])
    return re.compile(rf'((?:{words})"?\s{{0,64}}[=:]\s{{0,64}})({_VALUE})', re.IGNORECASE)


def _dots(value: str) -> str:
    opening = value[0]
    if opening == "[":
        return re.sub(r'[^\s",`\[\]]', "•", value)
    if opening not in ('"', "`"):
        return "•" * len(value)
    is_closed = len(value) > 1 and value[-1] == opening
    return opening + "•" * (len(value) - 1 - is_closed) + opening * is_closed
