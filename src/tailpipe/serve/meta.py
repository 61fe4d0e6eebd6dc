"""What the page knows first: the tables with their columns, and the limits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tailpipe import __version__
from tailpipe.catalog.snapshot import EPOCH
from tailpipe.home.home import Home
from tailpipe.model.ocsf import OCSF
from tailpipe.model.table import COMMON_COLUMNS, OPTIONAL_COLUMNS, Table
from tailpipe.query.json_values import instant
from tailpipe.query.session import Session
from tailpipe.query.views import CATALOG, SCHEMA, View
from tailpipe.serve.body import Body
from tailpipe.serve.facets import is_facet
from tailpipe.serve.limits import Limits
from tailpipe.serve.rows import default_columns
from tailpipe.serve.scope import tables_with_rows

_COMMON = {column.name: column.description for column in (*COMMON_COLUMNS, *OPTIONAL_COLUMNS)}


def meta(session: Session, home: Home, body: Body, limits: Limits, *, is_read_only: bool) -> dict[str, Any]:
    """The tables that hold rows, with their columns; the limits; the schemas."""
    body.only()
    return {
        "version": __version__,
        "workspace": home.settings.workspace.name,
        "now": instant(datetime.now(UTC)),
        "limits": {name: getattr(limits, name) for name in ("rows", "bytes", "seconds", "statements")},
        "read_only": is_read_only,
        "tables": [_table(session, view, home.tables.get(view.name)) for view in tables_with_rows(session)],
        "schemas": _schemas(session),
    }


def _table(session: Session, view: View, declared: Table | None) -> dict[str, Any]:
    pieces = session.shown.pieces(view.name)
    first = min((one.low for one in pieces if one.low is not None), default=None)
    last = max((one.high for one in pieces if one.high is not None), default=None)
    descriptions = {} if declared is None else {one.name: one.description for one in declared.columns}
    return {
        "name": view.name,
        "description": "" if declared is None else declared.description,
        "rows": sum(one.rows for one in pieces),
        "first_event": _instant(first),
        "last_event": _instant(last),
        "columns": [
            {
                "name": name,
                "type": kind,
                "description": descriptions.get(name) or _COMMON.get(name) or "",
                "facet": is_facet(name, kind),
            }
            for name, kind in view.columns.items()
        ],
        "default_columns": default_columns(list(view.columns)),
    }


def _instant(microseconds: int | None) -> str | None:
    return None if microseconds is None else instant(EPOCH + timedelta(microseconds=microseconds))


def _schemas(session: Session) -> list[dict[str, Any]]:
    """All schemas but the default one, with the names of their tables."""
    found: dict[str, list[str]] = {}
    for view in session.views:
        if view.schema != SCHEMA:
            found.setdefault(view.schema, []).append(view.name)
    for shape in session.catalog_tables():
        if shape.schema in (CATALOG, OCSF):
            found.setdefault(shape.schema, []).append(shape.name)
    return [{"name": name, "tables": sorted(tables)} for name, tables in found.items()]
