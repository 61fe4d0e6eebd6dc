"""Spark 4.1 reads a published table."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tailpipe.model.table import Column
from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.objects import Objects
from tailpipe.stores.delta import publish
from tests.delta import spark41
from tests.delta.every_type import EVERY_TYPE, LEFT_OUT, fill, published
from tests.delta.lake import TABLE, Lake, change, day, without


@pytest.fixture(scope="module", autouse=True)
def downloads() -> None:
    """Spark and the jars, once."""
    if lacking := spark41.missing():
        pytest.skip(f"NOT TESTED ON SPARK 4.1: {lacking}")
    try:
        spark41.installed()
    except subprocess.CalledProcessError as error:
        pytest.skip(
            f"NOT TESTED ON SPARK 4.1: {' '.join(error.cmd[:3])} failed: {(error.stdout + error.stderr)[-500:]}"
        )


def opened(path: Path) -> Objects:
    path.mkdir()
    return open_objects(str(path))


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_spark_reads_every_type_and_every_change(tmp_path: Path, staging: Path, zone: str) -> None:
    """One start of Spark for all: the types, then columns that grow, a replaced file, and a checkpoint."""
    types = Lake(opened(tmp_path / "types"), staging, EVERY_TYPE)
    fill(types)
    assert published(types) == LEFT_OUT
    host = Column("host", "varchar")
    changing = Lake(opened(tmp_path / "changing"), staging, [])
    kinds = ["utinyint", "smallint", "uinteger", "bigint"]
    parts = [changing.put("things.p", [day(1 + n, n=200)], [host, Column("n", kind)]) for n, kind in enumerate(kinds)]
    parts.append(changing.put("things.p", [day(5, n=1, m="1.5")], [host, Column("n", "tinyint"), Column("m", "json")]))
    for number, added in enumerate(parts):
        removed = parts[1] if number == 3 else ()
        publish(changing.objects, TABLE, [change("things.p", number + 1, added, *removed)], checkpoint_every=4)
    places = [str(tmp_path / name / f"data/{TABLE}") for name in ("types", "changing")]
    condition = "tp_timestamp = timestamp_ntz '2024-01-02 23:59:59.123456' AND tp_partition = 'test'"
    every, some, changed = spark41.read(
        tmp_path / "read", zone, (places[0], "true"), (places[0], condition), (places[1], "true")
    )
    expected = without(types.expected(types.files), *LEFT_OUT)
    assert every == expected
    assert some == [row for row in expected if row["tp_date"] == "2024-01-02" and row["tp_partition"] == "test"] != []
    live = [key for number, part in enumerate(parts) if number != 1 for key in part]
    assert changed == [{"m": None, **row} for row in changing.expected(live)]
