"""The plugin `core`: the formats and sources that belong to no product."""

from pathlib import Path

from tailpipe.plugin import Late, Plugin

_FORMATS = "tailpipe.formats"

plugin = Plugin(
    name="core",
    description="Files, commands, and the formats that logs of all kinds are written in.",
    queries=Path(__file__).parent / "queries",
    sources=[
        Late("command", "tailpipe.plugins.core.command:Command"),
        Late("file", "tailpipe.plugins.core.sources:File"),
    ],
    formats=[
        Late("apache_access_log", f"{_FORMATS}.apache_access_log:ApacheAccessLog"),
        Late("auditd", f"{_FORMATS}.security:Auditd"),
        Late("cef", f"{_FORMATS}.security:Cef"),
        Late("cri", f"{_FORMATS}.containers:Cri"),
        Late("csv", f"{_FORMATS}.delimited:Csv"),
        Late("delimited", f"{_FORMATS}.delimited:Delimited"),
        Late("docker", f"{_FORMATS}.containers:Docker"),
        Late("evtx", f"{_FORMATS}.security:Evtx"),
        Late("first_byte", f"{_FORMATS}.first_byte:FirstByte"),
        Late("grok", f"{_FORMATS}.lines:Grok"),
        Late("journald", f"{_FORMATS}.services:Journald"),
        Late("json", f"{_FORMATS}.records:Json"),
        Late("jsonl", f"{_FORMATS}.records:Jsonl"),
        Late("leef", f"{_FORMATS}.security:Leef"),
        Late("logfmt", f"{_FORMATS}.lines:Logfmt"),
        Late("mysql_slow_log", f"{_FORMATS}.services:MysqlSlowLog"),
        Late("nginx_access_log", f"{_FORMATS}.nginx_access_log:NginxAccessLog"),
        Late("parquet", f"{_FORMATS}.records:Parquet"),
        Late("postgresql_log", f"{_FORMATS}.services:PostgresqlLog"),
        Late("regex", f"{_FORMATS}.lines:Regex"),
        Late("syslog", f"{_FORMATS}.lines:Syslog"),
        Late("w3c", f"{_FORMATS}.delimited:W3cLog"),
        Late("zeek", f"{_FORMATS}.security:Zeek"),
    ],
    presets=[
        Late("apache_access_log.combined", f"{_FORMATS}.apache_access_log:COMBINED"),
        Late("apache_access_log.common", f"{_FORMATS}.apache_access_log:COMMON"),
        Late("apache_access_log.vhost_combined", f"{_FORMATS}.apache_access_log:VHOST_COMBINED"),
        Late("apache_access_log.vhost_common", f"{_FORMATS}.apache_access_log:VHOST_COMMON"),
        Late("auditd.default", f"{_FORMATS}.security:AUDITD"),
        Late("cef.default", f"{_FORMATS}.security:CEF"),
        Late("cri.default", f"{_FORMATS}.containers:CRI"),
        Late("csv.default", f"{_FORMATS}.delimited:CSV_DEFAULT"),
        Late("delimited.csv", f"{_FORMATS}.delimited:CSV"),
        Late("delimited.default", f"{_FORMATS}.delimited:DELIMITED"),
        Late("delimited.w3c", f"{_FORMATS}.delimited:W3C"),
        Late("docker.default", f"{_FORMATS}.containers:DOCKER"),
        Late("evtx.default", f"{_FORMATS}.security:EVTX"),
        Late("journald.default", f"{_FORMATS}.services:JOURNALD"),
        Late("json.default", f"{_FORMATS}.records:JSON"),
        Late("jsonl.default", f"{_FORMATS}.records:JSONL"),
        Late("leef.default", f"{_FORMATS}.security:LEEF"),
        Late("logfmt.default", f"{_FORMATS}.lines:LOGFMT"),
        Late("mysql_slow_log.default", f"{_FORMATS}.services:MYSQL_SLOW_LOG"),
        Late("nginx_access_log.combined", f"{_FORMATS}.nginx_access_log:COMBINED"),
        Late("parquet.default", f"{_FORMATS}.records:PARQUET"),
        Late("postgresql_log.default", f"{_FORMATS}.services:POSTGRESQL_LOG"),
        Late("syslog.default", f"{_FORMATS}.lines:SYSLOG"),
        Late("w3c.default", f"{_FORMATS}.delimited:W3C_DEFAULT"),
        Late("zeek.default", f"{_FORMATS}.security:ZEEK"),
    ],
)
