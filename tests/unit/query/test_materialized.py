"""Materialized schemas answer as their views do, from copies that are whole or not there."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tailpipe.catalog.snapshot import EPOCH
from tailpipe.errors import QueryError, UsageError
from tailpipe.model.partition import Schema
from tailpipe.model.table import Column, Table
from tailpipe.model.window import Window
from tailpipe.query.materialized import GRACE, refresh
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.request import Query
from tailpipe.query.session import Session
from tailpipe.query.views import COPIES

from .support import TIME, Files

NOW = datetime(2024, 2, 1, 12, tzinfo=UTC)
TABLES = {
    "app_log": Table(
        name="app_log",
        columns=[Column("level", "varchar"), Column("id", "uuid"), Column("took", "interval"), Column("j", "json")],
    )
}
ROW = "'550e8400-e29b-41d4-a716-446655440000' AS id, '00:00:00.000001' AS took, '{\"a\": 1}' AS j"
LOUD = Schema(name="loud", where="level <> 'debug'", materialized=True)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path / ".tailpipe")
    files.add(f"SELECT unnest(['info', 'debug', 'warn']) AS level, {ROW}, {TIME}")
    return files


def copies(files: Files) -> list[Path]:
    return sorted(path for path in (files.root / COPIES).glob("*/*/*") if not path.suffix)


def ask(files: Files, sql: str, *schemas: Schema, narrowing: Narrowing | None = None) -> list[tuple[object, ...]]:
    with Session(files.snapshot(), TABLES, Query(narrowing or Narrowing()), schemas=schemas) as session:
        return list(session.run(sql).rows)


def shown(files: Files, schema: Schema, table: str, *, has_copies: bool) -> list[str] | None:
    """The levels that a block shows of a table; None if it does not show that one."""
    with Session(files.snapshot(), TABLES, Query(has_copies=has_copies), schemas=[schema]) as session:
        try:
            return [level for (level,) in session.run(f"SELECT level FROM loud.{table} ORDER BY ALL").rows]
        except QueryError:
            return None


def keep(files: Files, *schemas: Schema, grace: timedelta = timedelta(0)) -> int:
    return refresh(files.snapshot(), TABLES, schemas, now=NOW, grace=grace)


def test_a_copy_gives_the_rows_and_types_of_the_view(files: Files) -> None:
    sql = "SELECT level, id, took, j, j.a, tp_timestamp FROM app_log ORDER BY level"
    loud = Narrowing(schema="loud")
    before = ask(files, sql, LOUD, narrowing=loud)
    assert keep(files, LOUD) == 1
    for original in files.files:
        (files.root / original.path).unlink()  # so that nothing but the copy can answer
    assert ask(files, sql, LOUD, narrowing=loud) == before
    with Session(files.snapshot(), TABLES, Query(loud), schemas=[LOUD]) as session:
        answer = session.run("FROM app_log SELECT id, took, j")
        assert answer.types == ("UUID", "INTERVAL", "JSON")
        (content,) = session.contents("loud")
    assert (content.rows, content.is_copy) == (2, True)


def test_nothing_is_copied_twice(files: Files) -> None:
    assert [keep(files, LOUD), keep(files, LOUD)] == [1, 0]


def test_what_was_committed_since_is_there_before_and_after_the_copy_is_made_anew(files: Files) -> None:
    keep(files, LOUD)
    (old,) = copies(files)
    files.add(f"SELECT 'error' AS level, {ROW}, {TIME}")
    assert ask(files, "SELECT count(*) FROM loud.app_log", LOUD) == [(3,)]
    assert keep(files, LOUD, grace=timedelta(hours=1)) == 1
    assert old in copies(files)  # a query that began before may still read it
    assert ask(files, "SELECT count(*) FROM loud.app_log", LOUD) == [(3,)]
    keep(files, LOUD)
    assert old not in copies(files)
    assert len(copies(files)) == 1


def test_a_changed_block_does_not_read_the_copy_of_the_old_one(files: Files) -> None:
    keep(files, LOUD)
    changed = replace(LOUD, where="level = 'debug'")
    assert ask(files, "SELECT level FROM loud.app_log", changed) == [("debug",)]


@pytest.mark.parametrize(
    "changed",
    [
        {"partitions": ["dev"]},
        {"indexes": ["i"]},
        {"from_": "2024-01-31T10:30"},
        {"to": "2024-01-31T10:00"},
        {"where": None},
        {"tables": ["web_*"]},
        {"materialized": False, "where": "level = 'debug'"},
    ],
)
def test_whatever_is_changed_of_a_block_it_shows_what_its_views_show(files: Files, changed: dict[str, Any]) -> None:
    files.add(f"SELECT 'warn' AS level, {ROW}, {TIME}", "app_log.dev")
    files.add(f"SELECT 'error' AS level, {ROW}, {TIME.replace('10:00', '11:00')}", "web_log.prod")
    files.files[-1] = files.files[-1]._replace(tp_index="i")
    for before, after in ((LOUD, replace(LOUD, **changed)), (replace(LOUD, **changed), LOUD)):
        keep(files)
        keep(files, before)
        for table in ("app_log", "web_log"):
            assert shown(files, after, table, has_copies=True) == shown(files, after, table, has_copies=False)


def test_a_column_that_is_declared_otherwise_is_not_read_from_the_old_copy(files: Files) -> None:
    keep(files, LOUD)
    tables = {"app_log": Table(name="app_log", columns=[Column("level", "varchar"), Column("id", "varchar")])}
    with Session(files.snapshot(), tables, schemas=[LOUD]) as session:
        assert session.run("SELECT id, took FROM loud.app_log").types == ("VARCHAR", "VARCHAR")


def test_schemas_tables_and_columns_with_a_copy_have_any_name(files: Files) -> None:
    files.add(f'SELECT \'a\' AS "group", \'00:01\' AS "it\'s", 1 AS "a""b", {TIME}', "order.prod")
    columns = [Column("group", "varchar"), Column("it's", "interval"), Column('a"b', "integer")]
    tables = {"order": Table(name="order", columns=columns)}
    schema = Schema(name="select", tables=["order"], materialized=True)
    assert refresh(files.snapshot(), tables, [schema], now=NOW) == 1
    with Session(files.snapshot(), tables, schemas=[schema]) as session:
        assert [content.is_copy for content in session.contents("select")] == [True]
        row = session.run('SELECT "group", "it\'s", "a""b" FROM "select"."order"').rows
        assert list(row) == [("a", timedelta(minutes=1), 1)]


@pytest.mark.parametrize("where", ["true) UNION ALL FROM (VALUES (1)", "level IN (SELECT 'info')", "getenv('A') = ''"])
def test_what_is_more_than_a_condition_is_refused_and_not_copied(files: Files, where: str) -> None:
    with pytest.raises(UsageError, match='the where of schema "loud" cannot be used'):
        keep(files, replace(LOUD, where=where))
    assert not copies(files)


def test_each_table_of_a_block_has_a_copy_and_one_without_rows_has_none(files: Files) -> None:
    files.add(f"SELECT 'error' AS level, {TIME}", "web_log.prod")
    tables = {**TABLES, "new_log": Table(name="new_log", columns=[Column("level", "varchar")])}
    assert refresh(files.snapshot(), tables, [LOUD, Schema(name="plain")], now=NOW) == 2
    assert [path.parent.relative_to(files.root / COPIES) for path in copies(files)] == [
        Path("loud/app_log"),
        Path("loud/web_log"),
    ]
    with Session(files.snapshot(), tables, schemas=[LOUD]) as session:
        told = {content.table: (content.rows, content.is_copy) for content in session.contents("loud")}
    assert told == {"app_log": (2, True), "new_log": (0, False), "web_log": (1, True)}


def test_copies_are_for_their_owner_alone(files: Files) -> None:
    keep(files, LOUD)
    (copy,) = copies(files)
    assert [path.stat().st_mode & 0o077 for path in (copy, copy.parent)] == [0, 0]


def test_an_end_that_moves_on_cuts_the_copy_as_it_cuts_the_view(files: Files) -> None:
    age = datetime.now(UTC) - datetime(2024, 1, 31, 10, tzinfo=UTC)
    near, far = (replace(LOUD, to=f"T-{age.days + days}d") for days in (-1, 2))
    for schema in (near, far):
        assert keep(files, schema, grace=timedelta(1)) == 1
    assert ask(files, "SELECT count(*) FROM loud.app_log", near) == [(2,)]
    assert ask(files, "SELECT count(*) FROM loud.app_log", far) == [(0,)]


@pytest.mark.parametrize("window", [{"from_": "T-99Y"}, {"to": "T-1d"}, {"from_": "2024-01-30", "to": "2024-02-10"}])
def test_what_came_into_the_window_since_is_shown_before_the_copy_is_made_anew(
    files: Files, window: dict[str, str]
) -> None:
    schema = replace(LOUD, **window)  # type: ignore[arg-type]
    for level in ("error", "fatal"):
        known = (datetime(2024, 1, 31, 10, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
        files.files[-1] = files.files[-1]._replace(min_microseconds=known, max_microseconds=known)
        assert keep(files, schema) == 1
        files.add(f"SELECT '{level}' AS level, {ROW}, {TIME}")
    assert ask(files, "SELECT level FROM loud.app_log ORDER BY 1", schema) == [
        ("error",),
        ("fatal",),
        ("info",),
        ("warn",),
    ]


def test_a_window_that_moves_on_cuts_the_copy_as_it_cuts_the_view(files: Files) -> None:
    age = datetime.now(UTC) - datetime(2024, 1, 31, 10, tzinfo=UTC)
    near, far = (replace(LOUD, from_=f"T-{age.days + days}d") for days in (-1, 2))
    for schema in (near, far):
        refresh(files.snapshot(), TABLES, [schema], now=datetime(2024, 2, 1, tzinfo=UTC), grace=timedelta(1))
    assert ask(files, "SELECT count(*) FROM loud.app_log", near) == [(0,)]
    assert ask(files, "SELECT count(*) FROM loud.app_log", far) == [(2,)]


def test_a_narrowed_session_reads_the_files(files: Files) -> None:
    keep(files, LOUD)
    narrowing = Narrowing(partitions=("other",))
    assert ask(files, "SELECT count(*) FROM loud.app_log", LOUD, narrowing=narrowing) == [(0,)]
    later = Narrowing(Window.between(datetime(2024, 1, 31, 10, 30, tzinfo=UTC), None))
    assert ask(files, "SELECT count(*) FROM loud.app_log", LOUD, narrowing=later) == [(0,)]


def test_a_copy_goes_when_its_grace_is_over_however_often_was_looked_meanwhile(files: Files) -> None:
    keep(files, LOUD)
    (copy,) = copies(files)
    for age, left in ((0.0, [copy]), (0.9, [copy]), (1.1, [])):
        for mark in copy.parent.glob("*.retired"):
            begun = time.time() - age * GRACE.total_seconds()
            os.utime(mark, (begun, begun))
        keep(files, grace=GRACE)
        assert copies(files) == left
    assert not (files.root / COPIES).exists()


def test_a_copy_that_is_wanted_again_has_its_whole_grace_when_it_is_dropped_again(files: Files) -> None:
    keep(files, LOUD)
    (copy,) = copies(files)
    keep(files, grace=GRACE)
    (mark,) = copy.parent.glob("*.retired")
    os.utime(mark, (0, 0))
    keep(files, LOUD, grace=GRACE)
    keep(files, grace=GRACE)
    assert copies(files) == [copy]


def test_the_copies_of_a_block_that_is_gone_are_dropped(files: Files) -> None:
    keep(files, LOUD)
    assert copies(files)
    keep(files)
    assert not (files.root / COPIES).exists()


@pytest.mark.parametrize(
    "where",
    [
        "tp_timestamp < now()",
        "random() < 2",
        "tp_date < current_date",
        "tp_timestamp > ago('7 days')",
        "age(tp_timestamp) < INTERVAL 7 DAY",
        "tp_timestamp < localtimestamp",
    ],
)
def test_what_depends_on_the_moment_has_no_copy(files: Files, where: str) -> None:
    assert keep(files, replace(LOUD, where=where)) == 0


def test_a_killed_copy_leaves_nothing_that_is_read(files: Files) -> None:
    keep(files, LOUD)
    (copy,) = copies(files)
    copy.rename(copy.with_name(f"{copy.name}.1.writing"))
    assert ask(files, "SELECT count(*) FROM loud.app_log", LOUD) == [(2,)]


def test_a_copy_is_made_of_a_schema_that_compares_addresses(files: Files) -> None:
    schema = Schema(name="inside", where="level <> 'debug' AND '10.0.0.1'::inet <<= '10.0.0.0/8'", materialized=True)
    assert keep(files, schema) == 1
    assert ask(files, "SELECT count(*) FROM inside.app_log", schema) == [(2,)]


def test_what_a_killed_process_left_goes_and_what_another_is_writing_stays(files: Files) -> None:
    keep(files, LOUD)
    (copy,) = copies(files)
    left, young = (copy.with_name(f"{copy.name}.{name}.writing") for name in ("left", "young"))
    for path, hours in ((left, 1.1), (young, 0.9)):
        path.touch()
        begun = time.time() - hours * 3600
        os.utime(path, (begun, begun))
    keep(files, LOUD)
    assert (left.exists(), young.exists(), copies(files)) == (False, True, [copy])


def test_a_copy_that_fails_leaves_nothing_behind(files: Files) -> None:
    with pytest.raises(duckdb.ConversionException):
        keep(files, replace(LOUD, where="CAST(level AS INTEGER) > 0"))
    assert not [path for path in (files.root / COPIES).rglob("*") if path.is_file()]
