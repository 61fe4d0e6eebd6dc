"""One question over all tables: what is found, where, and that nothing is opened which cannot have it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.errors import UsageError
from tailpipe.model.window import Window
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.needle import Needle
from tailpipe.query.request import Query
from tailpipe.query.search import Found, search, searched_views
from tailpipe.query.session import Session

from .support import Files

LISTS = "NULL::VARCHAR[] AS tp_ips, NULL::VARCHAR[] AS tp_usernames, NULL::VARCHAR AS tp_source_ip"
OWN = "'prod' AS tp_partition, '/logs/alice/a.log' AS tp_source_location"


def at(hour: int) -> str:
    return f"TIMESTAMP '2024-01-31 {hour:02}:00' AS tp_timestamp"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path / "internal")
    files.add(
        f"SELECT 'a1' AS tp_id, 'Failed password for Alice from 10.0.0.1 port 22' AS message, 404 AS status,"
        f" {at(10)}, {LISTS}, {OWN}"
        f" UNION ALL SELECT 'a2', 'from 210.0.0.10, 10.0.0.12', 10, {at(11)}, {LISTS}, {OWN}"
        f" UNION ALL SELECT 'a3', NULL, 200, {at(12)}, ['10.0.0.1', '::1'], ['alice', 'root'], '10.0.0.1', {OWN}",
        "auth_log.prod",
    )
    files.add(
        f"SELECT 'w1' AS tp_id, {{'user': {{'name': 'ALICE'}}}} AS actor, '{{\"k\": \"2001:db8::1\"}}'::JSON AS extra,"
        f" {at(9)}, {LISTS}, {OWN}",
        "web_log.prod",
    )
    return files


@pytest.fixture
def session(files: Files) -> Iterator[Session]:
    with Session(files.snapshot(), {}) as session:
        yield session


def found(session: Session, text: str, *, newest: int = 10, in_common: bool = False) -> dict[str, Found]:
    views = searched_views(session)
    results = search(session, views, Needle.parse(text), newest=newest, in_common=in_common)
    return {one.table: one for one in results if one.rows or one.failure}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alice", {"auth_log": {"message": 1, "tp_usernames": 1}, "web_log": {"actor": 1}}),
        ("10.0.0.1", {"auth_log": {"message": 1, "tp_ips": 1, "tp_source_ip": 1}}),
        ("::ffff:10.0.0.1", {"auth_log": {"message": 1, "tp_ips": 1, "tp_source_ip": 1}}),
        ("10.0.0.12", {"auth_log": {"message": 1}}),
        ("10.0.0.0/8", {"auth_log": {"tp_ips": 1, "tp_source_ip": 1}}),
        ("2001:0DB8:0:0:0:0:0:1", {"web_log": {"extra": 1}}),
        ("::1", {"auth_log": {"tp_ips": 1}}),
        ("404", {"auth_log": {"status": 1}}),
        ("a3", {"auth_log": {"tp_id": 1}}),
        ("it's", {}),
        ("%", {}),
        ("/logs/", {}),
    ],
)
def test_it_is_found_in_the_columns_that_have_it(
    session: Session, text: str, expected: dict[str, dict[str, int]]
) -> None:
    assert {table: one.columns for table, one in found(session, text).items()} == expected


def test_the_common_columns_alone_can_be_searched(session: Session) -> None:
    assert {name: one.columns for name, one in found(session, "alice", in_common=True).items()} == {
        "auth_log": {"tp_usernames": 1}
    }


def test_rows_are_counted_once_and_the_newest_come_first(session: Session) -> None:
    one = found(session, "10.0.0.1")["auth_log"]
    assert (one.rows, one.first, one.last) == (
        2,
        datetime(2024, 1, 31, 10, tzinfo=UTC),
        datetime(2024, 1, 31, 12, tzinfo=UTC),
    )
    assert [(row.tp_id, row.column, row.text) for row in one.newest] == [
        ("a3", "tp_ips", "10.0.0.1, ::1"),
        ("a1", "message", "Failed password for Alice from 10.0.0.1 port 22"),
    ]
    assert [row.tp_id for row in found(session, "10.0.0.1", newest=1)["auth_log"].newest] == ["a3"]
    assert found(session, "10.0.0.1", newest=0)["auth_log"].newest == ()


def test_the_sql_gives_all_of_the_rows(session: Session) -> None:
    sql = found(session, "10.0.0.1")["auth_log"].sql
    assert sorted(row[0] for row in session.run(f"SELECT tp_id FROM ({sql})").rows) == ["a1", "a3"]


def test_a_long_text_is_cut_around_what_was_found(files: Files) -> None:
    files.add(
        f"SELECT 'x' AS tp_id, repeat('-', 100000) || 'needle' || repeat('+', 100000) AS blob, {at(1)}, {OWN}", "b.x"
    )
    with Session(files.snapshot(), {}) as session:
        (row,) = found(session, "NEEDLE")["b"].newest
    assert "-needle+" in row.text
    assert len(row.text) == 2000


def test_files_outside_of_the_window_are_not_opened(files: Files) -> None:
    old = files.add(f"SELECT 'o' AS tp_id, 'alice' AS message, {at(1)}, {LISTS}, {OWN}", "auth_log.prod")
    old.unlink()
    day = datetime(2024, 1, 30, tzinfo=UTC)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    bounds = [int((moment - epoch).total_seconds() * 1e6) for moment in (day, day.replace(hour=23))]
    files.files[-1] = files.files[-1]._replace(min_microseconds=bounds[0], max_microseconds=bounds[1])
    window = Window(datetime(2024, 1, 31, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC))
    with Session(files.snapshot(), {}, Query(Narrowing(window))) as session:
        one = found(session, "alice")["auth_log"]
    assert (one.failure, one.rows) == (None, 2)


def test_a_table_that_cannot_be_read_fails_alone(files: Files) -> None:
    files.add(f"SELECT 'o' AS tp_id, 'alice' AS message, {at(1)}, {OWN}", "broken_log.prod").unlink()
    with Session(files.snapshot(), {}) as session:
        results = found(session, "alice")
    assert results["broken_log"].failure is not None
    assert results["auth_log"].rows == 2


def test_patterns_choose_the_tables(session: Session) -> None:
    assert [view.name for view in searched_views(session, ["web_*"])] == ["web_log"]
    with pytest.raises(UsageError, match="table not found: weblog"):
        searched_views(session, ["weblog"])


def test_an_interrupt_ends_it(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    views = searched_views(session)
    monkeypatch.setattr(session, "run", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        list(search(session, views, Needle.parse("alice"), newest=1))


def test_nothing_is_no_needle() -> None:
    with pytest.raises(UsageError, match="nothing to search for"):
        Needle.parse("  ")
