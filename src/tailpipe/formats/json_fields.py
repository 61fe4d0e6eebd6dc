"""Fields of JSON records: which keys are read, in which shape, and how a wrong shape is noticed."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from functools import cached_property

from tailpipe.formats.json_rest import keys_at_all_levels, rest_of
from tailpipe.formats.json_shape import JsonShape, json_shape_of
from tailpipe.frozen import frozen
from tailpipe.model.paths import EACH, Path
from tailpipe.model.types import ColumnType, ListType, StructType, parse_type
from tailpipe.plugin import ParseContext
from tailpipe.sql.quoting import json_path, literal, quoted, text_type
from tailpipe.sql.wanted import FieldNames

_TEXT = parse_type("varchar")
_JSON = parse_type("json")
REST = "*"
"""The field that holds all keys without a field of their own; no other field can have this name."""


@frozen
class JsonFields:
    """The fields to take from each record; `renamed` maps keys of the record to names of fields."""

    wanted: Mapping[str, ColumnType]
    renamed: Mapping[str, str]
    nested: Mapping[str, ColumnType] = dataclasses.field(default_factory=dict)
    """The keys of fields that are read as text, where these are known."""
    paths: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    """Where the fields are that are no keys of the record itself."""
    unclaimed: Collection[str] = frozenset()
    """The fields that stay in the rest of the record all the same."""

    @classmethod
    def of(cls, context: ParseContext, renamed: Mapping[str, str]) -> JsonFields:
        """What a task wants of its records."""
        return cls(context.fields, renamed, context.nested, context.paths, context.unclaimed)

    def key(self, field: str) -> str:
        """The key under which a record has the field."""
        return self._field_names.key(field)

    @property
    def types(self) -> dict[str, str]:
        """The DuckDB type of each field."""
        return {field: text_type(kind) for field, kind in self.wanted.items()}

    def reading(self, text: str, record: str, keys: str) -> list[list[str]]:
        """Columns over `text`, the record itself: what `from_json` gives, and the keys if the rest is wanted.

        Those of a list can only be read after those of the lists before it.
        """
        first = [self._shape.reading(text, record)]
        first += [f"{keys_at_all_levels(text, self._known)} AS {keys}"] if REST in self.wanted else []
        return [first, *self._shape.levels(record)]

    def columns(self, text: str, record: str, keys: str) -> str:
        """The fields as a list of columns over the record and what `reading` made of it."""
        values = self._shape.values(text, record)
        if REST in self.wanted:
            rest = rest_of(text, keys, self._known)
            values[REST] = rest if self.wanted[REST] == _JSON else f"CAST({rest} AS VARCHAR)"  # for an expression
        return "".join(f", {values[field]} AS {quoted(field)}" for field in self.wanted)

    def misfits(self, record: str, text: str) -> tuple[str, dict[str, str]]:
        """Columns that are true where a nested field has a value of another shape, and their names by field."""
        items, names = [], {}
        for number, (field, kind) in enumerate(self.wanted.items()):
            path = self._path(field)
            if kind in (_TEXT, _JSON) or field not in self._shape.fields or EACH in path:
                continue
            keys = tuple(step for step in path if step is not EACH)
            value = record
            for key in keys:
                value = f"struct_extract({value}, {literal(key)})"
            wrong = _wrong_shapes(value, text, keys, kind)
            names[field] = f"_misfit{number}"
            items.append(f"({' OR '.join(wrong)}) AS _misfit{number}")
        return "".join(f", {item}" for item in items), names

    def _path(self, field: str) -> Path:
        return self.paths.get(field) or (self.key(field),)

    @cached_property
    def _shape(self) -> JsonShape:
        return json_shape_of({name: (self._path(name), kind) for name, kind in self.wanted.items() if name != REST})

    @cached_property
    def _known(self) -> dict[str, ColumnType]:
        """The keys that columns and expressions keep, with those inside them."""
        known = JsonShape()
        claimed = [name for name in self.wanted if name != REST and name not in self.unclaimed]
        for name in sorted(claimed, key=lambda name: len(self._path(name))):
            known.add(name, self._path(name), self.nested.get(name, self.wanted[name]))
        apart = {path[0] or "": _JSON for path, _ in known.apart.values()}
        return {**apart, **(dict(known.record.fields) if isinstance(known.record, StructType) else {})}

    @cached_property
    def _field_names(self) -> FieldNames:
        return FieldNames(self.wanted, self.renamed, self.paths)


def _wrong_shapes(value: str, text: str, path: tuple[str, ...], kind: ColumnType) -> list[str]:
    """Conditions under which a nested value is not what it should be.

    `from_json` gives a struct of nulls, or a null list, for a value of another shape. Only such values are
    looked at again, because the look costs as much as the parsing.
    """
    if isinstance(kind, ListType):
        empty, fits = f"{value} IS NULL", "'ARRAY'"
    elif isinstance(kind, StructType):
        leaves = " AND ".join(f"struct_extract({value}, {literal(name)}) IS NULL" for name, _ in kind.fields)
        empty, fits = f"{value} IS NOT NULL AND {leaves}", "'OBJECT'"
    else:
        return []
    # Not IN: it would ask for the type twice.
    kind_there = f"TRY(json_type({text}, {json_path(*path)}))"
    found = [f"CASE WHEN {empty} THEN list_contains([{fits}, 'NULL'], {kind_there}) IS FALSE ELSE false END"]
    if isinstance(kind, StructType):
        for name, inner in kind.fields:
            found += _wrong_shapes(f"struct_extract({value}, {literal(name)})", text, (*path, name), inner)
    return found
