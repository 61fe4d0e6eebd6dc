"""What a run plans: which units, in which order, from where, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

from tailpipe.collect.item import Fate, WorkItem
from tailpipe.collect.plan import Plan, SourceState
from tailpipe.collect.planning import PACK_BYTES, plan_units
from tailpipe.collect.scope import listing
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import EVERY_DAY, NO_DAYS, Coverage, DaySet, Request
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.request import Collect
from tailpipe.model.window import Window
from tests.counting import calls_of

TODAY = date(2024, 6, 30)
NOW = datetime(2024, 6, 30, 12, tzinfo=UTC)
PACK = Unit(pack="p")


def june(*days: int) -> DaySet:
    return DaySet.of(date(2024, 6, day) for day in days)


def span(first: int, last: int) -> DaySet:
    return june(*range(first, last + 1))


def window(first: int, last: int) -> Window:
    start = datetime.combine(date(2024, 6, first), time(), UTC)
    return Window(start, start + timedelta(days=last - first + 1))


def source(
    name: str = "s",
    *,
    covered: DaySet = NO_DAYS,
    missing: DaySet = NO_DAYS,
    dropped: DaySet = NO_DAYS,
    unsettled: DaySet = NO_DAYS,
    lists_all: bool = True,
    frontier: int | None = -1,
) -> SourceState:
    """A source; unless it is given, its frontier is the newest day that is known."""
    coverage = Coverage(covered, missing, dropped, unsettled)
    if frontier == -1:
        coverage = replace(coverage, frontier=coverage.known.last)
    elif frontier is not None:
        coverage = replace(coverage, frontier=date(2024, 6, frontier))
    return SourceState(name, coverage, lists_all, since=coverage.requested.first)


def new(uri: str, day: int | None = None, **facts: object) -> WorkItem:
    dated = date(2024, 6, day) if day else None
    artifact = replace(Artifact(uri, 10, NOW, day=dated), **facts)  # type: ignore[arg-type]
    return WorkItem("s", artifact, "new", uri)


def known(uri: str, unit: Unit | int, fate: Fate = "unchanged", **facts: object) -> WorkItem:
    """An artifact that the ledger knows, with three rows of it committed."""
    unit = unit if isinstance(unit, Unit) else Unit(day=date(2024, 6, unit))
    entry = LedgerEntry(
        uri,
        "s",
        unit,
        NOW - timedelta(days=1),
        uri=uri,
        size=10,
        modified=NOW,
        committed_bytes=6,
        committed_ordinals=3,
    )
    entry = replace(entry, **facts)  # type: ignore[arg-type]
    goes_on = fate in ("unchanged", "grown", "rotated")
    return WorkItem(
        "s",
        Artifact(uri, 10, NOW, day=unit.day, kind=entry.kind),
        fate,
        uri,
        1 if fate == "replaced" else 0,
        entry,
        6 if goes_on else 0,
        3 if goes_on else 0,
        has_news=fate != "unchanged",
    )


def make(
    sources: SourceState | list[SourceState],
    decisions: Iterable[WorkItem],
    *,
    request: Collect | None = None,
    lost: dict[Unit, DaySet] | None = None,
    gone: Iterable[LedgerEntry] = (),
) -> Plan:
    found = list(decisions)
    ledger = [decision.entry for decision in found if decision.entry] + list(gone)
    states = sources if isinstance(sources, list) else [sources]
    return plan_units(states, found, request or Collect(NOW), ledger=ledger, lost=lost)


def days(plan: Plan) -> list[int]:
    return [unit.unit.day.day for unit in plan.units if unit.unit.day]


def reasons(plan: Plan) -> dict[str, str]:
    return {skip.uri: skip.reason for skip in plan.skipped}


def test_a_first_run_takes_the_last_thirty_days_from_today_backward() -> None:
    assert listing([source()], Collect(NOW), {}) == {"s": DaySet.span(date(2024, 5, 31), TODAY)}
    plan = make(source(), [new("a", 3), new("b", 30), new("c", 29), new("d", 30)])
    assert days(plan) == [30, 29, 3]
    assert [len(unit.artifacts) for unit in plan.units] == [2, 1, 1]
    assert {unit.reason for unit in plan.units} == {"new day"}
    assert {unit.kind for unit in plan.units} == {"append"}


def test_a_first_run_leaves_older_days_alone_and_says_so() -> None:
    old = replace(new("old"), artifact=Artifact("old", day=date(2024, 5, 1)))
    plan = make(source(), [old])
    assert not plan.units
    assert reasons(plan) == {"old": "before the first day: use --from"}


def test_a_later_run_goes_forward_from_where_the_last_one_ended() -> None:
    state = source(covered=span(1, 27))
    plan = make(state, [new("c", 30), new("a", 28), new("b", 29), new("more", 27)])
    assert days(plan) == [27, 28, 29, 30]
    assert [unit.reason for unit in plan.units] == ["late artifacts", "new day", "new day", "new day"]


def test_an_interrupted_first_run_is_completed_forward_first_and_then_backward() -> None:
    state = source(covered=june(27, 28), missing=span(1, 26), frontier=28)
    plan = make(state, [new(str(day), day) for day in (25, 26, 28, 29, 30)])
    assert days(plan) == [28, 29, 30, 26, 25]
    assert plan.units[-1].reason == "missing day"


def test_a_run_without_any_earlier_day_done_still_goes_backward() -> None:
    assert days(make(source(missing=span(1, 30)), [new("a", 29), new("b", 30)])) == [30, 29]


def test_missing_days_are_listed_and_filled() -> None:
    state = source(covered=span(1, 5) | span(8, 30), missing=june(6, 7), lists_all=False)
    assert listing([state], Collect(NOW), {})["s"] == june(6, 7) | span(28, 30)
    assert days(make(state, [new("a", 6), new("b", 7)])) == [7, 6]
    assert state.coverage.gaps(TODAY) == june(6, 7)


def test_nothing_is_asked_for_that_is_older_than_what_is_kept() -> None:
    request = Collect(NOW, oldest=date(2024, 6, 20))
    assert listing([source()], request, {}) == {"s": span(20, 30)}
    state = source(covered=june(1, 25), missing=june(2, 22), lists_all=False)
    assert listing([state], request, {})["s"] == june(22) | span(25, 30)
    plan = plan_units([state], [new("a", 2), new("b", 22)], request)
    assert days(plan) == [22]
    assert reasons(plan) == {"a": "beyond the retention: use --from"}
    # Whoever asks for it gets it.
    window = Window.parse("2024-06-02", "2024-06-02", now=NOW)
    assert days(plan_units([state], [new("a", 2)], replace(request, window=window))) == [2]


def test_days_that_were_dropped_are_left_alone() -> None:
    state = source(covered=span(11, 30), dropped=span(1, 10))
    plan = make(state, [new("a", 5)])
    assert not plan.units
    assert reasons(plan) == {"a": "dropped: use --from"}
    assert listing([state], Collect(NOW), {})["s"] == span(11, 30)


def test_days_that_were_dropped_come_back_when_a_window_asks_for_them() -> None:
    state = source(covered=span(11, 30), dropped=span(1, 10))
    request = Collect(NOW, window(5, 5))
    plan = make(state, [known("a", 5)], request=request, lost={Unit(day=date(2024, 6, 5)): june(4, 5)})
    (unit,) = plan.units
    assert (unit.kind, unit.reason, unit.restores) == ("replace", "lost dates", june(5))
    assert (unit.artifacts[0].offset_bytes, unit.artifacts[0].is_reread) == (0, True)
    assert plan.requests == {"s": june(5)}


def test_a_day_beside_the_window_that_lost_a_date_of_it_is_replaced_whole() -> None:
    state = source(covered=june(6), dropped=june(5), lists_all=False)
    lost = {Unit(day=date(2024, 6, 6)): june(5)}
    request = Collect(NOW, window(5, 5))
    assert listing([state], request, lost) == {"s": june(5, 6)}
    plan = make(state, [known("a", 6), new("b", 5)], request=request, lost=lost)
    assert [(unit.unit.day, unit.kind) for unit in plan.units] == [
        (date(2024, 6, 6), "replace"),
        (date(2024, 6, 5), "append"),
    ]
    assert not make(state, [known("a", 6)], request=Collect(NOW, window(6, 6)), lost=lost).units


def test_a_dropped_day_beside_the_window_stays_dropped_though_its_unit_is_replaced() -> None:
    lost = {Unit(day=date(2024, 6, 6)): june(5, 6)}
    plan = make(source(dropped=june(5, 6)), [known("a", 6)], request=Collect(NOW, window(5, 5)), lost=lost)
    assert [(unit.reason, unit.covers, unit.restores) for unit in plan.units] == [("lost dates", (), june(5))]
    assert [one.dates for one in plan.units[0].artifacts] == [EVERY_DAY - june(6)]
    assert [one.days for one in plan.closing] == [june(5)]
    assert plan.requests == {"s": june(5)}


def test_a_covered_day_with_late_artifacts_is_listed_again_until_they_are_taken() -> None:
    state = source(covered=span(1, 30), lists_all=False)
    plan = make(state, [new("late", 10)], request=Collect(NOW, window(9, 11)))
    assert plan.requests == {"s": june(10)}
    stopped = replace(state, coverage=state.coverage.after(Request(plan.requests["s"])))
    assert listing([stopped], Collect(NOW), {})["s"] == june(10) | span(28, 30)


def test_lost_dates_that_nobody_dropped_are_made_good_by_a_plain_run() -> None:
    lost = {Unit(day=date(2024, 6, 6)): june(5)}
    plan = make(source(covered=span(1, 30)), [known("a", 6)], lost=lost)
    assert [unit.reason for unit in plan.units] == ["lost dates"]
    assert not make(source(covered=span(6, 30), dropped=june(5)), [known("a", 6)], lost=lost).units


def test_lost_dates_of_a_source_that_takes_no_part_stay_on_record() -> None:
    mine = known("b", 6).entry
    assert mine is not None
    other = replace(mine, source="other")
    lost = {Unit(day=date(2024, 6, 6)): june(6)}
    plan = make(
        source(covered=span(1, 30)), [known("a", 6)], lost=lost, gone=[other], request=Collect(NOW, window(6, 6))
    )
    assert [(unit.kind, unit.keeps, unit.restores) for unit in plan.units] == [("rewrite", (other,), NO_DAYS)]
    assert not make(source(covered=span(1, 30)), [known("a", 6)], lost=lost, gone=[other]).units


def test_a_late_artifact_of_a_covered_day_is_one_more_append() -> None:
    plan = make(source(covered=span(1, 30)), [known("a", 10), new("late", 10)])
    (unit,) = plan.units
    assert (unit.kind, unit.reason) == ("append", "late artifacts")
    assert [one.artifact.uri for one in unit.artifacts] == ["late"]
    assert reasons(plan) == {"a": "unchanged"}


def test_a_grown_file_is_read_from_where_it_ended() -> None:
    plan = make(source(covered=span(1, 30)), [known("a", 30, "grown")])
    one = plan.units[0].artifacts[0]
    assert (plan.units[0].kind, one.offset_bytes, one.offset_rows, one.is_reread) == ("append", 6, 3, False)


def test_a_replaced_object_loses_its_old_rows_in_the_same_commit_and_others_keep_theirs() -> None:
    alone = make(source(covered=span(1, 30)), [known("a", 29, "replaced")]).units[0]
    assert (alone.kind, [entry.uri for entry in alone.drops]) == ("replace", ["a"])
    among = make(source(covered=span(1, 30)), [known("a", 29, "replaced"), known("b", 29)]).units[0]
    assert (among.kind, [entry.uri for entry in among.keeps]) == ("rewrite", ["b"])


def test_a_file_source_lists_every_covered_day_and_a_bucket_the_overlap() -> None:
    states = [source("file", covered=span(1, 28)), source("bucket", covered=span(1, 28), lists_all=False)]
    assert listing(states, Collect(NOW), {}) == {"file": span(1, 30), "bucket": span(26, 30)}


def test_a_bucket_lists_days_again_until_late_artifacts_had_their_time() -> None:
    # The run of the 10th saw only half of that day, and one with --from has moved the frontier since.
    state = source(covered=span(1, 10) | june(29), unsettled=span(8, 10), lists_all=False, frontier=29)
    assert listing([state], Collect(NOW), {})["s"] == span(8, 10) | june(29, 30)


def test_a_window_is_all_that_is_listed_and_the_future_is_never_listed() -> None:
    state = source(covered=span(1, 28), lists_all=False)
    assert listing([state], Collect(NOW, window(3, 4)), {})["s"] == june(3, 4)
    assert listing([state], Collect(NOW, Window(NOW, NOW + timedelta(days=9))), {})["s"] == june(30)


def test_a_window_leaves_other_days_alone() -> None:
    tomorrow = replace(new("t"), artifact=Artifact("t", day=date(2024, 7, 1)))
    plan = make(source(covered=span(1, 9)), [new("a", 3), new("b", 12), tomorrow], request=Collect(NOW, window(2, 4)))
    assert days(plan) == [3]
    assert reasons(plan) == {"b": "outside the window", "t": "is in the future"}


def test_all_sources_of_a_day_land_together_and_each_is_covered() -> None:
    sources = [source("s", covered=span(1, 29)), source("t")]
    plan = make(sources, [new("a", 30), replace(new("b", 30), source="t"), replace(new("c", 29), source="t")])
    assert days(plan) == [29, 30]
    assert [one.source for one in plan.units[1].covers] == ["s", "t"]
    assert {one.settled_before for unit in plan.units for one in unit.covers} == {date(2024, 6, 28)}


def test_days_without_artifacts_are_covered_at_the_end() -> None:
    plan = make(source(covered=span(1, 27)), [new("a", 29)])
    assert [(one.source, one.days) for one in plan.closing] == [("s", june(28, 30))]
    assert plan.requests == {"s": june(28, 29, 30)}


def test_days_are_settled_once_the_overlap_has_passed() -> None:
    state = source(covered=span(1, 30), unsettled=june(27, 28, 29, 30))
    assert [one.days for one in make(state, []).closing] == [june(27)]
    assert make(source(covered=span(1, 30), unsettled=june(28, 29, 30)), []).is_empty


def test_undated_artifacts_are_packed_newest_first_and_never_split() -> None:
    half = PACK_BYTES // 2
    found = [
        new(str(age), modified=NOW - timedelta(hours=age), size=size)
        for age, size in ((3, 2 * PACK_BYTES), (1, half), (0, half), (2, 1), (4, 1))
    ]
    plan = make(source(), [*found, new("unknown", modified=None, size=None)])
    packs = [[one.artifact.uri for one in unit.artifacts] for unit in plan.units]
    assert packs == [["0", "1"], ["2"], ["3"], ["4", "unknown"]]
    assert len({unit.unit for unit in plan.units}) == 4


def test_a_pack_has_the_same_name_whenever_it_is_planned() -> None:
    assert make(source(), [new("a")]).units[0].unit == make(source(), [new("a")]).units[0].unit


def test_the_rows_of_undated_artifacts_are_cut_to_what_was_asked_for() -> None:
    state = source(covered=span(11, 30), dropped=span(1, 10))
    (plain,) = make(state, [new("a")]).units[0].artifacts
    assert plain.dates == DaySet.span(date(2024, 6, 11), date.max)
    (asked,) = make(state, [new("a")], request=Collect(NOW, window(9, 12))).units[0].artifacts
    assert asked.dates == span(9, 12)
    assert make(state, [new("a", 12)]).units[0].artifacts[0].dates is None


def test_an_undated_artifact_is_read_again_for_dates_that_were_left_out() -> None:
    decision = known("a", PACK, taken=span(20, 30), left_out=span(1, 19))
    state = source(covered=span(20, 24) | span(26, 30), dropped=june(25))
    assert make(state, [decision]).is_empty
    (unit,) = make(state, [decision], request=Collect(NOW, window(5, 6))).units
    assert (unit.unit, unit.kind, unit.reason) == (PACK, "replace", "other dates")
    assert unit.artifacts[0].dates == june(5, 6) | span(20, 24) | span(26, 30)


def test_a_grown_undated_file_goes_on_in_its_pack() -> None:
    plan = make(source(covered=span(1, 30)), [known("a", PACK, "grown"), new("b")])
    assert [unit.kind for unit in plan.units] == ["append", "append"]
    assert plan.units[0].unit == PACK
    assert plan.units[1].unit != PACK


def test_what_was_written_after_the_window_waits_for_a_plain_run() -> None:
    decision = known("a", PACK, "grown")
    assert reasons(make(source(covered=span(1, 30)), [decision], request=Collect(NOW, window(1, 9)))) == {
        "a": "has grown since the window"
    }
    assert make(source(covered=span(1, 30)), [decision], request=Collect(NOW, window(1, 30))).units


def test_a_pack_that_lost_dates_is_replaced_when_a_window_asks_for_them() -> None:
    decisions = [known("a", PACK, taken=EVERY_DAY), known("b", PACK, taken=EVERY_DAY)]
    state = source(covered=span(6, 30), dropped=span(1, 5))
    lost = {PACK: span(1, 5)}
    assert make(state, decisions, lost=lost).is_empty
    (unit,) = make(state, decisions, lost=lost, request=Collect(NOW, window(2, 3))).units
    assert (unit.kind, unit.restores, len(unit.drops)) == ("replace", june(2, 3), 2)
    assert (unit.artifacts[0].dates or NO_DAYS) & span(1, 6) == june(2, 3, 6)


def test_overwriting_replaces_the_units_of_the_window_and_keeps_the_identities() -> None:
    decisions = [known("a", 3), known("b", 4, "grown"), known("c", 5), known("p", PACK, taken=span(1, 4))]
    plan = make(source(covered=span(1, 30)), decisions, request=Collect(NOW, window(3, 4), overwrite=True))
    assert [str(unit.unit) for unit in plan.units] == ["2024-06-04", "2024-06-03", "pack:p"]
    assert {(unit.kind, unit.reason) for unit in plan.units} == {("replace", "overwritten")}
    assert {one.generation for unit in plan.units for one in unit.artifacts} == {0}
    assert all(one.offset_bytes == 0 for unit in plan.units for one in unit.artifacts)
    assert reasons(plan) == {"c": "outside the window"}


def test_overwriting_keeps_the_rows_of_artifacts_that_are_no_longer_listed_and_says_so() -> None:
    gone = known("gone", 3).entry
    assert gone is not None
    request = Collect(NOW, window(3, 3), overwrite=True)
    plan = make(source(covered=span(1, 30)), [known("a", 3)], request=request, gone=[gone])
    assert [(unit.kind, unit.keeps) for unit in plan.units] == [("rewrite", (gone,))]
    assert reasons(plan) == {"gone": "no longer listed: its rows stay"}


def test_overwriting_a_file_that_was_rewritten_in_place_says_that_its_earlier_rows_stay() -> None:
    old = known("app.log", PACK, taken=span(3, 3)).entry
    rotated = known("app.log.9", Unit(pack="q"), taken=span(3, 3)).entry
    assert old is not None
    assert rotated is not None
    request = Collect(NOW, window(3, 3), overwrite=True)
    plan = make(source(covered=span(1, 30)), [new("app.log")], request=request, gone=[old, rotated])
    assert [unit.kind for unit in plan.units] == ["append"]
    assert sorted(skip.reason for skip in plan.skipped) == [
        "no longer listed: its rows stay",
        "rewritten since: the rows of its earlier content stay",
    ]


def rewritten_day() -> tuple[LedgerEntry, LedgerEntry]:
    """Entries of files of one Day, of which the first has another content now."""
    old, other = known("a", 3).entry, known("b", 3).entry
    assert old is not None
    assert other is not None
    return old, other


def test_overwriting_a_day_keeps_the_earlier_rows_of_a_file_that_was_rewritten_and_says_so() -> None:
    old, other = rewritten_day()
    request = Collect(NOW, window(3, 3), overwrite=True)
    again = replace(new("a", 3), generation=1)
    kept = {"a": "rewritten since: the rows of its earlier content stay"}
    plan = make(source(covered=span(1, 30)), [again], request=request, gone=[old])
    assert [(unit.kind, unit.drops) for unit in plan.units] == [("append", ())]
    assert reasons(plan) == kept
    plan = make(source(covered=span(1, 30)), [again, known("b", 3)], request=request, gone=[old])
    assert [(unit.kind, unit.drops, unit.keeps) for unit in plan.units] == [("rewrite", (other,), (old,))]
    assert reasons(plan) == kept
    deleted = {old.unit: span(3, 3)}
    plan = make(source(covered=span(1, 30)), [again], request=request, gone=[old], lost=deleted)
    assert reasons(plan) == {}, "there are no rows to stay"


def test_a_file_of_a_day_that_was_rewritten_is_added_and_the_report_says_so() -> None:
    old, _ = rewritten_day()
    plan = make(source(covered=span(1, 30)), [replace(new("a", 3), generation=1)], gone=[old])
    assert [(unit.kind, unit.drops) for unit in plan.units] == [("append", ())]
    assert reasons(plan) == {"a": "rewritten: its new rows are added to those of its earlier content"}


def test_overwriting_without_a_window_means_the_last_thirty_days_but_nothing_dropped() -> None:
    state = source(covered=span(1, 29), dropped=june(30))
    plan = make(state, [known("a", 29), known("b", 30)], request=Collect(NOW, overwrite=True))
    assert days(plan) == [29]


def test_a_range_is_asked_again_until_its_late_rows_have_had_their_time() -> None:
    for asked_at, is_planned in ((date(2024, 6, 29), True), (date(2024, 6, 30), False)):
        as_of = datetime.combine(asked_at, time(), UTC)
        decision = known("r", 27, "requested_again", kind="range", as_of=as_of, committed_ordinals=0)
        plan = make(source(covered=span(1, 30)), [decision])
        assert [unit.kind for unit in plan.units] == (["append"] if is_planned else [])


def test_a_command_runs_again_until_its_day_is_over_and_gives_the_rows_anew() -> None:
    for as_of, is_planned in ((NOW - timedelta(days=1), True), (datetime(2024, 6, 30, tzinfo=UTC), False)):
        decision = known("c", 29, "requested_again", kind="run", as_of=as_of)
        plan = make(source(covered=span(1, 30)), [decision])
        assert [unit.kind for unit in plan.units] == (["replace"] if is_planned else [])


def test_an_artifact_that_two_sources_list_is_planned_once() -> None:
    again = WorkItem("s", Artifact("a", day=TODAY), "repeated", "a", has_news=False)
    plan = make(source(), [new("a", 30), again])
    assert [len(unit.artifacts) for unit in plan.units] == [1]
    assert reasons(plan) == {"a": "listed twice"}


def test_an_artifact_that_was_only_renamed_is_noted_without_a_unit() -> None:
    moved = replace(known("a", 30, "rotated"), has_news=False, artifact=Artifact("a.1", 10, NOW, day=TODAY))
    plan = make(source(covered=span(1, 30)), [moved])
    assert not plan.units
    assert [entry.uri for entry in plan.noted] == ["a.1"]
    assert not plan.is_empty


def test_a_source_with_a_failed_pack_closes_no_days() -> None:
    plan = make([source("s"), source("t")], [new("a")])
    assert [one.source for one in plan.closing_without(())] == ["s", "t"]
    assert [one.source for one in plan.closing_without(["s"])] == ["t"]


def test_artifacts_without_news_cost_no_reckoning_with_sets_of_days() -> None:
    decisions = [known(f"{number}.log", PACK) for number in range(100)]
    made = calls_of("__sub__", lambda: plan_units([source(covered=span(1, 30))], decisions, Collect(NOW)))
    assert made < 50
    dropped = [new(f"{number}.log", 2) for number in range(100)]
    made = calls_of(
        "__or__", lambda: plan_units([source(covered=span(3, 30), dropped=june(1, 2))], dropped, Collect(NOW))
    )
    assert made < 50
