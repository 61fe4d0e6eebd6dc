"""Tables of the config: checks across options and against the format, and what a table takes from another."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tailpipe.config.syntax import Block, List, Literal, Map, Span
from tailpipe.config.text import Problem
from tailpipe.errors import UsageError
from tailpipe.model.format import Format
from tailpipe.model.nearest import did_you_mean, listed, nearest
from tailpipe.model.option import options_of
from tailpipe.model.paths import parse_path
from tailpipe.model.table import ANY_BUCKET, COMMON_COLUMNS, OPTIONAL_COLUMNS, STAMPED_COLUMNS, Column, Table

_COMMON = {column.name: column for column in (*COMMON_COLUMNS, *OPTIONAL_COLUMNS)}
_MAPPED_BY_US = STAMPED_COLUMNS | {"tp_index"}
_TIMES = ("timestamp", "date")


def table_problems(table: Table | None, block: Block, sources: Collection[str]) -> Iterator[Problem]:
    """What is wrong with a table as a whole, also if its block has other problems, so that all are reported at once."""
    inner = [column for column in block.inner("column") if column.labels]
    common = [one.name for candidate in block.inner("common") for one in candidate.body.attributes]
    names = {column.labels[0].text.lower() for column in inner}
    has_time = table is not None and (table.time_column is not None or table.maps_time)
    has_time = has_time or "tp_timestamp" in {*names, *common}
    if not block.body.is_broken and not has_time and (table is not None or not says(block, "extend")):
        hint = 'add column "tp_timestamp" { source = "…" }'
        title = f'table "{block.labels[0].text}"' if block.labels else "the table"
        yield Problem(f"{title} does not map tp_timestamp", block.span, hint)
    yield from _column_problems(table, inner)
    if table is not None:
        yield from _name_problems(table, block)
        yield from _layout_problems(block, sources)


def _column_problems(table: Table | None, inner: Sequence[Block]) -> Iterator[Problem]:
    first: dict[str, Span] = {}
    for column_block in inner:
        name, span = column_block.labels[0].text, column_block.labels[0].span
        if name.lower() in first:
            yield Problem(f'the column "{name}" is duplicated', span, "", ("first here", first[name.lower()]))
        first.setdefault(name.lower(), span)
        if not name:
            yield Problem("a column needs a name", span, 'write column "NAME" { … }')
        if says(column_block, "source") and says(column_block, "transform"):
            hint = "a column comes from a field or from an expression"
            yield Problem(f'column "{name}" has both source and transform', span, hint)
        column = table.column(name) if table else None
        kind = column.column_type if column else None
        if says(column_block, "time_format") and kind is not None and kind.name not in _TIMES:
            hint = "leave the type out, or write timestamp"
            yield Problem(f'column "{name}" has a time_format and the type {kind.name}', span, hint)
        if name.lower().startswith("tp_"):
            yield from _common_problems(name, column.type if column else None, span)


def _name_problems(table: Table, block: Block) -> Iterator[Problem]:
    """Columns in `row_key` and `tp_index` that the table does not have."""
    names = [*(column.name for column in table.columns), *(column.name for column in table.common_columns)]
    known = {name.lower() for name in names}
    given = {"row_key": table.row_key, "tp_index": (table.tp_index,) if table.tp_index else ()}
    for argument, columns in given.items():
        attribute = block.attribute(argument)
        for number, name in enumerate(columns):
            if attribute is None or name.lower() in known or (argument == "tp_index" and table.map_fields):
                continue
            value = attribute.value
            span = value.items[number].span if isinstance(value, List) else value.span
            hint = did_you_mean(name, names, "there are: " + ", ".join(names[:8]))
            yield Problem(f'there is no column "{name}"', span, hint)


def _layout_problems(block: Block, sources: Collection[str]) -> Iterator[Problem]:
    """Types of sources that look misspelt; others may belong to a plugin that is not installed here."""
    attribute = block.attribute("layouts")
    if attribute is None or not isinstance(attribute.value, Map):
        return
    for key, _ in attribute.value.items:
        name = key.value if isinstance(key, Literal) and isinstance(key.value, str) else None
        near = nearest(name, [*sources, ANY_BUCKET]) if name is not None else None
        if near and name not in (*sources, ANY_BUCKET):
            yield Problem(f'unknown source type "{name}"', key.span, f'did you mean "{near}"?')


def _common_problems(name: str, kind: str | None, span: Span) -> Iterable[Problem]:
    if name == "tp_index":
        yield Problem(f'a table cannot map "{name}"', span, "set it on the partition")
    elif name in STAMPED_COLUMNS:
        return  # left out of the table, with a warning
    elif name not in _COMMON:
        hint = did_you_mean(name, _COMMON.keys() - _MAPPED_BY_US, "names with tp_ are kept for the common columns")
        yield Problem(f'there is no common column "{name}"', span, hint)
    elif kind is not None and kind != _COMMON[name].type:
        yield Problem(f'"{name}" is always {_COMMON[name].type}, not {kind}', span, "leave the type out")


def extended(table: Table, base: Table) -> Table:
    """The table with everything of the base that it does not say itself."""
    given: dict[str, Any] = {"columns": _joined(table.columns, base.columns, base), "extend": None}
    for option in options_of(Table).values():
        value = getattr(table, option.field)
        if isinstance(value, Mapping):
            given[option.field] = {**getattr(base, option.field), **value}
        elif option.field not in ("name", "columns", "extend") and value in (option.default, None, ()):
            given[option.field] = getattr(base, option.field)
    return dataclasses.replace(table, **given)


def _joined(own: Sequence[Column], base: Sequence[Column], table: Table) -> list[Column]:
    """The columns of both: those of the base in their order, changed where the table says something else."""
    changes = {column.name.lower(): column for column in own}
    rest = table.additional
    joined = [_changed(column, changes.pop(column.name.lower(), None)) for column in base]
    last = [column for column in joined if column.name == rest or column.source == "*"]
    return [*(column for column in joined if column not in last), *changes.values(), *last]


def _changed(column: Column, change: Column | None) -> Column:
    if change is None:
        return column
    given = {one.field: getattr(change, one.field) for one in options_of(Column).values()}
    given = {name: value for name, value in given.items() if value != options_of(Column)[name].default}
    for one, other in (("source", "transform"), ("transform", "source")):
        if one in given:
            given.setdefault(other, None)
    return dataclasses.replace(column, **given)


def mapped(table: Table) -> Table:
    """The table without the columns that tailpipe fills in itself, and with its only time as `tp_timestamp`."""
    columns = [column for column in table.columns if column.name.lower() not in STAMPED_COLUMNS]
    time = table.time_column
    if not table.maps_time and time is not None:
        field = None if time.transform is not None else time.source or time.name
        given: dict[str, Any] = {"transform": time.transform, "null_if": time.null_if, "time_format": time.time_format}
        columns.append(Column("tp_timestamp", source=field, **given))
    return dataclasses.replace(table, columns=columns)


def says(block: Block, name: str) -> bool:
    """Whether an argument has a value; null counts as none."""
    attribute = block.attribute(name)
    return attribute is not None and attribute.value != Literal(None)


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
            yield Problem(error.message, inner.span_of("source"), error.hint)


def reversed_names(table: Table, format: Format | None) -> str:
    """How to write a `field_map` that maps fields to the names of columns instead of the reverse; empty if it is right.

    It is the wrong way round if the table has a column for what should be the field, and none for what should be
    its name.
    """
    columns = {name for column in table.columns for name in (column.name, column.source) if name}
    mapped = {name: key for key, name in format.json_names.items()} if format is not None else {}
    wrong = {name: field for name, field in mapped.items() if field in columns and name not in columns}
    return listed((f'{field} = "{name}"' for name, field in wrong.items()), 3)
