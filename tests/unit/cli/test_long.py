"""What is told of years stays on one screen: days that are alike are spans, and very many spans are cut."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from tailpipe.cli import render
from tailpipe.cli.report import _together
from tailpipe.model.coverage import DaySet

FIRST = date(2024, 1, 1)


def _unit(number: int, reason: str = "missing day") -> dict[str, Any]:
    day = str(FIRST + timedelta(days=number))
    return {"unit": day, "kind": "append", "reason": reason, "artifacts": 2, "bytes": 10}


@pytest.mark.parametrize("is_backward", [False, True])
def test_a_preview_of_years_shows_spans_of_days(is_backward: bool) -> None:
    units = [_unit(number) for number in range(700) if number != 100]
    shown = _together(units[::-1] if is_backward else units)
    told = [(one["unit"], one["artifacts"], one["bytes"]) for one in shown]
    expected = [("2024-01-01..2024-04-09", 200, 1000), ("2024-04-11..2025-11-30", 1198, 5990)]
    assert told == (expected[::-1] if is_backward else expected)


def test_days_that_are_done_otherwise_and_packs_stay_apart() -> None:
    pack = {**_unit(0), "unit": "pack:abc"}
    units = [*(_unit(number, "new day" if number == 20 else "grown") for number in range(40)), pack, pack]
    shown = [one["unit"] for one in _together(units)]
    assert shown == ["2024-01-01..2024-01-20", "2024-01-21", "2024-01-22..2024-02-09", "pack:abc", "pack:abc"]
    assert _together(units[:31]) == units[:31]  # a month can be read


def test_very_many_spans_are_cut_in_the_middle_for_people_and_for_nobody_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    holed = DaySet.of(FIRST + timedelta(days=2 * number) for number in range(365))
    assert len(render.days(holed)) < 200
    assert render.days(holed).startswith("2024-01-01, 2024-01-03")
    assert "… 355 more …" in render.days(holed)
    assert render.days(holed).endswith("2025-12-29")
    few = DaySet.of(FIRST + timedelta(days=2 * number) for number in range(11))
    assert render.days(few) == str(few)
    rows = [{"source": "file", "covered": str(holed), "gaps": str(holed)}]
    render.record({"name": "x", "coverage": rows, "gaps": str(holed)}, "pretty", {"coverage": {"covered": "covered"}})
    assert len(capsys.readouterr().out) < 600
    render.record({"name": "x", "coverage": rows}, "json", {"coverage": {"covered": "covered"}})
    assert str(holed) in capsys.readouterr().out
