"""Clocks that jump between runs: no event is lost or duplicated, and the suggestion of a refusal sets it right."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from tests.http.server import Events, Server
from tests.http.world import NOW, SOURCE, actors, config, world
from tests.unit.collect.support import World

LINKS = SOURCE + 'pagination "link_header" {}\n'


@pytest.fixture
def api(server: Server) -> Events:
    made = Events(server)
    made.say("2024-03-08", "ada")
    made.say("2024-03-10", "bob")
    return made


def after(made: World, **span: float) -> World:
    """The clock jumps to this long after the truth of the test."""
    made.now = NOW + timedelta(**span)
    return made


def suggested(error: str) -> str:
    """The day in the command that a refusal suggests."""
    found = re.search(r"run: tailpipe collect audit\.x --from (\S+?)\)?$", error)
    assert found, error
    return found[1]


@pytest.mark.parametrize("days", [2, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 40, 400))])
def test_a_clock_that_was_ahead_loses_no_late_event(api: Events, tmp_path: Path, days: int) -> None:
    made = world(tmp_path, config(api.server.url, LINKS))
    after(made, minutes=0).collect()
    after(made, days=days).collect()
    api.say("2024-03-10", "late", at="18:00:00")
    api.say("2024-03-09", "later")
    back = after(made, hours=8).collect()
    if days > 2:
        assert "the clock says 2024-03-10" in back.error
        assert after(made, hours=8).collect(suggested(back.error)).is_done
    assert after(made, hours=9).collect().is_done
    assert actors(made) == ["ada", "bob", "late", "later"]
    assert len(set(made.rows("tp_id", "audit.x"))) == 4
    assert after(made, days=1).collect().is_done  # the clock goes on as if nothing had been


@pytest.mark.parametrize("days", [1, 5, 400])
def test_a_clock_that_falls_back_requests_nothing_twice_and_goes_on(api: Events, tmp_path: Path, days: int) -> None:
    made = world(tmp_path, config(api.server.url, LINKS))
    after(made, minutes=0).collect()
    behind = after(made, days=-days).collect()
    assert bool(behind.error) == (days > 2)
    api.say("2024-03-11", "cy")
    right = after(made, days=1).collect()
    assert right.is_done, right
    assert actors(made) == ["ada", "bob", "cy"]
    assert len(set(made.rows("tp_id", "audit.x"))) == 3
    assert not right.gaps


@pytest.mark.slow
@pytest.mark.parametrize("days", [-400, -5, 5, 400])
def test_overwriting_by_a_wrong_clock_keeps_all_rows(api: Events, tmp_path: Path, days: int) -> None:
    made = world(tmp_path, config(api.server.url, LINKS))
    after(made, minutes=0).collect()
    after(made, days=days).collect(overwrite=True)
    assert actors(made) == ["ada", "bob"]
    after(made, days=1).collect(overwrite=True)
    assert actors(made) == ["ada", "bob"]
