"""The formats that belong to no product, for tables of any plugin: how each kind of text becomes named fields."""

from typing import TYPE_CHECKING, Any

from tailpipe.plugin.first_use import import_name as _import_name

if TYPE_CHECKING:
    from tailpipe.formats.apache_access_log import ApacheAccessLog
    from tailpipe.formats.containers import Cri, Docker
    from tailpipe.formats.delimited import Delimited, W3cLog
    from tailpipe.formats.first_byte import FirstByte
    from tailpipe.formats.lines import Grok, Logfmt, Multiline, Regex, Syslog
    from tailpipe.formats.nginx_access_log import NginxAccessLog
    from tailpipe.formats.records import Json, Jsonl, Parquet
    from tailpipe.formats.security import Auditd, Cef, Evtx, Leef, Zeek
    from tailpipe.formats.services import Journald, MysqlSlowLog, PostgresqlLog

__all__ = [
    "ApacheAccessLog",
    "Auditd",
    "Cef",
    "Cri",
    "Delimited",
    "Docker",
    "Evtx",
    "FirstByte",
    "Grok",
    "Journald",
    "Json",
    "Jsonl",
    "Leef",
    "Logfmt",
    "Multiline",
    "MysqlSlowLog",
    "NginxAccessLog",
    "Parquet",
    "PostgresqlLog",
    "Regex",
    "Syslog",
    "W3cLog",
    "Zeek",
]

_ON_FIRST_USE = {
    "tailpipe.formats.apache_access_log": ("ApacheAccessLog",),
    "tailpipe.formats.containers": ("Cri", "Docker"),
    "tailpipe.formats.delimited": ("Delimited", "W3cLog"),
    "tailpipe.formats.first_byte": ("FirstByte",),
    "tailpipe.formats.lines": ("Grok", "Logfmt", "Multiline", "Regex", "Syslog"),
    "tailpipe.formats.nginx_access_log": ("NginxAccessLog",),
    "tailpipe.formats.records": ("Json", "Jsonl", "Parquet"),
    "tailpipe.formats.security": ("Auditd", "Cef", "Evtx", "Leef", "Zeek"),
    "tailpipe.formats.services": ("Journald", "MysqlSlowLog", "PostgresqlLog"),
}


def __getattr__(name: str) -> Any:
    """Import a format on first use: a table has one."""
    return _import_name(globals(), _ON_FIRST_USE, name)
