"""Columns of a table as a Delta table has them: types, names, and what readers cannot be given.

A column is published in one type. Files of different types are fine where all readers that we test widen by themselves:
integers, floats, decimals of one scale. Spark reads other mixtures wrong or not at all (an unsigned 32-bit integer as a
double is negative there), so such a column is left out and reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.types import ColumnType, DecimalType, ListType, ScalarType, StructType, parse_type

Columns = Mapping[str, Sequence[str]]
"""For each column the different DuckDB types that its files have or had."""

PARTITION_COLUMNS = ("tp_partition", "tp_index", "tp_date")
_ALWAYS = {"tp_partition": "VARCHAR", "tp_index": "VARCHAR", "tp_date": "DATE"}
_INTEGERS = ("byte", "short", "integer", "long")
_TIME = "timestamp_ntz"
_SCALARS = {
    "boolean": "boolean",
    "tinyint": "byte",
    "smallint": "short",
    "integer": "integer",
    "bigint": "long",
    "utinyint": "short",
    "usmallint": "integer",
    "uinteger": "long",
    "ubigint": "decimal(20,0)",
    "float": "float",
    "double": "double",
    "varchar": "string",
    "blob": "binary",
    "date": "date",
    "timestamp": _TIME,
}
_FORBIDDEN = re.compile(r"[ ,;{}()=\n\t]")


@frozen
class LeftOut:
    """A column that is not published, and why; the parquet files have it all the same."""

    column: str
    reason: str


class _UnfitError(Exception):
    """Delta has nothing for a type or a name."""


def merged(known: Columns, columns: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """The known columns with those of other files; names that differ in case alone are one column."""
    found = dict(known)
    spelt = {name.lower(): name for name in found}
    for name, kind in columns.items():
        own = spelt.setdefault(name.lower(), name)
        stored, before = _stored(kind), found.get(own, ())
        if stored not in before:
            found[own] = sorted([*before, stored])
    return found


def delta_schema(columns: Columns, *, is_zoned: bool = False) -> tuple[str, tuple[LeftOut, ...]]:
    """The schema as Delta writes it, as JSON, and the columns that are not in it.

    `is_zoned` declares times as `timestamp`, as earlier versions did, although the files name no zone.
    """
    fields, left_out = [], []
    for name, kinds in {**{name: [kind] for name, kind in _ALWAYS.items()}, **columns}.items():
        try:
            _check_name(name, "its name")
            fields.append(_field(name, _published(kinds)))
        except _UnfitError as reason:
            left_out.append(LeftOut(name, str(reason)))
    order = list(columns)
    fields.sort(key=lambda field: order.index(field["name"]) if field["name"] in columns else len(order))
    whole = {"type": "struct", "fields": fields}
    return json.dumps(_zoned(whole) if is_zoned else whole), tuple(left_out)


def _zoned(kind: Any) -> Any:
    """The type with `timestamp` for all times in it."""
    if not isinstance(kind, dict):
        return "timestamp" if kind == _TIME else kind
    if kind["type"] == "array":
        return {**kind, "elementType": _zoned(kind["elementType"])}
    return {**kind, "fields": [{**field, "type": _zoned(field["type"])} for field in kind["fields"]]}


def _stored(kind: str) -> str:
    """The type in the files: the catalog notes JSON for some text."""
    try:
        return parse_type(kind).stored
    except UsageError:
        return kind


def _published(kinds: Sequence[str]) -> Any:
    """The one Delta type of files that have these types."""
    parsed = [_parsed(kind) for kind in kinds]
    found = [_delta_type(kind) for kind in parsed]
    if len(parsed) == 1:
        return found[0]
    if all(one in _INTEGERS for one in found):
        return max(found, key=_INTEGERS.index)
    if all(one in ("float", "double") for one in found):
        return "double"
    decimals = [kind for kind in parsed if isinstance(kind, DecimalType)]
    if len(decimals) == len(parsed) and len({kind.scale for kind in decimals}) == 1:
        return _delta_type(max(decimals, key=lambda kind: kind.precision))
    raise _UnfitError("its files have different types: " + ", ".join(kinds))


def _parsed(kind: str) -> ColumnType:
    try:
        return parse_type(kind)
    except UsageError:
        raise _UnfitError(f"Delta has no type for {kind}") from None


def _delta_type(kind: ColumnType) -> Any:
    if isinstance(kind, ListType):
        return {"type": "array", "elementType": _delta_type(kind.element), "containsNull": True}
    if isinstance(kind, StructType):
        for name, _ in kind.fields:
            _check_name(name, f'the name of its field "{name}"')
        return {"type": "struct", "fields": [_field(name, _delta_type(inner)) for name, inner in kind.fields]}
    if isinstance(kind, ScalarType) and kind.name not in _SCALARS:
        raise _UnfitError(f"Delta has no type for {kind.duckdb}")
    return _SCALARS[kind.name] if isinstance(kind, ScalarType) else kind.name


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def _check_name(name: str, what: str) -> None:
    if _FORBIDDEN.search(name):
        raise _UnfitError(f"{what} has a blank or one of ,;{{}}()=")
