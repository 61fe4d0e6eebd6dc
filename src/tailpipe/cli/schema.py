"""`tailpipe schema`: named sets of filtered views."""

from __future__ import annotations

from typing import Any

from tailpipe.cli.describe import schema_record
from tailpipe.cli.listing import noun_group
from tailpipe.model.partition import Schema
from tailpipe.workspace import Workspace

__all__ = ["command"]

DEFAULT = Schema(
    name="tailpipe", description="All tables with all their rows; the one that queries use if they name none."
)


def _records(workspace: Workspace) -> list[dict[str, Any]]:
    return [schema_record(schema) for schema in (DEFAULT, *workspace.config.schemas.values())]


command = noun_group(
    "schema",
    _records,
    {"name": "schema", "options": "shows", "description": "description"},
    example="tailpipe",
)
