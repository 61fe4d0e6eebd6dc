"""Find the layout of a time that is not ISO 8601, as `strptime` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_DATES = (
    *("%Y/%m/%d", "%Y.%m.%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y"),
    *("%d/%b/%Y", "%d-%b-%Y", "%d %b %Y", "%a, %d %b %Y", "%a %d %b %Y", "%d %B %Y"),
    *("%b %d %Y", "%b %d, %Y", "%B %d %Y", "%B %d, %Y"),
)
_BETWEEN = (" ", ":", "T", ", ")
_CLOCKS = ("%H:%M:%S", "%H:%M:%S.%f", "%H:%M:%S,%f", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
_ZONES = ("", " %z", "%z", " %Z")
_YEAR_LAST = ("%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %Z %Y", "%a %b %d %H:%M:%S %z %Y", "%a %b %d %H:%M:%S.%f %Y")
_FORMS = ((_DATES, _BETWEEN, _CLOCKS, _ZONES), (_YEAR_LAST,), (_DATES,))
_PATTERNS = {
    "%Y": r"\d{4}",
    "%y": r"\d{2}",
    "%m": r"(?:1[0-2]|0?[1-9])",
    "%b": r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    "%B": r"(?i:january|february|march|april|june|july|august|september|october|november|december)",
    "%d": r"(?:3[01]|[12]\d|0?[1-9])",
    "%a": r"(?i:mon|tue|wed|thu|fri|sat|sun)",
    "%H": r"(?:2[0-3]|[01]?\d)",
    "%I": r"(?:1[0-2]|0?[1-9])",
    "%M": r"[0-5]\d",
    "%S": r"[0-5]\d",
    "%f": r"\d{1,6}",
    "%p": r"[AaPp][Mm]",
    "%z": r"[+-]\d{2}:?\d{2}",
    "%Z": r"[A-Z]{3,4}",
    " ": " +",
}
_TOKEN = re.compile("%[a-zA-Z]|.")


def layouts_of(text: str) -> list[str]:
    """The layouts that read this text as a time: more than one if day and month are ambiguous."""
    return [layout for parts in _FORMS for layout in _readings(text, parts)]


def _readings(text: str, parts: Sequence[Sequence[str]]) -> Iterator[str]:
    if not parts:
        if not text:
            yield ""
        return
    for layout in parts[0]:
        pattern = "".join(_PATTERNS.get(token, re.escape(token)) for token in _TOKEN.findall(layout))
        if found := re.match(pattern, text):
            for rest in _readings(text[found.end() :], parts[1:]):
                yield layout + rest
