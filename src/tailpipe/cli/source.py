"""`tailpipe source`: the types of sources that plugins bring."""

from __future__ import annotations

from typing import Any

from tailpipe.cli.describe import source_record
from tailpipe.cli.listing import OPTIONS, noun_group
from tailpipe.workspace import Workspace

__all__ = ["command"]


def _records(workspace: Workspace) -> list[dict[str, Any]]:
    registry = workspace.registry
    return [source_record(source, registry.owner("source", name)) for name, source in sorted(registry.sources.items())]


command = noun_group(
    "source",
    _records,
    {"name": "source", "plugin": "plugin", "description": "description"},
    example="file",
    parts={"options": OPTIONS},
    label="source type",
)
