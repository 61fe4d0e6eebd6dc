"""The SQL of views, held against files: `tests/golden/views/NAME.sql`; `TAILPIPE_UPDATE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import duckdb
import pytest

from tailpipe.catalog.layout import data_path
from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.model.partition import Schema
from tailpipe.model.table import Column, Table
from tailpipe.model.window import Window
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.views import View, schema_views, table_views

GOLDEN = Path(__file__).parents[2] / "golden" / "views"
NOW = datetime(2024, 2, 1, 12, tzinfo=UTC)
COLUMNS = {"level": "VARCHAR", "tp_date": "DATE", "tp_index": "VARCHAR", "tp_timestamp": "TIMESTAMP"}
TABLE = Table(
    name="app_log",
    columns=[
        Column("level", "varchar"),
        Column("request", "uuid"),
        Column("took", "interval"),
        Column("price", "decimal(10,2)"),
        Column("client", "inet"),
        Column("tags", "json[]"),
        Column("user", "struct(id uuid, name varchar)"),
    ],
)
STORED = {
    **COLUMNS,
    "request": "VARCHAR",
    "took": "VARCHAR",
    "price": "DECIMAL(10,2)",
    "client": "VARCHAR",
    "tags": "VARCHAR[]",
    "user": 'STRUCT("id" VARCHAR, "name" VARCHAR)',
}


def file(day: int, partition: str = "app_log.prod", index: str | None = "default", columns: int = 1) -> LiveFile:
    """A file of one whole day of January 2024."""
    when = date(2024, 1, day)
    low = int(datetime.combine(when, time(), UTC).timestamp()) * 1_000_000
    high = low + 86_399_000_000
    path = data_path(partition, index, when, f"0000000{day}-0badcafe-0000")
    return LiveFile(path, partition, str(when), index, when, 10, 1000, low, high, columns)


def snapshot(files: Sequence[LiveFile], *sets: dict[str, str]) -> Snapshot:
    return Snapshot(Path("/ws/.tailpipe"), tuple(files), dict(enumerate(sets or (COLUMNS,), 1)), 1)


def recent() -> list[View]:
    """Rows of the newest days, of some partitions and indexes, that meet a condition."""
    whole = table_views(
        snapshot(
            [
                file(day, name, index)
                for day in (29, 30, 31)
                for name in ("app_log.dev", "app_log.prod")
                for index in ("111", "222")
            ]
        ),
        {},
    )
    schema = Schema(
        name="recent",
        tables=["app_*"],
        partitions=["prod"],
        indexes=["1*"],
        from_="T-2d",
        where="level <> 'debug' -- noise",
    )
    return schema_views(whole, [schema], now=NOW)


CASES: dict[str, Callable[[], list[View]]] = {
    "types-as-declared": lambda: table_views(snapshot([file(1)], STORED), {"app_log": TABLE}),
    "never-collected": lambda: table_views(snapshot([]), {"app_log": TABLE}),
    "not-declared-any-more": lambda: table_views(snapshot([file(1), file(2)]), {}),
    "columns-changed": lambda: table_views(
        snapshot([file(1), file(2, columns=2)], COLUMNS, {**COLUMNS, "host": "VARCHAR"}), {}
    ),
    "long-index": lambda: table_views(snapshot([file(1), file(1, index="x" * 200)]), {}),
    "hostile-names": lambda: table_views(snapshot([file(1, index='it\'s/"50%"')], {**COLUMNS, 'a"b': "VARCHAR"}), {}),
    "no-index": lambda: table_views(snapshot([file(1, index=None)]), {}),
    "schema": recent,
    "narrowed-to-whole-days": lambda: table_views(
        snapshot([file(day) for day in range(1, 6)]), {}, Narrowing.parse("2024-01-02", "2024-01-03", now=NOW)
    ),
    "narrowed-within-a-day": lambda: table_views(
        snapshot([file(day) for day in range(1, 6)]),
        {},
        Narrowing.parse("2024-01-02T10:00", "2024-01-03T11:00:00.5Z", now=NOW),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_sql_of_a_view_is_as_it_was_written_down(name: str) -> None:
    text = "".join(f"{view.sql}\n".replace(", '/ws", ",\n  '/ws") for view in CASES[name]())
    path = GOLDEN / f"{name}.sql"
    if os.environ.get("TAILPIPE_UPDATE_GOLDEN"):
        path.write_text(text)
    assert path.read_text() == text
    assert duckdb.extract_statements(text)


def test_every_file_is_of_a_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.sql")} == set(CASES)


def test_relative_times_of_a_schema_count_from_now() -> None:
    (view,) = recent()
    assert {file.tp_date for file in view.files} == {date(2024, 1, 30), date(2024, 1, 31)}
    assert {(file.partition, file.tp_index) for file in view.files} == {("app_log.prod", "111")}


@pytest.mark.parametrize(
    ("start", "end", "days", "cuts"),
    [
        (None, None, [1, 2, 3], 0),
        ("2024-01-02", None, [2, 3], 0),
        (None, "2024-01-02", [1, 2], 0),
        ("2024-01-02T00:00:01", "2024-01-03", [2, 3], 1),
        ("2024-01-02T12:00", "2024-01-02T13:00", [2], 2),
        ("2024-02-01", None, [], 0),
    ],
)
def test_a_window_takes_the_files_it_touches_and_cuts_those_across_its_ends(
    start: str | None, end: str | None, days: list[int], cuts: int
) -> None:
    narrowing = Narrowing.parse(start, end, now=NOW)
    files = narrowing.files([file(1), file(2), file(3)])
    assert [one.tp_date.day for one in files] == days
    assert narrowing.condition(files).count("tp_timestamp") == cuts


def test_a_file_without_bounds_is_always_looked_into() -> None:
    unknown = file(1)._replace(min_microseconds=None, max_microseconds=None)
    narrowing = Narrowing(Window(NOW, NOW + timedelta(hours=1)))
    assert narrowing.files([unknown]) == (unknown,)
    assert narrowing.condition([unknown]).count("tp_timestamp") == 2
