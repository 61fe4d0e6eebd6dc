"""The database has a version, is migrated step by step, and refuses what is not its own."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from tailpipe.catalog import schema, seals
from tailpipe.errors import CatalogError
from tests.unit.catalog.conftest import DAY, Workspace


def _database(workspace: Workspace) -> Path:
    return workspace.home / ".tailpipe" / "catalog.db"


def test_the_catalog_is_durable_and_holds_its_references(workspace: Workspace) -> None:
    with workspace.open() as catalog:
        pragmas = {
            name: catalog.database.connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "user_version")
        }
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "user_version": schema.VERSION,
    }


def test_accounts_that_do_not_balance_cannot_even_be_written(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    with workspace.open() as catalog, pytest.raises(sqlite3.IntegrityError, match="balance"):
        catalog.database.connection.execute("UPDATE accounts SET read = read + 1")


def test_a_catalog_of_a_newer_version_is_refused(workspace: Workspace) -> None:
    workspace.open().close()
    with contextlib.closing(sqlite3.connect(_database(workspace))) as connection:
        connection.execute("PRAGMA user_version = 99")
    for is_read_only in (True, False):
        with pytest.raises(CatalogError, match="written by a newer tailpipe") as caught:
            workspace.open(is_read_only=is_read_only)
        assert caught.value.hint == "upgrade tailpipe"


@pytest.mark.parametrize("version", [-(2**31) + schema.VERSION, 2**24 + schema.VERSION, 0])
def test_a_version_that_there_cannot_be_is_damage(workspace: Workspace, version: int) -> None:
    workspace.open().close()
    with contextlib.closing(sqlite3.connect(_database(workspace))) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    for is_read_only in (True, False):
        with pytest.raises(CatalogError, match=f"is damaged: there is no version {version}") as caught:
            workspace.open(is_read_only=is_read_only)
        assert "doctor --rebuild" in caught.value.hint


def test_damage_that_a_statement_meets_names_the_next_step(workspace: Workspace) -> None:
    workspace.collect([("a", DAY, ["1"])])
    with contextlib.closing(sqlite3.connect(_database(workspace))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        index = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_partitions_1'"
        (page,) = connection.execute(index).fetchone()
    with _database(workspace).open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff")
    catalog = workspace.open(is_read_only=True)  # does not meet the damage
    with pytest.raises(CatalogError, match="is damaged") as caught, catalog:
        catalog.is_known("app_log.local")
    assert "doctor --rebuild" in caught.value.hint


def test_a_database_of_another_program_is_refused(workspace: Workspace) -> None:
    workspace.open().close()
    with contextlib.closing(sqlite3.connect(_database(workspace))) as connection:
        connection.execute("PRAGMA application_id = 1")
    with pytest.raises(CatalogError, match="is not a tailpipe catalog"):
        workspace.open()


def test_an_older_catalog_is_migrated_and_a_failed_step_leaves_it_as_it_was(tmp_path: Path) -> None:
    steps = ("CREATE TABLE one (x)", "CREATE TABLE two (x)")
    with contextlib.closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as connection:
        schema.migrate(connection, "db", steps[:1])
        with pytest.raises(sqlite3.OperationalError):
            schema.migrate(connection, "db", (*steps, "CREATE TABLE three (x);\nNONSENSE"))
        connection.execute("ROLLBACK")
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
        assert names == {"one", "two"}
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_readers_do_not_migrate(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as connection:
        with pytest.raises(CatalogError, match="older version"):
            schema.ensure(connection, "db")
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)


@pytest.mark.parametrize("version", range(1, schema.VERSION))
def test_a_catalog_of_any_earlier_version_is_read_and_then_migrated(workspace: Workspace, version: int) -> None:
    internal = _database(workspace).parent
    for directory in ("files", "manifests"):
        (internal / directory).mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(_database(workspace), isolation_level=None)) as connection:
        seals.install(connection)
        schema.migrate(connection, "catalog.db", schema.MIGRATIONS[:version])
    with workspace.open(is_read_only=True) as catalog:
        assert (catalog.partitions(), catalog.overview()) == ([], [])
    assert workspace.ids() == Counter()
    workspace.collect([("a", DAY, ["1"])])
    assert workspace.ids() == Counter(["1"])
    with contextlib.closing(sqlite3.connect(_database(workspace))) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
