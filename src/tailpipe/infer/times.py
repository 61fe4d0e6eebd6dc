"""Times: which layouts the values of a field or the lines of a log have, and what these leave open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tailpipe.frozen import frozen
from tailpipe.infer.point import Point, guessed
from tailpipe.infer.time_layouts import DATED, DATES, NAMED_ZONES, TimeLayout
from tailpipe.model.times import EPOCHS

_TIMELY = re.compile(
    r"(?:^|[^a-z])(?:time|timestamp|ts|date|datetime|when|at|epoch|clock|created|updated|occurred|published|logged|t|rt|start|end)$"
    r"|time|date(?!d?b|base)|_(?:at|on|ts|ms|sec|epoch)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?:At|On|Date|Time|Timestamp)$")
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800
"""2000 and 2100, in seconds since 1970."""
_TICKS = (630_822_816_000_000_000, 662_380_416_000_000_000)
"""2000 and 2100, in ticks of 100 ns since the year 1."""
_MANY = 200
_ALMOST_ALL = 0.9
_DATE_ONLY = re.compile(r"\d{4}-\d\d-\d\d")
_PYTHON = {"%e": "%d", "%k": "%H", "%g": "%f"}
_ZONE = re.compile(r" ?(?:Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)$")
_NAMED = re.compile(r"\b([A-Z]{3,5})(?: \d{4})?$")
_FRACTION = re.compile(r"(?<=\d)([.,])(\d{1,9})(?= ?(?:[A-Z+-]|$))")


@frozen
class Basis:
    """What is known of a log besides its text, to decide what times leave open."""

    now: datetime
    modified: datetime | None = None

    @property
    def latest(self) -> datetime:
        """The moment after which no time of the log can be, but for clocks that are wrong."""
        return (self.modified or self.now) + timedelta(days=1)


@frozen
class TimeSpelling:
    """How a field writes times: a `time_format`, or None if the type timestamp reads them, and what is open."""

    time_format: str | tuple[str, ...] | None = None
    points: tuple[Point, ...] = ()
    timezone: str | None = None
    """The zone that the names in all times mean."""


def spelling_of(name: str, values: Sequence[Any], basis: Basis) -> TimeSpelling | None:
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
    if all(map(_DATE_ONLY.fullmatch, texts)):
        return TimeSpelling()
    return spelling_of_texts(texts, [*DATED, *DATES], basis)


def spelling_of_texts(texts: Sequence[str], layouts: Sequence[TimeLayout], basis: Basis) -> TimeSpelling | None:
    """How texts write times, by those of the layouts that together read nearly all; None if they read fewer."""
    rest = list(texts)
    used: list[tuple[TimeLayout, list[str]]] = []
    while rest:
        matched = [(one, [text for text in rest if one.strict.fullmatch(text)]) for one in layouts]
        most = max((len(found) for _, found in matched), default=0)
        if most == 0 or (used and most < 2):
            break
        best = [one for one in matched if len(one[1]) == most]
        chosen, found = max(best, key=lambda one: _closeness(one[0], one[1], basis))
        used.append((chosen, found))
        taken = set(found)
        rest = [text for text in rest if text not in taken]
    if not used or len(rest) > (1 - _ALMOST_ALL) * len(texts):
        return None
    points: list[Point] = []
    forms: Counter[str] = Counter()
    for layout, found in used:
        forms.update(_forms(layout, found, basis, points))
    if any(layout.kind == "local" and _lacks_zone(layout, found) for layout, found in used) or any(
        layout.kind in ("no year", "no date") for layout, _ in used
    ):
        points.append(guessed("times have no zone: taken as UTC (set timezone of the format if they are local)"))
    is_plain = all(layout.is_plain for layout, _ in used)
    ordered = tuple(form for form, _ in forms.most_common())
    return TimeSpelling(
        None if is_plain else ordered[0] if len(ordered) == 1 else ordered,
        points=tuple(points),
        timezone=_named_zone(used),
    )


def first_day(moments: Sequence[datetime | None]) -> datetime | None:
    """The earliest of the times."""
    known = [moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment for moment in moments if moment]
    return min(known, default=None)


def is_timely(name: str) -> bool:
    """Whether a name is one that times have."""
    last = name.rpartition(".")[2].strip("@$_")
    return bool(_TIMELY.search(last) or _CAMEL.search(last))


def moment_of(layout: TimeLayout, text: str, basis: Basis) -> datetime | None:
    """The time that a text means by a layout, in UTC if it names no zone; None if it has no date or is none."""
    if layout.pattern is not None:
        digits = re.search(r"\d+(?:\.\d+)?", text)
        units = EPOCHS.get(layout.template)
        return datetime.fromtimestamp(float(digits[0]) / units, UTC) if digits and units else None
    if layout.kind == "no date":
        return None
    bare = _ZONE.sub("", text) if "{z}" in layout.template else text
    bare = _FRACTION.sub("", bare) if "{f}" in layout.template else bare
    year = basis.latest.year
    return next(
        (
            moment
            for form in _orders(layout.template)
            if (moment := _parsed(form, bare, year if layout.kind == "no year" else None)) is not None
        ),
        None,
    )


def _parsed(template: str, text: str, year: int | None) -> datetime | None:
    form = template.replace("{f}", "").replace("{z}", "").replace("%-", "%")
    for ours, python in _PYTHON.items():
        form = form.replace(ours, python)
    text = re.sub(r" [A-Z]{3,5}(?= \d{4}$|$)", "", text) if "%Z" in form else text
    form = form.replace(" %Z", "")
    try:
        moment = datetime.strptime(text if year is None else f"{year} {text}", form if year is None else f"%Y {form}")  # noqa: DTZ007 - it has one below
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _number(name: str, values: Sequence[float]) -> TimeSpelling | None:
    if not is_timely(name):
        return None
    for form, units in EPOCHS.items():
        if all(_EARLIEST * units <= value <= _LATEST * units for value in values):
            return TimeSpelling(form)
    if all(_TICKS[0] <= value <= _TICKS[1] for value in values):
        return TimeSpelling("dotnet_ticks")
    return None


def _orders(template: str) -> list[str]:
    """The template with the month first and with the day first, if its order is open."""
    if "{a}" not in template:
        return [template]
    return [template.replace("{a}", a).replace("{b}", b) for a, b in (("%-m", "%-d"), ("%-d", "%-m"))]


def _closeness(layout: TimeLayout, texts: Sequence[str], basis: Basis) -> tuple[bool, int, float]:
    """How well a layout explains texts that others match, too: all are times, most parts, close to the file's time."""
    moments = [moment_of(layout, text, basis) for text in texts[:50]]
    known = [moment for moment in moments if moment is not None]
    is_valid = len(known) == len(moments) and all(moment <= basis.latest for moment in known)
    if layout.pattern is not None or not known:
        return is_valid, 0, 0.0
    parts = len(re.findall(r"%|\{[ab]\}", layout.template))
    return is_valid, parts, -(abs((basis.latest - max(known)).days) + (max(known) - min(known)).days)


