"""The formats that belong to no product, for tables of any plugin: how each kind of text becomes named fields."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tailpipe.errors import UsageError
from tailpipe.model.format import Format
from tailpipe.model.option import Declared, nested, option

__all__ = [
    "FORMATS",
    "PRESETS",
    "Delimited",
    "Grok",
    "Json",
    "Jsonl",
    "Logfmt",
    "Multiline",
    "Parquet",
    "Regex",
    "Syslog",
]

_MEGABYTE = 1024 * 1024


def _check_regex(text: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about `[[:alpha:]]`, which means something to DuckDB
            return re.compile(text)
    except (re.error, OverflowError) as error:
        raise UsageError(f"not a regular expression: {error}") from None
    except RecursionError:
        raise UsageError("not a regular expression: it is nested too deep") from None


def _check_layout(text: str) -> None:
    compiled = _check_regex(text)
    if compiled.groups and not compiled.groupindex:
        raise UsageError("the groups have no names", hint="write (?P<name>…)")
    if not compiled.groupindex:
        raise UsageError("the layout has no named group, so no field", hint="write (?P<name>…)")


def _check_grok(text: str) -> None:
    if not re.search(r"%\{\w+:[^}]+\}|\(\?P?<\w+>", text):
        raise UsageError("the layout has no named pattern, so no field", hint="write %{PATTERN:name}")


def _check_timezone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise UsageError(f'there is no time zone "{name}"', hint="use a name such as Europe/Berlin") from None


def _check_size(value: int) -> None:
    if value <= 0:
        raise UsageError("a size must be above 0")


def _check_text(text: str) -> None:
    if not text or "\n" in text:
        raise UsageError("one character or more is expected, on one line")


def _check_character(text: str) -> None:
    if len(text) > 1:
        raise UsageError("a single character is expected, or none")


def _check_count(value: int) -> None:
    if value < 0:
        raise UsageError("a count cannot be below 0")


def _check_fields(names: Sequence[str]) -> None:
    if not all(names):
        raise UsageError("a field needs a name")
    taken: set[str] = set()
    for name in names:
        if name.lower() in taken:  # DuckDB does not tell cases apart
            raise UsageError(f'the field "{name}" is there twice')
        taken.add(name.lower())


def _timezone() -> str | None:
    zone: str | None = option(
        "Time zone of times that do not name one, such as `Europe/Berlin`; UTC if not given.",
        default=None,
        check=_check_timezone,
    )
    return zone


def _encoding() -> Literal["utf-8", "utf-16", "latin-1"]:
    encoding: Literal["utf-8", "utf-16", "latin-1"] = option(
        "Encoding of the text: `utf-8`, `utf-16` or `latin-1`.", default="utf-8"
    )
    return encoding


class Multiline(Declared):
    """How lines are joined to events, such as a message and its stack trace."""

    start: str = option("Regular expression that the first line of an event matches.", check=_check_regex)


class Jsonl(Format):
    """One JSON object in each line."""

    type = "jsonl"
    field_map: Mapping[str, str] = option("New names for fields: field = name.", default={})
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()


class Json(Format):
    """JSON documents that hold many records each."""

    type = "json"
    records: str | None = option(
        "Path to the array of records in the document, such as `Records`; the document itself if not given.",
        default=None,
    )
    max_document_bytes: int = option(
        "Size above which a document is refused, in bytes.", default=1024 * _MEGABYTE, check=_check_size
    )
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()


class Delimited(Format):
    """Lines of values with something between them, such as CSV."""

    type = "delimited"
    delimiter: str = option(
        "What stands between values: any text, or `\\s+` for any run of blanks.", default=",", check=_check_text
    )
    header: bool | None = option(
        "Whether the first line names the fields; found out from the text if not given.", default=None
    )
    fields: Sequence[str] = option(
        "Names of the fields, in order; wins over a header.", default=(), check=_check_fields
    )
    quote: str = option(
        "Character around values that hold the delimiter; empty for none.", default='"', check=_check_character
    )
    escape: str = option("Character before a quote inside quotes.", default='"', check=_check_character)
    null_if: Sequence[str] = option("Texts that mean null.", default=("",))
    comment: str | None = option("Lines that begin with this are left out.", default=None, check=_check_text)
    skip_lines: int = option("How many lines at the top of each artifact are left out.", default=0, check=_check_count)
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()


class Regex(Format):
    """Lines taken apart by a regular expression with named groups."""

    type = "regex"
    layout: str = option("Regular expression; each group `(?P<name>…)` is a field.", check=_check_layout)
    multiline: Multiline | None = nested("How lines are joined to events.", block="multiline", default=None)
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()


class Grok(Format):
    """Lines taken apart by named patterns, `%{PATTERN:field}`."""

    type = "grok"
    layout: str = option("Text with patterns; each `%{PATTERN:name}` is a field.", check=_check_grok)
    patterns: Mapping[str, str] = option("Patterns of your own: NAME = regular expression.", default={})
    multiline: Multiline | None = nested("How lines are joined to events.", block="multiline", default=None)
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()


class Logfmt(Format):
    """Lines of `key=value` pairs."""

    type = "logfmt"
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()


class Syslog(Format):
    """Syslog lines, of RFC 5424 and of the older RFC 3164."""

    type = "syslog"
    rfc: Literal["auto", "3164", "5424"] = option(
        "Which of the two to expect: `3164`, `5424`, or `auto` to tell them by the line.", default="auto"
    )
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()


class Parquet(Format):
    """Parquet files, taken as they are."""

    type = "parquet"


FORMATS: tuple[type[Format], ...] = (Delimited, Grok, Json, Jsonl, Logfmt, Parquet, Regex, Syslog)

PRESETS: tuple[Format, ...] = (
    Delimited(name="csv", description="Comma-separated values with a header line.", header=True),
    Delimited(name="default", description="Comma-separated values; a header is found out from the text."),
    Jsonl(name="default", description="One JSON object in each line."),
    Syslog(name="default", description="Syslog lines of either RFC."),
)
