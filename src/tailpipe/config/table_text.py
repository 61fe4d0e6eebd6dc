"""A table as config text that is ready to be changed, whether Python or a file declares it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tailpipe.config.encoder import encode
from tailpipe.config.printer import print_body
from tailpipe.config.syntax import Body
from tailpipe.model.format import Format
from tailpipe.model.table import Column, Table, spelt_column

__all__ = ["declared_table", "table_text"]


def declared_table(table: Table, presets: Mapping[str, Format]) -> Table:
    """The table as a `table` block makes it: a format that is no preset has its name."""
    given = {field.name: getattr(table, field.name) for field in dataclasses.fields(Table)}
    format = table.format
    if format is not None and presets.get(f"{format.type}.{format.name}") != format:
        given["format"] = dataclasses.replace(format, name=table.name)
    return Table(**{**given, "is_shipped": False})


def table_text(table: Table, presets: Mapping[str, Format]) -> str:
    """The block of a table; it is read back as the same table."""
    declared = declared_table(table, presets)
    block = encode("table", declared)
    columns = {column.name: column for column in declared.columns}
    bare = Table(name=declared.name, additional=declared.additional).columns
    kept = []
    for inner in block.body.blocks:
        column = columns.get(inner.labels[0].text) if inner.type == "column" else None
        if column is None:
            kept.append(inner)
        elif column not in bare:
            kept.append(encode("column", _unspelt(column, declared)))
    order = ["format", "column", "common", "ocsf"]
    block.body.blocks[:] = sorted(kept, key=lambda inner: order.index(inner.type))
    return print_body(Body([], [block]))


def _unspelt(column: Column, table: Table) -> Column:
    """The column without what the `keys` of its table say."""
    if table.keys is None:
        return column
    shorter = (
        dataclasses.replace(column, source=None, keys=None),
        dataclasses.replace(column, source=None),
        dataclasses.replace(column, keys=None),
    )
    return next((one for one in shorter if spelt_column(one, table.keys) == column), column)
