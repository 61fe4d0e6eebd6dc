"""What a run may take: the frontier, days that nobody requested, and clocks that were wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

import pytest

from tailpipe.collect.identity import decide
from tailpipe.collect.item import WorkItem
from tailpipe.collect.plan import Plan, SourceState
from tailpipe.collect.planning import plan_units
from tailpipe.collect.scope import check_clock, listing
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import NO_DAYS, Advance, Cover, Coverage, DaySet, Request
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.request import Collect
from tailpipe.model.window import requested_window
from tests.unit.collect.test_planning import (
    NOW,
    TODAY,
    days,
    june,
    known,
    make,
    new,
    reasons,
    source,
    span,
    window,
)


def test_gaps_are_what_was_requested_and_what_came_since() -> None:
    assert Coverage().gaps(TODAY) == NO_DAYS
    assert Coverage(dropped=span(1, 29), frontier=date(2024, 6, 29)).gaps(TODAY) == june(30)
    assert Coverage(covered=june(3)).gaps(TODAY) == NO_DAYS
    assert Coverage(covered=june(3, 20), missing=june(4), frontier=date(2024, 6, 28)).gaps(TODAY) == june(4, 28, 29, 30)


def test_days_that_nobody_requested_are_neither_listed_nor_taken() -> None:
    hole = "not requested: use --from or --fill"
    for lists_all in (True, False):
        state = source(covered=june(3) | span(20, 30), lists_all=lists_all)
        assert june(10) & listing([state], Collect(NOW), {})["s"] == NO_DAYS
        plan = make(state, [new("a", 10), new("b", 4)])
        assert not plan.units
        assert reasons(plan) == {"a": hole, "b": hole}
        assert state.coverage.not_requested(date(2024, 6, 1), TODAY) == june(1, 2) | span(4, 19)


def test_filling_takes_the_days_that_nobody_requested_and_none_that_was_dropped() -> None:
    for lists_all in (True, False):
        state = source(covered=june(3) | span(20, 30), dropped=june(7), lists_all=lists_all)
        request = Collect(NOW, fill=True)
        assert (span(4, 6) | span(8, 19)) - listing([state], request, {})["s"] == NO_DAYS
        plan = make(state, [new("a", 10), new("b", 7), new("c", 2)], request=request)
        assert days(plan) == [10]
        assert reasons(plan) == {
            "b": "dropped: use --from",
            "c": "before the first day: use --from",
        }
        assert plan.requests == {"s": span(4, 6) | span(8, 19)}
        assert not make(state, [new("a", 10)], request=replace(request, oldest=date(2024, 6, 11))).units


def test_a_source_that_came_later_is_filled_from_the_first_day_of_its_partition() -> None:
    state = replace(source("t", covered=span(25, 30)), since=date(2024, 6, 3))
    assert listing([state], Collect(NOW, fill=True), {}) == {"t": span(3, 30)}
    assert listing([state], Collect(NOW), {}) == {"t": span(25, 30)}


def test_only_a_run_without_an_end_moves_the_frontier() -> None:
    state = source(covered=span(1, 27))
    assert make(state, []).frontiers == {"s": TODAY}
    assert make(state, [], request=Collect(NOW, replace(window(29, 30), is_open=True))).frontiers == {"s": TODAY}
    assert make(state, [], request=Collect(NOW, window(28, 30))).frontiers == {}
    assert make(state, [], request=Collect(NOW, fill=True)).frontiers == {"s": TODAY}
    assert make(source(covered=span(1, 30)), []).frontiers == {}


def test_a_window_without_an_end_over_days_that_are_here_still_moves_the_frontier() -> None:
    plan = make(
        source(covered=span(1, 30), frontier=None),
        [],
        request=Collect(NOW, replace(window(1, 30), is_open=True)),
    )
    assert (plan.units, plan.closing, plan.frontiers, plan.is_empty) == ((), (), {"s": TODAY}, False)


def test_overwriting_the_last_thirty_days_leaps_over_none() -> None:
    old = replace(
        source(), coverage=Coverage(DaySet.span(date(2024, 4, 1), date(2024, 4, 20)), frontier=date(2024, 4, 20))
    )
    assert make(old, [], request=Collect(NOW, overwrite=True)).frontiers == {}
    assert make(source(covered=span(1, 20)), [], request=Collect(NOW, overwrite=True)).frontiers == {"s": TODAY}


def test_without_a_frontier_the_last_thirty_days_are_taken_newest_first() -> None:
    state = replace(source(covered=june(20), frontier=None, lists_all=False), since=date(2024, 3, 5))
    assert listing([state], Collect(NOW), {})["s"] == DaySet.span(date(2024, 5, 31), TODAY)
    assert days(make(state, [new("a", 3), new("b", 30), new("c", 21)])) == [30, 21, 3]


def test_a_lost_date_that_nobody_requested_comes_back_with_its_day() -> None:
    lost = {Unit(day=date(2024, 6, 20)): june(19, 20)}
    state = source(covered=june(3) | span(21, 30), missing=june(20))
    (unit,) = make(state, [known("a", 20)], lost=lost).units
    assert (unit.restores, unit.artifacts[0].dates) == (june(19, 20), None)


@pytest.mark.parametrize(("start", "end"), [("2024-06-01", None), (None, "2024-06-01"), ("2024-06-01", "2024-06-02")])
def test_filling_has_no_window_and_replaces_nothing(start: str | None, end: str | None) -> None:
    with pytest.raises(UsageError, match="--fill cannot be combined with --from or --to"):
        Collect(NOW, requested_window(start, end, now=NOW), fill=True)
    with pytest.raises(UsageError, match="--fill cannot be combined with --overwrite"):
        Collect(NOW, overwrite=True, fill=True)


def test_only_from_without_to_has_no_end() -> None:
    ends = (("T-3d", None), ("T-3d", "T-1d"), (None, "T-1d"), (None, None))
    requests = [Collect(NOW, requested_window(*pair, now=NOW)) for pair in ends]
    assert [request.is_open for request in requests] == [True, False, False, True]


def taken(kind: str, day: date, as_of: datetime) -> LedgerEntry:
    """A day of a command or an API, as the ledger has it."""
    uri = f"{kind}/{day}"
    return LedgerEntry(uri, "s", Unit(day=day), as_of, uri=uri, kind=kind)  # type: ignore[arg-type]


def planned(entries: list[LedgerEntry], state: SourceState, request: Collect) -> Plan:
    """The plan of a source that gives a run or range for each day that it has to list."""
    kind = entries[0].kind
    listed = [
        WorkItem("s", Artifact(f"{kind}/{day}", day=day, kind=kind)) for day in listing([state], request, {})["s"]
    ]
    decisions = decide(listed, entries, {}, now=request.now)
    return plan_units([state], decisions, request, ledger=entries)


@pytest.mark.parametrize("kind", ["run", "range"])
@pytest.mark.parametrize("ahead", [1, 2])
def test_a_day_that_was_taken_while_the_clock_was_ahead_is_taken_again(kind: str, ahead: int) -> None:
    wrong = NOW + timedelta(days=ahead)
    entries = [taken(kind, TODAY + timedelta(days=count), wrong) for count in range(-3, ahead + 1)]
    covered = DaySet.span(date(2024, 6, 1), wrong.date())
    coverage = Coverage(covered, unsettled=DaySet.span(wrong.date() - timedelta(days=2), wrong.date()))
    state = SourceState("s", replace(coverage, frontier=wrong.date()), lists_all=False)
    plan = planned(entries, state, Collect(NOW))
    assert TODAY.day in days(plan)
    assert plan.frontiers == {"s": TODAY}
    # Days that have not come yet are corrected at once: once the clock has passed that time, nobody could tell.
    assert {(entry.unit.day, entry.as_of) for entry in plan.noted} >= {
        (TODAY + timedelta(days=count), NOW) for count in range(1, ahead + 1)
    }
    corrected = state.coverage.after(Advance(TODAY))
    assert corrected.covered.last == corrected.frontier == TODAY


def test_a_run_that_was_taken_while_the_clock_was_ahead_is_complete_once_its_day_is_over() -> None:
    wrong = NOW + timedelta(days=1)
    state = source(covered=span(1, 30), unsettled=span(28, 30))
    before = [taken("run", day, wrong) for day in span(1, 30)]
    assert days(planned(before, state, Collect(NOW))) == [30]
    again = [*before[:-1], replace(before[-1], as_of=NOW)]
    tomorrow = NOW + timedelta(days=1)
    assert days(planned(again, state, Collect(tomorrow))) == [30, 1]
    done = [*before[:-1], replace(before[-1], as_of=tomorrow)]
    assert days(planned(done, state, Collect(tomorrow + timedelta(hours=1)))) == [1]


def test_a_run_of_no_day_is_asked_again_after_the_clock_was_ahead() -> None:
    entry = LedgerEntry("c", "s", Unit(pack="p"), NOW + timedelta(days=1), uri="c", kind="run")
    (decision,) = decide([WorkItem("s", Artifact("c", kind="run"))], [entry], {}, now=NOW)
    assert (decision.fate, decision.has_news) == ("requested_again", True)
    (same,) = decide([WorkItem("s", Artifact("c", kind="run"))], [replace(entry, as_of=NOW)], {}, now=NOW)
    assert (same.fate, same.has_news) == ("unchanged", False)


def test_a_clock_that_is_behind_asks_for_more_and_forgets_nothing() -> None:
    behind = NOW - timedelta(days=1)
    state = source(covered=span(1, 30), unsettled=span(28, 30), lists_all=False)
    request = Collect(behind)
    assert listing([state], request, {})["s"] == span(27, 29)
    back = state.coverage.after(Advance(request.today))
    assert back.frontier == date(2024, 6, 29)
    # Once it is right again, the day that was forgotten is listed as any other.
    assert listing([replace(state, coverage=back)], Collect(NOW), {})["s"] == span(27, 30)


@pytest.mark.parametrize("ahead", [3, 4000])
def test_a_clock_that_differs_by_days_needs_somebody_who_says_which_time_is_right(ahead: int) -> None:
    newest = TODAY + timedelta(days=ahead)
    followed = SourceState("s", Coverage(DaySet.span(date(2024, 6, 1), newest), frontier=newest))
    covered = SourceState("s", Coverage(june(3) | DaySet.of([newest])))
    for state, first in ((followed, TODAY), (covered, date(2024, 6, 3))):
        with pytest.raises(TailpipeError, match=f"the clock says {TODAY}, but app.x was collected up to {newest}") as e:
            check_clock("app.x", [state], Collect(NOW))
        assert f"tailpipe collect app.x --from {first}" in (e.value.hint or "")
        check_clock("app.x", [state], Collect(NOW, replace(window(1, 30), is_open=True)))
        check_clock("app.x", [replace(state, coverage=state.coverage.after(Advance(TODAY)))], Collect(NOW))


def test_a_clock_that_was_far_ahead_leaves_no_day_behind() -> None:
    """A first run with a clock 40 days ahead covers days that have not come: they are listed when they come."""
    start = datetime.combine(TODAY, time(12), UTC)
    wrong = TODAY + timedelta(days=40)
    coverage = Coverage(DaySet.span(wrong - timedelta(days=30), wrong), frontier=wrong)
    for change in (Advance(TODAY), Request(DaySet.of([TODAY])), Cover(june(30), date(2024, 6, 28))):
        coverage = coverage.after(change)
    for count in range(1, 45):
        request = Collect(start + timedelta(days=count))
        state = SourceState("s", coverage, lists_all=False)
        assert request.today in listing([state], request, {})["s"]
        covered = DaySet.of([request.today])
        done = Cover(covered, request.today - timedelta(days=2))
        coverage = coverage.after(Advance(request.today)).after(done)
    assert coverage.covered == DaySet.span(TODAY, TODAY + timedelta(days=44))
