"""Access logs whose layout is a text with variables in it, as web servers have it in their own config.

A layout becomes two patterns with the same groups. The strict one says where each value must end, so that most lines
can be read as delimited ones; the loose one also takes values that hold blanks where the layout has none, and decides
on every other line. Where the strict one fits, both give the same values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tailpipe.formats.layout import recognise
from tailpipe.formats.layout_parser import LayoutParser
from tailpipe.formats.mapped_parser import MappedParser
from tailpipe.formats.pattern import Pattern
from tailpipe.formats.pattern_reader import parse_pattern
from tailpipe.formats.regex_parser import RegexParser
from tailpipe.frozen import frozen
from tailpipe.plugin import LineParser
from tailpipe.plugin.sql import literal

__all__ = ["Quoting", "Token", "Variable", "access_log_parser", "layout_patterns", "request_fields"]

Quoting = Literal["hex", "backslash", "none"]
"""How a quote inside a value is written: as `\\x22`, with a backslash before it, or as it is."""
_QUOTED: dict[Quoting, str] = {"hex": r'[^"]', "backslash": r'(?:[^"\\]|\\.)', "none": "."}
_REQUEST = r"^(([A-Za-z0-9!#$%&'*+.^_`|~-]+) +(.*?)(?: +(HTTP/[0-9.]+))?)$"


@frozen
class Variable:
    """A place in a layout that a value stands in."""

    field: str
    pattern: str = ""
    """What the value looks like, if that is known: it then tells the value from its neighbours."""
    has_blanks: bool = True
    """Whether there may be blanks in it, if no pattern says so."""
    is_exact: bool = False
    """Whether the pattern holds in the strict reading too: blanks are always in it, or another variable follows."""


Token = str | Variable
"""Text that stands in each line as it is, or a variable."""


def layout_patterns(tokens: Sequence[Token], quoting: Quoting) -> tuple[Pattern, Pattern]:
    """The strict and the loose pattern of a layout."""
    strict, loose = [], []
    for token, before, after, is_quoted in _placed(tokens):
        if isinstance(token, str):
            strict.append(re.escape(token))
            loose.append(re.escape(token))
            continue
        is_enclosed = before + after in ('""', "[]")
        stops = "".join(dict.fromkeys(('"' if is_quoted else "") + ("" if is_enclosed else " ") + after))
        exact = token.pattern if token.is_exact and not is_enclosed else f"[^{re.escape(stops)}]*"
        strict.append(f"(?P<{token.field}>{exact})")
        loose.append(f"(?P<{token.field}>{_loose(token, is_quoted, quoting)})")
    return parse_pattern(f"^{''.join(strict)}$"), parse_pattern(f"^{''.join(loose)}$")


def _placed(tokens: Sequence[Token]) -> Iterator[tuple[Token, str, str, bool]]:
    """Each token, the character before it, the one after it, and whether it stands in quotes."""
    quotes = 0
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else ""
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        yield token, before[-1:] if isinstance(before, str) else "", _first(after), bool(quotes % 2)
        quotes += token.count('"') if isinstance(token, str) else 0


def _first(token: Token) -> str:
    return token[:1] if isinstance(token, str) else ""


def _loose(variable: Variable, is_quoted: bool, quoting: Quoting) -> str:
    if variable.pattern:
        return variable.pattern
    if not variable.has_blanks:
        return '[^ "]*?' if quoting == "hex" or is_quoted else "[^ ]*?"
    return (_QUOTED[quoting] if is_quoted or quoting == "hex" else ".") + "*?"


def access_log_parser(
    tokens: Sequence[Token], quoting: Quoting, values: Mapping[str, tuple[str, str]], is_dotall: bool
) -> LineParser:
    """The fastest parser of a layout."""
    strict, loose = layout_patterns(tokens, quoting)
    layout = recognise(strict)
    if layout is None:
        return MappedParser(RegexParser(loose, is_dotall), values)
    # A quote with a backslash before it does not end a value, which only the loose pattern knows.
    is_plain = r"NOT contains(_line, '\')" if quoting == "backslash" else ""
    return MappedParser(LayoutParser(loose, layout, is_dotall, is_plain), values)


def request_fields(fields: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Method, URI and protocol of the field `request`, unless the layout has fields of these names.

    A text that is no request line, such as the first bytes of TLS, is a URI without a method.
    """
    if "request" not in fields:
        return {}
    _, request = fields["request"]
    # One expression for all parts, which DuckDB then computes once.
    parts = f"regexp_extract({request}, {literal(_REQUEST)}, ['line', 'method', 'uri', 'protocol'], 's')"
    made = {
        "request_method": f"nullif({parts}.method, '')",
        "request_uri": f"nullif(CASE WHEN {parts}.line <> '' THEN {parts}.uri ELSE {request} END, '')",
        "server_protocol": f"nullif({parts}.protocol, '')",
    }
    return {name: ("VARCHAR", sql) for name, sql in made.items() if name not in fields}
