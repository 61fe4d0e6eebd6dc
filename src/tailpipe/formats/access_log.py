"""Access logs whose layout is a text with variables in it, as web servers have it in their own config.

A layout becomes two patterns with the same groups. The strict one says where each value must end, so that most lines
can be read as delimited ones; the loose one also takes values that hold blanks where the layout has none, and decides
on every other line. Where the strict one fits, both give the same values.

Lines of many logs go on where the layout ends, or do not: then there is a strict pattern for each length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from tailpipe.formats.layout import recognise
from tailpipe.formats.layout_parser import LayoutParser
from tailpipe.formats.layout_tokens import Token, Variable
from tailpipe.formats.mapped_parser import MappedParser
from tailpipe.formats.pattern import Pattern
from tailpipe.formats.pattern_reader import parse_pattern
from tailpipe.formats.regex_parser import RegexParser
from tailpipe.frozen import frozen
from tailpipe.plugin import LineParser, Lines, Parsed
from tailpipe.plugin.sql import literal, quoted

__all__ = ["Quoting", "access_log_parser", "prefix_fields", "request_fields", "rest_field", "with_addresses"]

Quoting = Literal["hex", "backslash", "none"]
"""How a quote inside a value is written: as `\\x22`, with a backslash before it, or as it is."""
_QUOTED: dict[Quoting, str] = {"hex": r'[^"]', "backslash": r'(?:[^"\\]|\\.)', "none": "."}
_CLIENTS = ("remote_addr", "remote_host")
_ADDRESSES = r'[^ ",]+(?:, *[^ ",]+)*'
_PREFIX = rf'(?:"?(?P<line_prefix>{_ADDRESSES})"? )??'
_REQUEST = r"^(([A-Za-z0-9!#$%&'*+.^_`|~-]+) +(.*?)(?: +(HTTP/[0-9.]+))?)$"


def _strict(tokens: Sequence[Token]) -> str:
    strict = []
    for token, before, after, is_quoted in _placed(tokens):
        if isinstance(token, str):
            strict.append(re.escape(token))
            continue
        is_enclosed = before + after in ('""', "[]")
        stops = "".join(dict.fromkeys(('"' if is_quoted else "") + ("" if is_enclosed else " ") + after))
        exact = token.pattern if token.is_exact and not is_enclosed else f"[^{re.escape(stops)}]*"
        strict.append(f"(?P<{token.field}>{exact})")
    return "".join(strict)


def _loose_pattern(
    parts: Sequence[Sequence[Token]], quoting: Quoting, rest: str | None, *, has_prefix: bool
) -> Pattern:
    """The loose pattern of a layout and of the parts that may follow, each behind the one before it."""
    loose = ""
    ends = [sum(map(len, parts[:number])) for number in range(1, len(parts))]
    for place, (token, _, _, is_quoted) in enumerate(_placed([token for part in parts for token in part])):
        loose += "(?:" if place in ends else ""
        loose += (
            re.escape(token) if isinstance(token, str) else f"(?P<{token.field}>{_loose(token, is_quoted, quoting)})"
        )
    more = f"(?: (?P<{rest}>.*))?" if rest else ""
    return parse_pattern(f"^{_PREFIX if has_prefix else ''}{loose}{')?' * len(ends)}{more}$")


def _placed(tokens: Sequence[Token]) -> Iterator[tuple[Token, str, str, bool]]:
    """Each token, the character before it, the one after it, and whether it is in quotes."""
    quotes = 0
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else ""
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        ends = before[-1:] if isinstance(before, str) else "", after[:1] if isinstance(after, str) else ""
        yield token, *ends, bool(quotes % 2)
        quotes += token.count('"') if isinstance(token, str) else 0


def _loose(variable: Variable, is_quoted: bool, quoting: Quoting) -> str:
    if variable.pattern:
        return variable.pattern
    if not variable.has_blanks and is_quoted and quoting == "backslash":
        return r'(?:[^ "\\]|\\.)*?'
    if not variable.has_blanks:
        return '[^ "]*?' if quoting == "hex" or is_quoted else "[^ ]*?"
    return (_QUOTED[quoting] if is_quoted or quoting == "hex" else ".") + "*?"


def access_log_parser(
    tokens: Sequence[Token],
    quoting: Quoting,
    values: Mapping[str, tuple[str, str]],
    is_dotall: bool,
    may_follow: Sequence[Sequence[Token]] = (),
    rest: str | None = None,
) -> LineParser:
    """The fastest parser of a layout, of the parts that may follow it, and of any text behind all of them."""
    parts = [tokens, *may_follow]
    has_prefix = any("line_prefix" in sql for _, sql in values.values())
    loose = _loose_pattern(parts, quoting, rest, has_prefix=has_prefix)
    # A quote with a backslash before it does not end a value, which only the loose pattern knows.
    is_plain = r"NOT contains(_line, '\')" if quoting == "backslash" else ""
    parsers: list[tuple[str, LineParser]] = []
    for number in range(len(parts), 0, -1):
        strict = parse_pattern(f"^{_strict([token for part in parts[:number] for token in part])}$")
        layout = recognise(strict)
        if layout is not None:
            parsers.append((strict.named(), LayoutParser(loose, layout, is_dotall, is_plain, int(has_prefix))))
    otherwise = RegexParser(loose, is_dotall)
    return MappedParser(parsers[0][1] if len(parts) == len(parsers) == 1 else _Lengths(parsers, otherwise), values)


@frozen
class _Lengths:
    """Reads lines by the parser of their length, which the first one shows; all of them read every line."""

    parsers: Sequence[tuple[str, LineParser]]
    """What a line of each length looks like, the longest first."""
    otherwise: LineParser

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """One row to a line."""
        first = runs[0].text[0].as_py() if runs and len(runs[0].text) else ""
        found = (parser for pattern, parser in self.parsers if re.match(pattern, first))
        return next(found, self.otherwise).parse(runs)


def rest_field(name: str | None) -> dict[str, tuple[str, str]]:
    """The field of what follows the layout, if it has a name."""
    return {name: ("VARCHAR", f"nullif({quoted(name)}, '')")} if name else {}


def prefix_fields(fields: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Fields of a prefix: a virtual host, perhaps with a port, or the addresses that a request was forwarded for.

    The addresses may stand in place of the client's, which then is the first of them.
    """
    host = r"^(\[[^\]]*\]|[^,:\[]+|[^,]*:[^,]*:[^,]*)(?::([0-9]{1,5}))?$"
    client = next((name for name in _CLIENTS if name in fields), "")
    given = fields[client][1] if client else "NULL"
    are_many = "contains(line_prefix, ',')"
    made = {
        "host": f"nullif(regexp_extract(line_prefix, {literal(host)}, 1), '')",
        "server_port": f"nullif(regexp_extract(line_prefix, {literal(host)}, 2), '')",
        "http_x_forwarded_for": f"CASE WHEN {are_many} THEN line_prefix WHEN contains({given}, ',') THEN {given} END",
    }
    found = {name: f"coalesce({fields[name][1]}, {sql})" if name in fields else sql for name, sql in made.items()}
    if client:
        found[client] = f"CASE WHEN contains({given}, ',') THEN trim(split_part({given}, ',', 1)) ELSE {given} END"
    return {name: ("VARCHAR", sql) for name, sql in found.items()}


def with_addresses(tokens: Sequence[Token]) -> list[Token]:
    """The layout with a client that may be a list of addresses."""
    return [
        replace(token, pattern=_ADDRESSES) if isinstance(token, Variable) and token.field in _CLIENTS else token
        for token in tokens
    ]


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
