"""`tailpipe table`: what logs become."""

from __future__ import annotations

from typing import Any

from tailpipe.cli.describe import table_record
from tailpipe.cli.listing import COLUMNS, noun_group
from tailpipe.workspace import Workspace

__all__ = ["command"]


def _records(workspace: Workspace) -> list[dict[str, Any]]:
    registry, config = workspace.registry, workspace.config
    records = []
    for name, table in sorted({**registry.tables, **config.tables}.items()):
        plugin = None if name in config.tables else registry.owner("table", name)
        partitions = [partition.address for partition in config.partitions.values() if partition.table == name]
        records.append(table_record(table, plugin, partitions))
    return records


command = noun_group(
    "table",
    _records,
    {"name": "table", "plugin": "plugin", "partitions": "partitions", "description": "description"},
    example="app_log",
    parts={"columns": COLUMNS},
)
