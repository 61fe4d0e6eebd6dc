"""The meter: every moment counts for one phase."""

from __future__ import annotations

import time

import pytest

from tailpipe.model.meter import PHASES, Meter, Spent, added, ordered


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which the test moves; the CPU goes at half its pace."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "process_time", lambda: now[0] / 2)
    return now


def test_a_phase_inside_another_is_not_counted_twice(clock: list[float]) -> None:
    meter = Meter()
    with meter("parse"):
        clock[0] += 1
        with meter("fetch"):
            clock[0] += 2
            with meter("parse"):
                clock[0] += 4
        clock[0] += 8
    clock[0] += 16
    with meter("write"):
        clock[0] += 32
    assert meter.spent == {"parse": Spent(13, 6.5), "fetch": Spent(2, 1), "write": Spent(32, 16)}


def test_a_phase_that_fails_counts_too(clock: list[float]) -> None:
    meter = Meter()

    def fail() -> None:
        clock[0] += 3
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), meter("list"):
        meter.timed("fetch", fail)()
    assert meter.spent == {"list": Spent(0, 0), "fetch": Spent(3, 1.5)}


def test_what_others_have_spent_is_added() -> None:
    meter = Meter()
    meter.add({"parse": Spent(1, 2)})
    meter.add({"parse": Spent(3, 4), "write": Spent(5, 6)})
    assert meter.spent == {"parse": Spent(4, 6), "write": Spent(5, 6)}
    assert added({}, {}) == {}
    assert Spent(4, 2).times(0.25) == Spent(1, 0.5)


def test_phases_are_reported_in_their_order() -> None:
    spent = {phase: Spent(1, 1) for phase in reversed(PHASES)}
    assert list(ordered(spent)) == list(PHASES)
