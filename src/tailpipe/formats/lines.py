"""Formats of lines that are taken apart: by patterns, as pairs, as syslog."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tailpipe.formats.grok import check_patterns, compile_grok
from tailpipe.formats.options import check_fields, encoding_option, timezone_option
from tailpipe.plugin import Declared, Format, UsageError, nested, option

if TYPE_CHECKING:
    from tailpipe.plugin import LineParser, ParseContext


def _check_pattern(text: str) -> None:
    from tailpipe.formats.pattern_reader import parse_pattern  # late, because many configs have no pattern

    parse_pattern(text)


def _check_layout(text: str) -> None:
    from tailpipe.formats.pattern_reader import parse_pattern

    names = parse_pattern(text).names
    if not names:
        has_group = re.search(r"(?<!\\)\((?!\?)", text)
        what = "the groups have no names" if has_group else "the layout has no named group, so no field"
        raise UsageError(what, hint="write (?P<name>…)")
    check_fields(names)


def _check_grok(text: str) -> None:
    if not re.search(r"%\{\w+:[^}]+\}|\(\?P?<\w+>|%\{\w+\}", text):
        raise UsageError("the layout has no named pattern, so no field", hint="write %{PATTERN:name}")


class Multiline(Declared):
    """How lines are joined to events, such as a message and its stack trace."""

    start: str = option("Regular expression that the first line of an event matches.", check=_check_pattern)


class Regex(Format):
    """Lines parsed by a regular expression with named groups.

    It is looked for anywhere in the line; write `^` and `$` to mean the whole line. It is a regular
    expression of DuckDB (RE2): without lookaround and references back. A group that took no part is
    null, unless it could have been empty.
    """

    type = "regex"
    has_times_without_year = True
    layout: str = option("Regular expression; each group `(?P<name>…)` is a field.", check=_check_layout)
    multiline: Multiline | None = nested("How lines are joined to events.", block="multiline", default=None)
    wrapped_in: Sequence[str] = option(
        "Keys of the line's text in JSON objects, as container logs have them; their time is put before the text.",
        default=(),
    )
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    @property
    def event_start(self) -> str | None:
        """The pattern of the block `multiline`."""
        return self.multiline.start if self.multiline else None

    def parser(self, context: ParseContext) -> LineParser:
        """The fastest parser for the layout."""
        from tailpipe.formats.layout_parser import pattern_parser
        from tailpipe.formats.pattern_reader import parse_pattern

        lines = pattern_parser(parse_pattern(self.layout), context.has_line_ends)
        if not self.wrapped_in:
            return lines
        from tailpipe.formats.wrapped import UnwrappingParser

        return UnwrappingParser(lines, self.wrapped_in)


class Grok(Format):
    """Lines parsed by named patterns, `%{PATTERN:field}`.

    A type behind the field, `%{NUMBER:size:int}`, is accepted and ignored: types are the table's. A field
    may be there several times; the first that is not empty counts.
    """

    type = "grok"
    has_times_without_year = True
    layout: str = option("Text with patterns; each `%{PATTERN:name}` is a field.", check=_check_grok)
    patterns: Mapping[str, str] = option(
        "Your own patterns: NAME = regular expression.", default={}, check=check_patterns
    )
    multiline: Multiline | None = nested("How lines are joined to events.", block="multiline", default=None)
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    def __post_init__(self) -> None:
        fields = compile_grok(self.layout, self.patterns).fields
        if not fields:
            raise UsageError("the layout has no named pattern, so no field", hint="write %{PATTERN:name}")
        check_fields(fields)

    @property
    def event_start(self) -> str | None:
        """The pattern of the block `multiline`."""
        return self.multiline.start if self.multiline else None

    def parser(self, context: ParseContext) -> LineParser:
        """The fastest parser for the layout."""
        from tailpipe.formats.layout_parser import pattern_parser

        return pattern_parser(compile_grok(self.layout, self.patterns), context.has_line_ends)


class Logfmt(Format):
    """Lines of `key=value` pairs."""

    type = "logfmt"
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    def parser(self, context: ParseContext) -> LineParser:  # noqa: ARG002
        """A parser of pairs."""
        from tailpipe.formats.logfmt_parser import LogfmtParser

        return LogfmtParser()


class Syslog(Format):
    """Syslog lines, of RFC 5424 and of the older RFC 3164; lines without a header belong to the message before."""

    type = "syslog"
    has_times_without_year = True
    rfc: Literal["auto", "3164", "5424"] = option(
        "Which of the two to expect: `3164`, `5424`, or `auto` to tell them by the line.", default="auto"
    )
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    @property
    def event_start(self) -> str | None:
        """A priority or a time."""
        from tailpipe.formats.syslog_parser import START

        return START

    def parser(self, context: ParseContext) -> LineParser:  # noqa: ARG002
        """A parser of either RFC."""
        from tailpipe.formats.syslog_parser import SyslogParser

        return SyslogParser(self.rfc)


LOGFMT = Logfmt(name="default", description="Lines of `key=value` pairs.")
SYSLOG = Syslog(name="default", description="Syslog lines of either RFC.")
