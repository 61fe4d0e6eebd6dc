"""The queries of the cookbook answer, over the logs of the quickstart."""

from __future__ import annotations

import re

import pytest

from tailpipe.workspace import Workspace

from .demo import ROOT

PAGE = (ROOT / "docs/cookbook.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^\*\*(\d+)\. ([^*]+)\*\*.*?^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_there_are_fifteen_recipes() -> None:
    assert [int(number) for number, _, _ in RECIPES] == list(range(1, 16))


@pytest.mark.parametrize(("number", "sql"), [(number, sql) for number, _, sql in RECIPES])
def test_a_recipe_finds_something(demo: Workspace, number: str, sql: str) -> None:
    with demo.session() as session:
        rows = list(session.run(sql).rows)
    assert rows, f"recipe {number} finds nothing"
    assert any(value not in (None, 0) for value in rows[0])
