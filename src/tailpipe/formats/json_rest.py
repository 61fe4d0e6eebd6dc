"""The rest of a JSON record as SQL: the keys without a field of their own, at the top and inside structs.

Most records have none, so the keys of all levels are only looked at, in one pass over the text; an object
is taken apart where there is more in it than is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from tailpipe.model.types import ColumnType, StructType
from tailpipe.plugin.sql import json_path, literal, text_list

_ALL = "*"
_MAP = "'\"MAP(VARCHAR, JSON)\"'"


def keys_at_all_levels(text: str, fields: Mapping[str, ColumnType]) -> str:
    """The keys of the record and of each of its structs, a list for each level."""
    paths = ", ".join(json_path(*path) for path, _ in _levels((), fields))
    return f"TRY(json_keys({text}, [{paths}]))"


def rest_of(text: str, keys: str, fields: Mapping[str, ColumnType]) -> str:
    """An object of the keys that are no fields; null if there are none, the whole record if one is duplicated.

    What is unknown inside a struct stands below the names of the structs around it. `keys` is what
    `keys_at_all_levels` gave.
    """
    is_more = " OR ".join(
        _is_more(f"{keys}[{number}]", names) for number, (_, names) in enumerate(_levels((), fields), 1)
    )
    rest = _object(text, (), fields, count())
    return f"CASE WHEN {is_more} THEN coalesce(TRY({rest}), {text}::JSON) END"


def _levels(path: tuple[str, ...], fields: Mapping[str, ColumnType]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The path of each object whose keys are known, the outer ones first, and these keys.

    One with a key `*` is kept whole by others; objects inside it may be known all the same.
    """
    if _ALL not in fields:
        yield path, list(fields)
    for name, kind in fields.items():
        if isinstance(kind, StructType):
            yield from _levels((*path, name), dict(kind.fields))


def _is_more(keys: str, names: list[str]) -> str:
    """Whether one of the keys is not among the names."""
    if not names or any(not name or "\0" in name for name in names):  # of these no type can be made
        return f"NOT list_has_all({text_list(names)}, {keys})"
    # A cast looks a key up faster than any function of lists does.
    return f"list_position(try_cast({keys} AS ENUM({', '.join(map(literal, names))})[]), NULL) > 0"


def _object(text: str, path: tuple[str, ...], fields: Mapping[str, ColumnType], numbers: Iterator[int]) -> str:
    """What is unknown in the object at a path, structs inside it included; null if nothing is."""
    here = f"json_extract({text}, {json_path(*path)})" if path else text
    entry, entries = f"_entry{next(numbers)}", f"_entries{next(numbers)}"
    found = (
        f"list_filter(map_entries(from_json({here}, {_MAP})),"
        f" lambda {entry}: NOT list_contains({text_list(fields)}, {entry}.key))"
    )
    if _ALL in fields:
        found = '([]::STRUCT("key" VARCHAR, "value" JSON)[])'
    structs = [
        f"{{'key': {literal(name)}, 'value': {_object(text, (*path, name), dict(kind.fields), numbers)}}}"
        for name, kind in fields.items()
        if isinstance(kind, StructType)
    ]
    if structs:
        found = f"list_concat({found}, list_filter([{', '.join(structs)}], lambda {entry}: {entry}.value IS NOT NULL))"
    made = f"lambda {entries}: to_json(map_from_entries({entries}))"
    return f"list_transform(list_filter([{found}], lambda {entries}: len({entries}) > 0), {made})[1]"
