"""Messages of PostgreSQL's log: `stderr` with a prefix, `csvlog` or `jsonlog`, and the same fields from all of them.

In `stderr`, lines such as DETAIL, HINT and STATEMENT belong to the message before them; a line that begins with a tab
goes on with the one before it. Names of zones that PostgreSQL writes are turned into offsets.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_SEVERITIES = "DEBUG[1-5]?|INFO|NOTICE|WARNING|ERROR|LOG|FATAL|PANIC"
_DETAILS = {
    "DETAIL": "detail",
    "HINT": "hint",
    "QUERY": "internal_query",
    "CONTEXT": "context",
    "LOCATION": "location",
    "STATEMENT": "query",
}
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?: [A-Za-z0-9_+-]+(?::[0-9]{2})*)?"
_TEXT = r"(?:[^A-Z]|[A-Z]+[^A-Z:])*?"
"""Any text without a word such as `STATEMENT:`, which is no part of a prefix."""
_ANY_PREFIX = rf"(?P<timestamp>{_TIME})(?P<words> {_TEXT})? "
_USUAL = (
    "%t:%r:%u@%d:[%p]:",  # Amazon RDS and Aurora
    "%t:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",
    "%t-%c-",  # Azure
    "< %t >",  # older packages for Red Hat
    "<%t>",
    "%t %d %u [%p]",  # SUSE
    "%t [%p]",
)
"""Usual prefixes that do not end with a space, so that the pattern above does not match them."""
_CSV = (
    *("timestamp", "user", "database", "pid", "connection", "session_id", "session_line", "command_tag"),
    *("session_start", "virtual_transaction", "transaction_id", "severity", "sql_state", "message", "detail", "hint"),
    *("internal_query", "internal_query_pos", "context", "query", "query_pos", "location", "application_name"),
    *("backend_type", "leader_pid", "query_id"),
)
"""Older versions have fewer of them."""
_LEAST = 22
_JSON = {
    "dbname": "database",
    "remote_host": "client",
    "remote_port": "client_port",
    "line_num": "session_line",
    "ps": "command_tag",
    "vxid": "virtual_transaction",
    "txid": "transaction_id",
    "error_severity": "severity",
    "state_code": "sql_state",
    "internal_position": "internal_query_pos",
    "statement": "query",
    "cursor_position": "query_pos",
}
_ESCAPES = {
    "a": ("application_name", _TEXT),
    "u": ("user", _TEXT),
    "d": ("database", _TEXT),
    "r": ("connection", r"\S*?"),
    "h": ("client", r"\S*?"),
    "b": ("backend_type", _TEXT),
    "p": ("pid", r"[0-9]+"),
    "P": ("leader_pid", r"[0-9]*"),
    "t": ("timestamp", _TIME),
    "m": ("timestamp", _TIME),
    "n": ("timestamp", r"[0-9]+\.[0-9]+"),
    "i": ("command_tag", _TEXT),
    "e": ("sql_state", r"[0-9A-Z]{5}"),
    "c": ("session_id", r"[0-9a-f]+\.[0-9a-f]+"),
    "l": ("session_line", r"[0-9]+"),
    "s": ("session_start", _TIME),
    "v": ("virtual_transaction", r"[0-9]*(?:/[0-9]+)?"),
    "x": ("transaction_id", r"[0-9]+"),
    "Q": ("query_id", r"-?[0-9]+"),
}
_OFFSETS = {
    "+00": "UTC GMT Z WET UCT",
    "+01": "CET BST WEST",
    "+02": "CEST EET SAST",
    "+03": "EEST MSK",
    "+08": "HKT",
    "+09": "JST KST",
    "+10": "AEST",
    "+11": "AEDT",
    "+12": "NZST",
    "+13": "NZDT",
    "-04": "EDT",
    "-05": "EST CDT",
    "-06": "CST MDT",
    "-07": "MST PDT",
    "-08": "PST",
}
_ZONES = {zone: offset for offset, zones in _OFFSETS.items() for zone in zones.split()}
_WORDS = {
    "pid": re.compile(r"\[(\d+)\]"),
    "session_line": re.compile(r"\[(\d+)-\d+\]"),
    "user": re.compile(r"\buser=([^, ]*)|(?:^| )([^\s@=\[\],]+)@"),
    "database": re.compile(r"\b(?:db|database)=([^, ]*)|[^\s@=\[\],]+@(\S*)"),
    "application_name": re.compile(r"\bapp(?:lication)?=(\[unknown\]|[^,]*?)(?=,|$)"),
    "client": re.compile(r"\b(?:client|host|rhost)=(\[local\]|[^,( ]*)"),
}
_NOTHING = frozenset({"", "[unknown]"})
_DURATION = re.compile(r"duration: ([0-9.]+) ms(?:  (?:statement|(?:parse|bind|execute|fetch)[^:]*): (.*))?", re.DOTALL)
_STATEMENT = re.compile(r"(?:statement|execute [^:]+): (.*)", re.DOTALL)


def prefix_pattern(layout: str) -> str:
    """The pattern of a `log_line_prefix`; a `ValueError` says what is wrong with it."""
    found, seen, is_open = "", set[str](), False
    for text, _, letter in re.findall(r"([^%]*)(?:%(-?[0-9]*)(.)|$)", layout, re.DOTALL):
        found += re.escape(text)
        if letter == "q":
            found, is_open = f"{found}(?:", True
        elif letter == "%":
            found += "%"
        elif letter in _ESCAPES:
            name, pattern = _ESCAPES[letter]
            found += f" *(?P<{name}>{pattern}) *" if name not in seen else f" *(?:{pattern}) *"
            seen.add(name)
        elif letter:
            raise ValueError(f'PostgreSQL has no escape "%{letter}"')
    if "timestamp" not in seen:
        raise ValueError("the prefix has no time, so a row would have none: add %m, %t or %n")
    return f"{found})?" if is_open else found


def start_pattern(layout: str | None) -> str:
    """The pattern of the first line of a message, for RE2."""
    prefixes = re.sub("[?]P<[a-z_]+>", "?:", "|".join(_prefixes(layout)))  # a name may be there once only
    return rf"^(?:\{{|{_TIME},|(?:{prefixes})(?:{_SEVERITIES}): )"


def _prefixes(layout: str | None) -> list[str]:
    """Patterns of the prefix, in the order in which they are tried."""
    return [prefix_pattern(layout)] if layout is not None else [_ANY_PREFIX, *map(prefix_pattern, _USUAL)]


class PostgresqlEvents:
    """Reads messages by a prefix, or by usual ones; `has_zone` says that the format names the zone of times."""

    def __init__(self, layout: str | None, *, has_zone: bool) -> None:
        rest = rf"({_SEVERITIES}|{'|'.join(_DETAILS)}):\s+(.*)"
        self._lines = [re.compile(prefix + rest, re.DOTALL) for prefix in _prefixes(layout)]
        self._has_zone = has_zone

    def event(self, text: str) -> Mapping[str, Any]:
        """The fields of a message; a `ValueError` says why there are none."""
        if text.startswith("{"):
            fields = _json_fields(text)
        elif re.match(rf"{_TIME},", text):
            fields = _csv_fields(text)
        else:
            fields = self._stderr_fields(text)
        for name in ("timestamp", "session_start"):
            if fields.get(name):
                fields[name] = _zoned(fields[name], has_zone=self._has_zone)
        _add_connection(fields)
        message = fields.get("message") or ""
        if found := _DURATION.match(message):
            fields |= {"duration_ms": found[1], "statement": found[2]}
        elif found := _STATEMENT.match(message):
            fields["statement"] = found[1]
        return {name: None if value == "" else value for name, value in fields.items()}

    def _stderr_fields(self, text: str) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        part = ""
        for line in text.split("\n"):
            found = next((found for pattern in self._lines if (found := pattern.match(line))), None)
            if found is None and not fields:
                raise ValueError("is no message of PostgreSQL")
            kind = found[found.re.groups - 1] if found else ""
            if found is None or (kind in _DETAILS and not fields):
                if not fields:
                    raise ValueError("is a detail without its message")
                fields[part] += "\n" + line.removeprefix("\t")
            elif kind in _DETAILS:
                part = _DETAILS[kind]
                fields[part] = found[found.re.groups]
            else:
                given = {name: value for name, value in found.groupdict().items() if value not in (None, "[unknown]")}
                words = given.pop("words", None)
                part = "message"
                fields = {**given, **_from_words(words or ""), "severity": kind, part: found[found.re.groups]}
        return fields


def _from_words(words: str) -> dict[str, str]:
    """What usual prefixes say."""
    found: dict[str, str] = {}
    for name, pattern in _WORDS.items():
        match = pattern.search(words)
        value = next((group for group in match.groups() if group is not None), "") if match else ""
        if value not in _NOTHING:
            found[name] = value
    return found


def _csv_fields(text: str) -> dict[str, Any]:
    try:
        (values,) = csv.reader(io.StringIO(text, newline=""), strict=True)
    except (csv.Error, ValueError):
        raise ValueError("is no row of csvlog") from None
    if len(values) < _LEAST:
        raise ValueError(f"has {len(values)} values, expected at least {_LEAST}")
    fields: dict[str, Any] = dict(zip(_CSV, values, strict=False))
    fields |= {f"column_{number}": value for number, value in enumerate(values[len(_CSV) :], len(_CSV) + 1)}
    return fields


def _json_fields(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    fields = {_JSON.get(name, name): value for name, value in found.items() if name}
    function, file = fields.pop("func_name", None), fields.pop("file_name", None)
    line = fields.pop("file_line_num", None)
    if file is not None:
        fields["location"] = f"{function or ''}, {file}:{line}".lstrip(", ")
    return fields


def _add_connection(fields: dict[str, Any]) -> None:
    """Address and port of the client, which csvlog and `%r` have in one."""
    given = fields.pop("connection", None)
    if given and (found := re.fullmatch(r"(.*)(?::([0-9]+)|\(([0-9]+)\))", given)):
        fields |= {"client": found[1], "client_port": found[2] or found[3]}
    elif given:
        fields["client"] = given


@lru_cache(1024)
def _zoned(text: str, *, has_zone: bool) -> str:
    """A time with an offset instead of the name of a zone."""
    time, _, zone = text.rpartition(" ")
    if re.fullmatch(r"[+-][0-9:]+", zone):
        return time + zone
    if not time or zone[0].isdigit():
        return text
    if has_zone and zone not in ("UTC", "GMT"):
        return time
    if zone not in _ZONES:
        raise ValueError(f'has the unknown time zone "{zone}"; set the timezone of the format')
    return time + _ZONES[zone]