def _forms(layout: TimeLayout, texts: Sequence[str], basis: Basis, points: list[Point]) -> Iterable[str]:
    """The time formats of the texts, one for each."""
    if layout.pattern is not None:
        return [layout.template] * len(texts)
    if layout.is_plain:
        return ["iso"] * len(texts)
    template = _ordered(layout, texts, basis, points)
    for ours, other in (("%e", "%d"), ("%k", "%H")):
        template = template.replace(ours, other)
    return [_filled(template, text) for text in texts]


def _filled(template: str, text: str) -> str:
    """The template with the fraction and the zone that a text has."""
    zone = match[0] if "{z}" in template and (match := _ZONE.search(text)) else ""
    bare = text.removesuffix(zone)
    fraction = next(iter(re.findall(r"([.,])(\d{1,9})(?=$| (?:[A-Z+-]|\d{4}))", bare)[-1:]), None)
    part = "" if fraction is None else fraction[0] + ("%f" if len(fraction[1]) <= 6 else "%n")
    blank = " " if zone.startswith(" ") else ""
    offset = zone if zone.strip() in ("", "Z", "UTC", "GMT") else f"{blank}%z"
    named = match[1] if "%Z" in template and (match := _NAMED.search(text)) and match[1] in NAMED_ZONES else "%Z"
    return template.replace("{f}", part).replace("{z}", offset).replace("%Z", named)


def _ordered(layout: TimeLayout, texts: Sequence[str], basis: Basis, points: list[Point]) -> str:
    """The template with day and month in the order that all texts allow, or else the more plausible one."""
    orders = _orders(layout.template)
    if len(orders) == 1:
        return orders[0]
    numbers = [[int(digit) for digit in re.findall(r"\d+", text)[:2]] for text in texts]
    firsts, seconds = {one[0] for one in numbers}, {one[1] for one in numbers}
    if max(firsts) > 12 or max(seconds) > 12:
        return orders[max(firsts) > 12]
    if len(firsts) != len(seconds) and max(len(firsts), len(seconds)) > 2:  # days change more often than months
        chosen = int(len(firsts) > len(seconds))
        why = "the other number changes less often"
    else:
        ends = [_end(order, texts) for order in orders]
        gaps = [abs((basis.latest - end).days) if end and end <= basis.latest else 1_000_000 for end in ends]
        is_near = basis.modified is not None and min(gaps) < 40 and max(gaps) > 2 * min(gaps)
        chosen = int(gaps[1] < gaps[0]) if is_near else int("." in layout.template)
        why = "this is closer to the time of the file" if is_near else "as usual in this form"
    first, other = (("the month", "the day"), ("the day", "the month"))[chosen]
    form = re.sub(r"\{[fz]\}", "", orders[1 - chosen])
    points.append(
        guessed(
            f'dates such as {texts[0].split()[0].rstrip(",")} start with {first}, {why}; for {other}: --time "{form}"'
        )
    )
    return orders[chosen]


def _end(template: str, texts: Sequence[str]) -> datetime | None:
    bare = [_FRACTION.sub("", _ZONE.sub("", text)) for text in texts]
    return max(filter(None, (_parsed(template, text, None) for text in bare)), default=None)


def _lacks_zone(layout: TimeLayout, texts: Sequence[str]) -> bool:
    return not ("{z}" in layout.template and all(map(_ZONE.search, texts)))


def _named_zone(used: Sequence[tuple[TimeLayout, Sequence[str]]]) -> str | None:
    """The zone that is meant by the names in all texts of a layout with `%Z`; None if they name UTC or several."""
    names = {match[1] for layout, texts in used if "%Z" in layout.template for text in texts
             if (match := _NAMED.search(text))}  # fmt: skip
    zones = {NAMED_ZONES.get(name) for name in names}
    return next(iter(zones)) if len(zones) == 1 and zones != {"UTC"} else None
