"""Syslog lines, of RFC 5424 and of RFC 3164 as it is practised, in DuckDB.

Fields: `priority`, `facility`, `severity`, `version`, `timestamp`, `month_day_time`, `host`, `app`, `procid`,
`detail`, `msgid`, `structured_data`, `message`. What a line does not say is null.

- A line of RFC 3164 may lack the priority (as in /var/log/auth.log), the host, or the tag in front of the
  message. A line with a priority whose rest is not understood is all message, as that RFC has it.
- `detail` is what some programs have in round brackets behind the tag: `launchd[1] (com.apple.x[97]): Exited`.
- A message may have more lines, without a header.
- `timestamp` is the text of the line, with the year in front if it is one of RFC 3164 that has a year. Where
  there is none, `month_day_time` is the same as `12-10 06:55:46`; a caller that knows the year can prepend it.
- `structured_data` is JSON text, `{"id": {"name": "value"}}`; a name that is duplicated stays so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tailpipe.frozen import frozen
from tailpipe.plugin import Lines, Parsed
from tailpipe.plugin.arrow import line_table
from tailpipe.plugin.sql import literal, text_list

_FACILITIES = [
    *("kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp"),
    *("ntp", "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4", "local5", "local6"),
    *("local7",),
]
_SEVERITIES = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"]
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

_PARAMETER = r'\s+[^\s=\]"]+="(?:[^"\\]|\\.)*"'
_ELEMENT = rf'\[[^\s=\]"]+(?:{_PARAMETER})*\s*\]'
_NAME = r'([^\s=\[\]"]+)'
_VALUE = r'="((?s:.*))"$'
_ESCAPED, _ITSELF = r'\\(["\\\]])', r"\1"
_NEW = (
    r"^(<([0-9]{1,3})>([1-9][0-9]{0,2}) (\S+) (\S+) (\S+) (\S+) (\S+)"
    rf" (-|(?:{_ELEMENT})+)(?: \x{{FEFF}}?((?s:.*)))?)$"
)
_BROKEN = "^[1-9][0-9]{0,2} [0-9]{4}-[0-9]{2}-"
_NEW_GROUPS = ["w", "priority", "version", "timestamp", "host", "app", "procid", "msgid", "data", "message"]

_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?"
_DATE = rf"({'|'.join(_MONTHS)}) +([0-9]{{1,2}})(?: +([0-9]{{4}}))? +({_CLOCK})"
_ISO = r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]+(?:Z|[+-][0-9]{2}:?[0-9]{2})?)"
START = rf"^(?:<[0-9]{{1,3}}>|{_DATE}|{_ISO})"
"""What a message begins with: a priority or a time. Any other line goes on with the message before it."""
_OLD = (
    rf"^((?:<([0-9]{{1,3}})>)?(?:({_DATE}|{_ISO}):?\s+(?:(\S*[0-9A-Za-z](?:\S*[^\s:\]])?)(?:\s+|$))?"
    r"(?:([^\s:\[\]]+)(?:\[([^\[\]\s]*)\](?: \(([^()\s]+)\))?| \(([^()\s]*\[[0-9]*\])\))?(?: <[A-Z][a-z]+>)?:(?:\s|$))?"
    r"((?s:.*))|((?s:.*))))$"
)
_OLD_GROUPS = [
    *("w", "priority", "timestamp", "month", "day", "year", "clock", "iso"),
    *("host", "app", "procid", "detail", "lone_detail", "message", "bare"),
]


@frozen
class SyslogParser:
    """Reads syslog lines of one RFC, or detects the RFC of each line."""

    rfc: Literal["auto", "3164", "5424"] = "auto"

    def parse(self, runs: Sequence[Lines]) -> Parsed:
        """One row to a message; a text that is none of syslog's is bad."""
        table = line_table(runs)
        columns = {"_artifact": "_artifact", "_ordinal": "_ordinal", "_bad": self._bad(), "_raw": "_line", **_FIELDS}
        selected = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
        types = {name: "INTEGER" if name in ("priority", "version") else "VARCHAR" for name in _FIELDS}
        return Parsed(f"SELECT {selected} FROM ({self._rows()})", {"syslog_lines": table}, types, table.num_rows)

    def _rows(self) -> str:
        """Both readings of each line, and what they have in common."""
        new = "NULL" if self.rfc == "3164" else "_line"
        old = "NULL" if self.rfc == "5424" else "CASE WHEN n.w <> '' THEN NULL ELSE _line END"
        rows = f"SELECT *, {_extract(new, _NEW, _NEW_GROUPS)} AS n FROM syslog_lines"
        rows = f"SELECT *, {_extract(old, _OLD, _OLD_GROUPS)} AS o, n.w <> '' AS is_new FROM ({rows})"
        priority = "try_cast(nullif(CASE WHEN is_new THEN n.priority ELSE o.priority END, '') AS INTEGER)"
        return f"SELECT *, {priority} AS pri FROM ({rows})"

    def _bad(self) -> str:
        what = "is no syslog line" if self.rfc == "auto" else f"is no line of RFC {self.rfc}"
        known = "coalesce(n.w <> '', false) OR coalesce(o.timestamp <> '' OR o.priority <> '', false)"
        return (
            f"CASE WHEN NOT ({known}) THEN {literal(what)}"
            " WHEN pri > 191 THEN 'the priority is above 191'"
            f" WHEN regexp_matches(o.bare, {literal(_BROKEN)}) THEN 'begins like RFC 5424 but does not go on so' END"
        )


