"""Sets of days are sets: whatever spans they are made of, they do what Python's own sets of dates do."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, DaySet

FIRST = date(2024, 2, 20)
DAYS = [FIRST + timedelta(days=number) for number in range(20)]
SPANS = st.lists(st.tuples(st.sampled_from(DAYS), st.sampled_from(DAYS)), max_size=6)
"""Some of them are turned, overlap, or meet."""


def plain(spans: list[tuple[date, date]]) -> set[date]:
    return {day for day in DAYS for first, last in spans if first <= day <= last}


@given(SPANS)
@example([(DAYS[3], DAYS[1]), (DAYS[5], DAYS[6])])
@example([(DAYS[1], DAYS[2]), (DAYS[3], DAYS[4])])
@example([(DAYS[1], DAYS[9]), (DAYS[3], DAYS[4])])
def test_a_set_holds_the_days_of_its_spans_once_and_in_order(spans: list[tuple[date, date]]) -> None:
    made, days = DaySet(tuple(spans)), plain(spans)
    assert list(made) == sorted(days)
    assert (len(made), bool(made)) == (len(days), bool(days))
    assert (made.first, made.last) == (min(days, default=None), max(days, default=None))
    assert [day for day in DAYS if day in made] == sorted(days)
    assert made == DaySet.of(days) == DaySet.of(sorted(days, reverse=True)) == DaySet.parse(str(made))


@given(SPANS, SPANS)
def test_sets_are_joined_and_cut_as_others_are(one: list[tuple[date, date]], other: list[tuple[date, date]]) -> None:
    a, b = DaySet(tuple(one)), DaySet(tuple(other))
    assert set(a | b) == plain(one) | plain(other)
    assert set(a & b) == plain(one) & plain(other)
    assert set(a - b) == plain(one) - plain(other)
    assert DaySet.union([a, b]) == a | b


@given(SPANS)
def test_all_days_but_some_are_the_others_up_to_both_ends_of_the_calendar(spans: list[tuple[date, date]]) -> None:
    some = DaySet(tuple(spans))
    rest = EVERY_DAY - some
    assert rest & some == NO_DAYS
    assert rest | some == EVERY_DAY
    assert len(rest) == date.max.toordinal() - len(some)
    assert {date.min, date.max} <= {rest.first, rest.last}
    assert EVERY_DAY - rest == some


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (NO_DAYS, ""),
        (DaySet.of([date(2024, 2, 29)]), "2024-02-29"),
        (DaySet.span(date(2024, 2, 28), date(2024, 3, 1)), "2024-02-28..2024-03-01"),
        (DaySet.of([date(2024, 3, 3), date(2024, 3, 1), date(2024, 3, 2)]), "2024-03-01..2024-03-03"),
        (DaySet.of([date(2024, 3, 3), date(2024, 3, 1)]), "2024-03-01, 2024-03-03"),
        (DaySet.span(date(2024, 3, 2), date(2024, 3, 1)), ""),
        (EVERY_DAY, "0001-01-01..9999-12-31"),
    ],
)
def test_a_set_is_written_as_spans(days: DaySet, text: str) -> None:
    assert str(days) == text
    assert DaySet.parse(text) == days


def test_what_is_no_day_is_in_no_set() -> None:
    assert "2024-01-01" not in EVERY_DAY
