"""Readers take no lock, see whole days, and start fast."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime

import pytest

from tailpipe.errors import CatalogError
from tests.unit.catalog.conftest import DAY, Workspace


def test_a_snapshot_is_of_all_one_table_or_one_partition(workspace: Workspace) -> None:
    for partition in ("app_log.prod", "app_log.test", "other.prod"):
        workspace.collect([("a", DAY, ["1", "2"])], partition=partition)
    with workspace.open(is_read_only=True) as catalog:
        assert len(catalog.snapshot().files) == 3
        assert {file.partition for file in catalog.snapshot("app_log").files} == {
            "app_log.prod",
            "app_log.test",
        }
        assert catalog.snapshot(partition="other.prod").rows == 2
        assert catalog.snapshot("app").files == ()


def test_a_live_file_tells_its_bounds_and_columns(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1", "2"])])
    with workspace.open(is_read_only=True) as catalog:
        snapshot = catalog.snapshot()
    (file,) = snapshot.files
    assert file.min_timestamp == datetime(2024, 1, 31, tzinfo=UTC)
    assert file.max_timestamp == datetime(2024, 1, 31, 0, 0, 1, tzinfo=UTC)
    assert (file.tp_date, file.tp_index, file.unit) == (DAY, "a", "2024-01-31")
    assert snapshot.columns[file.columns_id]["tp_id"] == "VARCHAR"
    assert snapshot.sequence == 1


def test_partitions_are_listed_with_what_they_hold(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1", "2"]), ("b", date(2024, 1, 30), ["3"])])
    with workspace.open(is_read_only=True) as catalog:
        (totals,) = catalog.partitions()
    assert (totals.name, totals.files, totals.rows) == ("app_log.prod", 2, 3)
    assert (totals.first_date, totals.last_date) == (date(2024, 1, 30), DAY)
    assert totals.size > 0


def test_a_reader_keeps_what_it_saw_while_others_write(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    with workspace.open(is_read_only=True) as catalog, catalog.database.reading() as connection:
        before = connection.execute("SELECT path, state FROM files").fetchall()
        workspace.collect([("a", DAY, ["2"])], kind="replace")
        assert connection.execute("SELECT path, state FROM files").fetchall() == before


def test_opening_and_a_snapshot_import_neither_pyarrow_nor_duckdb(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    script = (
        "import sys, pathlib\n"
        "from tailpipe.catalog.catalog import Catalog\n"
        "with Catalog.open(pathlib.Path(sys.argv[1]), is_read_only=True) as catalog:\n"
        "    assert catalog.snapshot().rows == 1\n"
        "print([name for name in ('pyarrow', '_duckdb', 'numpy', 'pyspark') if name in sys.modules])\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, str(workspace.home)], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "[]"


def test_a_workspace_without_a_catalog_has_nothing_to_read(workspace: Workspace) -> None:
    with pytest.raises(CatalogError, match="has no catalog"):
        workspace.open(is_read_only=True)
    assert not workspace.home.exists()
