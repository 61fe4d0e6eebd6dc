"""`tailpipe schema`: named sets of filtered views."""

from __future__ import annotations

from typing import Any

from tailpipe.cli.describe import chosen_record
from tailpipe.cli.listing import noun_group
from tailpipe.cli.options import warn_of_schemas
from tailpipe.model.partition import Schema
from tailpipe.workspace import Workspace

__all__ = ["command"]

DEFAULT = Schema(
    name="tailpipe", description="All tables with all their rows; the one that queries use if they name none."
)

TABLES = {"table": "table", "rows": "rows", "size": "size", "from": "from", "to": "to", "copied": "copied"}


def _records(workspace: Workspace) -> list[dict[str, Any]]:
    return [chosen_record(schema) for schema in (DEFAULT, *workspace.config.schemas.values())]


def _with_contents(workspace: Workspace, record: dict[str, Any]) -> dict[str, Any]:
    warn_of_schemas(workspace, [record["name"]])
    with workspace.session() as session:
        contents = session.contents(record["name"])
    tables = [
        {
            "table": content.table,
            "rows": content.rows,
            "size": content.size,
            "from": content.first,
            "to": content.last,
            "copied": content.is_copy,
        }
        for content in contents
        if content.rows
    ]
    empty = [content.table for content in contents if not content.rows]  # most are of plugins that nobody uses here
    return {**record, "tables": tables, "without_rows": empty}


command = noun_group(
    "schema",
    _records,
    {"name": "schema", "options": "shows", "description": "description"},
    example="tailpipe",
    parts={"tables": TABLES},
    more=_with_contents,
)
