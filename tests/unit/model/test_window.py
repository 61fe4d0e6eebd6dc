"""Windows: every form in which a time is written, and what half-open means for days."""

from __future__ import annotations

import pickle
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.errors import UsageError
from tailpipe.model.window import Window, parse_moment

NOW = datetime(2024, 5, 31, 10, 30, 15, 250_000, UTC)
DAY = timedelta(days=1)


def moments(first: int, last: int) -> st.SearchStrategy[datetime]:
    """Times of these years, in UTC."""
    bounds = [datetime(year, 1, 1) for year in (first, last)]
    return st.datetimes(*bounds, timezones=st.just(UTC))


MOMENTS = moments(2000, 2030)
SPANS = st.timedeltas(timedelta(0), timedelta(days=40)) | st.integers(0, 40).map(lambda days: timedelta(days=days))


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


def moment(text: str, *, now: datetime = NOW, is_end: bool = False) -> datetime:
    return parse_moment(text, now=now, is_end=is_end)


# How a moment is written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31", utc(2024, 1, 31)),
        ("  2024-01-31 ", utc(2024, 1, 31)),
        ("20240131", utc(2024, 1, 31)),
        ("2024-02-29", utc(2024, 2, 29)),
        ("2000-02-29", utc(2000, 2, 29)),
        ("2024-01-31T10:00:00Z", utc(2024, 1, 31, 10)),
        ("2024-01-31T10:00:00", utc(2024, 1, 31, 10)),
        ("2024-01-31 10:00", utc(2024, 1, 31, 10)),
        ("2024-01-31T10:00:00.5", utc(2024, 1, 31, 10, 0, 0, 500_000)),
        ("2024-01-31T10:00:00+02:00", utc(2024, 1, 31, 8)),
        ("2024-01-31T23:30:00-05:30", utc(2024, 2, 1, 5)),
        ("2024-02-28T23:30:00-01:00", utc(2024, 2, 29, 0, 30)),
        ("1/31/2024", utc(2024, 1, 31)),
        ("01/05/2024", utc(2024, 1, 5)),
        ("2/29/2024", utc(2024, 2, 29)),
        ("1/31/2024 10:00", utc(2024, 1, 31, 10)),
        ("1/31/2024T10:00:00+01:00", utc(2024, 1, 31, 9)),
    ],
)
def test_a_date_or_time_is_read_as_utc_unless_it_names_a_zone(text: str, expected: datetime) -> None:
    read = moment(text)
    assert read == expected
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T-180d", utc(2023, 12, 3, 10, 30, 15, 250_000)),
        ("T-0d", NOW),
        ("T-1Y", utc(2023, 5, 31, 10, 30, 15, 250_000)),
        ("T-1m", utc(2024, 4, 30, 10, 30, 15, 250_000)),
        ("T-3m", utc(2024, 2, 29, 10, 30, 15, 250_000)),
        ("T-15m", utc(2023, 2, 28, 10, 30, 15, 250_000)),
        ("T-5m", utc(2023, 12, 31, 10, 30, 15, 250_000)),
        ("T-12m", utc(2023, 5, 31, 10, 30, 15, 250_000)),
        ("T-2W", utc(2024, 5, 17, 10, 30, 15, 250_000)),
        ("T-11H", utc(2024, 5, 30, 23, 30, 15, 250_000)),
        ("T-45M", utc(2024, 5, 31, 9, 45, 15, 250_000)),
    ],
)
def test_a_time_may_count_back_from_now(text: str, expected: datetime) -> None:
    assert moment(text) == expected
    assert moment(text, is_end=True) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("T-1Y", utc(2023, 2, 28)), ("T-4Y", utc(2020, 2, 29)), ("T-100Y", utc(1924, 2, 29)), ("T-12m", utc(2023, 2, 28))],
)
def test_a_leap_day_counted_back_becomes_the_last_day_of_february(text: str, expected: datetime) -> None:
    assert moment(text, now=utc(2024, 2, 29)) == expected


