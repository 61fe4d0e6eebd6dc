"""The formats that belong to no product, for tables of any plugin: how each kind of text becomes named fields."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_ON_FIRST_USE = {
    "tailpipe.formats.delimited": ("Delimited",),
    "tailpipe.formats.lines": ("Grok", "Logfmt", "Multiline", "Regex", "Syslog"),
    "tailpipe.formats.records": ("Json", "Jsonl", "Parquet"),
}


def __getattr__(name: str) -> Any:
    """Import a format on first use: a table has one."""
    for module, names in _ON_FIRST_USE.items():
        if name in names:
            found = globals()[name] = getattr(import_module(module), name)
            return found
    raise AttributeError(f'module "{__name__}" has no attribute "{name}"')
