"""The limit on undeclared fields: past it, a record that brings another key is rejected instead of becoming a column.

Without it, a log with a new key in each line would make a table of as many columns as there are lines.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tailpipe.model.format import FIELDS_LIMIT
from tailpipe.plugin import Parsed
from tailpipe.plugin.sql import literal

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

__all__ = ["FIELDS_LIMIT", "most_frequent", "reject_records", "within_limit"]

_ROWS = "tp__overflow"


def within_limit(types: Mapping[str, str], name: str) -> bool:
    """Whether a field may be added to the types that are known."""
    return name in types or len(types) < FIELDS_LIMIT


def most_frequent(keys: Mapping[str, int], room: int) -> set[str]:
    """The keys that most records have, as many as there is room for."""
    return set(sorted(keys, key=lambda key: (-keys[key], key))[: max(0, room)])


def reject_records(connection: duckdb.DuckDBPyConnection, parsed: Parsed, keys: Collection[str]) -> Parsed:
    """Reject the rows that have one of the keys; the tables of the batch must be registered."""
    import pyarrow as pa

    connection.register("tp__keys", pa.table({"key": pa.array(list(keys), pa.string())}))
    try:
        spread = f"SELECT _artifact, _ordinal, unnest(TRY(json_keys(_raw))) AS key FROM ({parsed.records})"
        found = connection.execute(
            f"SELECT DISTINCT _artifact, _ordinal FROM ({spread}) SEMI JOIN tp__keys USING (key)"
        ).to_arrow_table()
    finally:
        connection.unregister("tp__keys")
    reason = literal(f"brings more than {FIELDS_LIMIT:,} different keys")
    bad = f"CASE WHEN _bad IS NULL AND o._ordinal IS NOT NULL THEN {reason} ELSE _bad END AS _bad"
    sql = (
        f"SELECT r.* REPLACE ({bad}) FROM ({parsed.sql}) r LEFT JOIN {_ROWS} o"
        " ON r._artifact = o._artifact AND r._ordinal = o._ordinal ORDER BY r._artifact, r._ordinal"
    )
    return replace(parsed, sql=sql, tables={**parsed.tables, _ROWS: found})
