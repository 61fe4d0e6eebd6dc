"""Fields of JSON records: which keys are read, in which shape, and how a wrong shape is noticed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from functools import cached_property

from tailpipe.formats.json_rest import keys_at_all_levels, rest_of
from tailpipe.frozen import frozen
from tailpipe.model.types import ColumnType, ListType, StructType, parse_type
from tailpipe.model.wanted import FieldNames
from tailpipe.plugin import ParseContext
from tailpipe.sql.quoting import json_path, json_shape, literal, quoted, text_type

__all__ = ["JsonFields"]

_TEXT = parse_type("varchar")
_JSON = parse_type("json")
REST = "*"
"""The field that holds all keys that nobody names; no key can be taken by this name otherwise."""


@frozen
class JsonFields:
    """The fields to take from each record; `renamed` maps keys of the record to names of fields."""

    wanted: Mapping[str, ColumnType]
    renamed: Mapping[str, str]
    nested: Mapping[str, ColumnType] = dataclasses.field(default_factory=dict)
    """The keys of fields that are read as text, where these are known."""

    @classmethod
    def of(cls, context: ParseContext, renamed: Mapping[str, str]) -> JsonFields:
        """What a task wants of its records."""
        return cls(context.fields, renamed, context.nested)

    def key(self, field: str) -> str:
        """The key under which a record has the field."""
        return self._field_names.key(field)

    @property
    def types(self) -> dict[str, str]:
        """The DuckDB type of each field."""
        return {field: text_type(kind) for field, kind in self.wanted.items()}

    def shape(self) -> str:
        """What `from_json` is told; each key once."""
        keys: dict[str, object] = {}
        for field, kind in self.wanted.items():
            if field not in self._apart and field != REST:
                keys[self.key(field)] = json_shape(kind)
        return literal(json.dumps(keys or {"": "VARCHAR"}, ensure_ascii=False))

    def reading(self, text: str, record: str, keys: str) -> str:
        """Columns over `text`, the record itself: what `from_json` gives, and the keys if the rest is wanted."""
        read = f"TRY(from_json({text}, {self.shape()})) AS {record}"
        return f"{read}, {keys_at_all_levels(text, self._known)} AS {keys}" if REST in self.wanted else read

    def columns(self, text: str, record: str, keys: str) -> str:
        """The fields as a list of columns over the record and what `reading` made of it."""
        items = []
        for field, kind in self.wanted.items():
            if field == REST:
                items.append(f"{rest_of(text, keys, self._known)} AS {quoted(field)}")
            elif field in self._apart:
                get = "json_extract_string" if kind == _TEXT else "json_extract"
                value = f"TRY({get}({text}, {json_path(self.key(field))}))"
                shaped = (
                    value if kind in (_TEXT, _JSON) else f"from_json({value}, {literal(json.dumps(json_shape(kind)))})"
                )
                items.append(f"{shaped} AS {quoted(field)}")
            else:
                items.append(f"struct_extract({record}, {literal(self.key(field))}) AS {quoted(field)}")
        return "".join(f", {item}" for item in items)

    def misfits(self, record: str, text: str) -> tuple[str, dict[str, str]]:
        """Columns that say of each nested field that something else stands in its place, and their names by field."""
        items, names = [], {}
        for number, (field, kind) in enumerate(self.wanted.items()):
            if kind in (_TEXT, _JSON) or field in self._apart:
                continue
            key = self.key(field)
            wrong = _wrong_shapes(f"struct_extract({record}, {literal(key)})", text, (key,), kind)
            names[field] = f"_misfit{number}"
            items.append(f"({' OR '.join(wrong)}) AS _misfit{number}")
        return "".join(f", {item}" for item in items), names

    @cached_property
    def _known(self) -> dict[str, ColumnType]:
        return {self.key(name): self.nested.get(name, kind) for name, kind in self.wanted.items() if name != REST}

    @cached_property
    def _field_names(self) -> FieldNames:
        return FieldNames(self.wanted, self.renamed)

    @cached_property
    def _apart(self) -> set[str]:
        """Fields that cannot come out of the one struct, because another key differs from theirs in case alone."""
        seen: set[str] = set()
        apart = set()
        for field in self.wanted:
            key = self.key(field).lower()
            if key in seen:
                apart.add(field)
            seen.add(key)
        return apart


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
