"""Entries of the slow query log: comments with figures, `SET timestamp=…;` and the query.

`# Time:` stands before the first entry of a second only, so the last one is remembered. A time with a zone counts;
without one, `SET timestamp` is exact and wins. Other figures of a comment are fields of their own names, in lower case;
those of InnoDB are in `innodb`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tailpipe.plugin import LineParser, Lines
from tailpipe.plugin.functions import run_parser

START = r"^# (?:Time|User@Host): |^(?:/\S+|mysqld), Version: |^Tcp port: |^Time +Id Command"
_BANNER = re.compile(r"(?:/\S+|mysqld), Version: |Tcp port: |Time +Id Command")
_TIME = re.compile(r"# Time: +(.+?)\s*")
_USER = re.compile(r"# User@Host: +([^\[]*)\[([^\]]*)\] @ +(\S*?) *\[([^\]]*)\](?: +Id: +(\d+))?")
_FIGURE = re.compile(r"([A-Za-z_@]+):(?: +(\S*[^\s:])(?= |$))?")
_OLD_TIME = re.compile(r"(\d\d)(\d\d)(\d\d) +(\d{1,2}):(\d\d:\d\d)")
_ZONED = re.compile(r".*(?:Z|[+-]\d\d:?\d\d)")
_SET = re.compile(r"SET timestamp=(\d+(?:\.\d+)?);\s*$")
_USE = re.compile(r"use (\S+);\s*$", re.IGNORECASE)
_NAMES = {"id": "thread_id", "errno": "last_errno"}
_BOOLEANS = {"Yes": True, "No": False}


class _SlowLog:
    """The last time of each artifact."""

    def __init__(self) -> None:
        self._times: dict[int, str] = {}

    def function(self, run: Lines) -> Callable[[str], Mapping[str, Any] | None]:
        """What reads the entries of a run."""
        place = run.artifact
        if not run.head:  # it begins here
            self._times.pop(place, None)

        def entry(text: str) -> Mapping[str, Any] | None:
            first = text.partition("\n")[0]
            if time := _TIME.fullmatch(first):
                self._times[place] = time[1]
                text = text.partition("\n")[2]
                return _entry(text, time[1]) if text.startswith("#") else None
            if _BANNER.match(first):
                return None
            return _entry(text, self._times.get(place))

        return entry


def slow_log_parser() -> LineParser:
    """A parser of entries."""
    return run_parser(_SlowLog().function)


def _entry(text: str, time: str | None) -> Mapping[str, Any]:
    lines = text.split("\n")
    found: dict[str, Any] = {}
    innodb: dict[str, str] = {}
    explain: list[str] = []
    user = _USER.match(lines[0])
    if user is None:
        raise ValueError("has no # User@Host")
    found |= {"user": user[1].strip() or user[2] or None, "host": user[3] or None, "ip": user[4] or None}
    found["thread_id"] = user[5]
    place = 1
    while place < len(lines) and lines[place].startswith("#"):
        line = lines[place]
        if line.startswith("# explain:"):
            explain.append(line.removeprefix("# explain:").strip())
        for name, value in _FIGURE.findall(line) if not line.startswith("# explain:") else ():
            _take(found, innodb, name, value)
        place += 1
    found["query"], moment, schema = _query(lines[place:])
    return {
        "timestamp": _moment(time, moment),
        **found,
        "schema": found.get("schema") or schema,
        "innodb": innodb or None,
        "explain": "\n".join(explain) or None,
    }


def _take(found: dict[str, Any], innodb: dict[str, str], name: str, value: str) -> None:
    """One figure; it may be empty: `Schema:   Last_errno: 0`."""
    if name.lower().startswith("innodb_"):
        innodb[name] = value
    else:
        key = _NAMES.get(name.lower(), name.lower())
        if found.get(key) is None:
            found[key] = _BOOLEANS.get(value, value or None)


def _query(lines: list[str]) -> tuple[str | None, str | None, str | None]:
    """The query, the time that is set before it, and the schema that is used."""
    moment = schema = None
    while lines:
        if used := _USE.match(lines[0]):
            schema = used[1].strip("`")
        elif given := _SET.match(lines[0]):
            moment = given[1]
        else:
            break
        lines = lines[1:]
    return "\n".join(lines).strip() or None, moment, schema


def _moment(time: str | None, moment: str | None) -> str | None:
    if time is not None and _ZONED.fullmatch(time):
        return time
    if moment is not None:
        return moment
    if time is not None and (old := _OLD_TIME.fullmatch(time)):
        return f"20{old[1]}-{old[2]}-{old[3]} {int(old[4]):02}:{old[5]}"
    return time
