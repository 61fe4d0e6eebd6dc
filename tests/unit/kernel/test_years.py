"""Times without a year: one decision for each artifact, from its last line backwards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tailpipe.formats import Grok, Regex, Syslog
from tailpipe.kernel.task import Limits, Task
from tailpipe.model.assumed_years import AssumedYears
from tailpipe.model.format import Format
from tailpipe.model.table import Column, Table
from tests.unit.kernel.support import Run, shared, task

SYSLOG = Table(name="things", columns=[Column("tp_timestamp", source="timestamp"), Column("message", "varchar")])
SMALL = Limits(chunk_bytes=100, batch_bytes=200, flush_bytes=400)


def lines(moments: Iterable[datetime]) -> bytes:
    return "".join(f"{one:%b} {one.day:>2} {one:%H:%M:%S} web1 app: x\n" for one in moments).encode()


def made(
    content: bytes, modified: date, format: Format | None = None, limits: Limits | None = None, **reading: Any
) -> Task:
    one = task(content, of=SYSLOG, format=format or Syslog(), limits=limits, reading=reading)
    when = datetime(modified.year, modified.month, modified.day, 12, tzinfo=UTC)
    readings = tuple(replace(x, artifact=replace(x.artifact, modified=when)) for x in one.readings)
    return shared(one, readings=readings)


def read(moments: Iterable[datetime], modified: date, limits: Limits | None = None, **facts: Any) -> list[datetime]:
    done = Run(made(lines(moments), modified, limits=limits, **facts))
    assert done.accounts[3] == 0
    return done.column("tp_timestamp")


def every(days: int, first: date, last: date) -> list[datetime]:
    start = datetime(first.year, first.month, first.day, 6, 7, 8)
    count = (last - first).days // days
    return [start + timedelta(days=days * n) for n in range(count + 1)]


@pytest.mark.parametrize("limits", [None, SMALL], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("first", "last", "modified"),
    [
        (date(2023, 6, 1), date(2023, 12, 28), date(2024, 9, 1)),  # a copy: its time lies within
        (date(2023, 6, 1), date(2023, 12, 28), date(2023, 12, 28)),
        (date(2023, 11, 20), date(2024, 1, 20), date(2024, 1, 20)),
        (date(2023, 11, 20), date(2024, 1, 20), date(2024, 12, 31)),
        (date(2022, 12, 10), date(2024, 2, 9), date(2024, 2, 10)),  # fourteen months
        (date(2021, 12, 10), date(2024, 2, 9), date(2024, 2, 10)),
        (date(2018, 2, 10), date(2018, 4, 10), date(2018, 5, 1)),  # older than a year: the file tells it
        (date(2024, 2, 20), date(2024, 3, 20), date(2024, 3, 20)),
        (date(2024, 2, 20), date(2024, 3, 20), date(2026, 3, 25)),  # there is but one 29th of February
    ],
)
def test_the_years_of_a_file(first: date, last: date, modified: date, limits: Limits | None) -> None:
    moments = every(9, first, last)
    assert read(moments, modified, limits) == moments


@pytest.mark.parametrize("limits", [None, SMALL], ids=["whole", "streamed"])
def test_small_disorder_is_no_new_year(limits: Limits | None) -> None:
    moments = every(2, date(2023, 12, 20), date(2024, 1, 12))
    late = [moments[n ^ 1] for n in range(len(moments))]
    late.insert(8, datetime(2023, 12, 31, 23, 59, 59))
    assert read(late, date(2024, 1, 12), limits) == late


def test_a_log_that_rests_for_most_of_a_year() -> None:
    for moments in (
        [datetime(2023, 1, 10), datetime(2023, 12, 1)],
        [datetime(2023, 9, 1), datetime(2024, 4, 1)],
        [datetime(2022, 12, 1), datetime(2023, 2, 1), datetime(2023, 12, 1), datetime(2024, 2, 1)],
    ):
        assert read(moments, moments[-1].date()) == moments


def test_newer_logs_before_older_ones_stay_in_their_year() -> None:
    moments = [*every(2, date(2024, 3, 1), date(2024, 3, 9)), *every(9, date(2024, 2, 1), date(2024, 2, 28))]
    assert read(moments, date(2024, 3, 10)) == moments


def test_a_clock_that_is_ahead_by_some_hours() -> None:
    moments = [datetime(2023, 12, 31, 23), datetime(2024, 1, 1, 9)]
    assert read(moments, date(2023, 12, 31)) == moments
    assert read(moments[1:], date(2023, 12, 31)) == moments[1:]


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_file_that_grows_goes_on_in_its_years(cut: int) -> None:
    moments = every(9, date(2023, 12, 1), date(2024, 2, 10))
    first, content = lines(moments[:cut]), lines(moments)
    before = Run(made(first, moments[cut - 1].date(), is_closed=False))
    (result,) = before.outcome.results
    since: dict[str, Any] = {"offset_bytes": result.committed_bytes, "offset_rows": result.committed_ordinals}
    after = Run(made(content, date(2024, 2, 10), **since))
    assert before.column("tp_timestamp") + after.column("tp_timestamp") == moments


def test_a_file_that_seems_to_be_older_than_it_was_goes_on_in_its_years() -> None:
    moments = every(2, date(2024, 4, 22), date(2024, 5, 20))
    known = datetime(2024, 5, 10, tzinfo=UTC)
    since: dict[str, Any] = {"offset_bytes": len(lines(moments[:10])), "offset_rows": 10, "committed_modified": known}
    after = Run(made(lines(moments), date(2023, 1, 1), **since))
    assert after.column("tp_timestamp")[0].year == 2023  # a line of the 11th: not later than the 10th of May 2024
    since["committed_modified"] = datetime(2024, 5, 21, tzinfo=UTC)
    assert Run(made(lines(moments), date(2023, 1, 1), **since)).column("tp_timestamp") == moments[10:]


@pytest.mark.parametrize("limits", [None, SMALL], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "format",
    [
        Regex(layout=r"^(?P<timestamp>\w{3} +\d+ [\d:]+) \S+ (?P<message>.*)$"),
        Grok(layout="%{SYSLOGTIMESTAMP:timestamp} %{HOSTNAME} %{GREEDYDATA:message}"),
    ],
    ids=lambda format: format.type,
)
def test_other_formats_decide_in_the_same_way(format: Format, limits: Limits | None) -> None:
    moments = every(9, date(2023, 6, 1), date(2023, 12, 28))
    assert read(moments, date(2024, 9, 1), limits, format=format) == moments


def test_another_time_of_a_row_lies_near_its_own_and_years_that_are_there_count() -> None:
    columns = [Column("tp_timestamp", source="a"), Column("b", "timestamp"), Column("c", "timestamp")]
    content = b"Dec 31 23:59:59|Jan  1 00:00:01|2020-01-01\nJan  2 00:00:00|Dec 31 01:00:00,5|Feb 30 01:00:00\n"
    one = made(content, date(2024, 1, 5), Regex(layout=r"^(?P<a>[^|]*)\|(?P<b>[^|]*)\|(?P<c>.*)$"))
    done = Run(replace(one, table=Table(name="things", columns=columns)))
    assert done.column("tp_timestamp") == [datetime(2023, 12, 31, 23, 59, 59), datetime(2024, 1, 2)]
    assert done.column("b") == [datetime(2024, 1, 1, 0, 0, 1), datetime(2023, 12, 31, 1, 0, 0, 500000)]
    assert done.column("c") == [datetime(2020, 1, 1), None]


def test_lines_with_and_without_years_and_no_times_at_all() -> None:
    content = (
        lines([datetime(2023, 12, 30)]) + b"2024-01-01T00:00:00Z h a: b\n<13>no time\n" + lines([datetime(2024, 1, 2)])
    )
    done = Run(made(content, date(2024, 1, 3)))
    assert done.accounts == (4, 3, 0, 1, 0)
    assert done.column("tp_timestamp") == [datetime(2023, 12, 30), datetime(2024, 1, 1), datetime(2024, 1, 2)]


def test_each_file_has_its_own_years() -> None:
    contents = {f"/logs/{n}.log": lines([datetime(2000 + n, 12, 31), datetime(2001 + n, 1, 1)]) for n in range(20)}
    one = task(contents, of=SYSLOG, format=Syslog())
    readings = [
        replace(reading, artifact=replace(reading.artifact, modified=datetime(2001 + n, 2, 1, tzinfo=UTC)))
        for n, reading in enumerate(one.readings)
    ]
    done = Run(shared(one, readings=tuple(readings)))
    found = {(row["tp_source_location"], row["tp_timestamp"].year) for row in done.rows}
    assert found == {(f"/logs/{n}.log", year) for n in range(20) for year in (2000 + n, 2001 + n)}


def test_the_years_that_rows_got_are_counted_with_their_basis() -> None:
    moments = [datetime(2023, 12, 30, 6), datetime(2023, 12, 31, 6), datetime(2024, 1, 1, 6)]
    for limits in (None, SMALL):
        (result,) = Run(made(lines(moments), date(2024, 1, 2), limits=limits)).outcome.results
        assert result.years == AssumedYears("modified", {2023: 2, 2024: 1})
    one = made(lines(moments), date(2030, 1, 2))
    readings = tuple(replace(x, artifact=replace(x.artifact, day=date(2024, 1, 1))) for x in one.readings)
    (result,) = Run(shared(one, readings=readings)).outcome.results
    assert result.years == AssumedYears("path", {2023: 2, 2024: 1})


def test_times_with_a_year_assume_none() -> None:
    (result,) = Run(made(b"2024-01-31T10:00:00Z web1 app: x\n", date(2024, 2, 1))).outcome.results
    assert result.years is None
