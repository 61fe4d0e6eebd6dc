"""The demo of a shared store: what `make demo-store` prints is what two hosts, one store and a reader give."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from .demo import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("shared")]  # one run of the demo for all of them


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[list[list[str]]]:
    """The words of each line, by steps; the first is step 1."""
    home = tmp_path_factory.mktemp("shared") / "demo"
    program = [sys.executable, str(ROOT / "examples/shared/demo.py"), str(home)]
    env = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(program, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    parts = re.split(r"(?m)^\d\. ", done.stdout)[1:]
    assert len(parts) == 9, done.stdout
    return [[line.split() for line in part.splitlines()] for part in parts]


def numbers(step: list[list[str]]) -> list[list[int]]:
    """The numbers of the rows that begin with a day."""
    rows = (line for line in step if re.match(r"\d{4}-\d\d-\d\d(\.jsonl)?$", " ".join(line[:1])))
    return [[int(value) for value in row[1:]] for row in rows]


def test_the_reader_sees_the_rows_of_both_hosts(steps: list[list[list[str]]]) -> None:
    assert numbers(steps[2]) == [[100, 80], [100, 80], [140, 80]]


def test_rows_of_the_same_path_on_two_hosts_have_different_ids(steps: list[list[list[str]]]) -> None:
    assert numbers(steps[3]) == [[1, 2, 180, 180], [1, 2, 180, 180], [1, 2, 220, 220]]


def test_the_replaced_day_has_lost_the_filtered_rows_of_one_host_alone(steps: list[list[list[str]]]) -> None:
    assert numbers(steps[6]) == [[100, 80], [100, 80], [100, 80]]


def test_the_tag_shows_the_rows_from_before_the_replacement(steps: list[list[list[str]]]) -> None:
    assert numbers(steps[7]) == [[100, 80], [100, 80], [140, 80]]


def test_the_log_names_the_host_of_each_change(steps: list[list[list[str]]]) -> None:
    changes = [(line[1], line[3]) for line in steps[8] if len(line) > 3 and line[1] in ("web-1", "web-2")]
    assert changes[0] == ("web-1", "rewrite")
    assert [host for host, change in reversed(changes) if change == "append"] == ["web-1"] * 3 + ["web-2"] * 3
