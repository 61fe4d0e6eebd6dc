"""The views of the schema `ocsf`: each is made of the tables that have events of its class, when a query names it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailpipe.model.ocsf import CLASSES, OCSF, EventClass, OcsfEvents
from tailpipe.model.table import Table
from tailpipe.query.shapes import ColumnShape, TableShape
from tailpipe.query.views import SCHEMA
from tailpipe.sql.quoting import literal, quoted


def ocsf_tables(tables: Iterable[Table]) -> dict[str, list[Table]]:
    """The tables that have events of each class."""
    found: dict[str, list[Table]] = {name: [] for name in CLASSES}
    for table in tables:
        for name in dict.fromkeys(events.name for events in table.ocsf):
            found[name].append(table)
    return found


def ocsf_views(classes: Mapping[str, Iterable[Table]]) -> list[str]:
    """The statements that make the views of classes over their tables; without any, a view has no rows."""
    return [_view(name, tables) for name, tables in classes.items()]


def _view(name: str, tables: Iterable[Table]) -> str:
    kind = CLASSES[name]
    parts = [_part(table, events, kind) for table in tables for events in table.ocsf if events.name == name]
    if not parts:
        columns = ", ".join(f"NULL::{type_} AS {quoted(column)}" for column, type_ in kind.columns.items())
        parts = [f"SELECT {columns} WHERE false"]
    return f"CREATE OR REPLACE VIEW {OCSF}.{quoted(name)} AS {' UNION ALL '.join(parts)}"


def ocsf_outlines() -> list[str]:
    """The statements that make all views without rows, where they are not there yet."""
    return [_view(name, ()).replace("CREATE OR REPLACE VIEW", "CREATE VIEW IF NOT EXISTS") for name in CLASSES]


def ocsf_shapes() -> tuple[TableShape, ...]:
    """The views with their columns."""
    columns = {one.name: one.columns.items() for one in CLASSES.values()}
    return tuple(
        TableShape(OCSF, name, tuple(ColumnShape(*one) for one in some), None) for name, some in columns.items()
    )


def _part(table: Table, events: OcsfEvents, kind: EventClass) -> str:
    """The rows of one table as events, in the columns of the class."""
    given = events.expressions([column.name for column in table.common_columns])
    values: Mapping[str, str] = {
        **given,
        "time": "tp_timestamp",
        "class_uid": str(kind.uid),
        "type_uid": f"{kind.uid} * 100 + ({given['activity_id']})",
        "metadata_product": literal(table.name),
    }
    columns = ", ".join(
        f"{name} AS {name}" if name.startswith("tp_") else f"CAST(({values[name]}\n) AS {type_}) AS {quoted(name)}"
        for name, type_ in kind.columns.items()
    )
    where = f" WHERE ({events.when}\n)" if events.when else ""
    return f"SELECT {columns} FROM {SCHEMA}.{quoted(table.name)}{where}"
