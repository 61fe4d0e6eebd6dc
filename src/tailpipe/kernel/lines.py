"""The formats that are read line by line, and the parser of each."""

from __future__ import annotations

from collections.abc import Collection

from tailpipe.kernel.batch import LineParser
from tailpipe.kernel.delimited import DelimitedParser
from tailpipe.kernel.layout import recognise
from tailpipe.kernel.layout_rows import LayoutParser
from tailpipe.kernel.logfmt import LogfmtParser
from tailpipe.kernel.regex import RegexParser
from tailpipe.kernel.syslog import SyslogParser
from tailpipe.model.format import Format
from tailpipe.plugin.formats import Delimited, Grok, Logfmt, Regex, Syslog
from tailpipe.plugin.grok import compile_grok
from tailpipe.plugin.pattern import Pattern
from tailpipe.plugin.pattern_reader import parse_pattern

__all__ = ["line_parser", "pattern_parser"]


def line_parser(format: Format, is_dotall: bool = False, numbers: Collection[str] = ()) -> LineParser:
    """A new parser for the format; each task has its own, because it remembers headers.

    With `is_dotall`, or where a format joins lines to events, what it parses may hold line ends. `numbers` are
    fields, in lower case, that are wanted as whole numbers: a parser that can may give them so.
    """
    is_dotall = is_dotall or getattr(format, "multiline", None) is not None
    match format:
        case Delimited():
            return DelimitedParser(format, numbers)
        case Regex():
            return pattern_parser(parse_pattern(format.layout), is_dotall)
        case Grok():
            return pattern_parser(compile_grok(format.layout, format.patterns), is_dotall)
        case Logfmt():
            return LogfmtParser()
        case Syslog():
            return SyslogParser(format.rfc)
    raise TypeError(f"{format.address} is not read line by line")


def pattern_parser(pattern: Pattern, is_dotall: bool = False) -> LineParser:
    """The fastest parser for a pattern. In events of many lines (`is_dotall`), `.` matches line ends too."""
    layout = recognise(pattern)
    return LayoutParser(pattern, layout, is_dotall) if layout else RegexParser(pattern, is_dotall)
