"""Layouts of the corpus that `init` does not read as it should, with what is wrong."""

from __future__ import annotations

_GAPS: dict[str, tuple[str, ...]] = {
    "the date in a header line is not used for times of day": ("windows_msi",),
    "columns of fixed width below a line with their names": ("macos_unified",),
    "logger, thread or code place before the message stay in the message": (
        "clickhouse",
        "django_verbose",
    ),
    "other words before the message stay in it": (
        "proftpd",
        "samba",
    ),
    "what closes the message, as > or |#], stays in it": (
        "glassfish_odl",
        "glassfish_ulf",
        "weblogic_server",
        "weblogic_stdout",
    ),
    "an event of two lines, of which the second has the level, loses its level": ("db2diag",),
    "the time at the end of the line is found, but not the level at its begin": ("winston_simple",),
    "a date in the middle of an event begins another one": ("ossec_alerts",),
    "pairs of key=value after a time stay in the message": ("splunk_key_value",),
    "the time in date= and time= after a priority of syslog is not used": ("fortigate_syslog",),
    "pairs with a comma or a bar after each, or key:value with tabs, are not read": (
        "check_point",
        "key_value_comma",
        "ltsv",
    ),
    "the time of syslog before CEF is not used": ("cef",),
    "taken for values between blanks, commas or semicolons, none of which is the time": (
        "check_point_fwlog",
        "pf_tcpdump",
    ),
    "a date such as 03/14/2026 and the time in columns of their own": ("dhcp_windows",),
    "a time as an object of seconds and nanos": ("stackdriver_json",),
    "colours of a terminal hide the time": ("ansi_colours",),
    "the table journald_log is not recognized, because its format takes bytes": ("journald_json",),
}
KNOWN_GAPS: dict[str, str] = {name: gap for gap, names in _GAPS.items() for name in names}
"""For each layout what is wrong."""
WRONG_TABLES: dict[str, str] = {"journalctl_short": "linux_auth_log"}
"""Layouts that are read as they should be unless all tables are asked, with the table that they are taken for."""
