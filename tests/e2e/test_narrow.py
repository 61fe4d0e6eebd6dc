"""Answers on a terminal of 80 columns: the time and the text of a log are seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.catalog.conftest import DAY, Workspace

from .conftest import Run
from .terminal import Terminal


@pytest.fixture
def env(install: Path, tmp_path: Path) -> dict[str, str]:
    (install / "config").mkdir(parents=True)
    Workspace(install / "data" / "default").collect([("web", DAY, ["a", "b", "c"])])
    return {**os.environ, "HOME": str(tmp_path), "TAILPIPE_INSTALL_DIR": str(install), "TERM": "xterm"}


def test_a_star_shows_the_time_first_and_says_what_is_hidden(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal("query", "FROM app_log ORDER BY tp_id", env=env, cwd=tmp_path, columns=80) as terminal:
        assert terminal.ended() == 0
        terminal.see("3 rows, ", "hidden: ", "tp_; name columns or use --output line")
        assert terminal.lines[0].startswith("tp_timestamp")
        assert "tp_id" not in terminal.lines[0]
    with Terminal("query", "SELECT tp_id, * FROM app_log", env=env, cwd=tmp_path, columns=80) as terminal:
        assert terminal.ended() == 0
        terminal.see("3 rows, ")
        assert terminal.lines[0].split()[:2] == ["tp_id", "tp_timestamp"]


def test_a_pipe_gets_all_columns(run: Run, env: dict[str, str]) -> None:
    done = run("query", "FROM app_log", COLUMNS="80")
    assert {"tp_id", "tp_date", "tp_partition", "tp_timestamp"} <= set(done.out.splitlines()[0].split())
    assert "hidden" not in done.err