def test_counting_back_starts_from_now_in_utc_whatever_its_zone() -> None:
    now = datetime(2024, 3, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert moment("T-1m", now=now) == utc(2024, 1, 29, 23)


@given(moments(1900, 2900), st.integers(0, 600))
def test_counting_back_months_keeps_the_day_or_takes_the_last_of_the_month(now: datetime, months: int) -> None:
    back = moment(f"T-{months}m", now=now)
    assert (now.year * 12 + now.month) - (back.year * 12 + back.month) == months
    assert back.day == now.day or (back.day < now.day and (back + DAY).month != back.month)
    assert back.time() == now.time()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31", utc(2024, 2, 1)),
        ("20240131", utc(2024, 2, 1)),
        ("2024-W05-3", utc(2024, 2, 1)),
        ("1/31/2024", utc(2024, 2, 1)),
        ("yesterday", utc(2024, 5, 31)),
        ("2024-02-28", utc(2024, 2, 29)),
        ("2023-02-28", utc(2023, 3, 1)),
        ("2023-12-31", utc(2024, 1, 1)),
        ("2024-01-31T00:00", utc(2024, 1, 31)),
        ("2024-01-31T00:00:00Z", utc(2024, 1, 31)),
        ("1/31/2024 00:00", utc(2024, 1, 31)),
    ],
)
def test_only_a_bare_date_as_the_end_includes_that_day(text: str, expected: datetime) -> None:
    assert moment(text, is_end=True) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "2024",
        "2024-13-01",
        "2023-02-29",
        "1900-02-29",
        "2024-01-31T25:00",
        "13/31/2024",
        "2/30/2024",
        "31.1.2024",
        "1/31/24",
        "T-7",
        "T-d",
        "T7d",
        "T+7d",
        "T--7d",
        "T-1.5d",
        "T-7dd",
        "T-9999999d",
        "T-999999Y",
        "T-999999W",
        "T-2024Y",
        "T-2023Y",
        "0001-01-01",
        "0001-01-01T00:00:00+05:00",
        "9999-12-31",
        "9999-12-31T23:59:59-05:00",
        "2024-01-31\x00",
        "٢٠٢٤-٠١-٣١",
    ],
)
@pytest.mark.parametrize("is_end", [False, True])
def test_what_is_no_time_is_refused_with_the_forms(text: str, is_end: bool) -> None:
    with pytest.raises(UsageError) as refused:
        moment(text, is_end=is_end)
    assert refused.value.message == f'"{text}" is not a time'
    for form in ("2024-01-31", "2024-01-31T10:00:00Z", "1/31/2024", "T-7d", "Y m W d H M"):
        assert form in refused.value.hint


@pytest.mark.parametrize(
    ("text", "meant"), [("T-1h", "T-1H"), ("T-7D", "T-7d"), ("t-5M", ""), ("7d", "T-7d"), ("-2w", "T-2W"), ("5m", "")]
)
def test_a_span_that_is_nearly_right_is_told(text: str, meant: str) -> None:
    with pytest.raises(UsageError) as refused:
        moment(text)
    assert refused.value.hint.startswith(f'did you mean "{meant}"?' if meant else "use a date")


@given(st.text())
def test_random_text_is_a_time_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        assert moment(text).tzinfo is UTC


@given(moments(2, 9998))
def test_a_printed_time_is_read_as_the_same_time(expected: datetime) -> None:
    assert moment(expected.replace(tzinfo=None).isoformat()) == expected
    assert moment(expected.isoformat(), is_end=True) == expected


# Windows


def test_a_window_without_an_end_ends_now_and_without_a_start_looks_back_30_days() -> None:
    assert Window.parse(None, None, now=NOW) == Window(NOW - 30 * DAY, NOW)
    assert Window.parse(None, "2024-01-31", now=NOW) == Window(utc(2024, 1, 2), utc(2024, 2, 1))
    assert Window.parse("T-180d", None, now=NOW) == Window(NOW - 180 * DAY, NOW)


