"""Parameters of queries: where SQL names them as `$name`, the types they may have, and the values that fit."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.names import check_name
from tailpipe.model.option import Declared, label, option
from tailpipe.model.types import DecimalType, parse_type
from tailpipe.model.visible import shorten
from tailpipe.model.window import parse_moment

if TYPE_CHECKING:
    from decimal import Decimal

_BITS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
_WHOLE = {
    **{name: range(-(1 << bits - 1), 1 << bits - 1) for name, bits in _BITS.items()},
    **{f"u{name}": range(1 << bits) for name, bits in _BITS.items()},
}
"""The whole numbers that each type can hold."""
_SCALARS = ("boolean", *_WHOLE, "float", "double", "varchar", "date", "timestamp", "uuid", "inet")
PARAMETER_TYPES = (*_SCALARS, "decimal(p,s)")
"""The types that a parameter can have: those whose values can be written as one word or text."""
_WHOLE_TEXT = re.compile(r"[+-]?[0-9]{1,30}")
_NUMBER_TEXT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_SHOWN = 60
_SILENT = re.compile(
    r"(?:(?<![\w$])[eE])'(?:[^'\\]|\\.|'')*'"
    r"|'(?:[^']|'')*'"
    r'|"(?:[^"]|"")*"'
    r"|--[^\n\r]*"
    r"|/\*"
    r"|\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$"
    r"|[^\W\d][\w$]*"  # a name may hold a dollar
    r'|\$(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<number>\d+)|(?P<name>[^\W\d]\w*))',
    re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")


@frozen
class Named:
    """A parameter as SQL names it, from `start` to `end` in the text."""

    name: str
    start: int
    end: int


def names_in(sql: str) -> list[Named]:
    """All parameters that a statement names, in order, by DuckDB's rules for quotes, comments and names.

    For those who cannot ask DuckDB, because loading it takes longer than reading a config.
    """
    found: list[Named] = []
    position = 0
    while match := _SILENT.search(sql, position):
        position = match.end()
        if match[0] == "/*":
            position = _end_of_comment(sql, position)
        elif name := match["quoted"] or match["number"] or match["name"]:
            found.append(Named(name.replace('""', '"'), match.start(), match.end()))
    return found


def _end_of_comment(sql: str, position: int) -> int:
    """Where a comment ends, which may hold others."""
    depth = 1
    while depth:
        match = _COMMENT.search(sql, position)
        if match is None:
            return len(sql)
        depth += 1 if match[0] == "/*" else -1
        position = match.end()
    return position


def check_parameter_type(text: str) -> None:
    """Refuse a type that no parameter can have."""
    kind = parse_type(text)
    if not isinstance(kind, DecimalType) and kind.name not in _SCALARS:
        raise UsageError(f"a parameter cannot be {kind.name}", hint="the types are: " + ", ".join(PARAMETER_TYPES))


def value_of(name: str, type_: str, given: Any, *, now: datetime) -> Any:
    """A value as DuckDB's Python takes it for that type: text is read, other values must be of the type already.

    Times are read as `--from` reads them, relative ones such as `T-7d` counted from `now`. Null fits every type.
    """
    if given is None:
        return None
    kind = parse_type(type_)
    try:
        if isinstance(kind, DecimalType):
            return _decimal(given, kind)
        return _scalar(kind.name, given, now)
    except (ValueError, LookupError, ArithmeticError, UsageError):
        shown = f'"{shorten(given, _SHOWN)}"' if isinstance(given, str) else repr(given)[:_SHOWN]
        raise UsageError(f'the parameter "{name}" must be {kind.name}, not {shown}', hint=_hint(kind.name)) from None


def _scalar(kind: str, given: Any, now: datetime) -> Any:
    if kind == "boolean":
        return given if isinstance(given, bool) else {"true": True, "false": False}[_text(given).lower()]
    if kind in _WHOLE:
        given = int(given) if isinstance(given, str) and _WHOLE_TEXT.fullmatch(given) else given
        if isinstance(given, bool) or not isinstance(given, int) or given not in _WHOLE[kind]:
            raise ValueError("not an integer, or too large")
        return given
    if kind in ("float", "double"):
        return float(_number(given))
    if kind in ("date", "timestamp"):
        given = parse_moment(given, now=now) if isinstance(given, str) else given
        if not isinstance(given, date if kind == "date" else datetime):
            raise ValueError("no date or time")
        return given.date() if kind == "date" and isinstance(given, datetime) else given
    if kind == "uuid":
        from uuid import UUID  # few have one

        return given if isinstance(given, UUID) else UUID(_text(given))
    if kind == "inet":
        from ipaddress import ip_interface

        ip_interface(_text(given))
    return _text(given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError("no text")
    return given


def _number(given: Any, *others: type) -> Any:
    is_number = isinstance(given, (str, int, float, *others)) and not isinstance(given, bool)
    if not is_number or (isinstance(given, str) and not _NUMBER_TEXT.fullmatch(given)):
        raise ValueError("no number")
    return given


def _decimal(given: Any, kind: DecimalType) -> Decimal:
    from decimal import Decimal  # few have one

    text = str(_number(given, Decimal))
    if not _NUMBER_TEXT.fullmatch(text):
        raise ValueError("no number")
    value = Decimal(text)
    if value != round(value, kind.scale) or abs(value) >= Decimal(10) ** (kind.precision - kind.scale):
        raise ValueError("too many digits")
    return value


def _hint(kind: str) -> str:
    if kind in _WHOLE:
        return f"write an integer from {_WHOLE[kind].start} to {_WHOLE[kind].stop - 1}"
    time = "write 2024-01-31, 2024-01-31T10:00:00Z or T-7d"
    network = "write an address or a network, such as 203.0.113.0/24"
    return {"boolean": "write true or false", "date": time, "timestamp": time, "inet": network}.get(kind, "")


class Parameter(Declared):
    """A value that a saved query is given when it is run; SQL names it `$name`."""

    name: str = label("Name of the parameter, as SQL has it behind the `$`.", check=check_name)
    type: str = option("Type of the value.", default="varchar", check=check_parameter_type)
    default: str | bool | int | float | None = option(
        "Value if none is given; without a default, one must be given.", default=None
    )
    description: str | None = option("What the parameter means, in a sentence.", default=None)

    def value(self, given: Any, *, now: datetime) -> Any:
        """The value to bind."""
        return value_of(self.name, self.type, given, now=now)
