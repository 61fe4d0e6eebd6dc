"""A workspace of years: what is asked of one unit, day or partition does not look at all the others."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from tailpipe.catalog import clean, overview, read, schema
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.layout import Layout
from tailpipe.model.artifact import Accounts
from tailpipe.model.ledger import Unit
from tailpipe.model.staged import Staged, StagedArtifact
from tests.counting import calls_of, steps
from tests.storages import FaultyStorage
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace, entry, to_third_version

SETS = '{"tp_id": "VARCHAR"}'


def _age(catalog: Catalog, years: int) -> None:
    """Write a history as years leave it: transactions, runs and files of two partitions, straight into the tables."""
    days = 365 * years
    with catalog.database.writing() as connection:
        connection.execute("INSERT OR IGNORE INTO column_sets VALUES (900, ?)", (SETS,))
        for partition, name in ((901, "old_log.a"), (902, "old_log.b")):
            connection.execute("INSERT INTO partitions VALUES (?, ?, 0)", (partition, name))
            for number in range(days):
                key = partition * 100_000 + number
                day = (date(2020, 1, 1) + timedelta(days=number)).isoformat()
                connection.execute(
                    "INSERT INTO runs (id, partition_id, window_start, window_end, command, begun_at, ended_at,"
                    " outcome) VALUES (?, ?, '', '', '', '2020-01-01', '2020-01-01', 'done')",
                    (key, partition),
                )
                connection.execute(
                    "INSERT INTO transactions (id, name, partition_id, kind, unit, state, epoch, begun_at,"
                    " committed_at, sequence, number) VALUES (?, ?, ?, 'append', ?, 'published', 0, '', '', ?, ?)",
                    (key, f"{key:08d}-00000000", partition, day, key, key),
                )
                path = f"tp_table=old_log/tp_partition={name[-1]}/tp_index=i/tp_date={day}/{key:08d}-00000000-0000"
                connection.execute(
                    "INSERT INTO files (path, partition_id, transaction_id, unit, role, tp_index, tp_date, rows, bytes,"
                    " sha256, min_timestamp, max_timestamp, columns_id)"
                    " VALUES (?, ?, ?, ?, 'data', 'i', ?, 1, 1, '', 0, 1, 900)",
                    (f"files/{path}", partition, key, day, day),
                )


def _deeds() -> dict[str, Callable[[Catalog], Any]]:
    newest = Unit(day=date(2020, 12, 30))
    return {
        "is_known": lambda catalog: catalog.is_known("old_log.b"),
        "first_date": lambda catalog: catalog.first_date("old_log.b"),
        "the files of a unit": lambda catalog: catalog.snapshot(partition="old_log.b", unit=newest),
        "the files of a date": lambda catalog: catalog.snapshot(
            partition="old_log.b", dates=(date(2020, 12, 30), date(2020, 12, 31))
        ),
        "rejected rows of a partition": lambda catalog: catalog.rejected_files("old_log.b"),
        "rejected rows of a unit": lambda catalog: catalog.rejected_files("old_log.b", newest),
        "what is due": lambda catalog: clean.is_due(catalog.database, "old_log.b"),
        "coverage": lambda catalog: catalog.coverage("old_log.b"),
    }


@pytest.mark.parametrize("deed", _deeds())
def test_what_is_asked_of_a_part_costs_the_same_after_one_year_and_after_four(workspace: Workspace, deed: str) -> None:
    counts = []
    for years in (1, 4):
        aged = Workspace(workspace.home / str(years))
        with aged.open() as catalog:
            _age(catalog, years)
            if deed == "what is due":  # one file that waits for its end
                catalog.database.connection.execute(
                    "UPDATE files SET state = 'retired', retired_by = transaction_id, retired_at = '2020-01-02'"
                    " WHERE path LIKE '%2020-01-05%'"
                )
            counts.append(steps(catalog.database.connection, lambda catalog=catalog: _deeds()[deed](catalog)))  # type: ignore[misc]
    assert counts[1] <= counts[0] * 1.2 + 20, counts


def test_the_last_runs_are_found_without_reading_all_of_them(workspace: Workspace) -> None:
    with workspace.open() as catalog:
        _age(catalog, 2)
        connection = catalog.database.connection
        connection.execute("DELETE FROM files")  # their sums are read from each of them
        few = steps(connection, lambda: overview.overview(catalog.database))
        assert {one.last_run.begun_at.year for one in catalog.overview() if one.last_run} == {2020}
    assert few < 3 * 365  # there are more runs than that


def test_replacing_a_unit_looks_at_its_own_transactions_alone(workspace: Workspace) -> None:
    def replaced(years: int) -> int:
        aged = Workspace(workspace.home / str(years))
        with aged.open() as catalog:
            _age(catalog, years)
        aged.collect([("a", DAY, ["1"])])
        with aged.open() as catalog, catalog.writer(PARTITION) as writer:
            # As though the two partitions of the history were days of this one.
            catalog.database.connection.execute(f"UPDATE transactions SET partition_id = {writer.partition_id}")
            transaction = writer.begin(Unit(day=DAY), "replace")
            again = StagedArtifact(entry("a.log", DAY, 0, generation=1), Accounts())
            count = steps(catalog.database.connection, lambda: transaction.commit(Staged((), (again,))))
            assert read.totals(catalog.database, PARTITION) == Accounts()  # what was replaced counts no more
        return count

    counts = [replaced(1), replaced(4)]
    assert counts[1] <= counts[0] * 1.2 + 20, counts


def test_column_sets_are_told_without_files_and_only_those_in_use_are_read(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"]), ("b", DAY, ["2"])])
    with workspace.open() as catalog:
        catalog.database.connection.executemany(
            "INSERT INTO column_sets (columns) VALUES (?)", [(f'{{"c{number}": "BIGINT"}}',) for number in range(500)]
        )
        (columns,) = catalog.state(PARTITION).table_columns.values()
        assert columns["tp_id"] == "VARCHAR"
        assert catalog.state("other.prod").columns == {}
        assert calls_of("loads", catalog.snapshot) == 1


def test_an_abort_does_not_walk_through_the_files_of_the_partition(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    workspace.storage = storage = FaultyStorage()
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        transaction = writer.begin(Unit(day=DAY))
        transaction.abort()
        transaction.abort()  # once more: it is over
    layout = Layout.of(workspace.home)
    walked = storage.places("objects", "directories", "entries")
    assert [place for place in walked if place.is_relative_to(layout.files)] == []
    assert [place for place in walked if place.is_relative_to(layout.rejected)] == []
    assert workspace.staging() == []


def test_a_catalog_of_the_first_version_can_be_read_and_gets_its_indexes_by_the_next_writer(
    workspace: Workspace,
) -> None:
    workspace.collect([("a", DAY, ["1"])])
    to_third_version(workspace)
    with contextlib.closing(sqlite3.connect(workspace.home / ".tailpipe" / "catalog.db")) as connection:
        for name in ("transactions_of_unit", "runs_of_partition"):
            connection.execute(f"DROP INDEX {name}")
        for name in ("frontiers", "facts"):
            connection.execute(f"DROP TABLE {name}")
        connection.execute("PRAGMA user_version = 1")
    assert sum(workspace.ids().values()) == 1
    with workspace.open() as catalog:
        assert catalog.database.connection.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
        names = {name for (name,) in catalog.database.connection.execute("SELECT name FROM sqlite_schema")}
    assert {"transactions_of_unit", "runs_of_partition"} <= names


def test_days_left_out_are_told_without_the_ledger(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    with workspace.open() as catalog:
        assert not catalog.left_out(PARTITION)
        catalog.database.connection.execute("UPDATE artifacts SET left_out = '2024-01-01..2024-01-03, 2024-02-01'")
        assert str(catalog.left_out(PARTITION)) == "2024-01-01..2024-01-03, 2024-02-01"
        assert calls_of("_entry", lambda: catalog.left_out(PARTITION)) == 0
        assert not catalog.left_out("app_log.none")
