"""Times that are written in a way of their own, by the formats that a column names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tailpipe.model.times import EPOCHS, ISO, lacks_year, listed_formats
from tailpipe.model.types import ColumnType
from tailpipe.sql.casts import Cast, Clock, cast, in_zone, iso_moment, month_day, next_to
from tailpipe.sql.quoting import literal

_ZONED = re.compile(r"(?<!%)(?:%%)*%[zZ]")
_NAMED = {
    "dotnet_date": "make_timestamp(try_cast(regexp_extract({}, '-?[0-9]+') AS BIGINT) * 1000)",
    "dotnet_ticks": "make_timestamp((try_cast({} AS BIGINT) - 621355968000000000) // 10)",
    # Daemontools counts ten seconds ahead of Unix, and knows no leap seconds.
    "tai64n": (
        "CASE WHEN regexp_full_match({}, '@?[0-9a-fA-F]{24}') THEN make_timestamp((("
        "('0x' || right({}, 24)[:16])::BIGINT - 4611686018427387914) * 1000000"
        " + ('0x' || right({}, 8))::BIGINT // 1000)::BIGINT) END"
    ),
}
"""Times that no directives can write, as SQL; `{}` is the text."""
_SECONDS = 253_402_300_800
"""The first second of the year 10000."""


def cast_by_format(value: str, given: str, wanted: ColumnType, clock: Clock, formats: str | Sequence[str]) -> Cast:
    """A text or number as a time, by the first of the formats that reads it; a time stays what it is."""
    if given.startswith(("TIMESTAMP", "DATE", "STRUCT(")) or given.endswith("]"):
        return cast(value, given, wanted, clock)
    text = f"json_extract_string({value}, '$')" if given == "JSON" else value
    text = text if given in ("VARCHAR", "JSON") else f"({text})::VARCHAR"
    forms = [_moment(text, form, clock) for form in listed_formats(formats)]
    moment = forms[0] if len(forms) == 1 else f"coalesce({', '.join(forms)})"
    made = moment if wanted.name == "timestamp" else f"({moment})::{wanted.stored}"
    return Cast(made, f"({value} IS NOT NULL AND {made} IS NULL)", is_lost=True)


def _moment(text: str, form: str, clock: Clock) -> str:
    if form == ISO:
        return iso_moment(text, clock)
    if form in EPOCHS:
        return _since_1970(text, EPOCHS[form])
    if form in _NAMED:
        moment = _NAMED[form].replace("{}", text)
        return in_zone(moment, clock.zone) if form == "dotnet_ticks" else moment
    if lacks_year(form):
        return in_zone(_without_year(text, form, clock.near), clock.zone)
    moment = _parsed(text, form)
    # With a zone DuckDB gives a time with a zone, which is in UTC then.
    return f"make_timestamp(epoch_us({moment}))" if _ZONED.search(form) else in_zone(moment, clock.zone)


def month_day_by(text: str, formats: str | Sequence[str] | None) -> str:
    """100 · month + day of a text that is a time without a year; null for any other text."""
    given = listed_formats(formats)
    found = [month_day(text)] if ISO in given else []
    for form in filter(lacks_year, given):
        day = _parsed(f"'2000 ' || {text}", f"%Y {form}")
        found.append(f"100 * month({day}) + day({day})")
    return found[0] if len(found) == 1 else f"coalesce({', '.join(found)})"


def _without_year(text: str, form: str, near: str | None) -> str:
    """A time in the year that brings it next to a date; null if that is not known."""
    if near is None:
        return "NULL::TIMESTAMP"
    return next_to(near, lambda year: _parsed(f"{year} || ' ' || {text}", f"%Y {form}"))


def _parsed(text: str, form: str) -> str:
    """A text as a time; nanoseconds have no years after 2262, and other formats of a list would be cast to them."""
    parsed = f"try_strptime({text}, {literal(form)})"
    return f"{parsed}::TIMESTAMP" if "%n" in form else parsed


def _since_1970(text: str, units: int) -> str:
    """A number of units; one with a fraction is as exact as a microsecond."""
    whole, fraction = f"try_cast({text} AS BIGINT)", f"try_cast({text} AS DOUBLE)"
    limit = _SECONDS * units
    scaled = f"{whole} * {1_000_000 // units}" if units <= 1_000_000 else f"{whole} // {units // 1_000_000}"
    exact = f"CASE WHEN {whole} > {-limit} AND {whole} < {limit} THEN make_timestamp({scaled}) END"
    near = f"make_timestamp(round({fraction} * {1_000_000 / units})::BIGINT)"
    parted = f"CASE WHEN {fraction} > {-limit} AND {fraction} < {limit} THEN {near} END"
    return f"CASE WHEN contains({text}, '.') OR contains(lower({text}), 'e') THEN {parted} ELSE {exact} END"
