"""The formats that are read line by line, and the parser of each."""

from __future__ import annotations

from tailpipe.kernel.batch import LineParser
from tailpipe.kernel.delimited import DelimitedParser
from tailpipe.kernel.regex import RegexParser
from tailpipe.model.format import Format
from tailpipe.plugin.formats import Delimited, Regex
from tailpipe.plugin.pattern import parse_pattern

__all__ = ["line_parser"]


def line_parser(format: Format) -> LineParser:
    """A new parser for the format; each task has its own, because it remembers headers."""
    if isinstance(format, Delimited):
        return DelimitedParser(format)
    if isinstance(format, Regex):
        return RegexParser(parse_pattern(format.layout), is_dotall=format.multiline is not None)
    raise TypeError(f"{format.address} is not read line by line")
