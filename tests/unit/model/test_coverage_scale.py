"""Sets of many spans: what two of them have in common is found in one walk along both."""

from __future__ import annotations

from datetime import date, timedelta

from tailpipe.model.coverage import Coverage, DaySet
from tests.counting import calls

FIRST = date(2024, 1, 1)


def every_other(count: int, start: int = 0) -> DaySet:
    return DaySet.of(FIRST + timedelta(days=2 * number + start) for number in range(count))


def test_sets_with_holes_are_compared_in_one_walk() -> None:
    small, large = (every_other(count) for count in (200, 400))
    assert small & large == small
    assert not every_other(200, 1) & small
    once, twice = calls(lambda: small & small), calls(lambda: large & large)
    assert twice < 2.5 * once
    once, twice = calls(lambda: Coverage(small, every_other(200, 1))), calls(lambda: Coverage(large, NO))
    assert twice < 2.5 * once


def test_a_day_is_looked_up_without_a_look_at_every_span() -> None:
    days = every_other(400)
    assert [FIRST + timedelta(days=day) in days for day in (-1, 0, 1, 798, 799)] == [False, True, False, True, False]
    assert date.max in DaySet.span(FIRST, date.max)
    assert FIRST not in DaySet()
    assert "2024-01-01" not in days
    last = FIRST + timedelta(days=798)
    assert calls(lambda: last in days) < 10


NO = every_other(400, 1)
