"""The format of nginx's access logs: the layout is that of `log_format`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from tailpipe.formats.options import check_fields, check_rest, encoding_option, timezone_option
from tailpipe.plugin import Format, UsageError, option

if TYPE_CHECKING:
    from tailpipe.formats.layout_tokens import Token, Variable
    from tailpipe.plugin import LineParser, ParseContext

COMBINED_LAYOUT = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
)
_TOKEN = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
_DIRECTIVE = re.compile(r"log_format\s+(?:\"[^\"]*\"|'[^']*'|[^\s'\"]+)\s+(?:escape=(\w+)\s+)?", re.ASCII)
_PIECE = re.compile(r"'((?:[^'\\]|\\.)*)'\s*|\"((?:[^\"\\]|\\.)*)\"\s*", re.DOTALL)

_NUMBER = r"(?:-|[0-9.]+)"
_NUMBERS = [
    *("status", "body_bytes_sent", "bytes_sent", "request_length", "request_time", "msec", "connection"),
    *("connection_requests", "connection_time", "content_length", "server_port", "remote_port"),
    *("realip_remote_port", "proxy_protocol_port", "proxy_protocol_server_port", "gzip_ratio", "pid"),
    *("tcpinfo_rtt", "tcpinfo_rttvar", "tcpinfo_snd_cwnd", "tcpinfo_rcv_space", "connections_active"),
]
_LISTED_NUMBERS = [
    *("upstream_status", "upstream_response_time", "upstream_connect_time", "upstream_header_time"),
    *("upstream_response_length", "upstream_bytes_received", "upstream_bytes_sent", "upstream_queue_time"),
]
_WORDS = [
    *("remote_addr", "realip_remote_addr", "proxy_protocol_addr", "server_addr", "host", "http_host"),
    *("hostname", "server_name", "scheme", "https", "request_method", "request_uri", "args", "query_string"),
    *("is_args", "server_protocol", "request_id", "connection_id", "ssl_protocol", "ssl_cipher"),
    *("ssl_session_id", "ssl_session_reused", "pipe", "binary_remote_addr", "upstream_cache_status"),
]
_PATTERNS = {
    **dict.fromkeys(_NUMBERS, _NUMBER),
    **dict.fromkeys(_LISTED_NUMBERS, rf"{_NUMBER}(?:(?:, | : ){_NUMBER})*"),
    "upstream_addr": r"[^ ,\"]+(?:(?:, | : )[^ ,\"]+)*",
    "time_local": r"[0-9]{2}/[A-Za-z]{3}/[0-9]{4}:[0-9:]{8} [+-][0-9]{4}",
    "time_iso8601": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[+-][0-9]{2}:[0-9]{2}",
    "is_args": r"\??",
    "scheme": r"(?:-|https?)",
    "pipe": r"[.p]",
    "remote_user": r'(?:[^ "]*?|[^ "-][^"]*?)',  # `- -` are two values that are not there
}
_HOSTS = ("host", "http_host", "hostname", "server_name")
_PATHS = ("uri", "request_uri", "document_uri")
_QUERIES = ("args", "query_string")


def _check_layout(text: str) -> None:
    layout, _ = _layout(text)
    tokens = _TOKEN.findall(layout)
    if not tokens:
        raise UsageError("the layout has no variable, so no field", hint="write $remote_addr, as in log_format")
    if "$" in _TOKEN.sub("", layout):
        raise UsageError('a "$" has no name after it', hint="write $name or ${name}")
    if "\n" in layout or "\r" in layout:
        raise UsageError("the layout has a line end, but each request is one line")
    found = list(_TOKEN.finditer(layout))
    for one, other in pairwise(found):
        if one.end() == other.start() and not _are_separable(_name(one), _name(other)):
            raise UsageError(
                f'missing separator between "{one[0]}" and "{other[0]}"',
                hint="add a space between them, also in nginx's config",
            )
    check_fields(list(dict.fromkeys(map(_name, found))))


def _check_parts(parts: Sequence[str]) -> None:
    for part in parts:
        _check_layout(part)
        if _TOKEN.match(part):
            raise UsageError(f'"{part}" begins with a variable', hint="start with the text before it in the line")


def _name(token: re.Match[str]) -> str:
    return token[1] or token[2]


def _are_separable(one: str, other: str) -> bool:
    """Whether the first value ends where the second begins, as in `$host$request_uri` and `$uri$is_args$args`."""
    if other == "is_args":
        return one in _PATHS
    return (one in _HOSTS and other in _PATHS) or (one == "is_args" and other in _QUERIES)


def _layout(text: str) -> tuple[str, str | None]:
    """The layout, and the escaping if it says so: a text may be copied from nginx's config, quotes and all."""
    given = text.strip()
    directive = _DIRECTIVE.match(given)
    if directive is None and not given.startswith("'"):
        return text, None
    pieces = given[directive.end() if directive else 0 :].removesuffix(";").rstrip()
    if not pieces or _PIECE.sub("", pieces):
        return (pieces if directive else text), directive[1] if directive else None
    plain = [re.sub(r"\\(['\"\\])", r"\1", one or other) for one, other in _PIECE.findall(pieces)]
    return "".join(plain), directive[1] if directive else None


