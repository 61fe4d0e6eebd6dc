"""The columns of a table's files, in order, each with where its value comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from tailpipe.frozen import frozen
from tailpipe.model.format import RESERVED_FIELDS, Format
from tailpipe.model.table import COMMON_COLUMNS, Column, Table
from tailpipe.model.types import ColumnType, ListType, StructType, parse_type

__all__ = ["COMMON_TYPES", "SECOND", "Output", "free_name", "is_wanted", "mapped_fields", "output_columns"]

COMMON_TYPES: Mapping[str, ColumnType] = {
    column.name: kind for column in COMMON_COLUMNS if (kind := column.column_type) is not None
}
SECOND = "_2"
"""What is put behind the name of a field that another one, or the line itself, has already."""
_TEXT = parse_type("varchar")
_BARE_NAME = re.compile(r'([A-Za-z_]\w*)|"([^"]+)"')
_NO_NAMES = frozenset({"null", "true", "false", "current_date", "current_time", "current_timestamp", "localtimestamp"})


@frozen
class Output:
    """A column that the table fills: from a field, or from an expression over the fields.

    If its type is `is_open`, nobody has declared it, and a value that does not fit asks for a wider one.
    """

    name: str
    kind: ColumnType
    source: str | None = None
    transform: str | None = None
    null_if: str | None = None
    required: bool = False
    is_open: bool = False
    keys: str | None = None

    @property
    def told(self) -> str:
        """The type that the catalog notes: the stored one, or JSON for text that nobody but its values says is JSON."""
        return "JSON" if self.is_open and self.kind.name == "json" else self.kind.stored

    @property
    def read(self) -> ColumnType:
        """The type with its fields spelt as JSON spells them."""
        return self.kind if self.keys is None else _respelt(self.kind, is_pascal=self.keys == "pascal")


def output_columns(table: Table, types: Mapping[str, str]) -> tuple[Output, ...]:
    """The table's own columns as declared, then its undeclared fields, then the common columns that it maps.

    `types` are the types that were found for fields without a column, and for columns without a type.
    """
    own = [_declared(column, types) for column in table.columns if column.name not in COMMON_TYPES]
    taken = {output.name.lower() for output in own} | set(COMMON_TYPES)
    declared = {column.name for column in table.columns}
    for field, kind in types.items():
        if field not in declared and is_wanted(table, field):
            own.append(Output(free_name(field, taken), parse_type(kind), field, is_open=True))
            taken.add(own[-1].name.lower())
    spelt = {output.source.lower(): output.source for output in own if output.source is not None}
    mapped = {name: _common(name, sql, spelt) for name, sql in table.common.items()}
    for column in table.columns:
        if column.name in COMMON_TYPES:
            mapped[column.name] = _declared(column, types)
    return (*own, *(mapped[name] for name in sorted(mapped)))


def _common(name: str, sql: str, spelt: Mapping[str, str]) -> Output:
    """A bare name is a field, and needs no expression to be computed; `spelt` is how columns spell the fields."""
    match = _BARE_NAME.fullmatch(sql.strip())
    if match is None or sql.strip().lower() in _NO_NAMES:
        return Output(name, COMMON_TYPES[name], transform=sql)
    field = match[1] or match[2]
    return Output(name, COMMON_TYPES[name], _field(spelt.get(field.lower(), field)))


def _field(name: str) -> str:
    return name + SECOND if name.lower() in RESERVED_FIELDS else name


def _declared(column: Column, types: Mapping[str, str]) -> Output:
    kind, is_open = column.column_type or COMMON_TYPES.get(column.name), False
    if kind is None:
        kind, is_open = parse_type(types[column.name]) if column.name in types else _TEXT, True
    source = None if column.transform is not None else column.source or column.name
    source = _field(source) if source is not None else None
    null_if, required = column.null_if, column.required
    return Output(column.name, kind, source, column.transform, null_if, required, is_open, column.keys)


def _respelt(kind: ColumnType, *, is_pascal: bool) -> ColumnType:
    if isinstance(kind, ListType):
        return ListType(_respelt(kind.element, is_pascal=is_pascal))
    if isinstance(kind, StructType):
        inner = ((_camel(name, is_pascal), _respelt(one, is_pascal=is_pascal)) for name, one in kind.fields)
        return StructType(tuple(inner))
    return kind


def _camel(name: str, is_pascal: bool) -> str:
    first, *rest = name.split("_")
    return "".join([first.capitalize() if is_pascal else first, *(word.capitalize() for word in rest)])


def mapped_fields(table: Table, format: Format | None) -> dict[str, str]:
    """The columns that somebody has named a field for, with the field: one that no log has is a mistake.

    Tables of plugins are left out: a field that a service writes now and then is none.
    """
    if type(table) is not Table:
        return {}
    found = {name: key for key, name in format.json_names.items()} if format is not None else {}
    for column in table.columns:
        if column.source is not None and not column.source.endswith("*"):
            found[column.name] = column.source
    return found


def is_wanted(table: Table, field: str) -> bool:
    """Whether a field without a column of its own becomes one."""
    for column in table.columns:
        if field.lower() == column.name.lower():
            return False
        if column.source == field and column.name not in COMMON_TYPES:
            return False
    return any(fnmatchcase(field, pattern) for pattern in table.map_fields)


def free_name(field: str, taken: Iterable[str]) -> str:
    """A column name for an undeclared field that no other column has; DuckDB does not tell cases apart."""
    name = field or "_"
    # Names with tp_ are kept for us, those of DuckDB's hidden columns could not be asked for.
    while name.lower() in taken or name.lower().startswith("tp_") or name.lower() in ("rowid", "filename"):
        name = f"_{name}" if name.lower().startswith("tp_") else f"{name}{SECOND}"
    return name
