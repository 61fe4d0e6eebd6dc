"""All column types of our files, read by other engines from a published table."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars
import pytest
from polars.exceptions import SchemaError

from tailpipe.storage.objects import Objects
from tests.delta.conftest import Store
from tests.delta.every_type import EVERY_TYPE, INDEXES, LEFT_OUT, fill, published
from tests.delta.lake import Lake, ordered, without
from tests.delta.readers import READERS, by_duckdb, types_of


@pytest.fixture
def lake(objects: Objects, staging: Path) -> Lake:
    made = Lake(objects, staging, EVERY_TYPE)
    fill(made)
    return made


@pytest.mark.slow
@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("reader", READERS)
def test_rows_are_equal_in_every_type(store: Store, lake: Lake, reader: str) -> None:
    assert published(lake) == LEFT_OUT
    expected = without(lake.expected(lake.files), *LEFT_OUT)
    assert expected[0].keys() >= {"c_struct", "c_ubigint", "tp_timestamp", "tp_index"}
    if reader != "polars":
        assert READERS[reader](store.place) == expected
        return
    with pytest.raises(SchemaError, match="c_ubigint: incoming: UInt64 != target: Decimal"):
        READERS[reader](store.place)  # what docs/engines.md warns of: if it reads that, the page may change
    fits = [name for name in expected[0] if name not in ("c_ubigint", "c_struct", "c_structs", "c_unsigned_list")]
    frame = polars.scan_delta(store.place.uri, storage_options=store.place.options).select(fits).collect()
    assert ordered(frame.to_dicts()) == [{name: row[name] for name in fits} for row in expected]


def test_types_are_those_that_readers_expect(store: Store, lake: Lake) -> None:
    published(lake)
    found = types_of(store.place)
    assert found["tp_timestamp"] == "TIMESTAMP"
    assert found["tp_date"] == "DATE"
    assert found["c_ubigint"] == "DECIMAL(20,0)"
    assert found["c_uinteger"] == "BIGINT"
    assert found["c_json"] == found["c_uuid"] == found["c_inet"] == found["c_interval"] == "VARCHAR"
    assert found["c_large_decimal"] == "DECIMAL(38,10)"


@pytest.mark.slow
@pytest.mark.usefixtures("zone")
def test_conditions_on_times_and_partitions_lose_no_row(store: Store, lake: Lake) -> None:
    published(lake)
    expected = without(lake.expected(lake.files), *LEFT_OUT)
    moment = datetime(2024, 1, 2, 23, 59, 59, 123456, tzinfo=UTC)
    same = "tp_timestamp = TIMESTAMP '2024-01-02 23:59:59.123456'"
    assert by_duckdb(store.place, same) == [row for row in expected if row["tp_timestamp"] == moment] != []
    for name in INDEXES:
        test = "tp_index IS NULL" if name is None else f"tp_index = '{name}'"
        found = by_duckdb(store.place, f"tp_partition = 'test' AND {test}")
        assert found == ordered(row for row in expected if row["tp_index"] == name and row["tp_partition"] == "test")
    assert by_duckdb(store.place, "tp_date = DATE '2024-01-03'") == [
        r for r in expected if r["tp_date"] == "2024-01-03"
    ]
