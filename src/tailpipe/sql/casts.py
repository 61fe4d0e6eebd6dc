"""Casts: the SQL that turns a value as it was read into a column's type, and distinguishes a misfit from a null.

A misfit is a value that is there and does not fit. DuckDB's own casts are too kind for that: they round
`1.7` to a whole number and drop the offset of a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.types import ColumnType, DecimalType, ListType, ScalarType, StructType, parse_type
from tailpipe.sql.addresses import NETWORK, plain_address
from tailpipe.sql.quoting import json_shape, literal, quoted, text_list, text_type

_INTEGERS = frozenset({"tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"})
_WHOLE = frozenset(map(str.upper, _INTEGERS))
_DATE_PARTS = r"^(\d{4})-?(\d{2})-?(\d{2})[Tt ]"
_DIGITS = r"^((?:19[89]\d|20\d\d)\d{4})(\d{6})"
"""A date and a time with nothing between them."""
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_NO_YEAR = r"^[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?:[.,]\d{1,6})?$"
_YEARS = (315_532_800, 4_102_444_800)
"""The seconds since 1970 that a number may mean: from 1980 up to 2100. Any other number is no time."""
_EPOCHS = tuple((_YEARS[0] * unit, _YEARS[1] * unit) for unit in (1, 1000, 1000_000, 1000_000_000))
_OFFSET = r" ?([Zz]|[+-]\d{2}(?::?\d{2})?)?$"


@frozen
class Cast:
    """A value in its column's stored type, and the condition under which it was a misfit; None if it never is.

    `is_lost` says that the condition is no other than this: there was a value before the cast, and none after.
    """

    value: str
    misfit: str | None = None
    is_lost: bool = False


@frozen
class Clock:
    """The zone of times that name none, UTC if not given; and, as SQL, a date near those that have no year, if any."""

    zone: str | None = None
    near: str | None = None


def cast(value: str, given: str, wanted: ColumnType, clock: Clock = Clock(), depth: int = 0) -> Cast:  # noqa: B008
    """Turn `value`, an expression of the DuckDB type `given`, into the type `wanted`."""
    if given == "JSON" and wanted.name != "json":
        if isinstance(wanted, ListType | StructType):
            return _from_text(value, wanted, clock, depth)
        return cast(f"json_extract_string({value}, '$')", "VARCHAR", wanted, clock, depth)
    if isinstance(wanted, ListType):
        return _list(value, given, wanted, clock, depth)
    if isinstance(wanted, StructType):
        return _struct(value, given, wanted, clock, depth)
    if given.endswith("]") or given.startswith(("STRUCT(", "MAP(", "UNION(")):
        if wanted.name in ("varchar", "json"):
            return Cast(f"to_json({value})::VARCHAR")
        return _checked("NULL", value, wanted)
    return _scalar(value, given, wanted, clock)


def is_whole(kind: ColumnType) -> bool:
    """Whether a whole number casts to the type just as its text would."""
    return kind.name in _INTEGERS or kind.name == "timestamp"


def kind_of(given: str) -> ColumnType:
    """The column type that keeps all of a DuckDB type; text if there is none."""
    known = {"TIMESTAMP WITH TIME ZONE": "timestamp", "TIMESTAMP_NS": "timestamp", "HUGEINT": "varchar"}
    try:
        return parse_type(known.get(given, given))
    except UsageError:  # a type that we have no name for
        return parse_type("varchar")


def _checked(cast_value: str, value: str, wanted: ColumnType) -> Cast:
    typed = cast_value if cast_value != "NULL" else f"NULL::{wanted.stored}"
    return Cast(typed, f"({value} IS NOT NULL AND {typed} IS NULL)", is_lost=True)


def _scalar(value: str, given: str, wanted: ScalarType | DecimalType, clock: Clock) -> Cast:
    is_text = given == "VARCHAR"
    name = wanted.name
    if name == "varchar":
        return Cast(value if is_text else f"{value}::VARCHAR")
    if name == "timestamp":
        return _timestamp(value, given, clock)
    if given == wanted.stored and name in _TYPED:
        return Cast(value)
    plain = f"try_cast({value} AS {wanted.stored})"
    if name in _INTEGERS and given not in _WHOLE and given != "BOOLEAN":
        # `1.7` must not become 2, but `12.0` is a whole number however it is written.
        exact = f"CASE WHEN try_cast({value} AS DOUBLE) % 1 = 0 THEN {plain} END"
        if is_text:
            exact = f"CASE WHEN contains({value}, '.') OR contains(lower({value}), 'e-') THEN {exact} ELSE {plain} END"
        return _checked(exact, value, wanted)
    if name == "json" and is_text:
        return _checked(f"CASE WHEN json_valid({value}) THEN {value} END", value, wanted)
    if name == "json":
        return Cast(f"{value}::VARCHAR" if given == "JSON" else f"to_json({value})::VARCHAR")
    if is_text and (isinstance(wanted, DecimalType) or name in ("float", "double")):
        return _checked(_fraction(value, wanted), value, wanted)
    text = f"{value}::VARCHAR"
    special = {
        "blob": f"encode({value})" if is_text else f"try_cast({value} AS BLOB)",
        "date": f"coalesce(try_cast({value} AS DATE), {_timestamp(value, given, clock).value}::DATE)",
        "interval": f"CASE WHEN try_cast({value} AS INTERVAL) IS NOT NULL THEN {value}::VARCHAR END",
        "uuid": f"try_cast({value} AS UUID)::VARCHAR",
        "inet": f"CASE WHEN regexp_full_match({text}, {literal(NETWORK)}) THEN {plain_address(text)} END",
    }
    return _checked(special.get(name, plain), value, wanted)


_TYPED = frozenset({*_INTEGERS, "boolean", "float", "double", "date", "time", "blob"})


def _fraction(value: str, wanted: ScalarType | DecimalType) -> str:
    """A text as a number that is not rounded to fit, nor endless unless the text says so."""
    plain = f"try_cast({value} AS {wanted.stored})"
    if isinstance(wanted, DecimalType):
        beyond = literal(rf"\.[0-9]{{{wanted.scale}}}[0-9]*[1-9]")
        is_same = f"{plain}::DOUBLE = try_cast({value} AS DOUBLE)"
        return (
            f"CASE WHEN contains(lower({value}), 'e') THEN CASE WHEN {is_same} THEN {plain} END"
            f" WHEN NOT regexp_matches({value}, {beyond}) THEN {plain} END"
        )
    return f"CASE WHEN isfinite({plain}) THEN {plain} WHEN NOT regexp_matches({value}, '[0-9]') THEN {plain} END"


def _timestamp(value: str, given: str, clock: Clock) -> Cast:
    zone = clock.zone
    kind = parse_type("timestamp")
    if given == "TIMESTAMP":
        return Cast(in_zone(value, zone))
    if given == "TIMESTAMP WITH TIME ZONE":
        # Costs a quarter of AT TIME ZONE 'UTC', and means the same.
        return Cast(f"make_timestamp(epoch_us({value}))")
    if given == "DATE" or given.startswith("TIMESTAMP"):
        return Cast(in_zone(f"{value}::TIMESTAMP", zone))
    if given in _WHOLE:
        return _checked(_number(f"try_cast({value} AS BIGINT)", zone), value, kind)
    if given in ("DOUBLE", "FLOAT") or given.startswith("DECIMAL"):
        return _checked(_epoch_fraction(f"{value}::DOUBLE"), value, kind)
    if given != "VARCHAR":
        return _checked("NULL", value, kind)
    number = (
        f"CASE WHEN contains({value}, '.') THEN {_epoch_fraction(f'try_cast({value} AS DOUBLE)')}"
        f" ELSE {_number(f'try_cast({value} AS BIGINT)', zone)} END"
    )
    iso = iso_moment(value, clock)
    # Looking at one character first saves the cast that would fail.
    return _checked(f"CASE WHEN substr({value}, 5, 1) = '-' THEN {iso} ELSE coalesce({number}, {iso}) END", value, kind)


def iso_moment(value: str, clock: Clock) -> str:
    """A text in ISO 8601 as a time; the forms that DuckDB does not read are rewritten for it."""
    long = rf"{_DATE_PARTS}(\d{{2}}):?(\d{{2}}):?(\d{{2}})(?:[.,](\d+))?{_OFFSET}"
    short = rf"{_DATE_PARTS}(\d{{2}}):?(\d{{2}}){_OFFSET}"
    # `\70`: the seventh group, then a nought, so that there is a fraction.
    parted = f"regexp_replace({value}, {literal(_DIGITS)}, '\\1T\\2')"
    respelt = (
        *(f"regexp_replace({text}, {literal(long)}, '\\1-\\2-\\3 \\4:\\5:\\6.\\70\\8')" for text in (value, parted)),
        f"regexp_replace({value}, {literal(short)}, '\\1-\\2-\\3 \\4:\\5:00\\6')",
    )
    forms = [_moment(text, clock.zone) for text in (value, *(f"upper({form})" for form in respelt))]
    if clock.near is not None:
        forms.append(in_zone(_without_year(value, clock.near), clock.zone))
    return f"coalesce({', '.join(forms)})"


def month_day(value: str) -> str:
    """100 · month + day of a time in the old form of syslog, `Dec 10 06:55:46`; null for any other text."""
    month = f"list_position({text_list(_MONTHS)}, left({value}, 3))"
    day = f"try_cast(regexp_extract({value}, '^... +([0-9]+) ', 1) AS INTEGER)"
    # Looking at one character first saves the search that would fail.
    is_old = f"{value}[1] BETWEEN 'A' AND 'Z' AND regexp_matches({value}, {literal(_NO_YEAR)})"
    return f"CASE WHEN {is_old} THEN 100 * {month} + {day} END"


def _without_year(value: str, near: str) -> str:
    """The old form of syslog, in the year that brings it next to a date."""
    text = f"replace(regexp_extract({value}, {literal(_NO_YEAR)}), ',', '.')"
    forms = "['%Y %b %d %H:%M:%S', '%Y %b %d %H:%M:%S.%f']"
    return next_to(near, lambda year: f"try_strptime({year} || ' ' || {text}, {forms})")


def next_to(near: str, in_year: Callable[[str], str]) -> str:
    """The time in the year of a date, in the year before or in the year after: whichever is closest to the date."""
    same, before, after = (in_year(f"(year({near}) + {n})::VARCHAR") for n in (0, -1, 1))
    return (
        f"CASE WHEN {same} > {near} + INTERVAL 184 DAY THEN {before}"
        f" WHEN {same} < {near} - INTERVAL 183 DAY THEN {after} ELSE {same} END"
    )


def _moment(text: str, zone: str | None) -> str:
    moment = f"make_timestamp(epoch_us(try_cast({text} AS TIMESTAMPTZ)))"
    if zone in (None, "UTC"):
        return moment
    naive = in_zone(f"try_cast({text} AS TIMESTAMP)", zone)
    return f"CASE WHEN regexp_matches({text}, ':.*(Z|[+-]\\d\\d(:?\\d\\d)?|[A-Z]+)$') THEN {moment} ELSE {naive} END"


def in_zone(naive: str, zone: str | None) -> str:
    """A time without a zone, in UTC, if it is one of that zone."""
    if zone in (None, "UTC"):
        return naive
    return f"make_timestamp(epoch_us(timezone({literal(zone)}, {naive})))"


def _number(number: str, zone: str | None) -> str:
    """A whole number as a time: by its size, seconds to nanoseconds since 1970, or the digits of a date and a time.

    No two ranges overlap; any other number is no time.
    """
    scales = ("* 1000000", "* 1000", "", "// 1000")
    spans = zip(_EPOCHS, scales, strict=True)
    branches = [f"WHEN {_within(number, *span)} THEN make_timestamp({number} {scale})" for span, scale in spans]
    for count, form in ((8, "%Y%m%d"), (12, "%Y%m%d%H%M"), (14, "%Y%m%d%H%M%S")):
        span = (1980 * 10 ** (count - 4), 2100 * 10 ** (count - 4))
        date = f"try_strptime({number}::VARCHAR, {literal(form)})"
        branches.append(f"WHEN {_within(number, *span)} THEN {in_zone(date, zone)}")
    return f"CASE {' '.join(branches)} END"


def _within(number: str, first: int, last: int) -> str:
    return f"{number} >= {first} AND {number} < {last}"


def _epoch_fraction(number: str) -> str:
    spans = zip(_EPOCHS, ("1e6", "1e3", "1", "1e-3"), strict=True)
    scale = " ".join(f"WHEN {_within(number, first, last)} THEN {scale}" for (first, last), scale in spans)
    return f"make_timestamp(try_cast({number} * CASE {scale} END AS BIGINT))"


def _list(value: str, given: str, wanted: ListType, clock: Clock, depth: int) -> Cast:
    if given == "VARCHAR":
        return _from_text(value, wanted, clock, depth)
    if not given.endswith("]"):
        return _checked("NULL", value, wanted)
    item = f"_x{depth}"
    inner = cast(item, given[: given.rindex("[")], wanted.element, clock, depth + 1)
    made = value if inner.value == item else f"list_transform({value}, lambda {item}: {inner.value})"
    if inner.misfit is None:
        return Cast(made)
    return Cast(made, f"(len(list_filter({value}, lambda {item}: {inner.misfit})) > 0)")


def _struct(value: str, given: str, wanted: StructType, clock: Clock, depth: int) -> Cast:
    if given == "VARCHAR":
        return _from_text(value, wanted, clock, depth)
    if not given.startswith("STRUCT("):
        return _checked("NULL", value, wanted)
    have = _struct_fields(given)
    parts, misfits, free = [], [], []
    for name, kind in wanted.fields:
        # A value of JSON may spell its fields in camel case.
        spelt = next((key for key in (name.lower(), name.lower().replace("_", "")) if key in have), None)
        if spelt is None:
            parts.append(f"{quoted(name)} := NULL::{kind.stored}")
            continue
        part = f"struct_extract({value}, {literal(spelt)})"
        inner = cast(part, have[spelt], kind, clock, depth)
        parts.append(f"{quoted(name)} := {inner.value}")
        # Text stays as it is, and JSON is text already: then the whole struct needs no taking apart.
        free += [name.lower()] if inner.value in (part, f"{part}::VARCHAR") else []
        misfits += [inner.misfit] if inner.misfit else []
    if not misfits and free == [name.lower() for name in have]:
        return Cast(f"{value}::{wanted.stored}")
    made = f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"
    return Cast(made, "(" + " OR ".join(misfits) + ")" if misfits else None)


def _from_text(value: str, wanted: ListType | StructType, clock: Clock, depth: int) -> Cast:
    """JSON text → the nested value; text of another shape is a misfit as a whole."""
    shape = "ARRAY" if isinstance(wanted, ListType) else "OBJECT"
    fits = f"TRY(json_type({value})) = '{shape}'"
    read = f"(CASE WHEN {fits} THEN TRY(from_json({value}, {literal(json.dumps(json_shape(wanted)))})) END)"
    inner = cast(read, text_type(wanted), wanted, clock, depth)
    other = f"({value} IS NOT NULL AND ({fits}) IS NOT TRUE AND TRY(json_type({value})) IS DISTINCT FROM 'NULL')"
    return Cast(inner.value, f"({other} OR {inner.misfit})" if inner.misfit else other)


def _struct_fields(given: str) -> dict[str, str]:
    """The fields of a struct type as DuckDB spells it, by lower-case name."""
    body, fields, depth, start, in_quotes = given[len("STRUCT(") : -1], [], 0, 0, False
    for place, character in enumerate(body):
        if character == '"':
            in_quotes = not in_quotes
        elif not in_quotes:
            depth += (character == "(") - (character == ")")
            if character == "," and depth == 0:
                fields.append(body[start:place])
                start = place + 1
    fields.append(body[start:])
    found = {}
    for field in fields:
        field = field.strip()
        if field.startswith('"'):
            end = 1
            while field[end] != '"' or field[end : end + 2] == '""':
                end += 2 if field[end] == '"' else 1
            name, kind = field[1:end].replace('""', '"'), field[end + 1 :]
        else:
            name, _, kind = field.partition(" ")
        found[name.lower()] = kind.strip()
    return found
