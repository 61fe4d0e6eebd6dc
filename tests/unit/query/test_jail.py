"""The jail: no statement reads, writes or changes anything but by reading what was collected."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tailpipe.errors import TailpipeError
from tailpipe.query.session import Session
from tailpipe.query.statements import is_refused

from .attempts import ATTEMPTS, LITERALS, SECRET, SLY, TABLE, bytes_of, filled, literal_text, make_home, make_snapshot

READING = (Path(__file__).parent / "reading_functions.txt").read_text().split()
"""Functions of this DuckDB that give rows and may be called: of files they reach only those of the session."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("jail"))


@pytest.fixture(scope="module")
def session(home: Path) -> Iterator[Session]:
    with Session(make_snapshot(home), {"app_log": TABLE}) as session:
        yield session


@pytest.mark.parametrize("sql", ATTEMPTS)
def test_an_attempt_is_refused_and_changes_nothing(
    session: Session, home: Path, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    frame = [SECRET]  # a variable that a statement could name, if DuckDB looked for it
    monkeypatch.chdir(home / "outside")
    monkeypatch.setenv("HOME", str(home / "outside"))
    before = bytes_of(home)
    with pytest.raises(TailpipeError) as caught:
        list(session.run(filled(sql, home)).rows)
    assert SECRET not in caught.value.message + caught.value.hint
    assert bytes_of(home) == before
    assert frame
    assert list(session.run("SELECT count(*) FROM app_log").rows) == [(3,)]


@pytest.mark.parametrize("sql", SLY)
def test_no_answer_tells_a_secret(session: Session, home: Path, sql: str) -> None:
    try:
        answer = session.run(filled(sql, home))
        told = f"{answer.columns} {list(answer.rows)}"
    except TailpipeError as error:
        told = error.message + error.hint
    assert SECRET not in told


@pytest.mark.parametrize("literal", LITERALS)
def test_a_literal_is_answered_as_it_is_written(session: Session, home: Path, literal: str) -> None:
    sql = filled(literal, home)
    assert list(session.run(f"SELECT {sql}").rows) == [(literal_text(sql),)]


def test_there_are_more_than_a_hundred_attempts() -> None:
    assert len(set(ATTEMPTS)) > 150


def test_every_function_that_gives_rows_is_known_to_read_or_refused() -> None:
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions()"
            " WHERE function_type IN ('table', 'table_macro', 'pragma')"
        ).fetchall()
    names = {name for (name,) in rows}
    assert {name for name in names if not is_refused(name)} == set(READING) & names
    assert not {name for name in READING if is_refused(name)}


def test_nothing_that_the_session_reads_tells_a_secret(session: Session) -> None:
    for statement in ("FROM duckdb_secrets()", "FROM duckdb_variables()", "FROM duckdb_settings()"):
        assert os.environ["PATH"] not in str(list(session.run(statement).rows))
