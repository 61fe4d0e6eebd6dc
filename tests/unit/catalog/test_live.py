"""Large catalogs are loaded by table, date and index; the answers are those over all files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog import live, read
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.layout import Layout, index_segment
from tailpipe.catalog.live import LargeSnapshot, Part, newer_live, open_live
from tailpipe.catalog.snapshot import Snapshot, current
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.request import Query
from tailpipe.query.session import Session

FIRST = date(2024, 1, 1)
COLUMNS = '{"n": "BIGINT", "tp_timestamp": "TIMESTAMP", "tp_date": "DATE", "tp_index": "VARCHAR"}'
DAY = 86_400_000_000
FIRST_MICROSECONDS = 1_704_067_200_000_000


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """Two tables, three partitions, ten days, two indexes; every other file is only in a store."""
    with Catalog.open(tmp_path) as catalog, catalog.database.writing() as connection:
        connection.execute("INSERT INTO column_sets VALUES (1, ?), (2, ?)", (COLUMNS, COLUMNS.replace('"n"', '"m"')))
        for number, name in enumerate(("a.x", "a.y", "b.x"), 1):
            connection.execute("INSERT INTO partitions VALUES (?, ?, 0)", (number, name))
            connection.execute(
                "INSERT INTO transactions (id, name, partition_id, kind, unit, state, epoch, begun_at, committed_at,"
                " sequence, number) VALUES (?1, ?2, ?1, 'append', 'u', 'published', 0, '', '', ?1, ?1)",
                (number, f"{number:08d}-00000000"),
            )
            for day in range(10):
                for index in ("i", "j"):
                    on = str(FIRST + timedelta(days=day))
                    table, part = name.split(".")
                    path = f"files/tp_table={table}/tp_partition={part}/tp_index={index}/tp_date={on}/f"
                    low = FIRST_MICROSECONDS + day * DAY
                    is_here = day % 2
                    connection.execute(
                        "INSERT INTO files (path, partition_id, transaction_id, unit, role, tp_index, tp_date, rows,"
                        " bytes, sha256, min_timestamp, max_timestamp, columns_id, here, there, key)"
                        " VALUES (?, ?, ?, ?, 'data', ?, ?, 5, 7, 'digest', ?, ?, ?, ?, ?, ?)",
                        (
                            *(path, number, number, on, index, on, low, low + 1000, 1 if day < 9 else 2, is_here),
                            *(1 - is_here, None if is_here else f"data/{number}-{day}"),
                        ),
                    )
    return Layout.of(tmp_path)


@pytest.fixture
def large(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> Iterator[LargeSnapshot]:
    monkeypatch.setattr(live, "LARGE", 10)
    opened = open_live(layout)
    assert isinstance(opened, LargeSnapshot)
    yield opened
    opened.close()


@pytest.fixture
def odd(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> Iterator[LargeSnapshot]:
    """The same with files of no index, and of one whose directory comes before that of another."""
    columns = "partition_id, transaction_id, unit, role, tp_date, rows, bytes, sha256, min_timestamp, max_timestamp"
    with Catalog.open(layout.home) as catalog, catalog.database.writing() as connection:
        for index in (None, "i-2", "ü", "x" * 200):
            connection.execute(
                f"INSERT INTO files (path, tp_index, {columns}, columns_id, here, there, key)"
                f" SELECT replace(path, 'tp_index=i', ?), ?, {columns}, columns_id, here, there, key"
                " FROM files WHERE tp_index = 'i' AND tp_date < '2024-01-04'",
                (index_segment(index), index),
            )
    monkeypatch.setattr(live, "LARGE", 10)
    opened = open_live(layout)
    assert isinstance(opened, LargeSnapshot)
    yield opened
    opened.close()


def test_a_small_catalog_is_loaded_whole(layout: Layout) -> None:
    opened = open_live(layout)
    assert opened == current(layout)
    assert isinstance(opened, Snapshot)
    assert len(opened.files) == 60


def test_a_file_says_where_it_is(layout: Layout) -> None:
    files = {file.tp_date: file for file in current(layout).files if file.partition == "a.x"}
    there, here = files[FIRST], files[FIRST + timedelta(days=1)]
    assert (there.is_here, there.key, there.sha256) == (False, "data/1-0", "digest")
    assert (here.is_here, here.key, here.sha256) == (True, None, None)


def test_parts_of_a_large_one_are_the_same_files(layout: Layout, large: LargeSnapshot) -> None:
    whole = current(layout).files
    day = FIRST + timedelta(days=3)
    assert large.load(Part({"a.x": [day]})).files == tuple(
        file for file in whole if file.partition == "a.x" and file.tp_date == day
    )
    assert large.load(Part({"a.x": None, "b.x": None}, {"j"})).files == tuple(
        file for file in whole if file.partition in ("a.x", "b.x") and file.tp_index == "j"
    )
    assert large.partitions == {"a.x", "a.y", "b.x"}
    assert large.indexes() == {"i", "j"}
    assert large.dates_of("a.y") == [FIRST + timedelta(days=day) for day in range(10)]
    assert large.columns_of("a.x").keys() == {1, 2}


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("tp_date = DATE '2024-01-03'", 4),
        ("tp_timestamp >= '2024-01-09'", 8),
        ("tp_date > DATE '2024-01-08' AND tp_index = 'j'", 4),
        ("tp_index = 'i' AND tp_partition = 'y'", 10),
        ("tp_date = DATE '2024-01-03' OR n = 4", 40),
        ("tp_date = DATE '2030-01-01'", 0),
        ("n = 1", 40),
    ],
)
def test_a_statement_loads_what_its_conditions_leave(large: LargeSnapshot, condition: str, count: int) -> None:
    with Session(large, {}) as session:
        ((view, files),) = session.shown.needed(f"SELECT * FROM a WHERE {condition}")
        # One file of each set of columns may stay for its columns.
        assert len(view.files) == count
        assert len(files) == count
        assert {"n", "m"} <= view.columns.keys()


@pytest.mark.parametrize(
    ("narrowing", "count"),
    [
        (Narrowing(partitions=("a.x",)), 20),
        (Narrowing(indexes=("j",)), 20),
        (Narrowing(partitions=("y",), indexes=("i",)), 10),
    ],
)
def test_a_narrowed_session_loads_its_part(large: LargeSnapshot, narrowing: Narrowing, count: int) -> None:
    narrowing.check(large, [])
    with Session(large, {}, Query(narrowing)) as session:
        ((view, _),) = session.shown.needed("FROM a")
        assert len(view.files) == count
        (rows,) = session.run("SELECT sum(files), sum(rows) FROM tp_catalog.days WHERE tp_table = 'a'").rows
        assert rows == (count, count * 5)


@pytest.mark.parametrize(
    "sql",
    [
        "FROM tp_catalog.days ORDER BY ALL",
        "FROM tp_catalog.files ORDER BY ALL",
        "SELECT files, rows FROM tp_catalog.days WHERE tp_index IS NULL",
        "SELECT count(*), sum(d.files) FROM tp_catalog.days d JOIN tp_catalog.files f USING (tp_table, tp_date)",
        "DESCRIBE tp_catalog.days",
    ],
)
def test_the_summary_of_a_large_catalog_is_that_of_all_files(layout: Layout, odd: LargeSnapshot, sql: str) -> None:
    with Session(current(layout), {}) as whole, Session(odd, {}) as session:
        assert list(session.run("SELECT count(*) FROM tp_catalog.days").rows)  # what is made of it first is the days
        assert list(session.run(sql).rows) == list(whole.run(sql).rows) != []


def test_many_indexes_are_found_whether_or_not_they_are_looked_for_one_by_one(
    odd: LargeSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert odd.indexes_of("a.y") == {"i", "j", None, "i-2", "ü", "x" * 200}
    monkeypatch.setattr(live, "_FEW_INDEXES", 1)
    assert odd.indexes_of("a.x") == odd.indexes_of("a.y")


def test_the_columns_of_a_large_catalog_are_told_without_files(large: LargeSnapshot) -> None:
    with Session(large, {}) as session:
        assert [shape.name for shape in session.tables()] == ["a", "b"]
        assert {row[0] for row in session.run("DESCRIBE a").rows} >= {"n", "m", "tp_date"}


def test_a_session_of_a_large_catalog_stays_at_its_instant(layout: Layout, large: LargeSnapshot) -> None:
    with Catalog.open(layout.home) as catalog:
        catalog.delete("a.x")
    assert len(large.load(Part({"a.x": None})).files) == 20
    later = newer_live(layout, large.sequence)
    assert later is not None
    assert later.partitions == {"a.y", "b.x"}
    assert newer_live(layout, later.sequence) is None
    later.close()


def test_sums_of_a_large_catalog_are_those_of_its_files(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    with Catalog.open(layout.home, is_read_only=True) as catalog:
        summed = catalog.partitions()
        monkeypatch.setattr(read, "_MANY", 10)
        assert catalog.partitions() == summed
        assert [(one.name, one.files, one.rows, one.size) for one in summed] == [
            (name, 20, 100, 140) for name in ("a.x", "a.y", "b.x")
        ]


def test_columns_in_use_follow_every_change(layout: Layout) -> None:
    with Catalog.open(layout.home) as catalog:
        connection = catalog.database.connection
        connection.execute("UPDATE files SET state = 'retired', retired_by = 1 WHERE columns_id = 2")
        connection.execute("DELETE FROM files WHERE partition_id = 3")
        assert connection.execute("SELECT * FROM columns_in_use WHERE files <> 0 ORDER BY 1").fetchall() == [
            (1, 1, 18),
            (2, 1, 18),
        ]
        assert catalog.state("a.x").columns.keys() == {1}
        assert catalog.state("b.x").columns == {}
