"""Times in Apache's access logs: `%t` and `%{format}t`, of which several may together be one time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tailpipe.formats.apache_directives import TimePart
from tailpipe.plugin import UsageError
from tailpipe.plugin.sql import literal

DEFAULT = "[%d/%b/%Y:%H:%M:%S %z]"
_LETTER = re.compile(r"%[EO]?([a-zA-Z%])")
_SHORT = {
    "D": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "h": "%b",
    "r": "%I:%M:%S %p",
    "c": "%a %b %e %H:%M:%S %Y",
    "x": "%m/%d/%y",
    "X": "%H:%M:%S",
    "n": "\n",
    "t": "\t",
}
_PATTERNS = {
    **dict.fromkeys("CdgHImMSUVWy", "[0-9]{2}"),
    **dict.fromkeys("aAbB", "[^ 0-9]+"),
    **dict.fromkeys("ekl", "[ 0-9][0-9]"),
    **dict.fromkeys("GY", "[0-9]{4}"),
    **dict.fromkeys("pP", "[AaPp][Mm]"),
    **dict.fromkeys("uw", "[0-9]"),
    "j": "[0-9]{3}",
    "s": "[0-9]+",
    "z": "[+-][0-9]{4}",
    "Z": "[A-Za-z0-9+-]+",
    "%": "%",
}
_OWN = {"sec": "[0-9]+", "msec": "[0-9]+", "usec": "[0-9]+", "msec_frac": "[0-9]{3}", "usec_frac": "[0-9]{6}"}
_EPOCHS = {"sec": 1_000_000, "s": 1_000_000, "msec": 1000, "usec": 1}
_FRACTIONS = {"msec_frac": "%g", "usec_frac": "%f"}
_UNREAD = frozenset("aAuwUVWgGCZ")
"""Letters that say nothing more about the moment, or nothing that is safe to read."""


def time_pattern(part: TimePart) -> str:
    """The regular expression of a part; a UsageError names a letter that strftime does not have."""
    if part.format in _OWN:
        return _OWN[part.format]
    text, pattern, place = _expanded(part.format), "", 0
    for letter in _LETTER.finditer(text):
        if letter[1] not in _PATTERNS:
            raise UsageError(f'strftime has no "{letter[0]}"', hint="write %% for a percent sign")
        pattern += re.escape(text[place : letter.start()]) + _PATTERNS[letter[1]]
        place = letter.end()
    return pattern + re.escape(text[place:])


def _expanded(format: str) -> str:
    """A format in the letters of `_PATTERNS`."""
    text = format or DEFAULT
    for _ in range(2):
        text = _LETTER.sub(lambda letter: _SHORT.get(letter[1], f"%{letter[1]}"), text)
    return text


def time_value(parts: Sequence[tuple[TimePart, str]]) -> tuple[str, str]:
    """DuckDB type and SQL of the time that the parts, each with SQL for its text, are together.

    With a zone or as seconds since 1970 it is a timestamp in UTC; without, it is text, to be read in the zone of the
    format. Parts that are no whole time are their texts.
    """
    for part, text in parts:
        if (
            unit := _EPOCHS.get("s" if part.format == "%s" else part.format if part.format in _OWN else "")
        ) is not None:
            fraction = _fraction(parts) if unit == _EPOCHS["sec"] else ""
            return "TIMESTAMP", f"make_timestamp(try_cast({text} AS BIGINT) * {unit}{fraction})"
    letters = {letter for part, _ in parts for letter in _letters(part)}
    if not _is_whole(letters):
        return "VARCHAR", " || ' ' || ".join(text for _, text in parts)
    text = " || ' ' || ".join(_read_text(part, text) for part, text in parts)
    layout = " ".join(_FRACTIONS.get(part.format) or _read_format(part) for part, _ in parts)
    time = f"try_strptime(trim({text}), {literal(layout.strip())})"
    if "z" in letters:
        return "TIMESTAMP", f"make_timestamp(epoch_us({time}))"
    return "VARCHAR", f"strftime({time}, '%Y-%m-%d %H:%M:%S.%f')"


def _fraction(parts: Sequence[tuple[TimePart, str]]) -> str:
    found = {part.format: text for part, text in parts if part.format in _FRACTIONS}
    if "usec_frac" in found:
        return f" + try_cast({found['usec_frac']} AS BIGINT)"
    return f" + try_cast({found['msec_frac']} AS BIGINT) * 1000" if found else ""


def _letters(part: TimePart) -> set[str]:
    return set() if part.format in _OWN else {letter[1] for letter in _LETTER.finditer(_expanded(part.format))}


def _is_whole(letters: set[str]) -> bool:
    has_day = {"d", "e"} & letters and {"m", "b", "B"} & letters
    has_hour = {"H", "k"} & letters or ({"I", "l"} & letters and {"p", "P"} & letters)
    return bool((has_day or "j" in letters) and {"Y", "y"} & letters and has_hour and "M" in letters)


def _read_format(part: TimePart) -> str:
    """The format as DuckDB reads it; letters that it does not need are not there."""
    text = _expanded(part.format)
    for old, new in {"e": "%d", "k": "%H", "l": "%I", "P": "%p", "B": "%B"}.items():
        text = text.replace(f"%{old}", new)
    return _LETTER.sub(lambda letter: "" if letter[1] in _UNREAD else letter[0], text)


def _read_text(part: TimePart, text: str) -> str:
    """SQL for the text without what `_read_format` leaves out, and with zeros for leading blanks."""
    if part.format in _OWN:
        return text
    expanded, pattern, kept, place = _expanded(part.format), "", "", 0
    if not {"e", "k", "l", *_UNREAD} & _letters(part):
        return text
    for group, letter in enumerate(_LETTER.finditer(expanded), 1):
        pattern += re.escape(expanded[place : letter.start()]) + f"({_PATTERNS[letter[1]]})"
        padded = f"lpad(trim({_group(text, group)}), 2, '0')" if letter[1] in "ekl" else _group(text, group)
        value = "''" if letter[1] in _UNREAD else padded
        kept += f" || {literal(expanded[place : letter.start()])} || {value}"
        place = letter.end()
    pattern += re.escape(expanded[place:])
    kept = f"{kept} || {literal(expanded[place:])}".removeprefix(" || ")
    return kept.replace(_PATTERN, literal(f"^{pattern}$"))


_PATTERN = "%pattern%"


def _group(text: str, number: int) -> str:
    return f"regexp_extract({text}, {_PATTERN}, {number})"
