"""`tailpipe schema`: named sets of filtered views."""

from __future__ import annotations

from typing import Any

from tailpipe.cli import render
from tailpipe.cli.describe import chosen_record
from tailpipe.cli.listing import noun_group
from tailpipe.cli.options import warn_of_schemas
from tailpipe.home.home import Home
from tailpipe.model.partition import Schema
from tailpipe.operations.query import open_session

DEFAULT = Schema(
    name="tailpipe", description="All tables with all their rows; the one that queries use if they name none."
)

TABLES = render.columns(
    "table", "rows", "bytes:size", "first_event:first event", "last_event:last event", "is_materialized:materialized"
)


def _records(home: Home) -> list[dict[str, Any]]:
    return [chosen_record(schema) for schema in (DEFAULT, *home.config.schemas.values())]


def _with_contents(home: Home, record: dict[str, Any]) -> dict[str, Any]:
    warn_of_schemas(home, [record["name"]])
    with open_session(home) as session:
        contents = session.contents(record["name"])
    filled = [(one.table, one.rows, one.size, one.first, one.last, one.is_copy) for one in contents if one.rows]
    tables = [dict(zip(TABLES, facts, strict=True)) for facts in filled]
    empty = [one.table for one in contents if not one.rows]  # most are tables of plugins that are not used
    return {**record, "tables": tables, "empty_tables": empty}


command = noun_group(
    "schema",
    _records,
    render.columns("name:schema", "options:shows", "description"),
    example="tailpipe",
    parts={"tables": TABLES},
    more=_with_contents,
)
