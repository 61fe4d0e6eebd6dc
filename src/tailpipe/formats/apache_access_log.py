"""The format of Apache's access logs: the layout is that of `LogFormat`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from tailpipe.formats.options import check_fields, check_rest, encoding_option, timezone_option
from tailpipe.plugin import Format, UsageError, option

if TYPE_CHECKING:
    from tailpipe.formats.apache_directives import Directive
    from tailpipe.formats.layout_tokens import Token
    from tailpipe.plugin import LineParser, ParseContext

_COMMON = '%h %l %u %t "%r" %>s %b'
NICKNAMES = {
    "common": _COMMON,
    "combined": f'{_COMMON} "%{{Referer}}i" "%{{User-Agent}}i"',
    "vhost_common": f"%v {_COMMON}",
    "vhost_combined": '%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"',
    "combinedio": f'{_COMMON} "%{{Referer}}i" "%{{User-Agent}}i" %I %O',
    "referer": "%{Referer}i -> %U",
    "agent": "%{User-agent}i",
}
"""Layouts that Apache's own config, or that of Debian, has a name for."""
_SEPARABLE = {("U", "q"), ("v", "U"), ("V", "U")}


def _directives(layout: str) -> list[str | Directive]:
    from tailpipe.formats.apache_directives import read_layout

    return list(read_layout(NICKNAMES.get(layout, layout)))


def _check_layout(layout: str) -> None:
    from tailpipe.formats.apache_times import time_pattern

    if layout.strip() and "%" not in layout and layout not in NICKNAMES:
        raise UsageError(f'there is no layout "{layout}"', hint=f"use {', '.join(NICKNAMES)}, or directives such as %h")
    found = _directives(layout)
    directives = [one for one in found if not isinstance(one, str)]
    if not directives:
        raise UsageError("the layout has no directive, so no field", hint="write %h, as in LogFormat")
    if any(isinstance(one, str) and "\n" in one for one in found):
        raise UsageError("the layout has a line end, but each request is one line")
    for one in directives:
        if one.time is not None:
            time_pattern(one.time)
    for first, second in pairwise(found):
        if not isinstance(first, str) and not isinstance(second, str) and not _are_separable(first, second):
            raise UsageError(
                f'missing separator between "{first.text}" and "{second.text}"',
                hint="add a space between them, also in Apache's config",
            )
    check_fields(list(dict.fromkeys(one.name for one in directives)))


def _check_parts(parts: Sequence[str]) -> None:
    for part in parts:
        _check_layout(part)
        found = _directives(part)
        if not isinstance(found[0], str):
            raise UsageError(f'"{part}" begins with a directive', hint="start with the text before it in the line")
        if any(not isinstance(one, str) and one.time is not None for one in found):
            raise UsageError("a time cannot follow the layout", hint="write it in the layout itself")


def _are_separable(one: Directive, other: Directive) -> bool:
    """Whether the first value ends where the second one can be recognised."""
    if one.time is not None or other.time is not None:
        return True
    return (one.text[-1], other.text[-1]) in _SEPARABLE


class ApacheAccessLog(Format):
    """Lines of Apache's access log; each directive of the layout is a field.

    `request` is also given as `request_method`, `request_uri` and `server_protocol`, unless the layout has these.
    """

    type = "apache_access_log"
    layout: str = option(
        "The layout as in Apache's `LogFormat`, or the name of one: `common`, `combined`, `vhost_common`,"
        " `vhost_combined`, `combinedio`, `referer` or `agent`.",
        default="combined",
        check=_check_layout,
    )
    may_follow: Sequence[str] = option(
        "Parts that may follow the layout in a line, in order.", default=(), check=_check_parts
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
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    def __post_init__(self) -> None:
        object.__setattr__(self, "may_follow", tuple(self.may_follow))

    def parser(self, context: ParseContext) -> LineParser:
        """The fastest parser for the layout."""
        from tailpipe.formats.access_log import AccessLog, access_log_parser

        directives = _directives(self.layout)
        times = sum(not isinstance(one, str) and one.time is not None for one in directives)
        log = AccessLog(
            _tokens(directives),
            "backslash",
            _value,
            [_tokens(_directives(part)) for part in self.may_follow],
            self.rest,
            self.any_prefix,
            _times(directives),
            [f"time_{number}" for number in range(1, times + 1)],
        )
        return access_log_parser(log, is_dotall=context.has_line_ends)


def _tokens(directives: Sequence[str | Directive]) -> list[Token]:
    """The layout as text and variables; the parts of times have names of their own."""
    from tailpipe.formats.apache_times import time_pattern
    from tailpipe.formats.layout_tokens import Variable

    tokens: list[Token] = []
    times = 0
    for place, one in enumerate(directives):
        following = directives[place + 1] if place + 1 < len(directives) else ""
        if isinstance(one, str):
            tokens.append(one)
        elif one.time is not None:
            times += 1
            if one.time.format == "":  # its own brackets tell where it ends
                tokens += ["[", Variable(f"time_{times}"), "]"]
            else:
                tokens.append(Variable(f"time_{times}", time_pattern(one.time), is_exact=True))
        elif one.variable is not None:
            touches = None if isinstance(following, str) else following.text[-1]
            stops = {"q": r'[^"?]*', "U": r'[^ "/]*'}.get(touches or "")
            tokens.append(Variable(one.name, stops, is_exact=True) if stops else one.variable)
    return tokens


def _times(directives: Sequence[str | Directive]) -> dict[str, tuple[str, str]]:
    """`timestamp`, and `end_timestamp` of the end of the request, if the layout has them."""
    from tailpipe.formats.apache_directives import TimePart
    from tailpipe.formats.apache_times import time_value

    parts = [one.time for one in directives if not isinstance(one, str) and one.time is not None]
    found: dict[str, tuple[str, str]] = {}
    for moment, name in (("begin", "timestamp"), ("end", "end_timestamp")):
        own = [
            (part if part.format else TimePart(part.moment, "%d/%b/%Y:%H:%M:%S %z"), f"time_{number}")
            for number, part in enumerate(parts, 1)
            if part.moment == moment
        ]
        if own:
            found[name] = time_value(own)
    return found


_LETTERS = {"n": "0A", "r": "0D", "t": "09", "b": "08", "v": "0B", '"': "22"}


def _value(name: str) -> str:
    """SQL for the value that Apache had; bytes that are no text stay escaped."""
    from tailpipe.plugin.sql import quoted

    text = quoted(name)
    escaped = rf"replace({text}, '\\', '\x5C')"
    for letter, code in _LETTERS.items():
        escaped = rf"replace({escaped}, '\{letter}', '\x{code}')"
    plain = rf"CASE WHEN contains({text}, '\') THEN coalesce(TRY(decode({escaped}::BLOB)), {text}) ELSE {text} END"
    if name.endswith("remote_user"):  # no name at all is written as two quotes
        plain = f"""CASE WHEN {text} IN ('""', '\\"\\"') THEN '' ELSE {plain} END"""
    return f"nullif({plain}, '-')"


COMMON = ApacheAccessLog(name="common", description="Apache's layout `common`.", layout="common")
COMBINED = ApacheAccessLog(name="combined", description="Apache's layout `combined`.", layout="combined")
VHOST_COMMON = ApacheAccessLog(
    name="vhost_common", description="Apache's layout `common`, with the server's name first.", layout="vhost_common"
)
VHOST_COMBINED = ApacheAccessLog(
    name="vhost_combined",
    description="Debian's layout `vhost_combined`, with the server's name and port first.",
    layout="vhost_combined",
)
