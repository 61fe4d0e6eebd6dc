"""Narrowing: exactly the rows that were asked for, whatever the catalog knows of the files that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.catalog.snapshot import EPOCH, Snapshot
from tailpipe.errors import UsageError
from tailpipe.model.partition import Schema
from tailpipe.model.window import Window
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.request import Query
from tailpipe.query.session import Session

from .support import Files

NOW = datetime(2024, 2, 1, tzinfo=UTC)
ROWS = (("prod", "x", (10, 11)), ("prod", "y", (11, 12)), ("dev", "x", (12, 13)), ("dev", None, (13, 13)))
"""Partition and index of each file, and the hours of its rows; the rows are counted from 1."""


@pytest.fixture(params=["known", "unknown"])
def snapshot(request: pytest.FixtureRequest, tmp_path: Path) -> Snapshot:
    """Four files, whose first and last time the catalog knows or does not."""
    files = Files(tmp_path / "internal")
    for number, (partition, index, hours) in enumerate(ROWS):
        rows = " UNION ALL ".join(
            f"SELECT {number * 2 + x + 1} AS n, TIMESTAMP '2024-01-31 {hour}:00' AS tp_timestamp"
            for x, hour in enumerate(hours)
        )
        files.add(rows, f"app_log.{partition}")
        bounds = [int((datetime(2024, 1, 31, hour, tzinfo=UTC) - EPOCH).total_seconds()) * 10**6 for hour in hours]
        low, high = bounds if request.param == "known" else (None, None)
        files.files[-1] = files.files[-1]._replace(tp_index=index, min_microseconds=low, max_microseconds=high)
    return files.snapshot()


TIMES = [
    ("2024-01-31T10:00", None, "12345678"),
    ("2024-01-31T10:00:00.000001", None, "2345678"),
    ("2024-01-31T12:00", None, "45678"),
    ("2024-01-31T13:00", None, "678"),
    ("2024-01-31T13:00:00.000001", None, ""),
    (None, "2024-01-31T10:00", ""),
    (None, "2024-01-31T11:00", "1"),
    (None, "2024-01-31T11:00:00.000001", "123"),
    (None, "2024-01-31T13:00", "12345"),
    (None, "2024-01-31", "12345678"),
    ("2024-01-31T11:00", "2024-01-31T12:00", "23"),
    ("2024-01-31T12:30", "2024-01-31", "678"),
    ("2030-01-01", None, ""),  # in the future, where a clock that is wrong may have written rows
]


@pytest.mark.parametrize(("start", "end", "rows"), TIMES)
def test_rows_from_one_time_to_another_are_shown_to_the_microsecond(
    snapshot: Snapshot, start: str | None, end: str | None, rows: str
) -> None:
    assert shown(snapshot, Narrowing.parse(start, end, now=NOW)) == rows
    assert shown_by(snapshot, Schema(name="part", from_=start, to=end)) == rows


@pytest.mark.parametrize(
    ("partitions", "indexes", "rows"),
    [
        (["prod"], [], "1234"),
        (["prod", "dev"], [], "12345678"),
        (["app_log.dev"], [], "5678"),
        (["app_log.prod", "d*"], [], "12345678"),
        (["*.prod"], [], "1234"),
        (["other.*"], [], ""),
        (["PROD"], [], ""),
        ([], ["x"], "1256"),
        ([], ["x", "y"], "123456"),
        ([], ["[xy]"], "123456"),
        (["prod"], ["y", "z"], "34"),
    ],
)
def test_partitions_and_indexes_are_shown_that_one_of_the_patterns_means(
    snapshot: Snapshot, partitions: Sequence[str], indexes: Sequence[str], rows: str
) -> None:
    assert shown(snapshot, Narrowing.parse(partitions=partitions, indexes=indexes, now=NOW)) == rows
    assert (
        shown_by(snapshot, Schema(name="part", partitions=[*partitions] or ["*"], indexes=[*indexes] or ["*"])) == rows
    )


def test_an_index_in_flags_means_rows_that_have_one_and_a_star_in_a_schema_all(snapshot: Snapshot) -> None:
    assert shown(snapshot, Narrowing(indexes=("*",))) == "123456"
    assert shown_by(snapshot, Schema(name="part", indexes=["*"])) == "12345678"


def test_what_is_narrowed_twice_shows_what_both_leave(snapshot: Snapshot) -> None:
    schema = Schema(name="part", partitions=["prod"], from_="2024-01-31T11:00")
    narrowing = Narrowing.parse(end="2024-01-31T12:00", indexes=["x"], schema="part", now=NOW)
    with Session(snapshot, {}, Query(narrowing), schemas=[schema]) as session:
        assert list(session.run("SELECT n FROM app_log").rows) == [(2,)]


@pytest.mark.parametrize(("start", "end"), [("2024-01-31T10:00", "2024-01-31T10:00"), ("T-2d", "T-48H")])
def test_a_span_in_which_no_time_lies_is_refused(start: str, end: str) -> None:
    with pytest.raises(UsageError, match="no time is between"):
        Narrowing.parse(start, end, now=NOW)


def test_a_span_that_is_turned_is_refused_from_python_too() -> None:
    with pytest.raises(UsageError, match="ends before it starts"):
        Narrowing(Window(NOW, datetime(2024, 1, 1, tzinfo=UTC)))


@pytest.mark.parametrize(
    "narrowing",
    [
        Narrowing(partitions=("prod", "app_log.dev", "n*w", "*.new")),  # held, held, and only in the config
        Narrowing(indexes=("x", "y", "?")),
        Narrowing(partitions=("dev",), indexes=("y",)),  # both are there, if not together
    ],
)
def test_names_that_something_has_are_taken(snapshot: Snapshot, narrowing: Narrowing) -> None:
    narrowing.check(snapshot, ["app_log.new", "app_log.prod"])


def test_an_index_is_not_missed_where_there_is_none_yet(snapshot: Snapshot) -> None:
    without = tuple(file._replace(tp_index=None) for file in snapshot.files)
    Narrowing(indexes=("x",)).check(replace(snapshot, files=without), [])
    Narrowing(indexes=("x",)).check(replace(snapshot, files=()), ["app_log.prod"])


@pytest.mark.parametrize(
    ("narrowing", "message", "hint"),
    [
        (Narrowing(partitions=("prod", "prd")), "partition not found: prd", "there are: app_log.dev, app_log.prod"),
        (Narrowing(partitions=("app_log.prd",)), "partition not found: app_log.prd", 'did you mean "app_log.prod"?'),
        (Narrowing(indexes=("x", "z")), "index not found: z", "there are: x, y"),
        (Narrowing(indexes=("X",)), "index not found: X", ""),
    ],
)
def test_a_name_that_nothing_has_is_refused_and_not_shown_as_no_rows(
    snapshot: Snapshot, narrowing: Narrowing, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        narrowing.check(snapshot, ["app_log.prod"])
    assert refused.value.message == message
    assert hint in (refused.value.hint or "")


def test_a_partition_is_refused_where_there_is_none_yet(snapshot: Snapshot) -> None:
    with pytest.raises(UsageError) as refused:
        Narrowing(partitions=("prod",)).check(replace(snapshot, files=()), [])
    assert refused.value.hint == "there is none yet"


def shown(snapshot: Snapshot, narrowing: Narrowing) -> str:
    with Session(snapshot, {}, Query(narrowing)) as session:
        return "".join(str(n) for (n,) in session.run("SELECT n FROM app_log ORDER BY n").rows)


def shown_by(snapshot: Snapshot, schema: Schema) -> str:
    with Session(snapshot, {}, schemas=[schema]) as session:
        return "".join(str(n) for (n,) in session.run("SELECT n FROM part.app_log ORDER BY n").rows)
