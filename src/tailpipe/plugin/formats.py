"""The formats that belong to no product, for tables of any plugin: how each kind of text becomes named fields."""

from tailpipe.plugin.delimited_format import Delimited
from tailpipe.plugin.format_options import RESERVED_FIELDS
from tailpipe.plugin.line_formats import Grok, Logfmt, Multiline, Regex, Syslog
from tailpipe.plugin.record_formats import Json, Jsonl, Parquet

__all__ = [
    "RESERVED_FIELDS",
    "Delimited",
    "Grok",
    "Json",
    "Jsonl",
    "Logfmt",
    "Multiline",
    "Parquet",
    "Regex",
    "Syslog",
]
