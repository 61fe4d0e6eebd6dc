from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tailpipe.config.dates import format_date, parse_timestamp
from tailpipe.errors import UsageError
from tailpipe.model.duration import parse_duration

MOMENT = datetime(2024, 3, 1, 0, 5, 9, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=1))
NEW_YORK = timezone(timedelta(hours=-4, minutes=-30))


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("-168h", timedelta(days=-7)),
        ("1h30m", timedelta(minutes=90)),
        ("+90s", timedelta(seconds=90)),
        ("-365d", timedelta(days=-365)),
        ("2w", timedelta(weeks=2)),
        ("1w2d3h4m5s", timedelta(weeks=1, days=2, hours=3, minutes=4, seconds=5)),
        ("1.5h", timedelta(minutes=90)),
        ("250ms", timedelta(milliseconds=250)),
        ("10us", timedelta(microseconds=10)),
        ("1000ns", timedelta(microseconds=1)),
        (" 7d ", timedelta(days=7)),
        ("0s", timedelta()),
    ],
)
def test_a_duration_is_read(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize("text", ["", "7", "d", "7 d", "-", "1y", "1h-30m", "--1h", "1h,5m", "P7D", "7D"])
def test_what_is_not_a_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as -168h, 1h30m, 7d or 2w"):
        parse_duration(text)


def test_a_duration_beyond_all_time_is_refused() -> None:
    with pytest.raises(ValueError, match="out of range"):
        parse_duration("9" * 400 + "d")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-03-01T00:05:09Z", MOMENT),
        ("2024-03-01T01:05:09+01:00", MOMENT),
        ("2024-03-01T00:05:09", MOMENT),
        ("2024-03-01 00:05:09", MOMENT),
        ("2024-03-01", datetime(2024, 3, 1, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_and_is_utc_if_it_names_no_zone(text: str, moment: datetime) -> None:
    assert parse_timestamp(text) == moment


def test_a_time_keeps_its_zone() -> None:
    assert parse_timestamp("2024-03-01T01:05:09+01:00").utcoffset() == timedelta(hours=1)


@pytest.mark.parametrize("text", ["", "now", "1/31/2024", "2024-13-01", "2024-02-30T00:00:00Z", "1709251509"])
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time such as"):
        parse_timestamp(text)


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("YYYY-MM-DD", "2024-03-01"),
        ("YY M D", "24 3 1"),
        ("EEEE, D MMMM YYYY", "Friday, 1 March 2024"),
        ("EEE MMM", "Fri Mar"),
        ("hh:mm:ss", "00:05:09"),
        ("h:m:s", "0:5:9"),
        ("HH AA", "12 AM"),
        ("H aa", "12 am"),
        ("YYYY-MM-DD'T'hh:mm:ssZ", "2024-03-01T00:05:09Z"),
        ("'o''clock'", "o'clock"),
        ("''", ""),
        ("", ""),
        ("ZZZZZ ZZZZ ZZZ Z", "+00:00 +0000 UTC Z"),
        ("1/2\n%", "1/2\n%"),
    ],
)
def test_a_layout_is_filled(layout: str, text: str) -> None:
    assert format_date(layout, MOMENT) == text


@pytest.mark.parametrize(("hour", "text"), [(0, "12 AM"), (1, "01 AM"), (11, "11 AM"), (12, "12 PM"), (23, "11 PM")])
def test_twelve_hours_go_round_at_noon_and_midnight(hour: int, text: str) -> None:
    assert format_date("HH AA", MOMENT.replace(hour=hour)) == text


def test_zones_beside_utc_are_written_out() -> None:
    layout = "ZZZZZ ZZZZ ZZZ Z"
    assert format_date(layout, MOMENT.astimezone(BERLIN)) == "+01:00 +0100 +0100 +01:00"
    assert format_date(layout, MOMENT.astimezone(NEW_YORK)) == "-04:30 -0430 -0430 -04:30"


@pytest.mark.parametrize("layout", ["yyyy", "Y", "YYYYY", "MMMMM", "dd", "X", "YYYYMMDDx", "T"])
def test_letters_that_mean_nothing_are_refused(layout: str) -> None:
    with pytest.raises(UsageError, match="is no part of a date") as caught:
        format_date(layout, MOMENT)
    assert "single quotes" in caught.value.hint


def test_an_open_quote_is_refused() -> None:
    with pytest.raises(ValueError, match="quote is not closed"):
        format_date("YYYY'T", MOMENT)


def test_every_month_and_weekday_has_its_name() -> None:
    days = [datetime(2024, month, month, tzinfo=UTC) for month in range(1, 13)]
    assert " ".join(format_date("MMM", day) for day in days) == "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
    week = [datetime(2024, 1, day, tzinfo=UTC) for day in range(1, 8)]
    assert " ".join(format_date("EEE", day) for day in week) == "Mon Tue Wed Thu Fri Sat Sun"
