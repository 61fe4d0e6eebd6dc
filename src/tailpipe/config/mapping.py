"""How columns name the fields of a format: paths that cannot be read, and maps the wrong way round."""

from __future__ import annotations

from collections.abc import Iterator

from tailpipe.config.syntax import Block
from tailpipe.config.text import Problem
from tailpipe.errors import UsageError
from tailpipe.model.format import Format
from tailpipe.model.nearest import listed
from tailpipe.model.paths import parse_path
from tailpipe.model.table import Table

__all__ = ["path_problems", "reversed_names"]


def path_problems(table: Table, format: Format | None, block: Block) -> Iterator[Problem]:
    """The columns of a table block whose source cannot be read as a path, though the format is JSON."""
    if format is None or not format.is_json:
        return
    for inner in block.body.blocks:
        column = table.column(inner.labels[0].text) if inner.type == "column" and inner.labels else None
        source = column.source if column else None
        if source is None or source.endswith("*"):
            continue
        try:
            parse_path(source)
        except UsageError as error:
            span = next((one.value.span for one in inner.body.attributes if one.name == "source"), inner.span)
            yield Problem(error.message, span, error.hint)


def reversed_names(table: Table, format: Format | None) -> str:
    """How to write a `field_map` that maps fields to the names of columns instead of the reverse; empty if it is right.

    It is the wrong way round if the table has a column for what should be the field, and none for what should be
    its name.
    """
    columns = {name for column in table.columns for name in (column.name, column.source) if name}
    mapped = {name: key for key, name in format.json_names.items()} if format is not None else {}
    wrong = {name: field for name, field in mapped.items() if field in columns and name not in columns}
    return listed((f'{field} = "{name}"' for name, field in wrong.items()), 3)
