"""`tailpipe search` as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.catalog.conftest import DAY, Workspace

from .conftest import Run

SINCE = ("--from", "2020-01-01")


@pytest.fixture(autouse=True)
def data(install: Path, write_config: Callable[..., Path]) -> None:
    """Three rows of app_log.prod."""
    write_config("")
    Workspace(install / "data" / "default").collect([("web", DAY, ["a-1", "b-1", "c-2"])])


def test_it_shows_where_something_is_found_and_the_newest_rows(run: Run) -> None:
    done = run("search", "a-1", *SINCE)
    assert done.code == 0
    assert "app_log" in done.out
    assert "1 row in 1 table; 1 table searched from 2020-01-01 00:00" in done.err


def test_a_program_gets_counts_and_sql(run: Run) -> None:
    done = run("search", "a-1", *SINCE, "--output", "json")
    (found,) = json.loads(done.out)
    assert (found["table"], found["rows"], found["newest_rows"][0]["tp_id"]) == ("app_log", 1, "a-1")
    again = run("query", f"SELECT tp_id FROM ({found['sql']})", "--output", "json")
    assert json.loads(again.out) == [{"tp_id": "a-1"}]


def test_without_a_start_the_last_days_are_searched(run: Run) -> None:
    done = run("search", "a-1")
    assert done.code == 0
    assert '"a-1" not found; 0 tables searched from ' in done.err
    assert "to search further back, use --from" in done.err


@pytest.mark.parametrize(("arguments", "said"), [([""], "nothing to search for"), (["a", "--table", "x"], "not found")])
def test_a_mistake_is_told(run: Run, arguments: list[str], said: str) -> None:
    done = run("search", *arguments)
    assert (done.code, said in done.err) == (2, True)
