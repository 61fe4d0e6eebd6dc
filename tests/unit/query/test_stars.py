"""Which columns of an answer come from a star."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tailpipe.model.table import Column, Table
from tailpipe.query.session import Session

from .support import TIME, Files

TABLE = Table(
    name="app_log",
    columns=[Column("time", "varchar"), Column("level", "varchar"), Column("tp_timestamp", source="time")],
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    files = Files(tmp_path)
    files.add(f"SELECT '10:00' AS time, 'info' AS level, 'x' AS tp_id, {TIME}")
    with Session(files.snapshot(), {"app_log": TABLE}) as session:
        yield session


def starred(session: Session, sql: str) -> str:
    columns = session.run(sql).columns
    found = session.starred(sql, columns)
    assert found.times <= found.places
    names = (columns[x] + ("*" if x in found.times else "") for x in sorted(found.places))
    return " ".join(name for name in names if name.rstrip("*") in ("time", "level", "tp_id", "tp_timestamp"))


@pytest.mark.parametrize(
    "sql",
    [
        "FROM app_log",
        "SELECT * FROM app_log",
        "from APP_LOG select * where TP_ID = 'x' order by level limit 5",
        "SELECT * FROM (FROM app_log)",
        "WITH a AS (FROM app_log) SELECT * FROM a",
        "SELECT a.* FROM app_log a",
        "SELECT *, 1 AS n FROM app_log -- tp_id",
    ],
)
def test_a_star_names_no_column(session: Session, sql: str) -> None:
    assert starred(session, sql) == "time* level tp_id tp_timestamp"


@pytest.mark.parametrize(
    ("sql", "left"),
    [
        ("SELECT tp_id, level FROM app_log", ""),
        ("SELECT tp_id, * FROM app_log", "time* level tp_timestamp"),
        ("SELECT *, upper(level) AS tp_id FROM app_log", "time* tp_timestamp"),
        ("SELECT * REPLACE (upper(level) AS level) FROM app_log", "time* tp_id tp_timestamp"),
        ("SELECT * RENAME (level AS tp_id) FROM app_log", "time* tp_timestamp"),
        ("SELECT * FROM (SELECT tp_id, level FROM app_log)", ""),
        ("SELECT COLUMNS('tp_.*') FROM app_log", ""),
        ("DESCRIBE app_log", ""),
        ("SELECT count(*) FROM app_log", ""),
        ("SELECT 'x' AS level", ""),
        ("EXPLAIN FROM app_log", ""),
    ],
)
def test_what_a_select_list_names_comes_from_no_star(session: Session, sql: str, left: str) -> None:
    assert starred(session, sql) == left


def test_rows_that_are_being_read_are_not_disturbed(session: Session) -> None:
    answer = session.run("FROM app_log")
    session.starred("FROM app_log", answer.columns)
    assert len(list(answer.rows)) == 1
