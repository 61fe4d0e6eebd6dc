"""Limits on requests hold over threads and processes of a host."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import pytest

from tailpipe.errors import TailpipeError
from tailpipe.plugin import RequestLimit, Retry

FORK = multiprocessing.get_context("fork")


class Clock:
    """A clock that goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def limit(directory: Path, clock: Clock, **facts: Any) -> RequestLimit:
    return RequestLimit("api", directory=directory, sleep=clock.sleep, clock=lambda: clock.now, **facts)


def test_no_more_slots_are_held_than_there_are(tmp_path: Path) -> None:
    clock = Clock()
    one = limit(tmp_path, clock, parallel=2, time_limit=5)
    with one.request(), one.request():
        with pytest.raises(TailpipeError, match="no request to api could be sent for 5 seconds"), one.request():
            pytest.fail("there are two slots")
        with limit(tmp_path / "other", clock, parallel=2).request():
            pass
    assert clock.slept
    with one.request():
        pass


def test_a_slot_is_free_again_after_a_failure(tmp_path: Path) -> None:
    one = limit(tmp_path, Clock(), parallel=1, time_limit=0)
    for _ in range(3):
        with pytest.raises(KeyError), one.request():
            raise KeyError
    with one.request():
        pass


def test_threads_share_the_slots(tmp_path: Path) -> None:
    one = RequestLimit("api", parallel=3, directory=tmp_path)
    lock, inside, most = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(5):
            with one.request():
                with lock:
                    inside += 1
                    most = max(most, inside)
                with lock:
                    inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= most <= 3


def _hold(directory: Path, pipe: Pipe) -> None:
    with RequestLimit("api", parallel=1, directory=directory).request():
        pipe.send("held")
        pipe.recv()


def test_a_process_shares_its_slots_and_frees_them_when_it_is_killed(tmp_path: Path) -> None:
    here, there = FORK.Pipe()
    process = FORK.Process(target=_hold, args=(tmp_path, there))
    process.start()
    assert here.recv() == "held"
    one = limit(tmp_path, Clock(), parallel=1, time_limit=1)
    with pytest.raises(TailpipeError, match="no request to api"), one.request():
        pytest.fail("the other process holds the slot")
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with one.request():
        pass


def test_requests_keep_their_distance_whoever_sends_them(tmp_path: Path) -> None:
    clock = Clock()
    first, second = limit(tmp_path, clock, per_second=4), limit(tmp_path, clock, per_second=4)
    for one in (first, second, first, second, second):
        with one.request():
            pass
    assert clock.slept == pytest.approx([0.25] * 4)
    clock.now += 10
    with first.request():
        pass
    assert len(clock.slept) == 4


@pytest.mark.parametrize("left", [b"", b"garbage", b"9" * 40, b"nan", b"-1"])
def test_what_a_file_was_left_with_stops_nobody(tmp_path: Path, left: bytes) -> None:
    clock = Clock()
    one = limit(tmp_path, clock, per_second=1)
    with one.request():
        pass
    (file,) = tmp_path.rglob("turn")
    file.write_bytes(left)
    with one.request():
        pass
    assert clock.slept == []


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with (
        pytest.raises(TailpipeError, match="is not a directory of this user"),
        RequestLimit("api", parallel=1, directory=tmp_path / "link").request(),
    ):
        pytest.fail("a link leads elsewhere")


def test_each_attempt_takes_its_turn_and_holds_none_while_it_pauses(tmp_path: Path) -> None:
    clock = Clock()
    one = limit(tmp_path, clock, parallel=1, time_limit=0)

    def sleep(seconds: float) -> None:
        with one.request():  # nobody holds the only slot now
            clock.sleep(seconds)

    answers = iter([TimeoutError(), TimeoutError(), None])

    def request() -> str:
        if (error := next(answers)) is not None:
            raise error
        return "answer"

    assert Retry(sleep=sleep, clock=lambda: clock.now).call(request, limit=one) == "answer"
    assert len(clock.slept) == 2


@pytest.mark.parametrize("facts", [{"parallel": 0}, {"per_second": 0}, {"per_second": -1.0}])
def test_limits_that_nobody_can_keep_are_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"parallel is at least 1|per_second is more than 0"):
        RequestLimit("api", **facts)


def test_a_hold_stops_everybody_until_it_is_over(tmp_path: Path) -> None:
    clock = Clock()
    limit(tmp_path, clock).hold(30)
    limit(tmp_path, clock).hold(5)  # a shorter one does not shorten it
    with limit(tmp_path, clock, per_second=100).request():
        pass
    assert clock.now == pytest.approx(1030)
    with limit(tmp_path, clock).request():
        pass
    assert clock.now == pytest.approx(1030)


def test_a_hold_beyond_the_time_limit_is_an_error(tmp_path: Path) -> None:
    clock = Clock()
    one = limit(tmp_path, clock, time_limit=10)
    one.hold(30)
    with pytest.raises(TailpipeError, match="no request to api could be sent for 10 seconds"), one.request():
        pytest.fail("it is held")


def test_a_hold_of_a_clock_that_was_ahead_is_forgotten(tmp_path: Path) -> None:
    clock = Clock()
    clock.now = 10_000_000.0
    limit(tmp_path, clock).hold(30)
    clock.now = 1000.0
    with limit(tmp_path, clock).request():
        assert clock.now == 1000.0
