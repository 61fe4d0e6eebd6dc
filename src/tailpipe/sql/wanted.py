"""The fields that a table takes from its rows, and the keys under which JSON has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property

from tailpipe.frozen import frozen
from tailpipe.model.format import RESERVED_FIELDS
from tailpipe.model.outputs import COMMON_TYPES, SECOND, Output
from tailpipe.model.paths import EACH, Path
from tailpipe.model.types import ColumnType, ListType, StructType, parse_type

_TEXT = parse_type("varchar")
_JSON = parse_type("json")


def wanted_fields(outputs: Iterable[Output], references: Iterable[str]) -> dict[str, ColumnType]:
    """Each field that a column or an expression takes, and the shape in which it is read.

    Values of scalar columns are read as text, so that a misfit can be told from a null.
    """
    outputs = list(outputs)
    wanted: dict[str, ColumnType] = {}
    for output in outputs:
        if output.source is None:
            continue
        kind = output.read if isinstance(output.kind, ListType | StructType) or output.kind == _JSON else _TEXT
        if EACH in output.path and not isinstance(kind, ListType):
            kind = ListType(kind)
        if wanted.setdefault(output.source, kind) != kind:
            wanted[output.source] = _JSON  # whatever its columns want can be made of it
    for output in outputs:
        for field_, path in output.takes.items():
            wanted.setdefault(field_, ListType(_TEXT) if EACH in path else _TEXT)
    known = {name.lower() for name in wanted}
    for name in references:
        if name.lower() not in known:
            wanted[name] = _TEXT
            known.add(name.lower())
    return wanted


def field_paths(outputs: Iterable[Output]) -> dict[str, Path]:
    """The fields that JSON has inside other fields, and where."""
    found: dict[str, Path] = {}
    for output in outputs:
        if output.source is not None and output.path:
            found[output.source] = output.path
        found.update((field_, path) for field_, path in output.takes.items() if len(path) > 1)
    return found


def unclaimed_fields(outputs: Iterable[Output], references: Iterable[str]) -> frozenset[str]:
    """The fields that only paths of common columns take: they stay in the rest of the record, so that it is whole."""
    outputs = list(outputs)
    own = [output for output in outputs if output.name not in COMMON_TYPES]
    claimed = {output.source for output in outputs if output.source is not None and EACH not in output.path}
    claimed |= {field_ for output in own for field_ in output.takes}
    fields = {field_ for output in outputs for field_ in output.takes}
    fields |= {output.source for output in outputs if output.source is not None}
    named = {name.lower() for name in references}
    return frozenset(one for one in fields - claimed if one.lower() not in named)


@frozen
class FieldNames:
    """Maps keys of JSON objects to names of fields, and back; `renamed` maps keys to names."""

    wanted: Mapping[str, ColumnType]
    renamed: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, Path] = field(default_factory=dict)
    """The fields that lie inside others: no key of the record has their names."""

    def key(self, field: str) -> str:
        """The key under which a record has the field."""
        if field in self._keys:
            return self._keys[field]
        shorter = field.removesuffix(SECOND)
        return shorter if shorter != field and self._is_taken(shorter) else field  # see `field`

    def field(self, key: str) -> str:
        """The name of a key's field. Keys that differ only in case get different names, because DuckDB ignores case."""
        name = self.renamed.get(key, key)
        if name in self.wanted and name not in self.paths:
            return name
        return f"{name}{SECOND}" if self._is_taken(name) else name

    def with_field(self, field: str) -> FieldNames:
        """The names with one more field."""
        return replace(self, wanted={**self.wanted, field: _TEXT})

    def _is_taken(self, name: str) -> bool:
        own = name in self.wanted and name not in self.paths
        return name.lower() in RESERVED_FIELDS or self._names[name.lower()] > own

    @cached_property
    def _keys(self) -> dict[str, str]:
        return {name: key for key, name in self.renamed.items()}

    @cached_property
    def _names(self) -> Counter[str]:
        return Counter(name.lower() for name in self.wanted)
