"""What the author of a plugin imports: nothing else of tailpipe is needed, or promised to stay.

A plugin is a value, found by the entry point group `tailpipe.plugins`:

    plugin = Plugin(name="nginx", description="Logs of the nginx web server.", tables=[NginxAccessLog])
"""

from tailpipe.errors import ChangedError, TailpipeError, UsageError
from tailpipe.model.artifact import Artifact, FileId
from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.option import Declared, Secret, nested, option
from tailpipe.model.source import Source
from tailpipe.model.table import Column, Table
from tailpipe.model.window import Window
from tailpipe.plugin.addresses import is_address
from tailpipe.plugin.files import file_id, modified_at
from tailpipe.plugin.plugin import Late, Plugin
from tailpipe.plugin.registry import ENTRY_POINTS, Registry

__all__ = [
    "ENTRY_POINTS",
    "Artifact",
    "ChangedError",
    "Column",
    "Connection",
    "Declared",
    "FileId",
    "Format",
    "Late",
    "Plugin",
    "Registry",
    "Secret",
    "Source",
    "Table",
    "TailpipeError",
    "UsageError",
    "Window",
    "did_you_mean",
    "file_id",
    "is_address",
    "modified_at",
    "nested",
    "option",
]
