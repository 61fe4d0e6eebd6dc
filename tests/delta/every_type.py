"""Rows with a value in a column of every type, in files of odd indexes."""

from __future__ import annotations

import uuid

from tailpipe.model.table import Column
from tailpipe.model.types import SCALARS
from tailpipe.stores.delta import publish
from tailpipe.stores.keys import keyed_partition
from tests.delta.lake import TABLE, Lake, change, day

EVERY_TYPE = [
    *(Column(f"c_{kind.name}", kind.name) for kind in SCALARS),
    Column("c_decimal", "decimal(18,3)"),
    Column("c_large_decimal", "decimal(38,10)"),
    Column("c_list", "integer[]"),
    Column("c_times", "timestamp[]"),
    Column("c_unsigned_list", "uinteger[]"),
    Column("c_struct", "struct(a varchar, b ubigint, c timestamp[], d struct(e uuid))"),
    Column("c_structs", "struct(a usmallint, b json)[]"),
    Column("host", "varchar"),
    Column("with blank", "varchar"),
    Column("with=sign", "varchar"),
    Column("c_odd_field", 'struct("a b" varchar)'),
    Column("c_time_inside", "struct(a time)[]"),
]
LEFT_OUT = {"c_time", "with blank", "with=sign", "c_odd_field", "c_time_inside"}
FULL = {
    "c_boolean": True,
    "c_tinyint": -128,
    "c_smallint": -32768,
    "c_integer": -(2**31),
    "c_bigint": -(2**63),
    "c_utinyint": 255,
    "c_usmallint": 65535,
    "c_uinteger": 2**32 - 1,
    "c_ubigint": 2**64 - 1,
    "c_float": 1.5,
    "c_double": 1e-300,
    "c_varchar": "ünï\n\t😀",
    "c_blob": "bytes",
    "c_date": "1969-12-31",
    "c_timestamp": "2024-07-01T00:00:00.000001Z",
    "c_time": "12:34:56.789",
    "c_interval": "3 days",
    "c_uuid": str(uuid.UUID(int=1)),
    "c_json": {"a": [1]},
    "c_inet": "10.0.0.0/8",
    "c_decimal": "123456789012345.678",
    "c_large_decimal": "-1234567890123456789012345678.0123456789",
    "c_list": [1, None, 3],
    "c_times": ["2024-07-01T00:00:00.000001Z", None],
    "c_unsigned_list": [2**32 - 1],
    "c_struct": {"a": "x", "b": 2**64 - 1, "c": ["2024-07-01T00:00:00.000001Z"], "d": {"e": str(uuid.UUID(int=2))}},
    "c_structs": [{"a": 65535, "b": {"k": 1}}, None],
    "with blank": "x",
    "with=sign": "y",
    "c_odd_field": {"a b": "z"},
    "c_time_inside": [{"a": "01:02:03"}],
}
INDEXES = ["web", "a/b", "ü x%20y", "50%", None, "x" * 200]


def fill(lake: Lake) -> None:
    """Put files of two partitions; one row has no value but its time and index."""
    lake.put("things.test", [day(1 + place % 3, **FULL) | {"host": name} for place, name in enumerate(INDEXES)])
    lake.put("things.odd-name_1", [day(2)])


def published(lake: Lake) -> set[str]:
    """Publish all files of the lake; the columns that are left out."""
    by_partition: dict[str, list[str]] = {}
    for key in lake.files:
        by_partition.setdefault(keyed_partition(key), []).append(key)
    changes = [change(name, 1, {key: lake.files[key] for key in keys}) for name, keys in by_partition.items()]
    return {one.column for one in publish(lake.objects, TABLE, changes).left_out}