def test_the_same_date_as_start_and_end_is_that_whole_day() -> None:
    window = Window.parse("2024-02-29", "2/29/2024", now=NOW)
    assert window == Window.of_day(date(2024, 2, 29)) == Window(utc(2024, 2, 29), utc(2024, 3, 1))


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [
        ("2024-01-31T10:00", "2024-01-31", utc(2024, 1, 31, 10), utc(2024, 2, 1)),
        ("T-5H", "5/31/2024", NOW - timedelta(hours=5), utc(2024, 6, 1)),
    ],
)
def test_a_window_from_a_time_of_the_day_that_ends_it_is_the_rest_of_that_day(
    start: str, end: str, first: datetime, last: datetime
) -> None:
    assert Window.parse(start, end, now=NOW) == Window(first, last)


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        ("2024-02-01", "2024-01-01", "from 2024-02-01T00:00:00Z to 2024-01-01T00:00:00Z"),
        ("2024-01-31", "2024-01-30", "from 2024-01-31T00:00:00Z to 2024-01-30T00:00:00Z"),
        ("2024-01-31T10:00", "2024-01-31T09:59", "from 2024-01-31T10:00:00Z to 2024-01-31T09:59:00Z"),
        ("2025-01-01", "2024-12-01", "from 2025-01-01T00:00:00Z to 2024-12-01T00:00:00Z"),
        ("T-1d", "T-2d", "from 2024-05-30T10:30:15Z to 2024-05-29T10:30:15Z"),
    ],
)
def test_a_window_that_ends_before_it_begins_is_refused(start: str, end: str, shown: str) -> None:
    with pytest.raises(UsageError) as refused:
        Window.parse(start, end, now=NOW)
    assert refused.value.message == f"the window ends before it starts: {shown}"
    assert refused.value.hint == "swap --from and --to"


def test_a_start_in_the_future_is_told_as_that() -> None:
    with pytest.raises(UsageError) as refused:
        Window.parse("2025-01-01", None, now=NOW)
    assert (refused.value.message, refused.value.hint) == (
        '"2025-01-01" is in the future',
        "use a past time, or both --from and --to",
    )


def test_a_start_inside_the_day_that_is_the_end_is_a_window() -> None:
    assert Window.parse("2024-01-31", "2024-01-31", now=NOW).end == utc(2024, 2, 1)
    with pytest.raises(UsageError):
        Window.parse("2024-01-31T10:00", "2024-01-30", now=NOW)


def test_nonsense_at_either_end_is_refused() -> None:
    for start, end in (("soon", None), (None, "soon"), ("soon", "later")):
        with pytest.raises(UsageError, match="is not a time"):
            Window.parse(start, end, now=NOW)


def test_a_window_needs_a_time_zone_and_keeps_utc() -> None:
    with pytest.raises(ValueError, match="a window needs a time zone"):
        Window(datetime(2024, 1, 1), utc(2024, 1, 2))
    there = timezone(timedelta(hours=2))
    window = Window(datetime(2024, 1, 1, 1, tzinfo=there), datetime(2024, 1, 2, tzinfo=there))
    assert window == Window(utc(2023, 12, 31, 23), utc(2024, 1, 1, 22))
    assert window.start.tzinfo is window.end.tzinfo is UTC


def test_the_start_is_in_the_window_and_the_end_is_not() -> None:
    window = Window(utc(2024, 1, 1), utc(2024, 1, 2))
    assert window.start in window
    assert window.end - timedelta.resolution in window
    assert window.end not in window
    assert window.start - timedelta.resolution not in window
    assert datetime(2024, 1, 2, 1, tzinfo=timezone(timedelta(hours=2))) in window
    assert "2024-01-01" not in window


