"""The plugin `core`: the formats and sources that belong to no product."""

from tailpipe.plugin import Late, Plugin

_FORMATS = "tailpipe.plugin"

plugin = Plugin(
    name="core",
    description="Files, commands, and the formats that logs of all kinds are written in.",
    sources=[
        Late("command", "tailpipe.plugins.core.command:Command"),
        Late("file", "tailpipe.plugins.core.sources:File"),
    ],
    formats=[
        Late("csv", f"{_FORMATS}.delimited_format:Csv"),
        Late("delimited", f"{_FORMATS}.delimited_format:Delimited"),
        Late("grok", f"{_FORMATS}.line_formats:Grok"),
        Late("json", f"{_FORMATS}.record_formats:Json"),
        Late("jsonl", f"{_FORMATS}.record_formats:Jsonl"),
        Late("logfmt", f"{_FORMATS}.line_formats:Logfmt"),
        Late("parquet", f"{_FORMATS}.record_formats:Parquet"),
        Late("regex", f"{_FORMATS}.line_formats:Regex"),
        Late("syslog", f"{_FORMATS}.line_formats:Syslog"),
    ],
    presets=[
        Late("csv.default", f"{_FORMATS}.delimited_format:CSV_DEFAULT"),
        Late("delimited.csv", f"{_FORMATS}.delimited_format:CSV"),
        Late("delimited.default", f"{_FORMATS}.delimited_format:DELIMITED"),
        Late("delimited.w3c", f"{_FORMATS}.delimited_format:W3C"),
        Late("json.default", f"{_FORMATS}.record_formats:JSON"),
        Late("jsonl.default", f"{_FORMATS}.record_formats:JSONL"),
        Late("logfmt.default", f"{_FORMATS}.line_formats:LOGFMT"),
        Late("parquet.default", f"{_FORMATS}.record_formats:PARQUET"),
        Late("syslog.default", f"{_FORMATS}.line_formats:SYSLOG"),
    ],
)
