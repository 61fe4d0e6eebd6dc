"""The saved queries of the cookbook answer, over the logs of the quickstart."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tailpipe.plugins.core import plugin
from tailpipe.workspace import Workspace

RECIPES = [name for name, _ in plugin.parts("query")]


def test_there_are_fifteen_recipes() -> None:
    assert len(RECIPES) == 15


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_finds_something(demo: Workspace, name: str) -> None:
    query = demo.home.queries[name]
    with demo.session() as session:
        rows = list(session.run(query.text, query.values({}, now=datetime.now(UTC))).rows)
    assert rows, f"{name} finds nothing"
    assert any(value not in (None, 0) for value in rows[0])


def test_parameters_change_the_answer(demo: Workspace) -> None:
    short, long = (
        demo.query(demo.home.queries["cookbook_sessions"], {"minutes": minutes}).column("requests").to_pylist()
        for minutes in (1, 100_000)
    )
    assert sum(long) > sum(short)
