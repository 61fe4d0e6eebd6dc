"""A statement opens the files that it needs and no others; what DuckDB says that it read is the proof."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import duckdb
import pytest

from tailpipe.catalog.layout import data_path
from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.model.partition import Schema
from tailpipe.query.parameters import Params
from tailpipe.query.session import Session

DAYS, INDEXES, PARTITIONS = 250, 20, ("dev", "prod")
ROWS = 4
FIRST = date(2024, 1, 1)
COLUMNS = {
    "n": "BIGINT",
    "tp_date": "DATE",
    "tp_index": "VARCHAR",
    "tp_partition": "VARCHAR",
    "tp_timestamp": "TIMESTAMP",
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Ten thousand files. Those of one day are links to one: index and partition are told by the path."""
    root = tmp_path_factory.mktemp("prune")
    files: list[LiveFile] = []
    with duckdb.connect() as connection:
        for number in range(DAYS):
            day = FIRST + timedelta(days=number)
            files += write_day(connection, root, day)
    schema = Schema(name="spring", partitions=["prod"], from_="2024-03-01", to="2024-05-31")
    with Session(Snapshot(root, tuple(files), {1: COLUMNS}, 1), {}, schemas=[schema]) as session:
        yield session


def write_day(connection: duckdb.DuckDBPyConnection, root: Path, day: date) -> Iterator[LiveFile]:
    low = int(datetime.combine(day, time(), UTC).timestamp()) * 1_000_000
    first: Path | None = None
    for partition in PARTITIONS:
        for index in range(INDEXES):
            path = data_path(f"web_log.{partition}", f"i{index}", day, "00000001-0badcafe-0000")
            place = root / path
            place.parent.mkdir(parents=True)
            if first is None:
                first = place
                connection.execute(
                    f"COPY (SELECT i AS n, DATE '{day}' AS tp_date, 'x' AS tp_index, 'y' AS tp_partition,"
                    f" TIMESTAMP '{day}' + INTERVAL (i * 6) HOUR AS tp_timestamp FROM range({ROWS}) t(i))"
                    f" TO '{place}' (FORMAT parquet)"
                )
            else:
                os.link(first, place)
            high = low + (ROWS - 1) * 6 * 3_600_000_000
            yield LiveFile(path, f"web_log.{partition}", str(day), f"i{index}", day, ROWS, 1000, low, high, 1)


def files_read(session: Session, sql: str, params: Params | None = None) -> int:
    """How many files DuckDB opened for the rows, by its own account."""
    ((_, profile),) = session.run(f"EXPLAIN ANALYZE {sql}", params).rows
    return sum(int(number) for number in re.findall(r"Total Files Read:[│\s]*?(\d+)", profile))


@pytest.mark.parametrize(
    ("where", "files", "rows"),
    [
        ("tp_date = '2024-03-01'", 40, 160),
        ("tp_date >= '2024-03-01' AND tp_date < DATE '2024-03-03'", 80, 320),
        ("tp_date IN ('2024-03-01', '2024-04-01', '2030-01-01')", 80, 320),
        ("year(tp_date) = 2023", 0, 0),
        ("strftime(tp_date, '%d') = '31' AND tp_partition = 'dev'", 100, 400),
        ("tp_timestamp >= '2024-09-06'", 40, 160),
        ("tp_timestamp >= '2024-09-05 18:00' AND tp_timestamp < '2024-09-06'", 40, 40),
        ("tp_timestamp > '2024-09-05 18:00' AND tp_timestamp < '2024-09-06'", 0, 0),
        ("tp_timestamp BETWEEN '2024-03-01' AND '2024-03-01 23:59:59' AND tp_index = 'i7'", 2, 8),
        ("tp_timestamp >= TIMESTAMPTZ '2024-09-06 02:00:00+02'", 40, 160),
        ("tp_timestamp::DATE = '2024-03-01'", 40, 160),
        ("tp_timestamp = '2024-03-01 06:00'", 40, 40),
        ("tp_timestamp IN ('2024-03-01 06:00', '2024-03-03 06:00')", 80, 80),
        ("tp_timestamp < '2024-01-02' OR (tp_timestamp > '2024-02-01' AND tp_timestamp < '2024-02-02')", 80, 280),
        ("tp_timestamp > now() - INTERVAL 7 DAY", 0, 0),
        ("tp_index = 'i3' AND tp_date = '2024-03-01'", 2, 8),
        ("tp_index LIKE 'i1_' AND tp_date = '2024-03-01'", 20, 80),
        ("tp_partition <> 'dev' AND tp_date = '2024-03-01'", 20, 80),
        ("(tp_date = '2024-03-01' AND n = 1) OR (tp_date = '2024-03-02' AND n = 2)", 80, 80),
        ("tp_date = '2024-03-01' AND tp_index = 'it''s AND tp_date = 1'", 0, 0),
        ("tp_date = '2024-03-01' AND random() >= 0", 40, 160),
        ("tp_date = '2024-03-01' AND n::VARCHAR <> e'a\nfalse AND tp_date IS NULL\nb'", 40, 160),
        ("tp_date = '2024-03-01' AND array_to_string([tp_index, 'm'], '-') = 'i3-m'", 2, 8),
        ("tp_date = '2024-03-01' AND struct_pack(a := tp_index) = {'a': 'i3'}", 2, 8),
        ("tp_date = '2024-03-01' AND list_transform([tp_index], lambda x: x || 'm') = ['i3m']", 2, 8),
    ],
)
def test_of_ten_thousand_files_those_are_opened_that_can_hold_an_answer(
    session: Session, where: str, files: int, rows: int
) -> None:
    sql = f"SELECT count(*) FROM web_log WHERE {where}"
    assert list(session.run(sql).rows) == [(rows,)]
    read = files_read(session, sql)
    assert read == files or (files == 0 and read == 1)  # one stays for the columns, if none is needed


