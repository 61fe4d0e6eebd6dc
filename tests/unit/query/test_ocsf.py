"""The views of the schema `ocsf`: events of many tables in one, and only files of the days that are asked for."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog.snapshot import EPOCH
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.model.ocsf import CLASSES, OcsfEvents
from tailpipe.model.table import Column, Table
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.request import Query
from tailpipe.query.session import Session
from tailpipe.sql.check import check_table

from .support import Files

DOOR = Table(
    name="door_log",
    columns=[Column("kind", "varchar"), Column("badge", "varchar")],
    common={"tp_timestamp": "t", "tp_outcome": "kind"},
    ocsf=[OcsfEvents(name="authentication", when="kind LIKE 'open%'", user_name="upper(badge)")],
)
WEB = Table(
    name="web_log",
    columns=[Column("verb", "varchar"), Column("path", "varchar"), Column("code", "integer")],
    common={"tp_timestamp": "t"},
    ocsf=[
        OcsfEvents(name="http_activity", http_method="verb", url="path", http_status="code"),
        OcsfEvents(name="authentication", when="path = '/login'", status_id="CASE WHEN code < 400 THEN 1 ELSE 2 END"),
    ],
)
TABLES = {"door_log": DOOR, "web_log": WEB}
DAY = date(2024, 1, 31)


def add(files: Files, table: str, select: str, day: date = DAY, hour: int = 10) -> Path:
    time = datetime.combine(day, datetime.min.time()) + timedelta(hours=hour)
    common = f"'{table}' AS tp_table, 'x' AS tp_partition, 'default' AS tp_index, DATE '{day}' AS tp_date"
    lists = "['anna'] AS tp_usernames, '192.0.2.1' AS tp_source_ip, NULL::VARCHAR AS tp_destination_ip"
    path = files.add(f"SELECT {select}, {common}, {lists}, TIMESTAMP '{time}' AS tp_timestamp", f"{table}.x")
    moment = (time.replace(tzinfo=EPOCH.tzinfo) - EPOCH) // timedelta(microseconds=1)
    files.files[-1] = files.files[-1]._replace(tp_date=day, min_microseconds=moment, max_microseconds=moment)
    return path


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path / "internal")
    add(files, "door_log", "'open' AS kind, 'b7' AS badge, 'd1' AS tp_id, 'success' AS tp_outcome")
    add(files, "door_log", "'ring' AS kind, NULL::VARCHAR AS badge, 'd2' AS tp_id, NULL::VARCHAR AS tp_outcome")
    add(files, "web_log", "'GET' AS verb, '/login' AS path, 401::INTEGER AS code, 'w1' AS tp_id")
    add(files, "web_log", "'PATCH' AS verb, '/a' AS path, 200::INTEGER AS code, 'w2' AS tp_id")
    return files


def rows(files: Files, sql: str, narrowing: Narrowing | None = None) -> list[tuple[object, ...]]:
    with Session(files.snapshot(), TABLES, Query(narrowing or Narrowing())) as session:
        return list(session.run(sql).rows)


def test_events_of_several_tables_are_in_one_view(files: Files) -> None:
    assert rows(files, "SELECT tp_id, user_name, src_endpoint_ip, status_id FROM ocsf.authentication ORDER BY 1") == [
        ("d1", "B7", "192.0.2.1", 1),
        ("w1", "anna", "192.0.2.1", 2),
    ]
    columns = "tp_id, class_uid, activity_id, type_uid, status_id, metadata_product"
    assert rows(files, f"SELECT {columns} FROM ocsf.http_activity ORDER BY ALL") == [
        ("w1", 4002, 3, 400203, 2, "web_log"),
        ("w2", 4002, 9, 400209, 1, "web_log"),
    ]


def test_the_schema_may_be_chosen_by_a_flag(files: Files) -> None:
    assert rows(files, "SELECT count(*) FROM authentication", Narrowing(schema="ocsf")) == [(2,)]


@pytest.mark.parametrize("name", CLASSES)
def test_a_view_has_all_columns_of_its_class_also_without_rows(tmp_path: Path, files: Files, name: str) -> None:
    for one in (files, Files(tmp_path / "nothing")):
        described = rows(one, f"DESCRIBE ocsf.{name}")
        assert {str(row[0]): str(row[1]) for row in described} == CLASSES[name].columns


def test_all_views_are_listed(files: Files) -> None:
    listed = rows(files, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'ocsf' ORDER BY 1")
    assert [name for (name,) in listed] == sorted(CLASSES)


@pytest.mark.parametrize(
    "where",
    [
        "tp_date = DATE '2024-01-31'",
        pytest.param("time >= TIMESTAMP '2024-01-31'", marks=pytest.mark.slow),
        pytest.param("tp_timestamp > TIMESTAMP '2024-01-30 23:00'", marks=pytest.mark.slow),
    ],
)
def test_only_files_of_the_days_asked_for_are_opened(files: Files, where: str) -> None:
    for number in range(40):  # more than are opened without a plan
        day = DAY - timedelta(days=number + 1)
        add(files, "door_log", f"'open' AS kind, 'b' AS badge, 'o{number}' AS tp_id, 'success' AS tp_outcome", day)
        add(files, "web_log", f"'GET' AS verb, '/login' AS path, 200::INTEGER AS code, 'p{number}' AS tp_id", day)
    for file in files.files[4:]:
        (files.root / file.path).write_bytes(b"no parquet")
    assert rows(files, f"SELECT count(*) FROM ocsf.authentication WHERE {where}") == [(2,)]
    with pytest.raises(TailpipeError):
        rows(files, "SELECT count(*) FROM ocsf.authentication")


def test_a_class_that_is_not_there_is_told(files: Files) -> None:
    with pytest.raises(UsageError, match="no OCSF class"):
        OcsfEvents(name="authentification")
    with pytest.raises(TailpipeError, match="authentification"):
        rows(files, "FROM ocsf.authentification")


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ({"when": "kind"}, "it gives varchar, not true or false"),
        ({"when": "kindd = 'a'"}, 'there is no column "kindd"'),
        ({"user_name": "badg"}, 'there is no column "badg"'),
        ({"user_name": "(SELECT 1)"}, "a subquery is not allowed here"),
        ({"status_id": "(badge"}, "the SQL ends too early"),
        ({"status_id": "nofunction(badge)"}, 'there is no function "nofunction"'),
        ({"url": "badge"}, 'the class "authentication" has no column "url"'),
    ],
)
def test_wrong_sql_is_told_before_anything_runs(events: dict[str, str], said: str) -> None:
    table = Table(
        name="t", columns=DOOR.columns, common=DOOR.common, ocsf=[OcsfEvents(name="authentication", **events)]
    )
    (problem,) = check_table(table)
    assert problem.message == said
    assert problem.address == f"ocsf.authentication.{next(iter(events))}"


def test_right_sql_is_fine() -> None:
    assert check_table(DOOR) == ()
    assert check_table(WEB) == ()
