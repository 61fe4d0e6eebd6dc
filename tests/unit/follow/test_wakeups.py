"""The loop wakes when files change, when it is rung, and when its time is over."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailpipe.follow.wakeups import Wakeups

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is of Linux")


@pytest.fixture
def wakeups() -> Iterator[Wakeups]:
    made = Wakeups()
    yield made
    made.close()


def test_it_sleeps_until_the_time_is_over(wakeups: Wakeups) -> None:
    begun = time.monotonic()
    assert wakeups.wait(0.05) == set()
    assert time.monotonic() - begun >= 0.05


def test_another_thread_wakes_it_and_a_ring_before_counts(wakeups: Wakeups) -> None:
    for _ in range(20_000):
        wakeups.ring()  # more than a pipe holds
    assert wakeups.wait(60) == set()
    threading.Timer(0.05, wakeups.ring).start()
    assert wakeups.wait(60) == set()
    assert wakeups.wait(0) == set()


@LINUX
def test_a_line_a_new_file_and_a_new_directory_wake_their_partition_alone(wakeups: Wakeups, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    log = tmp_path / "a" / "x.log"
    log.write_text("1\n")
    wakeups.watch({"t.a": [str(tmp_path / "a")], "t.b": [str(tmp_path / "b" / "*.log")]})
    assert wakeups.wait(0) == set()
    with log.open("a") as file:
        file.write("2\n")
    assert wakeups.wait(10) == {"t.a"}
    (tmp_path / "b" / "new.log").write_text("1\n")
    assert wakeups.wait(10) == {"t.b"}
    (tmp_path / "a" / "2024" / "01").mkdir(parents=True)
    assert wakeups.wait(10) == {"t.a"}
    (tmp_path / "a" / "2024" / "01" / "y.log").write_text("1\n")
    assert wakeups.wait(10) == {"t.a"}


@LINUX
def test_watching_again_forgets_what_was_watched_and_takes_no_more_descriptors(
    wakeups: Wakeups, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        wakeups.watch({"t.a": [str(tmp_path / "a")]})
    wakeups.watch({"t.b": [str(tmp_path / "b"), str(tmp_path / "missing" / "x"), "~nobody-here/x", "relative/*.log"]})
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before
    (tmp_path / "a" / "x").write_text("1")
    assert wakeups.wait(0.05) == set()
    (tmp_path / "b" / "x").write_text("1")
    assert wakeups.wait(10) == {"t.b"}


@LINUX
def test_there_is_a_limit_to_what_is_watched_and_a_root_is_never_walked(wakeups: Wakeups, tmp_path: Path) -> None:
    for number in range(5000):
        (tmp_path / f"{number}").mkdir()
    wakeups.watch({"t.a": [str(tmp_path)], "t.b": ["/*.log"]})
    assert 0 < wakeups.watched <= 4096
