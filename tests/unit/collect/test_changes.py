"""What changes between two runs, or during one: windows, sources, files that move while they are read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest

from tailpipe.kernel.task import Outcome, Task

from .support import CONFIG, NOW, LocalEngine, World

TODAY = NOW.date()
LAYOUT = "file_layout = `(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`"


def days_ago(count: int) -> date:
    return TODAY - timedelta(days=count)


def line(when: date, message: str) -> str:
    return json.dumps({"time": f"{when}T10:00:00Z", "message": message}) + "\n"


class Meanwhile(LocalEngine):
    """Lets something happen between the listing and the reading, once."""

    def __init__(self, happen: Callable[[], object]) -> None:
        super().__init__()
        self.happen: Callable[[], object] | None = happen

    def run(self, tasks: Sequence[Task], progress: Callable[[int], None]) -> list[Outcome]:
        if self.happen is not None:
            self.happen()
            self.happen = None
        return super().run(tasks, progress)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def undated(tmp_path: Path) -> World:
    return World(tmp_path, CONFIG.replace(LAYOUT, ""))


def test_a_log_that_is_rotated_between_listing_and_reading_gives_each_row_once(world: World) -> None:
    log = world.write(f"{TODAY}.jsonl", "a", "b")
    world.collect()
    world.write(log.name, "c", mode="a")

    def rotate() -> None:
        log.rename(log.with_name(f"{log.name}.1"))
        world.write(log.name, "x" * 20, "y", "z")

    world.engine = Meanwhile(rotate)
    [failed] = world.collect().failed
    assert failed.reasons[0].endswith("was rotated or rewritten while it was collected: collect it again")
    assert world.collect().is_done
    assert world.rows() == ["a", "b", "c", "x" * 20, "y", "z"]
    assert not world.has_twins()


@pytest.mark.parametrize("cut", [1, 20, 40])
def test_a_line_that_is_being_written_after_the_listing_waits_for_its_end(world: World, cut: int) -> None:
    log = world.write(f"{TODAY}.jsonl", "a")
    os.utime(log, (NOW.timestamp() - 3600,) * 2)
    text = line(TODAY, "b")

    def write(part: str) -> None:
        log.write_text(log.read_text() + part)

    world.engine = Meanwhile(lambda: write(text[:cut]))
    assert world.collect().accounts.rejected == 0
    write(text[cut:])
    assert world.collect().accounts.rejected == 0
    assert world.rows() == ["a", "b"]


def test_a_document_that_is_being_written_after_the_listing_is_taken_whole_later(tmp_path: Path) -> None:
    config = CONFIG.replace("format.jsonl.default", "format.json.documents")
    world = World(tmp_path, 'format "json" "documents" {}\n' + config)
    log = world.write(f"{TODAY}.json", "a")
    os.utime(log, (NOW.timestamp() - 3600,) * 2)
    text = line(TODAY, "b")
    world.engine = Meanwhile(lambda: log.write_text(log.read_text() + text[:20]))
    assert world.collect().accounts.rejected == 0
    log.write_text(log.read_text() + text[20:])
    world.collect()
    assert world.rows() == ["a", "b"]
