"""Views: a snapshot, the declared tables and the schema blocks → the SQL of each view. Nothing is read here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path

from tailpipe.catalog.layout import index_segment
from tailpipe.catalog.snapshot import ColumnSets, LiveFile, Snapshot
from tailpipe.frozen import frozen
from tailpipe.model.outputs import common_types
from tailpipe.model.partition import Schema
from tailpipe.model.table import Table
from tailpipe.model.types import ColumnType, ListType, ScalarType, StructType, stored_type
from tailpipe.query.narrowing import Narrowing
from tailpipe.sql.quoting import literal, quoted

COPIES = "schemas"
"""The directory of the copies of materialized schemas."""
FEW = 32
"""So many files are opened sooner than a plan is made."""
KNOWN = frozenset({"tp_timestamp", "tp_date", "tp_partition", "tp_index"})
"""The columns of which the catalog knows what is in each file."""
CATALOG = "tp_catalog"
"""The DuckDB schema of what the catalog knows of its files."""
SCHEMA = "tailpipe"
"""The DuckDB schema of the views over whole tables, which is the default one."""

_HIVE = (
    "hive_partitioning = true, hive_types = "
    "{'tp_table': VARCHAR, 'tp_partition': VARCHAR, 'tp_index': VARCHAR, 'tp_date': DATE}"
)
"""Values are taken from the directories, so that DuckDB leaves out files by them without opening one."""
_PLAIN = "hive_partitioning = false"


@frozen
class View:
    """A table as queries see it: its columns with their DuckDB types, in order, and its files."""

    schema: str
    name: str
    columns: Mapping[str, str]
    root: Path
    files: tuple[LiveFile, ...]
    selected: str
    options: str = ""
    conditions: tuple[str, ...] = ()
    place: Callable[[LiveFile], str] = lambda file: file.path
    """Where a file is that is on this disk."""
    sets: ColumnSets = field(default_factory=dict)
    """The columns that its files have, also those that are not loaded."""

    @property
    def address(self) -> tuple[str, str]:
        """Its unique name: DuckDB ignores case."""
        return self.schema.lower(), self.name.lower()

    @property
    def full_name(self) -> str:
        """Schema and name as SQL."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def sql(self) -> str:
        """The statement that makes it."""
        return self.over_paths([self.place(file) for file in self.files])

    @property
    def rows(self) -> int:
        """How many rows its files hold, before any condition."""
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        """How many bytes its files have."""
        return sum(file.size for file in self.files)

    def has_all_here(self, files: Sequence[LiveFile]) -> bool:
        """Whether these files of its own are on this disk and have all columns of the view among them."""
        held = {file.columns_id for file in files}
        return all(file.is_here for file in files) and (not files or self.sets.keys() <= held)

    def over_paths(self, paths: Sequence[str], *, is_plain: bool = False) -> str:
        """The statement that makes it over some files; a plain one skips their directories, slow by the thousand."""
        options = self.options.replace(_HIVE, _PLAIN) if is_plain else self.options
        return self.reading(f"[{', '.join(map(literal, paths))}]", options) if paths else self.outline

    def reading(self, paths: str, options: str) -> str:
        """The statement that makes it over what DuckDB reads from these paths, given as SQL: a list, or a glob."""
        select = f"SELECT {self.selected} FROM read_parquet({paths}, {options})"
        if self.conditions:  # around it, because they are about the columns as queries see them
            select = f"SELECT * FROM ({select}) WHERE " + " AND ".join(f"({one}\n)" for one in self.conditions)
        return f"CREATE OR REPLACE VIEW {self.full_name} AS {select}"

    @property
    def outline(self) -> str:
        """The statement that makes it without rows or files, for statements about the columns."""
        columns = ", ".join(f"NULL::{kind} AS {quoted(name)}" for name, kind in self.columns.items())
        return f"CREATE OR REPLACE VIEW {self.full_name} AS SELECT {columns} WHERE false"


