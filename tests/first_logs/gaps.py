"""Layouts of the corpus that `init` does not read as it should, with what is wrong."""

from __future__ import annotations

_GAPS: dict[str, tuple[str, ...]] = {
    "init fails: zeek_conn_log reads milliseconds in ts as seconds, which gives a year beyond 9999": ("epoch_ms_json",),
    "the time of day is found, but not the date in the name of the file or in its header": (
        "jboss_time_only",
        "log4j2_default",
        "logback_default",
        "rkhunter",
        "windows_msi",
    ),
    "thread and level in one pair of brackets, as in [Server thread/INFO], are not told apart": (
        "forge",
        "minecraft",
        "minecraft_no_date",
    ),
    "a letter for the level right before the time, as in I0314, hides the time": ("glog", "klog", "kube_apiserver"),
    "a time right before a colon is not found": ("cisco_ios", "lighttpd_error", "pm2_dated"),
    "a level between the colon after the time and another mark is not found": ("celery", "python_level_colon"),
    "the words Note and System are not known as levels": ("mysql_5_5", "mysql_5_6", "mysql_5_7", "mysql_8"),
    "hours without a leading zero after a full date are not found": ("mariadb",),
    "words or letters for levels are not known: INF, fail, DDEBUG, Default": (
        "dnf",
        "dotnet_simple_console",
        "macos_unified",
        "serilog_file",
    ),
    "a name right before the level, as in production.INFO: or util.py[DEBUG]:, hides the level": (
        "cloud_init",
        "laravel",
        "symfony",
    ),
    "a level after the logger and a colon is not found": ("dovecot",),
    "a letter for the level in brackets, after other words, is not found": ("gitea",),
    "columns of fixed width with a letter for the level are not read": ("websphere",),
    "names with two colons, as in shop::server, are no loggers": ("rust_env_logger", "rust_tracing"),
    "logger, thread or code place before the message stay in the message": (
        "clickhouse",
        "django_verbose",
        "jenkins",
        "log4j_line_number",
        "loguru",
        "spring_boot_2",
        "spring_boot_3",
        "strongswan",
    ),
    "other words before the message stay in it": ("ansible_log", "couchdb", "proftpd", "samba"),
    "the program keeps its colon": ("ossec_log",),
    "blanks between the level and a colon leave the colon in the message": ("rclone",),
    "what closes the message, as > or |#], stays in it": ("glassfish_odl", "glassfish_ulf", "weblogic_stdout"),
    "an event of two lines, of which the second has the level, loses its level": (
        "db2diag",
        "jul_two_lines",
        "jul_two_lines_java9",
    ),
    "lines without a time: no level, and the lines of a trace are events": (
        "dotnet_console",
        "python_basic_config",
        "uvicorn",
    ),
    "the time at the end of the line is found, but not the level at its begin": ("winston_simple",),
    "a date in the middle of an event begins another one": ("ossec_alerts",),
    "no layout of a time: 14-Mar-2026::09:41:10": ("rabbitmq_old",),
    "no layout of a time: mar/14/2026 09:41:10": ("mikrotik_file",),
    "no layout of a time: 03/14/2026 - 09:41:10": ("source_engine",),
    "no layout of a time: 3/14/26, 9:41:10:123": ("websphere_liberty",),
    "no layout of a time: Mar 14, 2026 9:41:10,123 AM": ("weblogic_server",),
    "no layout of a date alone, other than 2026-03-14": ("csv_german_day_first",),
    "the name of a zone, as in Europe/Berlin, is not used": ("php_error_log_berlin",),
    "the time before pairs of key=value is lost": ("heroku_router", "splunk_key_value"),
    "the time in date= and time= after a priority of syslog is not used": ("fortigate_syslog",),
    "pairs with a comma or a bar after each, or key:value with tabs, are not read": (
        "check_point",
        "key_value_comma",
        "ltsv",
    ),
    "the time of syslog before CEF is not used": ("cef",),
    "taken for values between blanks, commas or semicolons, none of which is the time": (
        "check_point_fwlog",
        "cups_page",
        "django_runserver",
        "pf_tcpdump",
    ),
    "a date such as 03/14/2026 and the time in columns of their own": ("csv_us_date_and_time_columns", "dhcp_windows"),
    "some lines before the header hide it": ("csv_preamble",),
    "the message is not recognized among the columns": ("tsv_no_header", "zap_console"),
    "the message or the level has another name, as event, short_message, @m, or is inside an object": (
        "gelf",
        "json_nested_time",
        "rust_tracing_json",
        "serilog_compact",
        "structlog_json",
    ),
    "a time as an object of seconds and nanos": ("stackdriver_json",),
    "keys that differ in case after they became names of columns: the rows cannot be read": (
        "json_names_differ_in_case",
    ),
    "colours of a terminal hide the time": ("ansi_colours",),
    "taken for the table syslog": (
        "cloudwatch_export",
        "openvpn_2_5",
        "oracle_alert_new",
        "sqlserver_errorlog",
        "zerolog_console",
    ),
    "a table of the format first_byte is not recognized by lines that are not JSON": (
        "envoy_access",
        "traefik_access_clf",
    ),
    "the table postgresql_log is not recognized: most of its columns are empty": (
        "postgres_debian",
        "postgres_default",
        "postgres_rds",
    ),
    "the table journald_log is not recognized, because its format takes bytes": ("journald_json",),
    "the table otel_log is not recognized in a file of one document per line": ("otlp_json",),
}
KNOWN_GAPS: dict[str, str] = {name: gap for gap, names in _GAPS.items() for name in names}
"""For each layout what is wrong."""
WRONG_TABLES: dict[str, str] = {"journalctl_short": "linux_auth_log"}
"""Layouts that are read as they should be unless all tables are asked, with the table that they are taken for."""
