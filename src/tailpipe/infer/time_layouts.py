"""Time layouts: the ways in which programs write times, as data. `docs/any-log.md` lists them.

A layout is written with the directives of `strptime`, and `{f}` for an optional fraction of a second, `{z}` for an
optional zone. `{a}` and `{b}` are day and month, in an order that the log decides. `%e` and `%k` are day and hour
padded with a space; `%-m` and the like are numbers without leading zeros.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from tailpipe.frozen import frozen

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_LONG_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAYS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_LONG_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_STRICT = {
    "%Y": r"(?:19[89]\d|20\d\d)",
    "%y": r"[0-4]\d",
    "%m": r"(?:0[1-9]|1[0-2])",
    "%-m": r"(?:0?[1-9]|1[0-2])",
    "%d": r"(?:0[1-9]|[12]\d|3[01])",
    "%-d": r"(?:0?[1-9]|[12]\d|3[01])",
    "%e": r"(?: [1-9]|0?[1-9]|[12]\d|3[01])",
    "%j": r"(?:[0-2]\d\d|3[0-6]\d)",
    "%H": r"(?:[01]\d|2[0-3])",
    "%-H": r"(?:[01]?\d|2[0-3])",
    "%-I": r"(?:0?[1-9]|1[0-2])",
    "%M": r"[0-5]\d",
    "%-M": r"[0-5]?\d",
    "%S": r"[0-5]\d",
    "%-S": r"[0-5]?\d",
    "%f": r"\d{1,6}",
    "%g": r"\d{3}",
    "%k": r"(?: \d|[01]?\d|2[0-3])",
    "{a}": r"(?:0?[1-9]|[12]\d|3[01])",
    "{b}": r"(?:0?[1-9]|[12]\d|3[01])",
    "%p": r"[AaPp][Mm]",
    "%b": rf"(?:{_MONTHS}|{_MONTHS.lower()})",
    "%B": rf"(?:{_LONG_MONTHS})",
    "%a": rf"(?:{_DAYS})",
    "%A": rf"(?:{_LONG_DAYS})",
    "%z": r"[+-](?:0\d|1[0-4]):?[0-5]\d",
    "%Z": r"[A-Z]{3,5}",
    "{f}": r"(?:[.,]\d{1,9})?",
    "{z}": r"(?: ?(?:Z\b|UTC\b|GMT\b|[+-](?:0\d|1[0-4]):?(?:[0-5]\d)?(?!\d)))?",
}
_LOOSE = {
    "%Y": r"\d{4}",
    "%j": r"\d{3}",
    "%f": r"\d{1,6}",
    "%g": r"\d{3}",
    "%e": r"[ \d]?\d",
    "%k": r"[ \d]?\d",
    "{a}": r"\d\d?",
    "{b}": r"\d\d?",
    "%p": "[AaPp][Mm]",
    "%b": "[A-Za-z][a-z]{2}",
    "%B": "[A-Z][a-z]+",
    "%a": "[A-Z][a-z]{2}",
    "%A": "[A-Z][a-z]+",
    "%z": r"[+-]\d\d:?\d\d",
    "%Z": "[A-Z]{3,5}",
    "{f}": r"(?:[.,]\d{1,9})?",
    "{z}": r"(?: ?(?:Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?))?",
}
_PARTS = re.compile(r"%-?[A-Za-z]|\{[abfz]\}|.", re.DOTALL)
_WORDY = re.compile(r"[\w]")
Kind = Literal["instant", "local", "no year", "no date"]


@frozen
class TimeLayout:
    """A way to write times: `kind` says what it leaves open. `used_by` names programs that write it."""

    template: str
    kind: Kind
    example: str
    used_by: str
    is_plain: bool = False
    """Whether columns of the type timestamp read it without a `time_format`."""
    pattern: str | None = None
    """The text, if the template is the name of a time format and not made of directives."""
    before: str = r"(?<![\w.:/-])"
    """What may be right before it."""
    needs_name: bool = False
    """Whether bare numbers are times only in fields with the name of a time."""

    @cached_property
    def strict(self) -> re.Pattern[str]:
        """Finds the layout in a line, with values that times can have."""
        inner = self.pattern or self._compiled(_STRICT)
        before = self.before if _WORDY.match(self.example) else ""
        # Directories of dates, versions and addresses go on after what looks like a time.
        return re.compile(rf"{before}(?:{inner})(?!\w|[:./-]\d)")

    def loose(self, texts: Sequence[str]) -> str:
        """The pattern of a regex layout, for RE2, with the optional parts that a text has."""
        if self.pattern is not None:
            return self.pattern
        parts = dict(_LOOSE)
        for part in () if self.is_plain else ("{f}", "{z}"):
            without = {**parts, part: ""}
            pattern = re.compile(self._compiled(without))
            parts = without if all(map(pattern.fullmatch, texts)) else parts
        return self._compiled(parts)

    def _compiled(self, parts: Mapping[str, str]) -> str:
        def one(part: str) -> str:
            if part.startswith("%-"):
                return parts.get(part, r"\d\d?")
            return parts.get(part, r"\d\d" if part.startswith("%") else rf"\{part}" if part in ".()[]*+?" else part)

        return "".join(map(one, _PARTS.findall(self.template)))


def _rows(kind: Kind, *rows: tuple[str, str, str], is_plain: bool = False) -> list[TimeLayout]:
    return [TimeLayout(template, kind, example, used_by, is_plain) for template, example, used_by in rows]


LAYOUTS: tuple[TimeLayout, ...] = (
    *_rows(
        "local",
        ("%Y-%m-%dT%H:%M:%S{f}{z}", "2026-11-18T09:41:10.123Z", "ISO 8601, RFC 3339, most JSON logs"),
        ("%Y-%m-%d %H:%M:%S{f}{z}", "2026-11-18 09:41:10,123", "Python logging, log4j, logback, PostgreSQL, MariaDB"),
        ("%Y-%m-%dT%H:%M{z}", "2026-11-18T09:41Z", "ISO 8601 in minutes"),
        ("%Y-%m-%d %H:%M{z}", "2026-11-18 09:41", "reports, spreadsheets"),
        is_plain=True,
    ),
    *_rows(
        "local",
        ("%Y-%m-%d %k:%M:%S{f}", "2026-11-18  9:41:10", "MariaDB"),
        ("%Y-%m-%d-%H.%M.%S{f}", "2026-11-18-09.41.10.123456", "IBM Db2, Blue Gene"),
        ("%Y-%m-%d_%H:%M:%S{f}{z}", "2026-11-18_09:41:10.123", "runit's svlogd, scripts"),
        ("%Y-%m-%d_%H-%M-%S{f}", "2026-11-18_09-41-10", "scripts"),
        ("%Y-%m-%d-%H:%M:%S{f}", "2026-11-18-09:41:10", "scripts"),
        ("%Y-%m-%d:%H:%M:%S{f}", "2026-11-18:09:41:10", "scripts"),
        ("%Y-%m-%d, %H:%M:%S{f}", "2026-11-18, 09:41:10", "NSIS, JavaScript in Sweden"),
        ("%Y-%m-%d - %H:%M:%S{f}", "2026-11-18 - 09:41:10", "TeamSpeak, scripts"),
        ("%Y-%jT%H:%M:%S{f}{z}", "2026-322T09:41:10Z", "ordinal dates of space agencies"),
        ("%Y/%m/%d %H:%M:%S{f}{z}", "2026/11/18 09:41:10", "Go's log, nginx errors, Windows, Snort 3"),
        ("%Y/%m/%d-%H:%M:%S{f}", "2026/11/18-09:41:10.123", "RocksDB, LevelDB, HAProxy's health checks"),
        ("%Y/%m/%dT%H:%M:%S{f}{z}", "2026/11/18T09:41:10", "scripts"),
        ("%Y.%m.%d %H:%M:%S{f}{z}", "2026.11.18 09:41:10.123456", "ClickHouse"),
        ("%Y.%m.%d-%H.%M.%S:%g", "2026.11.18-09.41.10:123", "Unreal Engine"),
        ("%Y%m%dT%H%M%S{f}{z}", "20261118T094110Z", "ISO 8601, basic form"),
        ("%Y%m%d-%-H:%-M:%-S:%g", "20261118-9:41:10:123", "HealthApp on Android"),
        ("%Y%m%d-%H:%M:%S{f}{z}", "20261118-09:41:10.123", "FIX engines"),
        ("%Y%m%d %H:%M:%S{f}", "20261118 09:41:10.123", "trading systems, Dovecot"),
        ("%Y%m%d_%H%M%S{f}", "20261118_094110", "scripts, mobile phones"),
        ("%Y%m%d-%H%M%S{f}", "20261118-094110", "scripts"),
        ("%Y%m%d %H%M%S{f}", "20261118 094110", "batch jobs"),
        ("%y/%m/%d %H:%M:%S{f}", "26/11/18 09:41:10", "Spark, Hadoop, Flink"),
        ("%y%m%d %H%M%S{f}", "261118 094110", "HDFS, SAP"),
        ("%y%m%d %k:%M:%S{f}", "261118  9:41:10", "MySQL up to 5.6"),
        ("%y-%m-%d %H:%M:%S{f}", "26-11-18 09:41:10", "batch jobs"),
        ("%d/%b/%Y:%H:%M:%S{f}", "18/Nov/2026:09:41:10", "web servers without a zone, HAProxy"),
        ("%d/%b/%Y %H:%M:%S{f}", "18/Nov/2026 09:41:10", "Django's server, CherryPy"),
        ("%d-%b-%Y %H:%M:%S{f}", "18-Nov-2026 09:41:10.123", "Tomcat, BIND, Oracle"),
        ("%d-%b-%Y::%H:%M:%S{f}", "18-Nov-2026::09:41:10", "RabbitMQ up to 3.6"),
        ("%d%b%Y %H:%M:%S.%g", "18Nov2026 09:41:10.123", "Minecraft Forge"),
        ("%b/%d/%Y %H:%M:%S", "nov/18/2026 09:41:10", "MikroTik"),
        ("%d-%b-%y %H:%M:%S{f}", "18-Nov-26 09:41:10", "Oracle"),
        ("%e %b %Y %H:%M:%S{f}{z}", "18 Nov 2026 09:41:10.123", "Redis, Exim, JBoss"),
        ("%d%b%Y %k:%M:%S{f}", "18Nov2026  9:41:10", "Check Point"),
        ("%b %e %Y %H:%M:%S{f}{z}", "Nov 18 2026 09:41:10", "Cisco ASA and IOS"),
        ("%b %e, %Y %-I:%M:%S %p", "Nov 18, 2026 9:41:10 AM", "java.util.logging, Jenkins"),
        ("%b %e, %Y, %-I:%M:%S %p", "Nov 18, 2026, 9:41:10 AM", "java.util.logging of Java 9 and later"),
        ("%b %e, %Y %H:%M:%S{f}", "Nov 18, 2026 09:41:10", "Wireshark"),
        ("%b %e, %Y %-I:%M:%S,%g %p", "Nov 18, 2026 9:41:10,123 AM", "WebLogic"),
        ("%B %e, %Y %-I:%M:%S %p", "November 18, 2026 9:41:10 AM", "reports"),
        ("%A, %B %e, %Y %-I:%M:%S %p", "Wednesday, November 18, 2026 9:41:10 AM", "Windows"),
        ("%a %b %e %H:%M:%S{f} %Y", "Wed Nov 18 09:41:10.123456 2026", "C's ctime, Apache errors, Squid, OpenVPN"),
        ("%b %e %H:%M:%S{f} %Y", "Nov 18 09:41:10 2026", "Cisco, scripts"),
        ("%Y %b %e %H:%M:%S{f}", "2026 Nov 18 09:41:10.123", "Cisco NX-OS"),
        ("%a, %e %b %Y %H:%M:%S", "Wed, 18 Nov 2026 09:41:10", "mail without a zone"),
    ),
    *_rows(
        "instant",
        ("%d/%b/%Y:%H:%M:%S{f} %z", "18/Nov/2026:09:41:10 +0100", "Apache and nginx access logs"),
        ("%d/%b/%Y %H:%M:%S{f} %z", "18/Nov/2026 09:41:10 +0100", "web servers"),
        ("%a, %e %b %Y %H:%M:%S %z", "Wed, 18 Nov 2026 09:41:10 +0100", "RFC 2822: mail, Git"),
        ("%a, %e %b %Y %H:%M:%S %Z", "Wed, 18 Nov 2026 09:41:10 GMT", "HTTP dates"),
        ("%a %b %e %H:%M:%S{f} %Y %z", "Wed Nov 18 09:41:10 2026 +0100", "Git"),
        ("%a %b %e %H:%M:%S %Z %Y", "Wed Nov 18 09:41:10 UTC 2026", "`date`, Java's Date"),
        ("%a %b %e %H:%M:%S %z %Y", "Wed Nov 18 09:41:10 +0100 2026", "Twitter, Ruby"),
        ("%a %e %b %Y %-I:%M:%S %p %Z", "Wed 18 Nov 2026 09:41:10 AM UTC", "`date` of newer systems"),
        ("%a %e %b %Y %H:%M:%S %Z", "Wed 18 Nov 2026 09:41:10 UTC", "`date` of newer systems"),
        ("%A, %e-%b-%y %H:%M:%S %Z", "Wednesday, 18-Nov-26 09:41:10 GMT", "RFC 850"),
    ),
    TimeLayout("tai64n", "instant", "@400000006746ad1d1f0a3c2c", "daemontools, qmail, s6", pattern=r"@[0-9a-f]{24}"),
    TimeLayout(
        "dotnet_date",
        "instant",
        "/Date(1795081270123)/",
        "JSON of .NET",
        pattern=r"\\?/Date\(-?\d{10,14}(?:[+-]\d{4})?\)\\?/",
    ),
    TimeLayout("dotnet_ticks", "local", "639145032701230000", ".NET", pattern=r"6[34]\d{16}", needs_name=True),
    TimeLayout("epoch_s", "instant", "1795081270.123", "Squid, dmesg -e, Zeek", pattern=r"1[0-9]\d{8}\.\d{1,9}"),
    TimeLayout("epoch_s", "instant", "1795081270", "Nagios, Blue Gene", pattern=r"1[0-9]\d{8}", needs_name=True),
    TimeLayout("epoch_ms", "instant", "1795081270123", "JavaScript, Java", pattern=r"1[0-9]\d{11}", needs_name=True),
    TimeLayout("epoch_us", "instant", "1795081270123456", "journald", pattern=r"1[0-9]\d{14}", needs_name=True),
    TimeLayout("epoch_ns", "instant", "1795081270123456789", "OpenTelemetry", pattern=r"1[0-9]\d{17}", needs_name=True),
    *_rows(
        "local",
        ("{a}/{b}/%Y %-H:%M:%S{f}{z}", "11/18/2026 09:41:10", "Windows, SQL Server, US or European settings"),
        ("{a}/{b}/%Y %-I:%M:%S %p", "11/18/2026 9:41:10 AM", "Windows, SharePoint, Exchange"),
        ("{a}/{b}/%Y, %-I:%M:%S %p", "11/18/2026, 9:41:10 AM", "JavaScript, NestJS"),
        ("{a}/{b}/%Y, %-H:%M:%S{f}", "18/11/2026, 09:41:10", "JavaScript"),
        ("{a}/{b}/%Y %-I:%M %p", "11/18/2026 9:41 AM", "spreadsheets"),
        ("{a}/{b}/%Y-%-H:%M:%S{f}", "11/18/2026-09:41:10.123456", "Snort"),
        ("{a}/{b}/%Y:%-H:%M:%S{f}", "18/11/2026:09:41:10", "appliances"),
        ("{a}/{b}/%y %-I:%M:%S %p", "11/18/26 9:41:10 AM", "WebSphere"),
        ("{a}/{b}/%y %-H:%M:%S{f}{z}", "18/11/26 09:41:10", "appliances"),
        ("{a}/{b}/%y-%-H:%M:%S{f}", "11/18/26-09:41:10.123456", "Snort 2 with the year"),
        ("{a}/{b}/%y %-H:%M:%S:%g", "11/18/26 9:41:10:123", "WebSphere traces"),
        ("{a}/{b}/%y, %-H:%M:%S:%g", "11/18/26, 9:41:10:123", "WebSphere Liberty"),
        ("{a}/{b}/%Y - %H:%M:%S{f}", "11/18/2026 - 09:41:10", "Source engine"),
        ("{a}-{b}-%Y %-H:%M:%S{f}{z}", "18-11-2026 09:41:10", "scripts"),
        ("{a}-{b}-%Y:%-H:%M:%S{f}", "18-11-2026:09:41:10", "scripts"),
        ("{a}.{b}.%Y %-H:%M:%S{f}{z}", "18.11.2026 09:41:10", "Windows and scripts in Europe"),
        ("{a}.{b}.%Y, %-H:%M:%S{f}", "18.11.2026, 09:41:10", "JavaScript in Europe"),
        ("{a}.{b}.%y %-H:%M:%S{f}", "18.11.26 09:41:10", "scripts in Europe"),
    ),
    *_rows("no year", ("%b %e %H:%M:%S{f}", "Nov 18 09:41:10", "syslog (RFC 3164), macOS, OpenSSH"), is_plain=True),
    *_rows(
        "no year",
        ("%a %b %e %H:%M:%S{f}", "Wed Nov 18 09:41:10", "macOS's wifi log"),
        ("%e %b %H:%M:%S{f}", "18 Nov 09:41:10.123", "Redis, ntpd"),
        ("%d-%b %H:%M:%S{f}", "18-Nov 09:41:10", "Bacula"),
        ("%m-%d %H:%M:%S{f}", "11-18 09:41:10.123", "Android's logcat"),
        ("%m/%d-%H:%M:%S{f}", "11/18-09:41:10.123456", "Snort, Suricata's fast.log without the year"),
        ("%m/%d %H:%M:%S{f}", "11/18 09:41:10", "VirtualBox, Condor"),
        ("%m.%d %H:%M:%S{f}", "11.18 09:41:10", "Proxifier"),
    ),
    TimeLayout(
        "%m%d %H:%M:%S{f}",
        "no year",
        "1118 09:41:10.123456",
        "klog and glog: Kubernetes, Ceph, TensorFlow",
        before=r"(?:(?<![\w.:/-])|(?<=\b[IWEFD]))",
    ),
    *_rows(
        "no date",
        ("%H:%M:%S{f}", "09:41:10.123", "log4j's defaults, WildFly, Gradle, strace"),
        ("%-I:%M:%S %p", "9:41:10 AM", "JavaScript"),
    ),
)
"""All layouts of lines. Longer and more certain ones are preferred, whatever their order."""

DATED = tuple(one for one in LAYOUTS if one.kind != "no date" and not one.needs_name)
"""Those that are times wherever they are, with a date."""

DATES: tuple[TimeLayout, ...] = tuple(
    _rows(
        "local",
        ("%Y/%m/%d", "2026/11/18", "spreadsheets"),
        ("%d-%b-%Y", "18-Nov-2026", "Oracle"),
        ("%e %b %Y", "18 Nov 2026", "reports"),
        ("%b %e, %Y", "Nov 18, 2026", "reports"),
        ("{a}/{b}/%Y", "11/18/2026", "spreadsheets"),
        ("{a}.{b}.%Y", "18.11.2026", "spreadsheets in Europe"),
        ("{a}-{b}-%Y", "18-11-2026", "spreadsheets"),
    )
)
"""Layouts of fields that hold days; lines need a time of day."""

NAMED_ZONES = {
    "UTC": "UTC", "GMT": "UTC", "WET": "Europe/Lisbon", "WEST": "Europe/Lisbon",
    "CET": "Europe/Berlin", "CEST": "Europe/Berlin", "MEZ": "Europe/Berlin", "MESZ": "Europe/Berlin",
    "EET": "Europe/Athens", "EEST": "Europe/Athens", "MSK": "Europe/Moscow", "TRT": "Europe/Istanbul",
    "EST": "America/New_York", "EDT": "America/New_York", "CDT": "America/Chicago", "MST": "America/Denver",
    "MDT": "America/Denver", "PST": "America/Los_Angeles", "PDT": "America/Los_Angeles",
    "JST": "Asia/Tokyo", "KST": "Asia/Seoul", "HKT": "Asia/Hong_Kong", "SGT": "Asia/Singapore",
    "AEST": "Australia/Sydney", "AEDT": "Australia/Sydney", "NZST": "Pacific/Auckland", "NZDT": "Pacific/Auckland",
    "BRT": "America/Sao_Paulo", "ART": "America/Argentina/Buenos_Aires", "SAST": "Africa/Johannesburg",
}  # fmt: skip
"""Short names of zones that mean one zone. CST, IST and BST mean several."""
