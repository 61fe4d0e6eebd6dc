"""Columns: a typed column for each field that a format finds, where the time comes from, and the common columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.infer.choices import Choices
from tailpipe.infer.free_text import LEVELS
from tailpipe.infer.plausible import is_address, is_host
from tailpipe.infer.point import Point, guessed, sure
from tailpipe.infer.time_layouts import DATES
from tailpipe.infer.times import Basis, TimeSpelling, is_timely, spelling_of, spelling_of_texts
from tailpipe.model.table import Column
from tailpipe.sql.quoting import quoted

_NO_VALUE = "-"
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ID = re.compile(r"(?:^|.*[_.-])(?:id|account|phone|zip|serial|key)|.*[a-z](?:Id|ID)")
_WHOLE = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_MOST_DIGITS = 15
"""Longer numbers are names of things: nobody adds them up."""
_DYNAMIC = re.compile(r".*(?:[0-9a-fA-F]{12,}|\d{6,}).*|.{80,}|(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w+/=-]{20,}")
"""Keys that are data themselves."""
_MOST_COLUMNS = 300
_MOST_TIMES = 4
_SOURCE = re.compile(
    r"(?:^|_|\b)(?:client|src|source|remote|peer|caller|from|sender|actor|c)_?(?:ip|addr|address)?", re.I
)
_USER = re.compile(r"(?:^|_)(?:user|username|user_name|login|account_name|remote_user|acct|usr)$", re.IGNORECASE)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[a-zA-Z]{2,}")
_BEST_NAMES = ("timestamp", "time", "ts", "datetime", "eventtime", "event_time", "date", "created_at", "t")
_CLOCK = re.compile(r"\d\d:\d\d:\d\d(?:[.,]\d+)?")
_CLOCK_IN_SECONDS = re.compile(r"\d\d:\d\d:\d\d")
_PATH_DATE = r"(20\d\d)[-_./]?(0[1-9]|1[0-2])[-_./]?(0[1-9]|[12]\d|3[01])(?:[^0-9/][^/]*)?$"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


_NAMED_COMMON: tuple[tuple[str, tuple[str, ...], Callable[[str], object]], ...] = (
    (
        "tp_level",
        ("level", "severity", "loglevel", "levelname", "severitytext", "lvl", "l"),
        re.compile(rf"\s*(?i:{LEVELS}|[tdiwefvc])\s*").fullmatch,
    ),
    (
        "tp_message",
        ("message", "msg", "m", "shortmessage", "renderedmessage", "textpayload", "body", "event"),
        str.strip,
    ),
    ("tp_host", ("host", "hostname"), is_host),
)
"""Common columns, the names of fields that fill them, the best first, and what their values are."""


@frozen
class Described:
    """The columns and common columns of a table, and what is to say of them."""

    columns: tuple[Column, ...]
    common: Mapping[str, str | tuple[str, ...]]
    null_if: str | None
    points: tuple[Point, ...]


@frozen
class _Time:
    """A field that holds times: its name or path, and how it writes them."""

    path: str
    spelling: TimeSpelling
    missing: int


def describe(
    fields: Mapping[str, Sequence[Any]],
    rows: int,
    basis: Basis,
    choices: Choices = Choices(),  # noqa: B008
    *,
    is_json: bool = False,
    is_utc: bool = False,
    path: str = "",
) -> Described:
    """Columns for the fields; the values of each are those of the rows, in order.

    If the format gives times that it has read itself, they are `is_utc` although they name no zone. `path` is that of
    the file, which may have the date of times without one.
    """
    null_if = None if is_json else _null_text(fields)
    given = {name: [None if value == null_if else value for value in values] for name, values in fields.items()}
    given = {name: values for name, values in given.items() if not _is_renamed(name, given)}
    times = _chosen(_times(given, basis), given, choices)
    points: list[Point] = []
    columns: list[Column] = []
    for name, values in list(given.items())[:_MOST_COLUMNS]:
        if _DYNAMIC.fullmatch(name) or name.lower().startswith("tp_") or all(value is None for value in values):
            continue
        others = {other.lower() for other in given if other != name} | {column.name.lower() for column in columns}
        columns.append(_column(name, values, times.get(name), points, others))
    ids = [one.name for one in columns if one.type == "bigint" and _ID.fullmatch(one.name)]
    if ids:
        statement = f"{_listed(ids)} {'is a number' if len(ids) == 1 else 'are numbers'}"
        points.append(guessed(f"{statement}; use varchar if letters or leading zeros can occur"))
    common: dict[str, str | tuple[str, ...]] = {}
    if (several := _several_times(times, rows)) is not None:
        common["tp_timestamp"] = tuple(times[name].path for name in several)
        points.append(guessed(f"time: the first of {_listed(several)} that a row has"))
    elif (time := _time_column(given, times, rows, basis, points, is_utc=is_utc)) is not None or (
        time := _clock_column(given, path, points)
    ) is not None:
        columns.insert(0, time)
    common |= _common(given, points)
    if null_if is not None:
        points.append(sure(f'"{null_if}" means no value'))
    return Described(tuple(columns), common, null_if, tuple(points))


def _is_renamed(name: str, fields: Mapping[str, object]) -> bool:
    """Whether a name is not that of the field, because another field differs in case alone."""
    return name.endswith("_2") and any(other.lower() == name[:-2].lower() for other in fields)


def _null_text(fields: Mapping[str, Sequence[Any]]) -> str | None:
    return _NO_VALUE if any(value == _NO_VALUE for values in fields.values() for value in values) else None


def _column(
    name: str, values: Sequence[Any], time: _Time | None, points: list[Point], others: Collection[str]
) -> Column:
    spelled = name if _BARE.fullmatch(name) else _snake(name)
    while spelled != name and spelled.lower() in others:
        spelled += "_"
    source = None if spelled == name else f'"{name}"' if '"' not in name else name
    if time is not None:
        return Column(spelled, "timestamp", source=source, time_format=time.spelling.time_format)
    return Column(spelled, _type(name, [value for value in values if value is not None], points), source=source)


def _snake(name: str) -> str:
    words = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()
    return words if words[:1].isalpha() else f"_{words}"


def _type(name: str, values: Sequence[Any], points: list[Point]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return _whole(name, [str(value) for value in values], points)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return "double"
    texts = [str(value) for value in values]
    if all(text in ("true", "false", "True", "False") for text in texts):
        return "boolean"
    if all(map(_WHOLE.fullmatch, texts)):
        return _whole(name, texts, points)
    if all(map(_NUMBER.fullmatch, texts)):
        return "double"
    if all(text[:1] in ("{", "[") and text[-1:] in ("}", "]") for text in texts):
        return "json"
    return "varchar"


def _whole(name: str, texts: Sequence[str], points: list[Point]) -> str:
    has_zeros = any(len(text) > 1 and text.lstrip("-").startswith("0") for text in texts)
    is_long = any(len(text) > _MOST_DIGITS for text in texts)
    if has_zeros or is_long:
        why = "has leading zeros" if has_zeros else f"has more than {_MOST_DIGITS} digits"
        points.append(guessed(f"{name} is text, because it {why}"))
        return "varchar"
    return "bigint"


def _times(fields: Mapping[str, Sequence[Any]], basis: Basis) -> dict[str, _Time]:
    found = {}
    for name, values in fields.items():
        spelling = spelling_of(name, values, basis)
        if spelling is not None:
            found[name] = _Time(_step(name), spelling, sum(value is None for value in values))
    return found


def _chosen(times: Mapping[str, _Time], fields: Mapping[str, Sequence[Any]], choices: Choices) -> Mapping[str, _Time]:
    """The times, or the one that the user has named by its field or its format."""
    if choices.time_field is not None:
        name = choices.time_field
        if name not in fields and name.partition(".")[0] not in fields:
            raise UsageError(f'there is no field "{name}"', hint=f"there are: {_listed(list(fields))}")
        return {name: times.get(name, _Time(name, TimeSpelling(), 0))}
    form = choices.time_format
    if form is None:
        return times
    layout = choices.layout
    fitting = [
        name
        for name, values in fields.items()
        if any(value is not None for value in values)
        and all(value is None or layout is None or layout.strict.fullmatch(str(value).strip()) for value in values)
        and (layout is not None or is_timely(name))
    ]
    if not fitting:
        raise UsageError(f'no field holds times such as "{form}"', hint=f"there are: {_listed(list(fields))}")
    name = fitting[0]
    return {name: _Time(_step(name), TimeSpelling(form), sum(value is None for value in fields[name]))}


def _time_column(
    fields: Mapping[str, Sequence[Any]],
    times: Mapping[str, _Time],
    rows: int,
    basis: Basis,
    points: list[Point],
    *,
    is_utc: bool,
) -> Column | None:
    """Where `tp_timestamp` comes from; None if the table has no time of its own."""
    if pair := _date_and_clock(fields, basis, points):
        date, clock, form = pair
        points.append(sure(f"time: {date} and {clock} together"))
        points.append(guessed("times have no zone: taken as UTC (set timezone of the format if they are local)"))
        both = f"{_quoted(date)} || ' ' || {_quoted(clock)}"
        return Column("tp_timestamp", transform=both if form is None else f"strptime({both}, '{form} %H:%M:%S')")
    inner = {} if times else _inner_times(fields, basis)
    chosen = min((times or inner).items(), key=lambda one: _rank(one[0], one[1], rows), default=None)
    if chosen is None:
        return None
    name, time = chosen
    others = [other for other in (times or inner) if other != name]
    if others:
        points.append(guessed(f"time: {name}; {_listed(others)} also {'holds' if len(others) == 1 else 'hold'} times"))
    else:
        points.append(sure(f"time: {name}, in {rows - time.missing:,} of {rows:,} rows"))
    points.extend(() if is_utc else time.spelling.points)
    return Column("tp_timestamp", source=time.path, time_format=time.spelling.time_format)


def _several_times(times: Mapping[str, _Time], rows: int) -> list[str] | None:
    """Times of which each row has some other, the best first; None if one field is enough."""
    ranked = sorted(times, key=lambda name: _rank(name, times[name], rows))
    if len(ranked) < 2 or times[ranked[0]].missing <= 0.1 * rows:
        return None
    return [name for name in ranked if times[name].spelling.time_format is None][:_MOST_TIMES] or None


def _rank(name: str, time: _Time, rows: int) -> tuple[int, int, bool, int]:
    """The best first: one that all rows have, or nearly all, with the most usual name."""
    last = name.rpartition(".")[2].strip("@_$").lower()
    place = _BEST_NAMES.index(last) if last in _BEST_NAMES else len(_BEST_NAMES)
    return round(10 * time.missing / max(1, rows)), place, not is_timely(name), name.count(".")


def _date_and_clock(
    fields: Mapping[str, Sequence[Any]], basis: Basis, points: list[Point]
) -> tuple[str, str, str | None] | None:
    """Two fields, one with the date and one with the time of day, and the form of the date if that is not ISO."""
    clocks = [name for name, values in fields.items() if _all(_CLOCK, values)]
    if len(clocks) != 1:
        return None
    dates: list[tuple[str, TimeSpelling | None]] = [(name, None) for name in fields if _all(_DATE, fields[name])]
    if not dates and _all(_CLOCK_IN_SECONDS, fields[clocks[0]]):
        texts = {name: [str(one) for one in values if one not in (None, "")] for name, values in fields.items()}
        dates = [
            (name, spelling)
            for name, given in texts.items()
            if given and (spelling := spelling_of_texts(given, DATES, basis)) and isinstance(spelling.time_format, str)
        ]
    if len(dates) != 1:
        return None
    name, spelling = dates[0]
    points.extend(() if spelling is None else [one for one in spelling.points if "zone" not in one.text])
    return name, clocks[0], None if spelling is None else str(spelling.time_format)


def _clock_column(fields: Mapping[str, Sequence[Any]], path: str, points: list[Point]) -> Column | None:
    """The time of day with the date in the path of the file; None without either."""
    clocks = [name for name, values in fields.items() if _all(_CLOCK, values)]
    if not clocks:
        return None
    if not re.search(_PATH_DATE, path):
        points.append(guessed(f"{clocks[0]} has no date, and neither has the name of the file"))
        return None
    points.append(guessed(f"time: {clocks[0]}, on the date in the name of the file; taken as UTC"))
    date = f"regexp_extract(tp_source_location, '{_PATH_DATE}', ['y', 'm', 'd'])"
    day = " || '-' || ".join(f"{date}.{part}" for part in "ymd")
    return Column("tp_timestamp", transform=f"{day} || ' ' || replace({_quoted(clocks[0])}, ',', '.')")


def _all(pattern: re.Pattern[str], values: Sequence[Any]) -> bool:
    texts = [str(value) for value in values if value is not None]
    return bool(texts) and all(map(pattern.fullmatch, texts))


def _inner_values(fields: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """The values inside objects, by their paths."""
    import json

    values: dict[str, list[Any]] = {}
    for name, texts in fields.items():
        if not all(text is None or str(text)[:1] == "{" for text in texts) or all(text is None for text in texts):
            continue
        try:
            objects = [json.loads(text) for text in texts if text is not None]
        except ValueError:  # text in braces
            continue
        for one in objects:
            _gather(one, _step(name), values, 0)
    return values


def _inner_times(fields: Mapping[str, Sequence[Any]], basis: Basis) -> dict[str, _Time]:
    """Times inside objects, by their paths."""
    found = {}
    for path, given in _inner_values(fields).items():
        spelling = spelling_of(path.replace('"', ""), given, basis)
        if spelling is not None and is_timely(path.replace('"', "")):
            rows = max(len(one) for one in fields.values())
            found[path] = _Time(path, spelling, rows - len([one for one in given if one is not None]))
    return found


def _gather(value: Any, path: str, found: dict[str, list[Any]], depth: int) -> None:
    if isinstance(value, dict) and depth < 3:
        for key, inner in value.items():
            _gather(inner, f"{path}.{_step(key)}", found, depth + 1)
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and depth:
        found.setdefault(path, []).append(value)


def _step(key: str) -> str:
    return key if _BARE.fullmatch(key) else quoted(key)


def _common(fields: Mapping[str, Sequence[Any]], points: list[Point]) -> dict[str, tuple[str, ...]]:
    addresses = [name for name, values in fields.items() if _mostly(is_address, values)]
    emails = [name for name, values in fields.items() if _mostly(lambda text: bool(_EMAIL.fullmatch(text)), values)]
    users = [name for name, values in fields.items() if _USER.search(name) and _mostly(_is_word, values)]
    found: dict[str, tuple[str, ...]] = {}
    named = {_step(name): values for name, values in fields.items()} | _inner_values(fields)
    for common, names, is_one in _NAMED_COMMON:
        holding = [
            (names.index(_last(path)), path.count("."), path)
            for path, values in named.items()
            if _last(path) in names and _nearly_all(is_one, values)
        ]
        if holding and sorted(holding)[0][:2] not in [one[:2] for one in sorted(holding)[1:]]:
            found[common] = (min(holding)[2],)
    if addresses:
        found["tp_ips"] = tuple(map(_step, addresses))
        likely = [name for name in addresses if _SOURCE.search(name)]
        source = likely[0] if likely else addresses[0] if len(addresses) == 1 else None
        if source is not None:
            found["tp_source_ip"] = (_step(source),)
            points.append(guessed(f"tp_source_ip: {source}"))
    if users:
        found["tp_usernames"] = tuple(map(_step, users))
    if emails:
        found["tp_emails"] = tuple(map(_step, emails))
    return found


def _last(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.rpartition(".")[2].lower())


def _nearly_all(test: Callable[[str], object], values: Sequence[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str) and value]
    return bool(texts) and sum(map(bool, map(test, texts))) >= 0.95 * len(texts)


def _mostly(test: Any, values: Sequence[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str) and value]
    return (
        bool(texts)
        and len(texts) == sum(value is not None and value != "" for value in values)
        and all(map(test, texts))
    )


def _is_word(text: str) -> bool:
    return text[0] not in "{["


def _quoted(name: str) -> str:
    """The name of a field in SQL; a key of a log can be anything."""
    return name if _BARE.fullmatch(name) and name.lower() not in ("date", "time", "timestamp") else quoted(name)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
