"""The directives of Apache's `LogFormat`, and the field that each is.

A directive is `%`, perhaps conditions on the status (`!200,304`), `<` or `>` for the first or the last of several
internal requests, a parameter in braces, and a letter. Each has one field, whatever else the layout has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from tailpipe.formats.layout_tokens import Variable
from tailpipe.frozen import frozen
from tailpipe.plugin import UsageError

_DIRECTIVE = re.compile(r"%((?:!?[0-9]{3}(?:,[0-9]{3})*)?[<>]*)?(?:\{([^}]*)\})?([<>]*)(\^[A-Za-z]{2}|[A-Za-z%])")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", '\\"': '"'}
_NUMBER = r"(?:-|[0-9]+)"
_KINDS = {
    "word": "a=remote_addr A=local_addr h=remote_host H=server_protocol l=remote_logname L=log_id m=request_method"
    " q=query_string v=server_name V=host",
    "number": "B=body_bytes_sent b=body_bytes_sent D=request_time_us I=bytes_received k=keepalive_requests O=bytes_sent"
    " p=server_port P=pid s=status S=bytes_transferred T=request_time ^FB=first_byte_time_us",
    "text": "f=filename r=request R=handler U=uri",
    "user": "u=remote_user",
    "connection": "X=connection_status",
}
_PLAIN = {
    letter: (name, kind) for kind, text in _KINDS.items() for letter, name in (pair.split("=") for pair in text.split())
}
"""The field of each letter without a parameter, and the kind of its value."""
_GIVEN = {
    ("a", "c"): ("connection_addr", "word"),
    ("h", "c"): ("connection_host", "word"),
    ("p", "canonical"): ("server_port", "number"),
    ("p", "local"): ("apache_port", "number"),
    ("p", "remote"): ("client_port", "number"),
    ("P", "pid"): ("pid", "number"),
    ("P", "tid"): ("thread_id", "number"),
    ("P", "hextid"): ("hex_thread_id", "word"),
    ("T", "s"): ("request_time", "number"),
    ("T", "ms"): ("request_time_ms", "number"),
    ("T", "us"): ("request_time_us", "number"),
}
_NAMED = {
    "C": "cookie_",
    "e": "env_",
    "i": "http_",
    "n": "note_",
    "o": "sent_http_",
    "x": "",
    "^ti": "http_trailer_",
    "^to": "sent_trailer_",
}
_OF_THE_FIRST = frozenset("sUTDr")
"""Directives that are about the first of several internal requests unless `>` says otherwise."""
_USER = r'(?:[^ ]*?|[^ "-](?:[^"\\]|\\.)*?)'
"""A name may hold blanks, but `- -` are two values that are not there: the line has another layout."""
_PATTERNS = {"number": _NUMBER, "connection": r"[X+-]", "user": _USER, "word": "", "text": ""}
Moment = Literal["begin", "end"]


@frozen
class TimePart:
    """A part of a time: how it is written, in strftime's letters or as one of Apache's own words."""

    moment: Moment
    format: str


@frozen
class Directive:
    """A directive in a layout: the variable that it is, or a part of a time."""

    text: str
    name: str
    variable: Variable | None = None
    time: TimePart | None = None


def read_layout(layout: str) -> Iterator[str | Directive]:
    """The directives of a layout, and the text between them; a UsageError names one that Apache does not have."""
    text = ""
    place = 0
    while place < len(layout):
        two = layout[place : place + 2]
        if two in _ESCAPES or layout[place] != "%":
            text += _ESCAPES.get(two, layout[place])
            place += len(two) if two in _ESCAPES else 1
            continue
        found = _DIRECTIVE.match(layout, place)
        if found is None:
            raise UsageError(
                f'cannot read the directive "{layout[place : place + 10]}"', hint="write %% for a percent sign"
            )
        place = found.end()
        if found[4] == "%":
            text += "%"
            continue
        if text:
            yield text
        text = ""
        yield _directive(found)
    if text:
        yield text


def _directive(found: re.Match[str]) -> Directive:
    text, letter, parameter = found[0], found[4], found[2]
    if letter == "t":
        return Directive(text, "timestamp", time=_time_part(parameter or ""))
    if letter in _NAMED:
        if not parameter:
            raise UsageError(f'the directive "{text}" needs a name', hint=f"write %{{Name}}{letter}")
        name, kind = _NAMED[letter] + re.sub(r"\W+", "_", parameter.lower(), flags=re.ASCII).strip("_"), "text"
    elif parameter and (letter, parameter) in _GIVEN:
        name, kind = _GIVEN[letter, parameter]
    elif letter in _PLAIN and not parameter:
        name, kind = _PLAIN[letter]
    else:
        given = ", ".join(f"%{{{known}}}{letter}" for one, known in _GIVEN if one == letter)
        hint = f"write %{letter}{f' or {given}' if given else ''}"
        if letter not in _PLAIN:
            hint = "see the list of mod_log_config"
        raise UsageError(f'unknown directive "{text}"', hint=hint)
    name = _of_which(found[1] or found[3] or "", letter, name)
    return Directive(text, name, Variable(name, _PATTERNS[kind], has_blanks=kind == "text"))


def _of_which(modifiers: str, letter: str, name: str) -> str:
    """The name for the request that is meant. Everyone wants the last status, so that is the plain name."""
    is_first = letter in _OF_THE_FIRST if not {"<", ">"} & {*modifiers} else "<" in modifiers
    if letter == "s":
        return f"original_{name}" if is_first else name
    if is_first == (letter in _OF_THE_FIRST):
        return name
    return f"original_{name}" if is_first else f"final_{name}"


def _time_part(parameter: str) -> TimePart:
    for moment in ("begin", "end"):
        if parameter == moment or parameter.startswith(f"{moment}:"):
            return TimePart(moment, parameter.removeprefix(moment).removeprefix(":"))
    return TimePart("begin", parameter)