def test_neighbouring_days_share_no_moment_and_leave_none_out() -> None:
    first, second = Window.of_day(date(2024, 2, 28)), Window.of_day(date(2024, 2, 29))
    assert first.end == second.start
    assert first.end not in first
    assert first.end in second


def test_a_window_is_frozen_ordered_picklable_and_shown_half_open() -> None:
    window = Window(utc(2024, 1, 1), utc(2024, 1, 2, 12))
    with pytest.raises(AttributeError):
        window.start = NOW  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(window)) == window
    assert hash(pickle.loads(pickle.dumps(window))) == hash(window)
    assert window < Window(utc(2024, 1, 2), utc(2024, 1, 3))
    assert str(window) == "[2024-01-01T00:00:00Z, 2024-01-02T12:00:00Z)"


# Days


@pytest.mark.parametrize(
    ("start", "end", "days"),
    [
        (utc(2024, 2, 28), utc(2024, 2, 29), [date(2024, 2, 28)]),
        (utc(2024, 2, 28, 23, 59), utc(2024, 3, 1), [date(2024, 2, 28), date(2024, 2, 29)]),
        (utc(2023, 2, 28), utc(2023, 3, 1, 0, 0, 1), [date(2023, 2, 28), date(2023, 3, 1)]),
        (utc(2023, 12, 31, 12), utc(2024, 1, 1, 12), [date(2023, 12, 31), date(2024, 1, 1)]),
        (utc(2024, 1, 1, 10), utc(2024, 1, 1, 11), [date(2024, 1, 1)]),
        (utc(2024, 1, 1), utc(2024, 1, 1), []),
    ],
)
def test_a_window_is_widened_to_the_days_it_touches(start: datetime, end: datetime, days: list[date]) -> None:
    window = Window(start, end)
    assert list(window.days()) == days
    assert [day for day in (start.date() + n * DAY for n in range(-2, 5)) if window.touches(day)] == days
    if days:
        assert window.widened() == Window(Window.of_day(days[0]).start, Window.of_day(days[-1]).end)


def test_collecting_can_be_asked_for_the_first_and_last_years_there_are() -> None:
    window = Window.parse("0002-01-01", "9998-12-31", now=NOW).widened()
    assert window.end == utc(9999, 1, 1)
    assert window.touches(date(9998, 12, 31))
    assert Window.parse(None, "0002-01-01", now=NOW).start == utc(1, 12, 3)


@given(MOMENTS, SPANS)
def test_widening_covers_the_window_with_less_than_a_day_to_spare_and_is_done_once(
    start: datetime, span: timedelta
) -> None:
    window = Window(start, start + span)
    whole = window.widened()
    assert timedelta(0) <= window.start - whole.start < DAY
    assert timedelta(0) <= whole.end - window.end < DAY
    assert (whole.end - whole.start) % DAY == timedelta(0)
    assert whole.widened() == whole


@given(MOMENTS, SPANS)
def test_the_days_of_a_window_follow_each_other_and_are_those_it_touches(start: datetime, span: timedelta) -> None:
    window = Window(start, start + span)
    days = list(window.days())
    assert days == list(window.widened().days())
    assert all(later - earlier == DAY for earlier, later in pairwise(days))
    around = [start.date() + n * DAY for n in range(-2, span.days + 4)]
    assert [day for day in around if window.touches(day)] == days
    if days:
        assert window.widened() == Window(Window.of_day(days[0]).start, Window.of_day(days[-1]).end)


@given(MOMENTS, SPANS, MOMENTS)
def test_a_moment_in_the_window_lies_on_one_of_its_days(start: datetime, span: timedelta, other: datetime) -> None:
    window = Window(start, start + span)
    for candidate in (window.start, window.end, window.end - timedelta.resolution, other):
        if candidate in window:
            assert window.touches(candidate.date())
            assert candidate.date() in list(window.days())
