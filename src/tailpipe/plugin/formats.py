"""The formats that belong to no product, for tables of any plugin: how each kind of text becomes named fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tailpipe.errors import UsageError
from tailpipe.model.format import Format
from tailpipe.model.option import Declared, fact, nested, option
from tailpipe.plugin.grok import check_patterns, compile_grok

if TYPE_CHECKING:
    from tailpipe.plugin.pattern import Pattern

__all__ = [
    "FORMATS",
    "PRESETS",
    "RESERVED_FIELDS",
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

RESERVED_FIELDS = ("_artifact", "_ordinal", "_bad", "_raw")
"""What every row that was read has beside its fields, so no field can have such a name."""

_MEGABYTE = 1024 * 1024


def _pattern(text: str) -> Pattern:
    from tailpipe.plugin.pattern_reader import parse_pattern  # late, because many configs have no pattern

    return parse_pattern(text)


def _check_layout(text: str) -> None:
    names = _pattern(text).names
    if not names:
        has_group = re.search(r"(?<!\\)\((?!\?)", text)
        what = "the groups have no names" if has_group else "the layout has no named group, so no field"
        raise UsageError(what, hint="write (?P<name>…)")
    _check_fields(names)


def _check_grok(text: str) -> None:
    if not re.search(r"%\{\w+:[^}]+\}|\(\?P?<\w+>|%\{\w+\}", text):
        raise UsageError("the layout has no named pattern, so no field", hint="write %{PATTERN:name}")


def _check_timezone(name: str) -> None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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
        if name.lower() in RESERVED_FIELDS:
            raise UsageError(f'a field cannot be named "{name}"', hint="the name is used for the line itself")
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

    start: str = option("Regular expression that the first line of an event matches.", check=_pattern)


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
    document: str | None = option(
        "Name of a field that gives each record the document around it, without the records.", default=None
    )
    max_document_bytes: int = option(
        "Size above which a document is refused, in bytes.", default=1024 * _MEGABYTE, check=_check_size
    )
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()

    def __post_init__(self) -> None:
        if self.document is not None and self.records is None:
            raise UsageError('"document" has no meaning without "records"', hint="name the path to the records")


class Delimited(Format):
    """Lines of values with something between them, such as CSV.

    A value never spans lines. A line with fewer or more values than there are fields is rejected, unless
    `min_values` says how many it needs.
    """

    type = "delimited"
    delimiter: str = option(
        "What stands between values: any text, `\\t` for a tab, or `\\s+` for any run of blanks.",
        default=",",
        check=_check_text,
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
    header_prefix: str | None = option(
        "What a line that names the fields begins with, such as `#Fields:`; it may come again with other names.",
        default=None,
        check=_check_text,
    )
    snake_case: bool = option(
        "Whether names from a header are spelt in snake case: `line_item_id` for `lineItem/Id`.", default=False
    )
    min_values: int | None = option(
        "How many values a line has at least: missing ones at its end are null, and those beyond the fields are named"
        " by number. Just as many as there are fields, if not given.",
        default=None,
        check=_check_count,
    )
    loose_quotes: bool = option(
        "Whether a quote inside quotes that no delimiter follows is text; then a value without quotes cannot hold one.",
        default=False,
    )
    known_fields: Sequence[str] = fact(
        "Names by which a header is known: a first line of mostly these is one.", default=()
    )
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()

    def __post_init__(self) -> None:
        delimiter = {r"\s+": " \t", r"\t": "\t"}.get(self.delimiter, self.delimiter)
        for name in ("quote", "escape"):
            character = getattr(self, name)
            if character and character in delimiter:
                raise UsageError(f'the {name} "{character}" is part of the delimiter "{self.delimiter}"')


class Regex(Format):
    """Lines taken apart by a regular expression with named groups.

    It is looked for anywhere in the line; write `^` and `$` to mean the whole line. It is a regular
    expression of DuckDB (RE2): without lookaround and references back. A group that took no part is
    null, unless it could have been empty.
    """

    type = "regex"
    layout: str = option("Regular expression; each group `(?P<name>…)` is a field.", check=_check_layout)
    multiline: Multiline | None = nested("How lines are joined to events.", block="multiline", default=None)
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()


class Grok(Format):
    """Lines taken apart by named patterns, `%{PATTERN:field}`.

    A type behind the field, `%{NUMBER:size:int}`, is accepted and ignored: types are the table's. A field
    may be there several times; the first that is not empty counts.
    """

    type = "grok"
    layout: str = option("Text with patterns; each `%{PATTERN:name}` is a field.", check=_check_grok)
    patterns: Mapping[str, str] = option(
        "Patterns of your own: NAME = regular expression.", default={}, check=check_patterns
    )
    multiline: Multiline | None = nested("How lines are joined to events.", block="multiline", default=None)
    timezone: str | None = _timezone()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = _encoding()

    def __post_init__(self) -> None:
        fields = compile_grok(self.layout, self.patterns).fields
        if not fields:
            raise UsageError("the layout has no named pattern, so no field", hint="write %{PATTERN:name}")
        _check_fields(fields)


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
