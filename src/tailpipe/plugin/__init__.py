"""What the author of a plugin imports: nothing else of tailpipe is needed, or promised to stay.

A plugin is a value, found by the entry point group `tailpipe.plugins`:

    plugin = Plugin(name="nginx", description="Logs of the nginx web server.", tables=[NginxAccessLog])

`tailpipe.plugin.sql` has SQL for tables, and `tailpipe.plugin.arrow` Arrow for parsers of whole columns.
"""

from typing import TYPE_CHECKING, Any

import tailpipe.plugin.first_use as _first_use
from tailpipe.errors import ChangedError, TailpipeError, UsageError
from tailpipe.model.connection import Connection
from tailpipe.model.format import Format, Joining
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.ocsf import OcsfEvents
from tailpipe.model.option import Declared, Secret, Variant, fact, nested, option
from tailpipe.model.source import Source
from tailpipe.model.table import Column, Table
from tailpipe.model.window import Window
from tailpipe.plugin.packs import table_files
from tailpipe.plugin.plugin import Late, Plugin
from tailpipe.plugin.registry import ENTRY_POINTS, Registry

if TYPE_CHECKING:
    from tailpipe.model.artifact import Artifact, FileId
    from tailpipe.model.duration import parse_duration
    from tailpipe.model.event import Event
    from tailpipe.model.parsing import (
        Document,
        DocumentParser,
        Found,
        LineParser,
        Lines,
        ParseContext,
        Parsed,
        Records,
        Rejected,
        Rows,
    )
    from tailpipe.plugin.columns import camel_case, camel_case_keys, pascal_case
    from tailpipe.plugin.files import file_id, modified_at
    from tailpipe.plugin.functions import document_parser, line_parser
    from tailpipe.plugin.limits import RequestLimit
    from tailpipe.plugin.paging import next_link, pages_by_number, pages_by_offset, pages_by_token, pages_by_url
    from tailpipe.plugin.retry import Retry, is_transient, retry_after
    from tailpipe.plugin.secrets import hide_secrets, without_secrets
    from tailpipe.sql.addresses import is_address

__all__ = [
    "ENTRY_POINTS",
    "Artifact",
    "ChangedError",
    "Column",
    "Connection",
    "Declared",
    "Document",
    "DocumentParser",
    "Event",
    "FileId",
    "Format",
    "Found",
    "Joining",
    "Late",
    "LineParser",
    "Lines",
    "OcsfEvents",
    "ParseContext",
    "Parsed",
    "Plugin",
    "Records",
    "Registry",
    "Rejected",
    "RequestLimit",
    "Retry",
    "Rows",
    "Secret",
    "Source",
    "Table",
    "TailpipeError",
    "UsageError",
    "Variant",
    "Window",
    "camel_case",
    "camel_case_keys",
    "did_you_mean",
    "document_parser",
    "fact",
    "file_id",
    "hide_secrets",
    "is_address",
    "is_transient",
    "line_parser",
    "modified_at",
    "nested",
    "next_link",
    "option",
    "pages_by_number",
    "pages_by_offset",
    "pages_by_token",
    "pages_by_url",
    "parse_duration",
    "pascal_case",
    "retry_after",
    "table_files",
    "without_secrets",
]

_ON_FIRST_USE = {
    "tailpipe.sql.addresses": ("is_address",),
    "tailpipe.model.artifact": ("Artifact", "FileId"),
    "tailpipe.model.duration": ("parse_duration",),
    "tailpipe.model.event": ("Event",),
    "tailpipe.model.parsing": (
        "Document",
        "DocumentParser",
        "Found",
        "LineParser",
        "Lines",
        "ParseContext",
        "Parsed",
        "Records",
        "Rejected",
        "Rows",
    ),
    "tailpipe.plugin.columns": ("camel_case", "camel_case_keys", "pascal_case"),
    "tailpipe.plugin.files": ("file_id", "modified_at"),
    "tailpipe.plugin.functions": ("document_parser", "line_parser"),
    "tailpipe.plugin.limits": ("RequestLimit",),
    "tailpipe.plugin.paging": ("next_link", "pages_by_number", "pages_by_offset", "pages_by_token", "pages_by_url"),
    "tailpipe.plugin.retry": ("Retry", "is_transient", "retry_after"),
    "tailpipe.plugin.secrets": ("hide_secrets", "without_secrets"),
}
"""What only listing, fetching and parsing need, by module: most commands do none of these."""


def __getattr__(name: str) -> Any:
    """Import a name of `_ON_FIRST_USE`."""
    return _first_use.import_name(globals(), _ON_FIRST_USE, name)
