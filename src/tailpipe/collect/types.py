"""Types of undeclared fields, as the files that are there have them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tailpipe.catalog.snapshot import ColumnSets, Snapshot
from tailpipe.kernel.engine import connect
from tailpipe.kernel.key_limit import within_limit
from tailpipe.kernel.outputs import mapped_fields, output_columns
from tailpipe.kernel.references import references
from tailpipe.kernel.undeclared import has_long_numbers, widened
from tailpipe.model.partition import Partition
from tailpipe.model.source import Source
from tailpipe.model.table import COMMON_COLUMNS, Table

__all__ = ["known_types", "long_numbers", "needs_sample", "sampled_types", "unfilled_columns"]

_COMMON = {column.name for column in COMMON_COLUMNS}
_NAMES = {"BIGINT": "bigint", "DOUBLE": "double", "BOOLEAN": "boolean", "JSON": "json", "VARCHAR": "varchar"}


def known_types(sets: ColumnSets, table: Table) -> dict[str, str]:
    """For each column of the files that the table leaves open, its type; the widest, if files differ."""
    declared = {column.name for column in table.columns if column.type is not None} | _COMMON
    found: dict[str, str] = {}
    for columns in sets.values():
        for name, kind in columns.items():
            if name not in declared:
                found[name] = widened(found.get(name), _name(kind)) or "varchar"
    return found


def _name(kind: str) -> str:
    return kind.lower() if kind.startswith("DECIMAL(") else _NAMES.get(kind, "varchar")


def unfilled_columns(sources: Iterable[Source], table: Table, filled: Collection[str]) -> dict[str, str]:
    """The columns that no row of a run has filled although a field was named for them, with the field."""
    mapped: dict[str, str] = {}
    for source in sources if filled else ():
        mapped |= mapped_fields(table, source.format or table.format)
    return {name: field for name, field in mapped.items() if name not in filled}


def needs_sample(table: Table, types: Mapping[str, str]) -> bool:
    """Whether fields must be looked at before anything runs: the table leaves some open, and nothing is known yet."""
    is_open = any(column.type is None and column.name not in _COMMON for column in table.columns)
    return not types and (bool(table.map_fields) or is_open)


def sampled_types(
    samples: Iterable[Mapping[str, str]], types: Mapping[str, str], partition: Partition, table: Table
) -> dict[str, str]:
    """The types that samples add. A name in the filter, index or key that none of them has is text until it comes."""
    found = dict(types)
    for one in samples:
        for name, kind in one.items():
            if within_limit(found, name):
                found[name] = widened(found.get(name), kind) or kind
    known = {output.name.lower() for output in output_columns(table, found)} | _COMMON
    with connect() as connection:
        named = references(connection, [partition.filter] if partition.filter else [])
    for name in (*named, *([partition.tp_index] if partition.tp_index else []), *partition.dedupe_key):
        if name.lower() not in known and table.map_fields:
            found[name] = "varchar"
    return found


def long_numbers(snapshot: Snapshot, columns: Collection[str]) -> set[str]:
    """Which of the columns hold whole numbers in these files that a double would change."""
    files = list(zip(snapshot.paths(), snapshot.files, strict=True))
    found = set()
    with connect() as connection:
        for name in columns:
            paths = [path for path, file in files if snapshot.columns[file.columns_id].get(name) == "BIGINT"]
            if paths and has_long_numbers(connection, paths, name):
                found.add(name)
    return found
