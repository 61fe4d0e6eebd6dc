"""Compaction as a Spark job: a thousand small files of a day become one for each unit and date."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.kernel.compact import Index
from tailpipe.lifecycle.compact import Compacted, Subject, compact, preview
from tailpipe.model.artifact import Accounts
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Staged, StagedArtifact
from tailpipe.spark.engine import SparkEngine
from tests.crash.collector import PARTITION, stage
from tests.crash.harness import read_ids

DAY = date(2024, 1, 10)
FILES = 1000


@pytest.fixture
def engine(spark: SparkSession) -> SparkEngine:
    return SparkEngine(lambda: spark.sparkContext)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A day of a thousand files in two units, each of which also has some of the day before."""
    home = tmp_path / "ws"
    home.mkdir()
    with Catalog.open(home) as catalog, catalog.writer(PARTITION) as writer:
        for unit in (Unit(day=DAY), Unit(pack="x")):
            transaction = writer.begin(unit)
            files = [
                stage(
                    transaction.staging,
                    f"part-{n}",
                    "b" if n % 2 else "a",
                    DAY - timedelta(days=n % 10 == 0),
                    [f"{unit.key}-{n}"],
                )
                for n in range(FILES // 2)
            ]
            entry = LedgerEntry(unit.key, "file", unit, datetime.now(UTC), committed_bytes=9, committed_ordinals=FILES)
            accounts = Accounts(read=len(files), kept=len(files))
            transaction.commit(Staged(tuple(files), (StagedArtifact(entry, accounts),)))
    return home


@pytest.mark.slow
def test_a_thousand_files_of_a_day_become_one_for_each_unit_date_and_index(home: Path, engine: SparkEngine) -> None:
    with Catalog.open(home) as catalog:
        before = catalog.snapshot()
        ids, state = read_ids(before.paths()), catalog.state(PARTITION)
        assert len(before.files) == FILES
        done = compact(catalog, engine, Subject(PARTITION))
        assert (done.files, done.new_files, done.rows) == (FILES, 6, FILES)
        after = catalog.snapshot()
        assert Counter((file.unit, file.tp_index, file.tp_date) for file in after.files).most_common(1)[0][1] == 1
        assert read_ids(after.paths()) == ids
        found = catalog.state(PARTITION)
        assert replace(found, columns=state.columns, table_columns=state.table_columns) == state
        assert preview(catalog, engine, Subject(PARTITION)) == Compacted(PARTITION)
        # The files that are gone are there still, for those who have begun to read them.
        assert read_ids(before.paths()) == ids
        # All rows get one index: the files of a unit and date become one.
        moved = compact(catalog, engine, Subject(PARTITION, index=Index(None)))
        assert (moved.files, moved.new_files) == (6, 4)
        with duckdb.connect() as connection:
            query = "SELECT DISTINCT tp_index FROM read_parquet(?)"
            assert connection.execute(query, [catalog.snapshot().paths()]).fetchall() == [("default",)]
        assert compact(catalog, engine, Subject(PARTITION, index=Index("tp_index"))) == Compacted(PARTITION)
        assert read_ids(catalog.snapshot().paths()) == ids
    assert doctor.examine(home, with_checksums=True) == []