class NginxAccessLog(Format):
    """Lines of nginx's access log; each variable of the layout is a field.

    `request` is also given as `request_method`, `request_uri` and `server_protocol`, unless the layout has these.
    """

    type = "nginx_access_log"
    layout: str = option(
        'The layout as in nginx\'s `log_format`, such as `$remote_addr [$time_local] "$request"`.',
        default=COMBINED_LAYOUT,
        check=_check_layout,
        is_verbatim=True,
    )
    may_follow: Sequence[str] = option(
        "Parts that may follow the layout in a line, in order.", default=(), check=_check_parts, is_verbatim=True
    )
    any_prefix: bool = option(
        "Accept a virtual host or a list of forwarded addresses before the layout, and such a list as the client.",
        default=False,
    )
    rest: str | None = option(
        "Name of a field for other text after the layout; without it, longer lines are rejected.",
        default=None,
        check=check_rest,
    )
    escape: Literal["default", "json", "none"] = option(
        "How nginx escapes values: `default`, `json` or `none`, as `escape=` of `log_format`.", default="default"
    )
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    def __post_init__(self) -> None:
        object.__setattr__(self, "may_follow", tuple(self.may_follow))
        escape = _layout(self.layout)[1]
        if escape is not None and escape not in ("default", "json", "none"):
            raise UsageError(f'nginx has no escaping "{escape}"', hint="use default, json or none")

    def parser(self, context: ParseContext) -> LineParser:
        """The fastest parser for the layout."""
        from tailpipe.formats.access_log import AccessLog, Quoting, access_log_parser
        from tailpipe.plugin.sql import quoted

        layout, found = _layout(self.layout)
        escape = found or self.escape
        quoting: dict[str, Quoting] = {"default": "hex", "json": "backslash", "none": "none"}
        log = AccessLog(
            _tokens(layout),
            quoting[escape],
            lambda name: _value(quoted(name), escape),
            [_tokens(part) for part in self.may_follow],
            self.rest,
            self.any_prefix,
        )
        return access_log_parser(log, is_dotall=context.has_line_ends)


def _tokens(layout: str) -> Sequence[Token]:
    tokens: list[Token] = []
    place = 0
    for token in _TOKEN.finditer(layout):
        if token.start() > place:
            tokens.append(layout[place : token.start()])
        touches = _TOKEN.match(layout, token.end())
        tokens.append(_variable(_name(token), _name(touches) if touches else ""))
        place = token.end()
    return [*tokens, layout[place:]] if place < len(layout) else tokens


def _variable(name: str, after: str) -> Variable:
    """The variable of a name; the variable right after it may show where it ends."""
    from tailpipe.formats.layout_tokens import Variable

    if after in _PATHS:
        return Variable(name, r'[^ "/]*', is_exact=True)
    if after == "is_args":
        return Variable(name, r'[^"?]*', is_exact=True)
    is_exact = name in ("time_local", "is_args")
    return Variable(name, _PATTERNS.get(name, ""), name not in _WORDS, is_exact)


def _value(text: str, escape: str) -> str:
    """SQL for the value that nginx had; bytes that are no text stay escaped."""
    if escape == "default":
        plain = rf"CASE WHEN contains({text}, '\x') THEN coalesce(TRY(decode({text}::BLOB)), {text}) ELSE {text} END"
        return f"nullif({plain}, '-')"
    if escape == "json":
        json = f"""TRY(json_extract_string('"' || {text} || '"', '$'))"""
        text = rf"CASE WHEN contains({text}, '\') THEN coalesce({json}, {text}) ELSE {text} END"
    return f"nullif({text}, '')"


COMBINED = NginxAccessLog(name="combined", description="nginx's layout `combined`, its default.")
