"""Views: what of a snapshot and a table becomes a view, as text and as DuckDB sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailpipe.catalog.layout import data_path
from tailpipe.model.table import COMMON_COLUMNS, OPTIONAL_COLUMNS, Column, Table
from tailpipe.query.session import Session
from tailpipe.query.views import View, table_views

from .support import DAY, TIME, Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "internal")


def view_of(files: Files, *tables: Table) -> View:
    (view,) = table_views(files.snapshot(), {table.name: table for table in tables})
    return view


def rows(files: Files, sql: str, *tables: Table) -> list[tuple[object, ...]]:
    with Session(files.snapshot(), {table.name: table for table in tables}) as session:
        return list(session.run(sql).rows)


def test_a_view_names_every_file_and_reads_nothing_from_their_paths(files: Files) -> None:
    first, second = files.add(f"SELECT 1 AS a, {TIME}"), files.add(f"SELECT 2 AS a, {TIME}")
    view = view_of(files)
    assert view.sql.startswith('CREATE OR REPLACE VIEW "tailpipe"."app_log" AS SELECT "a" AS "a", ')
    assert f"read_parquet(['{first}', '{second}'], hive_partitioning = false)" in view.sql


def test_columns_are_matched_by_name_only_where_they_changed(files: Files) -> None:
    files.add(f"SELECT 1 AS a, {TIME}")
    files.add(f"SELECT {TIME}, 1 AS a")
    assert "union_by_name" not in view_of(files).sql
    files.add(f"SELECT 1.5::DOUBLE AS a, 'new' AS b, {TIME}")
    assert "union_by_name = true" in view_of(files).sql
    assert rows(files, "SELECT a, b FROM app_log ORDER BY ALL") == [(1.0, None), (1.0, None), (1.5, "new")]


def test_own_columns_come_first_and_common_ones_last_by_name(files: Files) -> None:
    files.add(f"SELECT 1 AS tp_x, 'x' AS found, {TIME}, 2 AS declared")
    table = Table(name="app_log", columns=[Column("declared", "integer"), Column("later", "date")])
    columns = list(view_of(files, table).columns)
    assert columns[:3] == ["declared", "later", "found"]
    assert columns[3:] == sorted({*(column.name for column in COMMON_COLUMNS), "tp_x"})


def test_an_optional_common_column_is_there_if_the_table_or_a_file_has_it(files: Files) -> None:
    files.add(f"SELECT 'x' AS tp_service, {TIME}")
    table = Table(name="app_log", common={"tp_timestamp": "t", "tp_host": "h"})
    optional = {column.name for column in OPTIONAL_COLUMNS}
    assert [name for name in view_of(files, table).columns if name in optional] == ["tp_host", "tp_service"]
    assert rows(files, "SELECT tp_service FROM app_log") == [("x",)]


def test_what_is_stored_as_text_has_its_declared_type_again(files: Files) -> None:
    kinds = {
        "u": "uuid",
        "j": "json",
        "i": "interval",
        "n": "inet",
        "us": "uuid[]",
        "s": "struct(a json, b integer)",
        "ns": "inet[]",
        "su": "struct(n inet, u uuid)",
    }
    files.add(
        "SELECT '550e8400-e29b-41d4-a716-446655440000' AS u, '{\"k\": [7]}' AS j, '3 days' AS i, '10.0.0.1' AS n,"
        f" ['550e8400-e29b-41d4-a716-446655440000'] AS us, {{'a': '[1]', 'b': 2}} AS s, ['10.0.0.2'] AS ns,"
        f" {{'n': '10.0.0.3', 'u': '550e8400-e29b-41d4-a716-446655440000'}} AS su, {TIME}"
    )
    table = Table(name="app_log", columns=[Column(name, kind) for name, kind in kinds.items()])
    shown = {name: kind for name, kind in view_of(files, table).columns.items() if name in kinds}
    assert shown == {
        "u": "UUID",
        "j": "JSON",
        "i": "INTERVAL",
        "n": "VARCHAR",
        "us": "UUID[]",
        "s": 'STRUCT("a" JSON, "b" INTEGER)',
        "ns": "VARCHAR[]",
        "su": 'STRUCT("n" VARCHAR, "u" UUID)',
    }
    query = "SELECT j.k[0], left(u::VARCHAR, 3), i > INTERVAL 2 DAY, left(us[1]::VARCHAR, 3), s.a[0] FROM app_log"
    assert rows(files, query, table) == [("7", "550", True, "550", "1")]
    assert rows(files, "SELECT ns, su.n, left(su.u::VARCHAR, 3) FROM app_log", table) == [
        (["10.0.0.2"], "10.0.0.3", "550")
    ]


def test_objects_and_lists_that_nobody_declared_are_json_where_all_files_say_so(files: Files) -> None:
    files.add(f"SELECT '{{\"k\": [7]}}' AS j, {TIME}")
    files.columns[1] = {**files.columns[1], "j": "JSON"}
    assert view_of(files).columns["j"] == "JSON"
    assert rows(files, "SELECT j.k[0], typeof(j) FROM app_log") == [("7", "JSON")]
    assert rows(files, "SELECT j.k[0] FROM app_log", Table(name="app_log", columns=[Column("j", "json")])) == [("7",)]
    files.add(f"SELECT 'none' AS j, {TIME}")
    assert view_of(files).columns["j"] == "VARCHAR"
    assert rows(files, "SELECT j FROM app_log ORDER BY 1") == [("none",), ('{"k": [7]}',)]
    files.columns = {1: files.columns[2], 2: files.columns[1]}  # it does not matter which came first
    assert view_of(files).columns["j"] == "VARCHAR"


def test_what_was_found_as_json_is_text_where_the_config_says_so_since(files: Files) -> None:
    files.add(f'SELECT \'{{"k": [7]}}\' AS "group", {TIME}')
    files.columns[1] = {**files.columns[1], "group": "JSON"}
    table = Table(name="app_log", columns=[Column("group", "varchar")])
    assert rows(files, 'SELECT typeof("group") FROM app_log') == [("JSON",)]
    assert rows(files, 'SELECT typeof("group"), "group" FROM app_log', table) == [("VARCHAR", '{"k": [7]}')]


@pytest.mark.parametrize(
    ("stored", "declared"), [("not a number", "integer"), (5, "uuid"), (5, "interval"), (5, "json"), (["a"], "json")]
)
def test_a_type_that_was_changed_in_the_config_since_does_not_break_what_is_there(
    files: Files, stored: object, declared: str
) -> None:
    files.add(f"SELECT {stored!r} AS a, {TIME}")
    table = Table(name="app_log", columns=[Column("a", declared)])
    assert rows(files, "SELECT a FROM app_log", table) == [(stored,)]


def test_a_table_that_was_never_collected_has_its_columns_and_no_rows(files: Files) -> None:
    table = Table(name="web_log", columns=[Column("status", "integer"), Column("tp_timestamp"), Column("open")])
    view = view_of(files, table)
    assert view.columns["status"] == "INTEGER"
    assert view.columns["open"] == "VARCHAR"
    assert set(view.columns) > {column.name for column in COMMON_COLUMNS}
    assert rows(files, "SELECT status, tp_date, tp_ips FROM web_log", table) == []


def test_a_table_that_nobody_declares_any_more_is_there_with_its_rows(files: Files) -> None:
    files.add(f"SELECT 7 AS a, {TIME}", partition="old_log.x")
    assert rows(files, "SELECT a, tp_timestamp::VARCHAR, tp_ips FROM old_log") == [(7, "2024-01-31 10:00:00", None)]


def test_partitions_of_a_table_are_one_view(files: Files) -> None:
    files.add(f"SELECT 1 AS a, {TIME}", partition="app_log.one")
    files.add(f"SELECT 2 AS a, {TIME}", partition="app_log.two")
    files.add(f"SELECT 3 AS a, {TIME}", partition="app_log_2.one")
    assert rows(files, "SELECT a FROM app_log ORDER BY a") == [(1,), (2,)]


@pytest.mark.parametrize("name", ["it's", "a b", 'a"b', "a[1]*", "ü", "tp_index=x"])
def test_any_name_of_a_file_or_column_can_be_read(files: Files, name: str) -> None:
    column = '"' + name.replace('"', '""') + '"'
    files.add(f"SELECT 1 AS {column}, {TIME}", name=name)
    assert rows(files, f"SELECT {column} FROM app_log") == [(1,)]


def test_names_that_differ_in_case_alone_are_one_column(files: Files) -> None:
    files.add(f"SELECT 1 AS level, {TIME}")
    table = Table(name="app_log", columns=[Column("Level", "integer")])
    assert rows(files, "SELECT LEVEL FROM app_log", table) == [(1,)]


INDEXES = (None, "", "default", "x" * 200, "a~b", "it's 50%/b", "é", "NULL", "__HIVE_DEFAULT_PARTITION__", "1.50")


@pytest.mark.parametrize("indexes", [*((index,) for index in INDEXES), INDEXES])
def test_an_index_is_shown_as_it_is_stored_whatever_its_directory_is_called(
    files: Files, indexes: tuple[str | None, ...]
) -> None:
    for index in indexes:
        stored = "NULL::VARCHAR" if index is None else f"'{index.replace(chr(39), chr(39) * 2)}'"
        place = data_path("app_log.prod", index, DAY, "1").removeprefix("files/")
        files.add(f"SELECT {stored} AS tp_index, 'prod' AS tp_partition, DATE '{DAY}' AS tp_date, {TIME}", name=place)
        files.files[-1] = files.files[-1]._replace(tp_index=index)
    with Session(files.snapshot(), {}) as session:
        for what in ("tp_index", "tp_index, tp_partition", "COLUMNS('tp_inde.')"):
            shown = session.run(f"SELECT {what} FROM app_log").rows
            assert sorted((row[0] for row in shown), key=str) == sorted(indexes, key=str)
        for index in indexes:
            same = "IS NULL" if index is None else f"= '{index.replace(chr(39), chr(39) * 2)}'"
            assert list(session.run(f"SELECT count(*) FROM app_log WHERE tp_index {same}").rows) == [(1,)]
        nulls = sum(index is None for index in indexes)
        assert list(session.run("SELECT count(*) FROM app_log WHERE tp_index IS NULL").rows) == [(nulls,)]
