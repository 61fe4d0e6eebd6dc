"""Workers that crash, hang, take too much memory, or whose server leaves."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tailpipe.errors import CrashedError, QueryError, TimeLimitError, UsageError
from tailpipe.frozen import frozen
from tailpipe.sql.duck import duckdb
from tailpipe.workers.pool import Workers
from tailpipe.workers.worker import Call, CancelledError, FailedError

CRASH = "SELECT from_json('1', repeat('[',20000)||'\"INT\"'||repeat(']',20000))"


@frozen
class Do:
    """A request that does what its name says."""

    what: str
    statement: str = ""

    def __call__(self, shared: Any, call: Call, /) -> bytes:
        if self.what == "hang":
            while True:
                time.sleep(60)
        elif self.what == "allocate":
            bytearray(1 << 40)
        elif self.what == "text":
            duckdb.connect().execute("SELECT repeat('x', 4000000000)").fetchall()
        elif self.what == "fail":
            raise UsageError("wrong", hint="right")
        elif self.what == "statement":
            duckdb.connect().execute(self.statement).fetchall()
        elif self.what == "give":
            for number in range(1000):
                call.give(b"%d" % number)
        return f"{os.getpid()} {shared}".encode()


def shared() -> str:
    return "shared"


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(shared, 2, (__name__,))
    yield made
    server = made._server.pid
    made.close()
    assert not Path(f"/proc/{server}").exists()


def pid_of(answer: bytes) -> int:
    return int(answer.split()[0])


def test_a_worker_is_used_again_and_shares_what_was_prepared(workers: Workers) -> None:
    answers = {workers.run(Do(""), 10) for _ in range(3)}
    assert len(answers) == 1
    assert answers.pop().endswith(b" shared")
    with pytest.raises(UsageError, match="wrong") as caught:
        workers.run(Do("fail"), 10)
    assert caught.value.hint == "right"


def test_a_crash_is_an_error_and_the_next_request_gets_another_worker(workers: Workers) -> None:
    first = pid_of(workers.run(Do(""), 10))
    with pytest.raises(CrashedError, match="crashed the SQL engine: SELECT from_json") as caught:
        workers.run(Do("statement", CRASH), 60)
    assert caught.value.signal == signal.SIGSEGV
    second = pid_of(workers.run(Do(""), 10))
    assert second != first
    assert not Path(f"/proc/{first}").exists(), "it was not reaped"


def test_a_request_that_hangs_is_killed_after_its_time_and_a_grace(workers: Workers) -> None:
    first = pid_of(workers.run(Do(""), 10))
    with pytest.raises(TimeLimitError, match=r"the time limit of 0\.2 s"):
        workers.run(Do("hang"), 0.2)
    assert not Path(f"/proc/{first}").exists()
    assert workers.run(Do(""), 10)


def test_a_request_that_hangs_and_is_cancelled_is_killed(workers: Workers) -> None:
    worker = workers.take()
    stop = threading.Event()

    def cancel() -> None:
        while not stop.wait(0.05):
            worker.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(CancelledError):
        worker.run(Do("hang"), 600)
    stop.set()
    thread.join()
    workers.put_back(worker)
    assert not Path(f"/proc/{worker.pid}").exists()


def test_memory_is_limited_and_the_server_goes_on(workers: Workers) -> None:
    workers.memory = 1 << 30
    with pytest.raises(QueryError, match=r"needed more memory than 1.1 GB"):
        workers.run(Do("allocate"), 60)
    with pytest.raises(FailedError, match="OutOfMemoryException"):
        workers.run(Do("text"), 60)
    assert workers.run(Do(""), 10)


def test_whoever_stops_taking_parts_ends_the_request_and_the_worker_is_used_again(workers: Workers) -> None:
    worker = workers.take()
    taken: list[bytes] = []

    def give(part: bytes) -> None:
        taken.append(part)
        if len(taken) == 3:
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        worker.run(Do("give"), 10, give)
    assert taken == [b"0", b"1", b"2"]
    assert pid_of(worker.run(Do(""), 10)) == worker.pid
    workers.put_back(worker)


def test_a_server_that_is_killed_leaves_no_worker(workers: Workers) -> None:
    pid = pid_of(workers.run(Do(""), 10))
    os.kill(workers._server.pid, signal.SIGKILL)
    end = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert pid_of(workers.run(Do(""), 10)) != pid
