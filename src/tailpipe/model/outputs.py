"""The columns of a table's files, in order, each with where its value comes from."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from tailpipe.frozen import frozen
from tailpipe.model.common_columns import CommonPart, common_sql, path_parts
from tailpipe.model.format import RESERVED_FIELDS, Format
from tailpipe.model.names import Spelling, spelt
from tailpipe.model.paths import EACH, Path, path_field
from tailpipe.model.table import COMMON_COLUMNS, OPTIONAL_COLUMNS, Column, Table
from tailpipe.model.types import ColumnType, ListType, StructType, parse_type

COMMON_TYPES: Mapping[str, ColumnType] = {
    column.name: kind
    for column in sorted((*COMMON_COLUMNS, *OPTIONAL_COLUMNS), key=lambda column: column.name)
    if (kind := column.column_type) is not None
}
"""All common columns, by name; a table has those of `common_types`."""
SECOND = "_2"
"""The suffix of a field whose name is taken, by another field or by the line itself."""
_BARE_NAME = re.compile(r'([A-Za-z_]\w*)|"([^"]+)"')
_NO_NAMES = frozenset({"null", "true", "false", "current_date", "current_time", "current_timestamp", "localtimestamp"})


@frozen
class Output:
    """A column that the table fills: from a field, or from an expression over the fields.

    A type that `is_open` was not declared, so a value that does not fit makes it wider.
    """

    name: str
    kind: ColumnType
    source: str | None = None
    transform: str | None = None
    null_if: str | None = None
    required: bool = False
    is_open: bool = False
    keys: Spelling | None = None
    path: Path = ()
    """Where JSON has the field, if that is not a key of the record itself."""
    time_format: str | Sequence[str] | None = None
    takes: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    """The fields of the expression that are paths of `common`: they claim nothing of the record for themselves."""

    @property
    def catalog_type(self) -> str:
        """The type in the catalog: the stored one, or JSON for an undeclared field whose values are JSON."""
        return "JSON" if self.is_open and self.kind.name == "json" else self.kind.stored

    @property
    def read(self) -> ColumnType:
        """The type with its fields spelt as JSON spells them."""
        return self.kind if self.keys is None else _respelt(self.kind, self.keys)


def output_columns(table: Table, types: Mapping[str, str]) -> tuple[Output, ...]:
    """The table's own columns as declared, then its undeclared fields, then the common columns that it maps.

    `types` are the types that were found for fields without a column, and for columns without a type.
    """
    own: list[Output] = []
    paths: dict[str, Path] = {}
    for output in (_declared(column, types) for column in table.columns if column.name not in COMMON_TYPES):
        source = output.source  # paths that differ in case alone get different fields, because DuckDB ignores case
        while output.path and source is not None and paths.setdefault(source.lower(), output.path) != output.path:
            source += SECOND
        own.append(output if source == output.source else dataclasses.replace(output, source=source))
    taken = {output.name.lower() for output in own} | set(COMMON_TYPES)
    declared = {column.name for column in table.columns}
    for field, kind in types.items():
        if field not in declared and is_wanted(table, field):
            own.append(Output(free_name(field, taken), parse_type(kind), field, is_open=True))
            taken.add(own[-1].name.lower())
    mapped = {name: _common(name, given, own) for name, given in table.common.items()}
    for column in table.columns:
        if column.name in COMMON_TYPES:
            mapped[column.name] = _declared(column, types)
    return (*own, *(mapped[name] for name in sorted(mapped)))


def common_types(mapped: Iterable[str]) -> dict[str, ColumnType]:
    """The common columns of a table that maps the named columns: the optional ones are there only then."""
    missing = {column.name for column in OPTIONAL_COLUMNS}.difference(mapped)
    return {name: kind for name, kind in COMMON_TYPES.items() if name not in missing}


def _common(name: str, given: str | Sequence[str], own: Sequence[Output]) -> Output:
    """A common column. A single path needs no expression to be computed; `own` are the columns of the table."""
    kind = COMMON_TYPES[name]
    if isinstance(given, str) and not isinstance(kind, ListType):
        match = _BARE_NAME.fullmatch(given.strip())
        if match is not None and given.strip().lower() not in _NO_NAMES:
            return _like_column(name, match[1] or match[2], own)
    parts = path_parts(given, _NO_NAMES)
    if parts is None:
        return Output(name, kind, transform=given if isinstance(given, str) else ", ".join(given))
    if len(parts) == 1 and name == "tp_timestamp" and parts[0].path:
        return _like_column(name, parts[0].text, own)
    known = [CommonPart(part.text, part.path, is_list=_is_list(part, own)) for part in parts]
    takes = {part.field: part.path for part in known if part.path}
    return Output(name, kind, transform=common_sql(name, kind, known), takes=takes)


def _like_column(name: str, text: str, own: Sequence[Output]) -> Output:
    """A field as the column of the same field has it: its spelling, and how its times are written."""
    source, path = path_field(text)
    twin = next((one for one in own if one.source is not None and one.source.lower() == source.lower()), None)
    if twin is not None:
        return Output(name, COMMON_TYPES[name], twin.source, path=twin.path, time_format=twin.time_format)
    return Output(name, COMMON_TYPES[name], source + SECOND if source.lower() in RESERVED_FIELDS else source, path=path)


def _is_list(part: CommonPart, own: Sequence[Output]) -> bool:
    """Whether a path leads to a list: it says so itself, or a column has it as one."""
    if EACH in part.path:
        return True
    for output in own:
        place = output.path or ((output.source,) if output.source is not None else ())
        if place and part.path[: len(place)] == place:
            kind: ColumnType | None = output.read
            for key in part.path[len(place) :]:
                kind = dict(kind.fields).get(key or "") if isinstance(kind, StructType) else None
            if isinstance(kind, ListType):
                return True
    return False


def _declared(column: Column, types: Mapping[str, str]) -> Output:
    kind, is_open = column.column_type or COMMON_TYPES.get(column.name), False
    if kind is None:
        kind, is_open = parse_type(types.get(column.name, "varchar")), True
    path: Path = ()
    source = None if column.transform is not None else column.name
    if source is not None and column.source is not None:
        source, path = path_field(column.source or column.name)
    if source is not None and source.lower() in RESERVED_FIELDS:
        source += SECOND
    return Output(
        column.name,
        kind,
        source,
        column.transform,
        column.null_if,
        column.required,
        is_open,
        column.keys,
        path if len(path) > 1 else (),
        column.time_format,
    )


def _respelt(kind: ColumnType, keys: Spelling) -> ColumnType:
    if isinstance(kind, ListType):
        return ListType(_respelt(kind.element, keys))
    if isinstance(kind, StructType):
        return StructType(tuple((spelt(name, keys), _respelt(one, keys)) for name, one in kind.fields))
    return kind


def mapped_fields(table: Table, format: Format | None) -> dict[str, str]:
    """The columns that the user has named a field for, with the field: a field that no log has is a mistake.

    Tables of plugins have none, because a service may write a field rarely.
    """
    if table.is_shipped:
        return {}
    found = {name: key for key, name in format.json_names.items()} if format is not None else {}
    for column in table.columns:
        if column.source is not None and not column.source.endswith("*"):
            found[column.name] = column.source
    return found


def is_wanted(table: Table, field: str) -> bool:
    """Whether a field without a column of its own becomes one."""
    for column in table.columns:
        if field.lower() == column.name.lower() or (column.source == field and column.name not in COMMON_TYPES):
            return False
    return any(fnmatchcase(field, pattern) for pattern in table.map_fields)


def free_name(field: str, taken: Iterable[str]) -> str:
    """A column name for an undeclared field that no other column has; DuckDB ignores case."""
    name = field or "_"
    # Names with tp_ are kept for us, those of DuckDB's hidden columns could not be asked for.
    while name.lower() in taken or name.lower().startswith("tp_") or name.lower() in ("rowid", "filename"):
        name = f"_{name}" if name.lower().startswith("tp_") else f"{name}{SECOND}"
    return name
