"""`tailpipe partition`: what is collected, from where, and how much of it is here."""

from __future__ import annotations

from typing import Any

from tailpipe.cli.describe import partition_record
from tailpipe.cli.listing import noun_group
from tailpipe.workspace import Workspace

__all__ = ["command"]

SOURCES = {"name": "source", "type": "type", "format": "format"}


def _records(workspace: Workspace) -> list[dict[str, Any]]:
    config, registry, held = workspace.config, workspace.registry, workspace.held()
    records = []
    for address, partition in sorted(config.partitions.items()):
        plugin = None if partition.table in config.tables else registry.owner("table", partition.table)
        records.append(partition_record(partition, plugin, held.get(address)))
    return records


command = noun_group(
    "partition",
    _records,
    {
        "name": "partition",
        "plugin": "plugin",
        "sources": "sources",
        "local.file_count": "files",
        "local.row_count": "rows",
        "local.file_size": "bytes",
        "description": "description",
    },
    example="app_log.local",
    parts={"sources": SOURCES},
    also_named="partition.",
)
