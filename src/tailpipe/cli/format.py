"""`tailpipe format`: types of formats, presets, and formats of the config."""

from __future__ import annotations

from typing import Any

from tailpipe.cli.describe import format_record, format_type_record
from tailpipe.cli.listing import OPTIONS, noun_group
from tailpipe.workspace import Workspace

__all__ = ["command"]


def _records(workspace: Workspace) -> list[dict[str, Any]]:
    registry = workspace.registry
    types = [
        format_type_record(declared, registry.owner("format", name)) for name, declared in registry.formats.items()
    ]
    presets = [
        format_record(value, registry.owner("preset", name), "preset") for name, value in registry.presets.items()
    ]
    own = [
        format_record(value, registry.owner("format", value.type), "config")
        for value in workspace.config.formats.values()
    ]
    return sorted([*types, *presets, *own], key=lambda record: str(record["name"]))


command = noun_group(
    "format",
    _records,
    {"name": "format", "kind": "from", "plugin": "plugin", "description": "description"},
    example="delimited",
    parts={"options": OPTIONS},
    also_named="format.",
)
