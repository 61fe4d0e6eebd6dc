"""The queries of the cookbook answer, over the logs of the quickstart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailpipe.workspace import Workspace

from .demo import ROOT, DemoWorkspace, demo_environment, make_logs

PAGE = (ROOT / "docs/cookbook.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^\*\*(\d+)\. ([^*]+)\*\*.*?^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    directory = tmp_path_factory.mktemp("demo")
    make_logs(directory, days=10)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in demo_environment(directory).items():
            patch.setenv(name, value)
        workspace = DemoWorkspace.open()
        assert workspace.collect().is_done
    return workspace


def test_there_are_fifteen_recipes() -> None:
    assert [int(number) for number, _, _ in RECIPES] == list(range(1, 16))


@pytest.mark.parametrize(("number", "sql"), [(number, sql) for number, _, sql in RECIPES])
def test_a_recipe_finds_something(demo: Workspace, number: str, sql: str) -> None:
    with demo.session() as session:
        rows = list(session.run(sql).rows)
    assert rows, f"recipe {number} finds nothing"
    assert any(value not in (None, 0) for value in rows[0])