def _extract(text: str, pattern: str, groups: Sequence[str]) -> str:
    return f"regexp_extract({text}::VARCHAR, {literal(pattern)}, {text_list(groups)})"


def _either(new: str, old: str) -> str:
    """The text of the line's own RFC; `-` and nothing are null."""
    return f"CASE WHEN is_new THEN nullif(n.{new}, '-') ELSE nullif(o.{old}, '') END"


def _structured(data: str) -> str:
    """SQL that makes JSON of structured data."""
    value = f"regexp_replace({_part('p', _VALUE)}, {literal(_ESCAPED)}, {literal(_ITSELF)}, 'g')"
    pair = f"{_json(_part('p', _NAME))} || ':' || {_json(value)}"
    pairs = f"list_transform(regexp_extract_all(e, {literal(_PARAMETER)}), lambda p: {pair})"
    element = f"{_json(_part('e', _NAME))} || ':{{' || array_to_string({pairs}, ',') || '}}'"
    elements = f"list_transform(regexp_extract_all({data}, {literal(_ELEMENT)}), lambda e: {element})"
    return f"'{{' || array_to_string({elements}, ',') || '}}'"


def _part(text: str, pattern: str) -> str:
    return f"regexp_extract({text}, {literal(pattern)}, 1)"


def _json(text: str) -> str:
    return f"to_json({text})::VARCHAR"


_NUMBERS = f"lpad(list_position({text_list(_MONTHS)}, o.month)::VARCHAR, 2, '0') || '-' || lpad(o.day, 2, '0')"
_TIME = f"{_NUMBERS} || ' ' || replace(o.clock, ',', '.')"

_FIELDS: Mapping[str, str] = {
    "priority": "pri",
    "facility": f"({text_list(_FACILITIES)})[pri // 8 + 1]",
    "severity": f"({text_list(_SEVERITIES)})[pri % 8 + 1]",
    "version": "try_cast(n.version AS INTEGER)",
    "timestamp": f"CASE WHEN o.year <> '' THEN o.year || '-' || {_TIME} ELSE {_either('timestamp', 'timestamp')} END",
    "month_day_time": f"CASE WHEN o.month <> '' AND o.year = '' THEN {_TIME} END",
    "host": _either("host", "host"),
    "app": _either("app", "app"),
    "procid": _either("procid", "procid"),
    "detail": "coalesce(nullif(o.detail, ''), nullif(o.lone_detail, ''))",
    "msgid": "CASE WHEN is_new THEN nullif(n.msgid, '-') END",
    "structured_data": f"CASE WHEN is_new AND n.data <> '-' THEN {_structured('n.data')} END",
    "message": "nullif(CASE WHEN is_new THEN n.message WHEN o.timestamp <> '' THEN o.message ELSE o.bare END, '')",
}
