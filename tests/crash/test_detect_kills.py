"""Detections are killed at every point of the commit and of delivering: hits exactly once, alerts at least once."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailpipe.catalog.failpoints import Failpoints
from tests.crash import detecting
from tests.crash.harness import SIGKILL, Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def kill_often(server: Server, home: Path, seed: int, kills: int) -> int:
    """Take portions, each killed once or twice and then brought to an end, until there were so many kills.

    Every third kill is at a random moment, the others are at points, each of them in its turn first.
    """
    choose, reference = random.Random(seed), home.parent / f"{home.name}-reference"
    done = number = asked = 0
    seconds, points = 1.0, list(detecting.POINTS)
    while done < kills:
        for _ in range(choose.randrange(1, 3)):
            asked += 1
            point = points[done % len(points)] if done < len(points) else choose.choice(points)
            how: dict[str, object] = {"failpoint": f"{point}:{choose.randrange(2)}=kill"}
            if asked % 3 == 0:
                how = {"failpoint": "", "kill_after": choose.uniform(0, seconds)}
            status, error = server.ask(detect=number, home=str(home), seed=seed, **how)
            assert status in (0, SIGKILL), error
            done += status == SIGKILL
        begin = time.monotonic()
        status, error = server.ask(detect=number, home=str(home), seed=seed, failpoint="")
        assert status == 0, error
        seconds = time.monotonic() - begin
        detecting.perform(reference, seed, number, Failpoints())
        number += 1
    assert list(detecting.problems(home, reference)) == []
    return done


@pytest.mark.slow
def test_a_killed_run_of_detections_loses_and_repeats_no_hit(server: Server, tmp_path: Path) -> None:
    assert kill_often(server, tmp_path / "ws", 1, 4) >= 4


@pytest.mark.slow
def test_fifty_kills_lose_and_repeat_no_hit(server: Server, tmp_path: Path) -> None:
    assert kill_often(server, tmp_path / "ws", 2, 50) >= 50