@pytest.mark.parametrize(
    ("where", "params", "files", "rows"),
    [
        ("tp_date = $day", {"day": "2024-03-01"}, 40, 160),
        ("tp_date = $day", {"day": date(2024, 3, 1)}, 40, 160),
        ("tp_date >= $since AND tp_date < $until", {"since": "2024-03-01", "until": "2024-03-03"}, 80, 320),
        ("tp_timestamp >= $since", {"since": datetime(2024, 9, 6)}, 40, 160),
        ("tp_timestamp >= $since", {"since": datetime(2024, 9, 6, tzinfo=UTC)}, 40, 160),
        ("tp_date > DATE '2024-09-06' - $days", {"days": 2}, 80, 320),
        ("tp_index = $who AND tp_date = '2024-03-01'", {"who": "i3"}, 2, 8),
        ("tp_index = $who AND tp_date = '2024-03-01'", {"who": "i3' OR true --"}, 0, 0),
        ("tp_date = '2024-03-01' AND n::VARCHAR <> $text", {"text": "a\nfalse AND tp_date IS NULL\n'b"}, 40, 160),
        ("tp_date IN $days", {"days": [date(2024, 3, 1), date(2024, 4, 1)]}, 80, 320),
    ],
)
def test_a_statement_with_parameters_is_planned_with_their_values(
    session: Session, where: str, params: Params, files: int, rows: int
) -> None:
    sql = f"SELECT count(*) FROM web_log WHERE {where}"
    assert list(session.run(sql, params).rows) == [(rows,)]
    read = files_read(session, sql, params)
    assert read == files or (files == 0 and read == 1)


@pytest.mark.parametrize(
    ("sql", "files", "answer"),
    [
        ("WITH a AS (FROM web_log WHERE tp_date = '2024-03-01') SELECT count(*) FROM a", 40, 160),
        (
            "SELECT count(*) FROM web_log a JOIN web_log b USING (tp_date, tp_index, tp_partition, n)"
            " WHERE a.tp_date = '2024-03-01'",
            80,
            160,
        ),
        (
            "SELECT (SELECT count(*) FROM web_log WHERE tp_date = '2024-03-01')"
            " + (SELECT count(*) FROM web_log WHERE tp_date = '2024-03-05')",
            80,
            320,
        ),
        ("SELECT count(*) FROM spring.web_log WHERE tp_date = '2024-03-05'", 20, 80),
        ("SELECT count(*) FROM spring.web_log WHERE tp_date = '2024-02-05'", 0, 0),
        (
            "SELECT count(*) FROM spring.web_log a, web_log b WHERE a.tp_date = '2024-03-05'"
            " AND b.tp_timestamp < '2024-01-02'",
            60,
            80 * 160,
        ),
        ("SELECT n FROM web_log WHERE tp_date = '2024-03-01' ORDER BY tp_timestamp DESC LIMIT 1", 80, 3),
    ],
)
def test_each_time_that_a_table_is_read_counts(session: Session, sql: str, files: int, answer: int) -> None:
    assert list(session.run(sql).rows) == [(answer,)]
    assert files_read(session, sql) == files


def test_the_newest_rows_of_a_window_need_its_files_alone(session: Session) -> None:
    sql = "SELECT n FROM web_log WHERE tp_timestamp >= '2024-09-05' ORDER BY tp_timestamp DESC, n LIMIT 5"
    ((_, files),) = session.shown.needed(sql)
    assert {file.tp_date for file in files} == {date(2024, 9, 5), date(2024, 9, 6)}


