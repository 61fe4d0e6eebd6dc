"""Materialized schemas answer as their views do, from copies that are whole or not there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.model.partition import Schema
from tailpipe.model.table import Column, Table
from tailpipe.query.materialized import COPIES, refresh
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.session import Session

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
    with Session(files.snapshot(), TABLES, schemas=schemas, narrowing=narrowing) as session:
        return list(session.run(sql).rows)


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
    with Session(files.snapshot(), TABLES, schemas=[LOUD], narrowing=loud) as session:
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
