"""The formats that belong to no product, for tables of any plugin: how each kind of text becomes named fields."""

from tailpipe.formats.delimited import Delimited
from tailpipe.formats.lines import Grok, Logfmt, Multiline, Regex, Syslog
from tailpipe.formats.records import Json, Jsonl, Parquet

__all__ = [
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