def table_views(
    snapshot: Snapshot,
    tables: Mapping[str, Table],
    narrowing: Narrowing | None = None,
    only: Collection[str] | None = None,
) -> list[View]:
    """One view for each declared or held table, or for some by name; undeclared ones have their stored columns."""
    held: dict[str, list[LiveFile]] = {}
    for file in snapshot.files:
        held.setdefault(file.table, []).append(file)
    views, root, place = [], snapshot.root, snapshot.place
    for name in sorted({*held, *tables} if only is None else only):
        files = tuple(held.get(name, ()))
        numbers = {file.columns_id for file in files} if snapshot.sets is None else snapshot.sets.get(name, ())
        sets = {number: snapshot.columns[number] for number in sorted(numbers)}
        columns: dict[str, str] = {}
        selected = []
        for column, stored, declared in _columns(tables.get(name), sets.values()):
            expression, columns[column] = _column(column, stored, declared)
            selected.append(f"{expression} AS {quoted(column)}")
        options = _HIVE if _have_values_in_paths(files) else _PLAIN
        if any(one != sets[min(sets)] for one in sets.values()):
            options += ", union_by_name = true"
        view = View(SCHEMA, name, columns, root, files, ", ".join(selected), options, place=place, sets=sets)
        views.append(view if narrowing is None else narrowed(view, narrowing))
    return views


def schema_views(views: Iterable[View], schemas: Iterable[Schema], *, now: datetime) -> list[View]:
    """The views of the `schema` blocks, made of those over whole tables; relative times count from `now`."""
    whole = list(views)
    found = []
    for schema in schemas:
        narrowing = Narrowing.of_schema(schema, now=now)
        conditions = () if schema.where is None else (schema.where,)
        for view in whole:
            if shows(schema, view.name):
                shown = narrowed(view, narrowing)
                found.append(replace(shown, schema=schema.name, conditions=(*shown.conditions, *conditions)))
    return found


def shows(schema: Schema, table: str) -> bool:
    """Whether a schema has a view of that table."""
    return any(fnmatchcase(table, pattern) for pattern in schema.tables)


def narrowed(view: View, narrowing: Narrowing) -> View:
    """A view over the rows that a narrowing leaves."""
    files = narrowing.files(view.files)
    condition = narrowing.condition(files)
    conditions = (*view.conditions, condition) if condition else view.conditions
    return replace(view, files=files, conditions=conditions)


def _have_values_in_paths(files: Sequence[LiveFile]) -> bool:
    """Whether the directories have the values of the files; a long index is shortened there."""
    seen: dict[str, bool] = {}
    for file in files:
        parts = file.path.split("/")
        if len(parts) != 6:
            return False
        segment = parts[3]
        if segment not in seen:
            seen[segment] = "~" not in segment and segment == index_segment(file.tp_index)
        if not seen[segment]:
            return False
    return bool(files)


def _columns(table: Table | None, sets: Iterable[Mapping[str, str]]) -> list[tuple[str, str | None, ColumnType | None]]:
    """The columns with stored and declared types: own ones as declared, then those found, then the common ones."""
    stored: dict[str, str] = {}
    for columns in sets:
        for name, kind in columns.items():  # the newest type; text is JSON only if it is that in all files
            stored[name] = kind if stored.get(name, kind) == kind else stored_type(kind)
    own = {} if table is None else {column.name: column.column_type for column in table.columns}
    common = common_types(() if table is None else {*own, *table.common})
    declared: dict[str, ColumnType | None] = {**own, **common}
    names = {name.lower(): name for name in (*declared, *stored)}.values()  # DuckDB ignores case; what is stored wins
    ordered = [name for name in names if not name.startswith("tp_")]
    ordered += sorted(name for name in names if name.startswith("tp_"))
    return [(name, stored.get(name), declared.get(name)) for name in ordered]


def _column(name: str, stored: str | None, declared: ColumnType | None) -> tuple[str, str]:
    """The expression of a column, and its type in the view."""
    shown = _shown(declared) if declared is not None else stored or "VARCHAR"
    if stored is None:
        return f"NULL::{shown}", shown
    if declared is None and stored == "JSON":
        return f"CAST({quoted(name)} AS JSON)", shown
    stored = stored_type(stored)
    # Only what was stored as text for want of a better type: any other difference is one that was
    # made in the config since, and a cast could fail on the rows that are there.
    if declared is not None and shown != declared.stored and _bare(stored) == _bare(declared.stored):
        return f"CAST({quoted(name)} AS {shown})", shown
    return quoted(name), stored


def _bare(kind: str) -> str:
    """A type without the quotes around the names of its fields, which DuckDB writes only where it must."""
    return kind.replace('"', "")


def _shown(kind: ColumnType) -> str:
    """The DuckDB type that queries see; addresses stay text, because their type needs an extension."""
    if isinstance(kind, ListType):
        return f"{_shown(kind.element)}[]"
    if isinstance(kind, StructType):
        return "STRUCT(" + ", ".join(f"{quoted(name)} {_shown(inner)}" for name, inner in kind.fields) + ")"
    if isinstance(kind, ScalarType) and kind.name == "inet":
        return kind.stored
    return kind.duckdb
