"""Changes of coverage as values: what they do, and the text that catalogs and manifests hold."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.model.coverage import (
    EVERY_DAY,
    NO_DAYS,
    Advance,
    Cover,
    Coverage,
    DaySet,
    Drop,
    Known,
    Lose,
    Operation,
    Request,
    parse_operation,
)

FIRST = date(2024, 1, 1)
DAYS = st.integers(0, 20).map(lambda number: FIRST + timedelta(days=number))
SETS = st.lists(st.tuples(DAYS, DAYS), max_size=4).map(lambda spans: DaySet(tuple(spans)))


@st.composite
def known(draw: st.DrawFn) -> Known:
    """Any whole coverage."""
    covered, missing, dropped = draw(SETS), draw(SETS), draw(SETS)
    missing -= covered
    return Known(
        Coverage(covered, missing, dropped - covered - missing, draw(SETS) & covered, draw(st.none() | DAYS)),
    )


OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    SETS.map(Request),
    DAYS.map(Advance),
    st.builds(Cover, SETS, DAYS),
    SETS.map(Lose),
    SETS.map(Drop),
    known(),
)


@given(operation=OPERATIONS)
def test_the_text_of_an_operation_is_read_as_the_same(operation: Operation) -> None:
    assert parse_operation(str(operation)) == operation


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (Request(DaySet.span(FIRST, date(2024, 1, 3))), "request 2024-01-01..2024-01-03"),
        (Request(NO_DAYS), "request "),
        (Advance(FIRST), "advance 2024-01-01"),
        (Cover(DaySet.of([FIRST]), date(2023, 12, 30)), "cover 2024-01-01 settled before 2023-12-30"),
        (Lose(DaySet.of([FIRST])), "lose 2024-01-01"),
        (Drop(EVERY_DAY), "drop 0001-01-01..9999-12-31"),
        (Known(Coverage()), "known "),
        (
            Known(Coverage(DaySet.of([FIRST]), unsettled=DaySet.of([FIRST]), frontier=FIRST)),
            "known covered 2024-01-01; unsettled 2024-01-01; frontier 2024-01-01",
        ),
    ],
)
def test_the_text_never_changes_because_manifests_are_immutable(operation: Operation, text: str) -> None:
    assert str(operation) == text
    assert parse_operation(text) == operation


@pytest.mark.parametrize("text", ["", "whole", "forget 2024-01-01", "advance soon", "cover 2024-01-01"])
def test_a_text_that_is_no_operation_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_operation(text)


@given(known=known(), day=DAYS)
def test_a_known_coverage_replaces_what_was_there(known: Known, day: date) -> None:
    assert Coverage(frontier=day).after(known) == known.coverage
