"""The time that is left: nothing at first, then a steady number."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tailpipe.cli.estimate import Estimate


def estimates(lumps: list[tuple[float, int]], total: int) -> list[tuple[float, float]]:
    """For each half second the estimate, with the truth, of a run whose lumps of bytes come at these moments."""
    estimate, end, found = Estimate(total), lumps[-1][0], []
    for half in range(int(end * 2)):
        now = half / 2
        for at, done in lumps:
            if at <= now:
                estimate.advance(done, at)
        if (left := estimate.seconds_left(now)) is not None:
            found.append((left, end - now))
    return found


def test_days_of_very_different_size_give_a_steady_estimate() -> None:
    sizes = [1, 1, 12, 1, 1, 12, 1, 1, 12, 1, 1, 12]
    lumps, now, done = [], 8.0, 0  # Spark takes eight seconds to start
    for size in sizes:
        now, done = now + size * 1.0, done + size * 1000
        lumps.append((now, done))
    found = estimates(lumps, done)
    assert found
    assert all(0.6 * truth - 2 <= left <= 1.5 * truth + 2 for left, truth in found)
    changes = [second - first for (first, _), (second, _) in pairwise(found)]
    assert max(changes) < 6  # it does not jump up


@pytest.mark.parametrize("lumps", [[(1.0, 10)], [(1.0, 10), (2.0, 50)], [(1.0, 10), (9.0, 12)]])
def test_nothing_is_shown_before_it_says_something(lumps: list[tuple[float, int]]) -> None:
    estimate = Estimate(100)
    for at, done in lumps:
        estimate.advance(done, at)
    assert estimate.seconds_left(lumps[-1][0]) is None


def test_tasks_that_run_again_take_nothing_back() -> None:
    estimate = Estimate(100)
    for at, done in [(0.0, 10), (5.0, 30), (10.0, 50), (11.0, 20), (12.0, 50)]:
        estimate.advance(done, at)
    assert estimate.seconds_left(12.0) == pytest.approx(10.5, abs=1)


def test_an_estimate_that_is_over_is_not_shown() -> None:
    estimate = Estimate(100)
    for at, done in [(0.0, 10), (5.0, 90)]:
        estimate.advance(done, at)
    assert estimate.seconds_left(5.0) is None
