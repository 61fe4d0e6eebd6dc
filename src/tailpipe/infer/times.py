"""Times: how values write them, and what the writing leaves open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from tailpipe.frozen import frozen
from tailpipe.infer.point import Point, guessed

_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = r"\d\d?:\d\d:\d\d"
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)? ?(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
    r"|\d{8}T\d{6}(?:\.\d+)?(?P<zone2>Z)?"
)
_NO_YEAR = re.compile(rf"{_MONTH} [ \d]?\d {_CLOCK}(?:\.\d+)?")
_DAY_FIRST_NO_YEAR = re.compile(rf"\d\d? {_MONTH} {_CLOCK}(?:\.\d+)?")
_TIMELY = re.compile(
    r"(?:^|[^a-z])(?:time|timestamp|ts|date|datetime|when|at|epoch|clock|created|updated|occurred|published|logged|t|rt|start|end)$"
    r"|time|date(?!d?b|base)|_(?:at|on|ts|ms|sec|epoch)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?:At|On|Date|Time|Timestamp)$")
_EPOCHS = (("epoch_s", 1), ("epoch_ms", 1_000), ("epoch_us", 1_000_000), ("epoch_ns", 1_000_000_000))
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800
"""2000 and 2100, in seconds since 1970."""
_MANY = 200
_ALMOST_ALL = 0.9

_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (rf"\d\d?/{_MONTH}/\d{{4}}:{_CLOCK} [+-]\d{{4}}", "%d/%b/%Y:%H:%M:%S %z"),
        (rf"\d\d?/{_MONTH}/\d{{4}}:{_CLOCK}", "%d/%b/%Y:%H:%M:%S"),
        (rf"\d\d?/{_MONTH}/\d{{4}}:{_CLOCK}\.\d+", "%d/%b/%Y:%H:%M:%S.%f"),
        (rf"\d\d?/{_MONTH}/\d{{4}} {_CLOCK}", "%d/%b/%Y %H:%M:%S"),
        (rf"\d{{4}}/\d\d/\d\d {_CLOCK}", "%Y/%m/%d %H:%M:%S"),
        (rf"\d{{4}}/\d\d/\d\d {_CLOCK}\.\d+", "%Y/%m/%d %H:%M:%S.%f"),
        (rf"\w{{3}} {_MONTH} [ \d]?\d {_CLOCK} \d{{4}}", "%a %b %d %H:%M:%S %Y"),
        (rf"\w{{3}} {_MONTH} [ \d]?\d {_CLOCK}\.\d+ \d{{4}}", "%a %b %d %H:%M:%S.%f %Y"),
        (rf"\w{{3}} {_MONTH} [ \d]?\d {_CLOCK} \d{{4}} UTC", "%a %b %d %H:%M:%S %Y UTC"),
        (rf"\w{{3}}, \d\d? {_MONTH} \d{{4}} {_CLOCK} GMT", "%a, %d %b %Y %H:%M:%S GMT"),
        (rf"\w{{3}}, \d\d? {_MONTH} \d{{4}} {_CLOCK} [+-]\d{{4}}", "%a, %d %b %Y %H:%M:%S %z"),
        (rf"\d\d? {_MONTH} \d{{4}} {_CLOCK}", "%d %b %Y %H:%M:%S"),
        (rf"\d\d? {_MONTH} \d{{4}} {_CLOCK}\.\d+", "%d %b %Y %H:%M:%S.%f"),
        (rf"\d\d?-{_MONTH}-\d{{4}} {_CLOCK}", "%d-%b-%Y %H:%M:%S"),
        (rf"\d\d?-{_MONTH}-\d{{4}} {_CLOCK}\.\d+", "%d-%b-%Y %H:%M:%S.%f"),
        (rf"{_MONTH} \d\d?,? \d{{4}} {_CLOCK}", "%b %d %Y %H:%M:%S"),
        (rf"{_MONTH} \d\d?, \d{{4}} \d\d?:\d\d:\d\d [AP]M", "%b %d, %Y %I:%M:%S %p"),
        (rf"\d\d?\.\d\d?\.\d{{4}} {_CLOCK}", "%d.%m.%Y %H:%M:%S"),
        (r"\d\d?\.\d\d?\.\d{4}", "%d.%m.%Y"),
        (rf"\d{{6}} {_CLOCK}", "%y%m%d %H:%M:%S"),
    )
)
_SLASHED = re.compile(rf"(\d\d?)([/-])(\d\d?)\2\d{{4}}(?:,? ({_CLOCK})(\.\d+)?( [AP]M)?)?")

TIMES_IN_TEXT: tuple[str, ...] = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z\b|[+-]\d\d:?\d\d\b|UTC\b|GMT\b))?",
    rf"\d\d?/{_MONTH}/\d{{4}}[: ]{_CLOCK}(?:\.\d+)?(?: [+-]\d{{4}})?",
    rf"\d{{4}}/\d\d/\d\d {_CLOCK}(?:\.\d+)?",
    rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? {_MONTH} [ \d]?\d {_CLOCK}(?:\.\d+)? \d{{4}}",
    rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d? {_MONTH} \d{{4}} {_CLOCK} (?:GMT|[+-]\d{{4}})",
    rf"\d\d?[ -]{_MONTH}[ -]\d{{4}} {_CLOCK}(?:\.\d+)?",
    rf"{_MONTH} \d\d?, \d{{4}} \d\d?:\d\d:\d\d [AP]M",
    rf"\d\d?[/.-]\d\d?[/.-]\d{{4}},? {_CLOCK}(?:\.\d+)?(?: [AP]M)?",
    rf"\d\d? {_MONTH} {_CLOCK}(?:\.\d+)?",
    rf"{_MONTH} [ \d]?\d {_CLOCK}(?:\.\d+)?",
    r"\b1\d{9}\.\d{1,9}\b",
    r"\b1\d{12}\b",
    rf"\b\d{{6}} {_CLOCK}",
)
"""Patterns of times that stand in lines of text, in the order in which they are tried."""


@frozen
class TimeSpelling:
    """How a field writes times: a `time_format`, or None if the type timestamp reads them, and what is open."""

    time_format: str | tuple[str, ...] | None = None
    transform: str | None = None
    """What has to be made of the field first; `{}` stands for it."""
    points: tuple[Point, ...] = ()


def spelling_of(name: str, values: Sequence[Any]) -> TimeSpelling | None:
    """How the values of a field write times; None if they are none."""
    given = [value for value in values if value is not None and value != ""][:_MANY]
    if not given:
        return None
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in given):
        return _number(name, [float(value) for value in given])
    texts = [str(value).strip() for value in given]
    numbers = [text for text in texts if re.fullmatch(r"\d{9,19}(\.\d+)?", text)]
    if len(numbers) >= _ALMOST_ALL * len(texts):
        return _number(name, [float(text) for text in numbers])
    return _text(texts)


def first_day(moments: Sequence[datetime | None]) -> datetime | None:
    """The earliest of the times."""
    known = [moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment for moment in moments if moment]
    return min(known, default=None)


def is_timely(name: str) -> bool:
    """Whether a name is one that times have."""
    last = name.rpartition(".")[2].strip("@$_")
    return bool(_TIMELY.search(last) or _CAMEL.search(last))


def _number(name: str, values: Sequence[float]) -> TimeSpelling | None:
    if not is_timely(name):
        return None
    for form, units in _EPOCHS:
        if all(_EARLIEST * units <= value <= _LATEST * units for value in values):
            return TimeSpelling(form)
    return None


def _text(texts: Sequence[str]) -> TimeSpelling | None:
    matches = [_ISO.fullmatch(text) for text in texts]
    if _nearly(matches):
        has_zone = any(match and (match["zone"] or match["zone2"]) for match in matches)
        has_clock = any(":" in text or "T" in text for text in texts)
        open_ = () if has_zone or not has_clock else (_no_zone(),)
        return TimeSpelling(points=open_)
    if _nearly(_NO_YEAR.fullmatch(text) or match for text, match in zip(texts, matches, strict=True)):
        return TimeSpelling(points=(_no_zone(),))
    if _nearly(map(_DAY_FIRST_NO_YEAR.fullmatch, texts)):
        swap = r"regexp_replace({}, '^(\d+) (\w+) ', '\2 \1 ')"
        return TimeSpelling(transform=swap, points=(_no_zone(),))
    return _by_form(texts) or _slashed(texts)


def _nearly(matches: Iterable[object]) -> bool:
    """Whether all but a few values match: a row with another one is rejected."""
    found = [match is not None for match in matches]
    return sum(found) >= _ALMOST_ALL * len(found)


def _by_form(texts: Sequence[str]) -> TimeSpelling | None:
    """The formats that read the texts, most of them by the first."""
    counts = [(sum(1 for text in texts if pattern.fullmatch(text)), form) for pattern, form in _FORMS]
    used = sorted((one for one in counts if one[0]), key=lambda one: -one[0])
    if sum(count for count, _ in used) < _ALMOST_ALL * len(texts):
        return None
    forms = tuple(form for _, form in used)
    points = () if all(map(_has_zone, forms)) else (_no_zone(),)
    return TimeSpelling(forms[0] if len(forms) == 1 else forms, points=points)


def _slashed(texts: Sequence[str]) -> TimeSpelling | None:
    """Dates such as 03/04/2024: whether the month comes first only a day above 12 shows."""
    matches = [match for text in texts if (match := _SLASHED.fullmatch(text))]
    if len(matches) < _ALMOST_ALL * len(texts):
        return None
    first, second = max(int(match[1]) for match in matches), max(int(match[3]) for match in matches)
    if first > 12 and second > 12:
        return None
    mark = matches[0][2]
    date = f"%d{mark}%m{mark}%Y" if first > 12 else f"%m{mark}%d{mark}%Y"
    clock = "".join(_clock_of(matches[0], texts[0]))
    points = [_no_zone()] if clock else []
    if first <= 12 and second <= 12:
        other = f"%d{mark}%m{mark}%Y{clock}"
        points.insert(0, guessed(f"dates such as {texts[0][:10]} start with the month; if it is the day: {other}"))
    return TimeSpelling(date + clock, points=tuple(points))


def _clock_of(match: re.Match[str], text: str) -> Iterator[str]:
    if match[4]:
        yield ", " if ", " in text else " "
        yield "%I:%M:%S" if match[6] else "%H:%M:%S"
    if match[5]:
        yield ".%f"
    if match[6]:
        yield " %p"


def _has_zone(form: str) -> bool:
    return form.endswith(("%z", "GMT", "UTC"))


def _no_zone() -> Point:
    return guessed("times have no zone: taken as UTC (set timezone of the format if they are local)")
