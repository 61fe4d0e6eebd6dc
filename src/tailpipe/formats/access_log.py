"""Access logs whose layout is a text with variables in it, as web servers have it in their own config.

A layout becomes two patterns with the same groups. The strict one says where each value must end, so that most lines
can be read as delimited ones; the loose one also takes values that hold blanks where the layout has none, and decides
on every other line. Where the strict one fits, both give the same values.

Lines of many logs go on where the layout ends, or do not: then there is a strict pattern for each length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
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


@frozen
class AccessLog:
    """A layout with what its lines may have in addition, and how the server writes values."""

    tokens: Sequence[Token]
    quoting: Quoting
    value: Callable[[str], str]
    """SQL for the value of a field, given its name; null where the line has none."""
    may_follow: Sequence[Sequence[Token]] = ()
    """The parts that may follow the layout."""
    rest: str | None = None
    """The field of any text after all of them."""
    any_prefix: bool = False
    times: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Fields that are made of several variables."""
    time_parts: Collection[str] = ()
    """These variables, which are no fields themselves."""


def access_log_parser(log: AccessLog, *, is_dotall: bool) -> LineParser:
    """The fastest parser of an access log."""
    values = {name: ("VARCHAR", log.value(name)) for name in _variables(log.tokens) if name not in log.time_parts}
    more = _variables([token for part in log.may_follow for token in part])
    values |= {name: ("VARCHAR", f"nullif({log.value(name)}, '')") for name in more}
    if log.rest:
        values[log.rest] = ("VARCHAR", f"nullif({quoted(log.rest)}, '')")
    tokens = list(log.tokens)
    if log.any_prefix:
        values |= _prefix_fields(values)
        tokens = [  # the client may be a list of addresses
            replace(token, pattern=_ADDRESSES) if isinstance(token, Variable) and token.field in _CLIENTS else token
            for token in tokens
        ]
    parts = [tokens, *log.may_follow]
    loose = _loose_pattern(parts, log.quoting, log.rest, has_prefix=log.any_prefix)
    # A quote with a backslash before it does not end a value, which only the loose pattern knows.
    is_plain = r"NOT contains(_line, '\')" if log.quoting == "backslash" else ""
    parsers: list[tuple[str, LineParser]] = []
    for number in range(len(parts), 0, -1):
        strict = parse_pattern(f"^{_strict([token for part in parts[:number] for token in part])}$")
        layout = recognise(strict)
        if layout is not None:
            parsers.append((strict.named(), LayoutParser(loose, layout, is_dotall, is_plain, int(log.any_prefix))))
    lines = parsers[0][1] if len(parts) == len(parsers) == 1 else _Lengths(parsers, RegexParser(loose, is_dotall))
    return MappedParser(lines, {**values, **log.times, **_request_fields(values)})


def _variables(tokens: Sequence[Token]) -> list[str]:
    return list(dict.fromkeys(token.field for token in tokens if isinstance(token, Variable)))


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


def _prefix_fields(fields: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Fields of a prefix: a virtual host, perhaps with a port, or the addresses that a request was forwarded for.

    The addresses may replace the client's, which then is the first of them.
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


def _request_fields(fields: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
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
