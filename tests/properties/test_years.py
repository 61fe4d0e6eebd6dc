"""Years that were taken from times come back, however the lines are divided into batches."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.kernel.years import Years
from tests.examples import examples

MONTHS = 14 * 31


@settings(max_examples=examples(400), deadline=None)
@given(
    st.dates(date(1999, 1, 1), date(2026, 1, 1)),
    st.lists(st.one_of(st.integers(0, 2), st.integers(0, 170)), max_size=40),
    st.lists(st.integers(0, 3), min_size=41, max_size=41),
    st.integers(0, 300),
    st.integers(1, 45),
)
def test_the_years_of_a_log_come_back(first: date, gaps: list[int], disorder: list[int], later: int, size: int) -> None:
    days = [first]
    for gap in gaps:
        if (days[-1] - first).days + gap <= MONTHS:
            days.append(days[-1] + timedelta(days=gap))
    mixed = [day - timedelta(days=back) for day, back in zip(days, disorder, strict=False)]
    latest = max(mixed[-1], mixed[-1] + timedelta(days=later))
    month_days = np.array([day.month * 100 + day.day for day in mixed])
    ordinals = np.arange(1, len(mixed) + 1)

    def read(years: Years) -> list[date]:
        found = []
        for start in range(0, len(mixed), size):
            some = slice(start, start + size)
            found += years.dates(np.zeros(len(ordinals[some]), int), ordinals[some], month_days[some]).tolist()
        return found

    years = Years([latest], {})
    found = read(years)
    if wrong := years.wrong():
        again = Years([latest], wrong)
        found = read(again)
        assert again.wrong() == {}
    assert found == mixed
