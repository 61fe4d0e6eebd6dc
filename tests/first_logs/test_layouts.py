"""The layouts of times: each example is found in a line, is read as its time, and no other layout reads it better."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from tailpipe.infer.find_time import find_time
from tailpipe.infer.time_layouts import DATES, LAYOUTS, TimeLayout
from tailpipe.infer.times import Basis, moment_of, spelling_of

NOW = Basis(datetime(2026, 11, 18, 12, tzinfo=UTC), datetime(2026, 11, 18, 12, tzinfo=UTC))
IN_LINES = [one for one in LAYOUTS if not one.needs_name and one.kind != "no date" and one.template != "epoch_s"]
NAMED = [pytest.param(one, id=one.example) for one in LAYOUTS]


@pytest.mark.parametrize("layout", NAMED)
def test_an_example_has_its_layout(layout: TimeLayout) -> None:
    assert layout.strict.fullmatch(layout.example)
    assert re.fullmatch(layout.loose([layout.example]), layout.example)


@pytest.mark.parametrize("layout", [pytest.param(one, id=one.example) for one in IN_LINES])
def test_the_time_of_a_line_is_found(layout: TimeLayout) -> None:
    lines = [f"{layout.example} [main] request {number} was served" for number in range(3)]
    found = find_time(lines, NOW)
    assert found is not None
    assert found.spans[0] == (0, len(layout.example))
    moment = moment_of(found.layouts[0], layout.example, NOW)
    if moment is not None:
        assert (moment.month, moment.day, moment.minute) == (11, 18, 41)


@pytest.mark.parametrize("layout", [pytest.param(one, id=one.example) for one in DATES])
def test_a_day_is_found_in_a_field_alone(layout: TimeLayout) -> None:
    assert spelling_of("day", [layout.example], NOW) is not None
    assert find_time([f"{layout.example} something"] * 3, NOW) is None
