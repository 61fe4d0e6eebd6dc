"""The shape in which `from_json` reads a record: all fields and paths in one structure, as SQL.

A record is read once. Where a value is wanted whole as well as in parts, such as a JSON column `request` beside a
column from `request.user`, the parts are read once more, out of that value. What fits into neither, because two keys
differ in case alone, is taken out of the text by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tailpipe.model.paths import EACH, Path
from tailpipe.model.types import ColumnType, ListType, StructType, parse_type
from tailpipe.sql.quoting import json_path, json_shape, literal, quoted

_TEXT = parse_type("varchar")
_JSON = parse_type("json")
_NOTHING = StructType(())


@dataclass
class JsonShape:
    """What is read of one JSON text, and of the values inside it that are read again."""

    record: ColumnType | None = None
    fields: dict[str, tuple[Path, ColumnType]] = field(default_factory=dict)
    """The fields that come out of the record, with their paths and the shapes that they are wanted in."""
    inner: dict[Path, JsonShape] = field(default_factory=dict)
    """What is read out of values that are wanted whole, too."""
    apart: dict[str, tuple[Path, ColumnType]] = field(default_factory=dict)
    """The fields that are taken out of the text by themselves."""

    def add(self, name: str, path: Path, kind: ColumnType) -> None:
        """Take one more field; shorter paths must come first."""
        grown, blocked = _grown(self.record, path, _at_end(path, kind))
        if grown is not None:
            self.record = grown
            self.fields[name] = (path, kind)
        elif blocked is not None and EACH not in path[:blocked]:
            below = self.inner.setdefault(path[:blocked], JsonShape())
            below.add(name, path[blocked:], kind)
        else:
            self.apart[name] = (path, kind)

    def reading(self, text: str, record: str) -> str:
        """Columns over `text`: what `from_json` gives of it, as `record`."""
        shape = json_shape(self.record or _NOTHING) or {"": "VARCHAR"}
        return f"TRY(from_json({text}, {literal(json.dumps(shape, ensure_ascii=False))})) AS {record}"

    def levels(self, record: str) -> list[list[str]]:
        """Columns that must be read after those before: what is read out of values of the record."""
        found: list[list[str]] = []
        for number, (path, shape) in enumerate(self.inner.items()):
            name = f"{record}_{number}"
            levels = [[shape.reading(_extracted(record, path), name)], *shape.levels(name)]
            for level, columns in enumerate(levels):
                if level == len(found):
                    found.append([])
                found[level] += columns
        return found

    def values(self, text: str, record: str) -> dict[str, str]:
        """Each field as SQL."""
        found = {name: _extracted(record, path) for name, (path, _) in self.fields.items()}
        for name, (path, kind) in self.fields.items():
            if EACH not in path:
                found[name] = _narrowed(found[name], _found_kind(self.record, path), kind)
        for number, (path, shape) in enumerate(self.inner.items()):
            found |= shape.values(_extracted(record, path), f"{record}_{number}")
        for name, (path, kind) in self.apart.items():
            found[name] = _taken_out(text, path, kind)
        return found


def json_shape_of(fields: Mapping[str, tuple[Path, ColumnType]]) -> JsonShape:
    """The shape that has all these fields."""
    shape = JsonShape()
    for name, (path, kind) in sorted(fields.items(), key=lambda item: len(item[1][0])):
        shape.add(name, path, kind)
    return shape


def _at_end(path: Path, kind: ColumnType) -> ColumnType:
    """The type at the end of a path: after `[*]`, that of an element of the requested list."""
    return kind.element if EACH in path and isinstance(kind, ListType) else kind


def _grown(have: ColumnType | None, path: Path, kind: ColumnType) -> tuple[ColumnType | None, int | None]:
    """A shape with one more value at a path; None if it does not fit, and how deep a value is that is wanted whole."""
    if not path:
        if have is None or have == kind or (have == _JSON and kind == _TEXT):
            return have or kind, None
        if have == _TEXT and kind == _JSON:
            return kind, None
        return _merged(have, kind), None
    if have in (_TEXT, _JSON):
        return None, 0
    if path[0] is EACH:
        if have is not None and not isinstance(have, ListType):
            return None, None
        inside, blocked = _grown(have.element if have is not None else None, path[1:], kind)
        return (ListType(inside) if inside is not None else None), (None if blocked is None else blocked + 1)
    if have is not None and not isinstance(have, StructType):
        return None, None
    fields = dict(have.fields) if have is not None else {}
    if any(key.lower() == path[0].lower() and key != path[0] for key in fields):
        return None, None  # DuckDB does not tell cases apart
    inside, blocked = _grown(fields.get(path[0]), path[1:], kind)
    if inside is None:
        return None, None if blocked is None else blocked + 1
    return StructType(tuple({**fields, path[0]: inside}.items())), None


def _merged(one: ColumnType, other: ColumnType) -> ColumnType | None:
    """A shape that has the values of both; None if there is none."""
    if isinstance(one, ListType) and isinstance(other, ListType):
        element, _ = _grown(one.element, (), other.element)
        return ListType(element) if element is not None else None
    if not isinstance(one, StructType) or not isinstance(other, StructType):
        return None
    grown: ColumnType | None = one
    for key, kind in other.fields:
        grown, _ = _grown(grown, (key,), kind)
        if grown is None:
            return None
    return grown


def _found_kind(kind: ColumnType | None, path: Path) -> ColumnType | None:
    for step in path:
        if isinstance(kind, StructType):
            kind = dict(kind.fields).get(step or "")
        elif isinstance(kind, ListType):
            kind = kind.element
    return kind


def _extracted(value: str, path: Path, depth: int = 0) -> str:
    if not path:
        return value
    if path[0] is not EACH:
        return _extracted(f"struct_extract({value}, {literal(path[0])})", path[1:], depth)
    if len(path) == 1:
        return value
    element = f"_each{depth}"
    inside = f"list_transform({value}, lambda {element}: {_extracted(element, path[1:], depth + 1)})"
    return f"flatten({inside})" if EACH in path[1:] else inside


def _narrowed(value: str, have: ColumnType | None, wanted: ColumnType) -> str:
    """A value in the requested type, without the parts that only other fields request."""
    if have is None or have == wanted:
        return value
    if wanted == _TEXT and have == _JSON:
        return f"json_extract_string({value}, '$')"
    if isinstance(have, StructType) and isinstance(wanted, StructType):
        inside = dict(have.fields)
        parts = (
            f"{quoted(key)} := {_narrowed(f'struct_extract({value}, {literal(key)})', inside.get(key), kind)}"
            for key, kind in wanted.fields
        )
        return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"
    if isinstance(have, ListType) and isinstance(wanted, ListType):
        return f"list_transform({value}, lambda _narrow: {_narrowed('_narrow', have.element, wanted.element)})"
    return value


def _taken_out(text: str, path: Path, kind: ColumnType) -> str:
    if EACH in path:
        keys = "".join("[*]" if step is EACH else "." + json.dumps(step, ensure_ascii=False) for step in path)
        return f"json_extract_string({text}, {literal('$' + keys)})"
    get = "json_extract_string" if kind == _TEXT else "json_extract"
    value = f"TRY({get}({text}, {json_path(*(step or '' for step in path))}))"
    return value if kind in (_TEXT, _JSON) else f"from_json({value}, {literal(json.dumps(json_shape(kind)))})"
