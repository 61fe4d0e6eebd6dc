"""Fields of JSON records: which keys are read, in which shape, and how a wrong shape is noticed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tailpipe.kernel.outputs import SECOND, Output
from tailpipe.kernel.sql import json_path, json_shape, literal, quoted, text_list, text_type
from tailpipe.model.types import ColumnType, ListType, StructType, parse_type
from tailpipe.plugin.formats import RESERVED_FIELDS

__all__ = ["JsonFields", "wanted_fields"]

_TEXT = parse_type("varchar")
_JSON = parse_type("json")
REST = "*"
"""The field that holds all keys that nobody names; no key can be taken by this name otherwise."""


def wanted_fields(outputs: Iterable[Output], references: Iterable[str]) -> dict[str, ColumnType]:
    """Each field that a column or an expression takes, and the shape in which it is read.

    Values of scalar columns are read as text, so that a misfit can be told from a null.
    """
    wanted: dict[str, ColumnType] = {}
    for output in outputs:
        if output.source is None:
            continue
        kind = output.read if isinstance(output.kind, ListType | StructType) or output.kind == _JSON else _TEXT
        if wanted.setdefault(output.source, kind) != kind:
            wanted[output.source] = _JSON  # whatever its columns want can be made of it
    known = {name.lower() for name in wanted}
    for name in references:
        if name.lower() not in known:
            wanted[name] = _TEXT
            known.add(name.lower())
    return wanted


@dataclass(frozen=True)
class JsonFields:
    """The fields to take from each record; `renamed` maps keys of the record to names of fields."""

    wanted: Mapping[str, ColumnType]
    renamed: Mapping[str, str]

    def key(self, field: str) -> str:
        """The key under which a record has the field."""
        if field in self._keys:
            return self._keys[field]
        shorter = field.removesuffix(SECOND)
        if shorter != field and self._is_taken(shorter):
            return shorter  # see `field`
        return field

    def field(self, key: str) -> str:
        """The name of a key's field. Keys that differ in case alone are told apart, as DuckDB does not do it."""
        name = self.renamed.get(key, key)
        if name in self.wanted:
            return name
        return f"{name}{SECOND}" if self._is_taken(name) else name

    def with_field(self, field: str) -> JsonFields:
        """The same with one field more."""
        return JsonFields({**self.wanted, field: _TEXT}, self.renamed)

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

    def columns(self, record: str, text: str) -> str:
        """The fields as a list of columns over `record`, what `from_json` gave, and `text`, the record itself."""
        items = []
        for field, kind in self.wanted.items():
            if field == REST:
                items.append(f"{self._rest(text)} AS {quoted(field)}")
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

    def _rest(self, text: str) -> str:
        """An object of the keys that are no fields; null if there are none, the whole record if one is there twice.

        Looking at the keys costs little against taking the object apart, which only few records need.
        """
        known = text_list(self.key(field) for field in self.wanted if field != REST)
        entries = f"map_entries(from_json({text}, '\"MAP(VARCHAR, JSON)\"'))"
        rest = f"list_filter({entries}, lambda _entry: NOT list_contains({known}, _entry.key))"
        keys = f"TRY(json_keys({text}))"
        is_more = f"NOT list_has_all({known}, {keys})"
        if names := self._enum:
            is_more = f"list_position(try_cast({keys} AS {names}[]), NULL) > 0"
        return f"CASE WHEN {is_more} THEN coalesce(TRY(to_json(map_from_entries({rest}))), {text}::JSON) END"

    @property
    def _enum(self) -> str | None:
        """The keys of all fields as a type: a cast to it looks a key up faster than any list does."""
        names = list(dict.fromkeys(self.key(field) for field in self.wanted if field != REST))
        is_plain = names and all(name and "\0" not in name for name in names)
        return f"ENUM({', '.join(map(literal, names))})" if is_plain else None

    def _is_taken(self, name: str) -> bool:
        if name.lower() in RESERVED_FIELDS:
            return True
        return self._names[name.lower()] > (name in self.wanted)

    @cached_property
    def _keys(self) -> dict[str, str]:
        return {name: key for key, name in self.renamed.items()}

    @cached_property
    def _names(self) -> Counter[str]:
        return Counter(name.lower() for name in self.wanted)

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