def test_without_a_condition_all_files_are_read_again(session: Session) -> None:
    session.run("SELECT count(*) FROM spring.web_log WHERE tp_date = '2024-03-05'")
    assert list(session.run("SELECT count(*) FROM spring.web_log").rows) == [(92 * INDEXES * ROWS,)]


def test_directories_are_read_only_for_a_statement_that_names_what_they_tell(session: Session) -> None:
    """With ten thousand files it takes longer than all else; of these here, the links have another index inside."""
    first = "FROM web_log LIMIT 1"
    assert list(session.run(f"SELECT COLUMNS('tp_inde.') {first}").rows) == [("x",)]
    assert list(session.run(f"SELECT tp_index {first}").rows) == [("i0",)]
    assert list(session.run(f"SELECT COLUMNS('tp_inde.') {first}").rows) == [("x",)]


def test_columns_stay_those_of_all_files(tmp_path: Path) -> None:
    """Most files lack a column that a few have, and hold a narrower type of another."""
    files = []
    sets = {1: COLUMNS, 2: {**COLUMNS, "n": "DOUBLE", "host": "VARCHAR"}}
    with duckdb.connect() as connection:
        for number in range(40):
            day = FIRST + timedelta(days=number)
            (one, *_) = write_day(connection, tmp_path, day)
            if number == 39:
                (tmp_path / one.path).unlink()
                connection.execute(
                    f"COPY (SELECT 0.5::DOUBLE AS n, 'h' AS host, DATE '{day}' AS tp_date, 'x' AS tp_index,"
                    f" 'y' AS tp_partition, TIMESTAMP '{day}' AS tp_timestamp) TO '{tmp_path / one.path}'"
                    " (FORMAT parquet)"
                )
                one = one._replace(columns_id=2)
            files.append(one)
    with Session(Snapshot(tmp_path, tuple(files), sets, 1), {}) as session:
        for asked, rows in {"2024-01-02": ROWS, "2024-02-09": 1, "2030-01-01": 0}.items():
            answer = session.run(f"SELECT n, host FROM web_log WHERE tp_date = '{asked}'")
            assert answer.types == ("DOUBLE", "VARCHAR")
            assert len(list(answer.rows)) == rows


@pytest.mark.parametrize(
    ("name", "value"), [("NOT tp_index", "'i0'"), ("tp_index IS NULL AND 1", "1"), ("n = 3 OR NOT tp_index", "'i0'")]
)
def test_a_column_named_like_a_condition_is_not_taken_for_one(tmp_path: Path, name: str, value: str) -> None:
    """The plan writes names without quotes."""
    with duckdb.connect() as connection:
        files = [next(write_day(connection, tmp_path, FIRST + timedelta(days=number))) for number in range(40)]
        for one in files:
            path = tmp_path / one.path
            connection.execute(
                f'CREATE OR REPLACE TABLE day AS SELECT *, {value} AS "{name}" FROM'
                f" read_parquet('{path}', hive_partitioning = false)"
            )
            path.unlink()
            connection.execute(f"COPY day TO '{path}' (FORMAT parquet)")
    columns = {**COLUMNS, name: "VARCHAR" if "'" in value else "INTEGER"}
    with Session(Snapshot(tmp_path, tuple(files), {1: columns}, 1), {}) as session:
        answer = session.run(f"SELECT count(*) FROM web_log WHERE \"{name}\" = {value} AND tp_index = 'i0'")
        assert list(answer.rows) == [(40 * ROWS,)]


@pytest.mark.parametrize(
    ("where", "files"),
    [
        ("tp_partition = 'dev'", 2 * INDEXES),
        ("tp_index = 'i3'", 2 * len(PARTITIONS)),
        ("tp_date = '2024-01-01'", INDEXES * len(PARTITIONS)),
        ("tp_timestamp < '2024-01-02'", INDEXES * len(PARTITIONS)),
    ],
)
def test_each_column_that_the_catalog_knows_leaves_out_files_alone(tmp_path: Path, where: str, files: int) -> None:
    with duckdb.connect() as connection:
        made = [one for day in (0, 1) for one in write_day(connection, tmp_path, FIRST + timedelta(days=day))]
    with Session(Snapshot(tmp_path, tuple(made), {1: COLUMNS}, 1), {}) as session:
        sql = f"SELECT sum(n) FROM web_log WHERE {where}"
        assert list(session.run(sql).rows) == [(files * sum(range(ROWS)),)]
        assert files_read(session, sql) == files
