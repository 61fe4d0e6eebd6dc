"""Types of undeclared fields, as the files that are there have them."""

from __future__ import annotations

from tailpipe.catalog.read import Snapshot
from tailpipe.kernel.undeclared import widened
from tailpipe.model.table import COMMON_COLUMNS, Table

__all__ = ["known_types"]

_COMMON = {column.name for column in COMMON_COLUMNS}
_NAMES = {"BIGINT": "bigint", "DOUBLE": "double", "BOOLEAN": "boolean", "JSON": "json", "VARCHAR": "varchar"}


def known_types(snapshot: Snapshot, table: Table) -> dict[str, str]:
    """For each column of the files that the table leaves open, its type; the widest, if files differ."""
    declared = {column.name for column in table.columns if column.type is not None} | _COMMON
    found: dict[str, str] = {}
    for columns in snapshot.columns.values():
        for name, kind in columns.items():
            if name not in declared:
                found[name] = widened(found.get(name), _NAMES.get(kind, "varchar")) or "varchar"
    return found
