"""Jobs on a real session: order, retries, kills, failures and interrupts."""

from __future__ import annotations

import _thread
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailpipe.errors import SparkError
from tailpipe.spark.engine import SparkEngine
from tailpipe.spark.jobs import Attempt, failure_of, job_failure, run_job, running_tasks, stream_job


def echo(payload: bytes, attempt: Attempt) -> bytes:
    return payload + b" " + str(attempt).encode()


class Marking:
    """Leaves a mark for each attempt, then does what `action` says on the first one of the last task."""

    def __init__(self, marks: Path, action: str) -> None:
        self.marks = str(marks)
        self.action = action

    def __call__(self, payload: bytes, attempt: Attempt) -> bytes:
        tries = len(list(Path(self.marks).glob(f"{attempt.task:05d}-*")))
        Path(self.marks, str(attempt)).touch()
        if payload == b"victim" and tries == 0:
            if self.action == "raise":
                raise OSError("the first try fails")
            os.kill(os.getpid(), signal.SIGKILL)
        return payload


def fail(payload: bytes, attempt: Attempt) -> bytes:
    raise ValueError(f"no luck with {payload.decode()}")


def wait(payload: bytes, attempt: Attempt) -> bytes:
    Path(payload.decode(), str(attempt)).touch()
    time.sleep(600)
    return b""


def wait_for_file(payload: bytes, attempt: Attempt) -> bytes:
    """Ends once there is a file of that name; a path that is empty is not waited for."""
    path = payload.decode()
    while path and not Path(path).exists():
        time.sleep(0.02)
    return payload


def wait_and_pickle(payload: bytes, attempt: Attempt) -> bytes:
    return pickle.dumps(wait_for_file(payload, attempt))


def test_an_answer_comes_before_the_job_is_over(spark: SparkSession, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    answers = stream_job(spark.sparkContext, [b"", str(gate).encode()], wait_for_file)
    assert next(answers) == (0, b"")  # the other task is still waiting
    gate.touch()
    assert list(answers) == [(1, str(gate).encode())]


def test_whoever_closes_a_stream_of_answers_cancels_the_job(spark: SparkSession, tmp_path: Path) -> None:
    answers = stream_job(spark.sparkContext, [b"", str(tmp_path / "never").encode()], wait_for_file)
    assert next(answers) == (0, b"")
    answers.close()
    assert run_job(spark.sparkContext, [b"a", b"b"], echo)  # no core is taken any more
    assert not [name for name in threading.enumerate() if name.name.startswith("tailpipe-")]


def test_the_thread_is_known_whose_job_holds_the_slots_that_another_waits_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine, gate, threads = SparkEngine(lambda: spark.sparkContext), tmp_path / "gate", list[threading.Thread]()

    def begin(payloads: list[bytes]) -> None:
        threads.append(threading.Thread(target=lambda: list(engine._stream(payloads, wait_and_pickle, "waiting"))))
        threads[-1].start()

    def until(is_so: Callable[[], bool]) -> None:
        over = time.monotonic() + 60
        while not is_so():
            assert time.monotonic() < over
            time.sleep(0.05)

    assert engine.cores == 2
    begin([str(gate).encode()] * 3)
    until(lambda: sum(running_tasks(spark.sparkContext, engine._threads).values()) == 2)
    assert engine.blockers() == frozenset()
    begin([b""])
    until(lambda: engine.blockers() == {threads[0].ident})
    gate.touch()
    for thread in threads:
        thread.join(60)
    assert (engine.blockers(), engine._threads) == (frozenset(), {})


def test_one_payload_is_one_task_and_answers_keep_the_order(spark: SparkSession) -> None:
    answers = run_job(spark.sparkContext, [f"p{n}".encode() for n in range(23)], echo)
    words = [answer.decode().split() for answer in answers]
    assert [payload for payload, _ in words] == [f"p{n}" for n in range(23)]
    attempts = [attempt for _, attempt in words]
    assert [attempt[:5] for attempt in attempts] == [f"{n:05d}" for n in range(23)]
    assert len({attempt[6:] for attempt in attempts}) == 23  # each was a Spark task of its own


def test_attempts_of_two_jobs_have_different_names(spark: SparkSession) -> None:
    assert run_job(spark.sparkContext, [b"a"], echo) != run_job(spark.sparkContext, [b"a"], echo)


def test_a_job_without_payloads_needs_no_spark() -> None:
    assert run_job(None, [], echo) == []  # type: ignore[arg-type]


def test_large_payloads_travel(spark: SparkSession) -> None:
    payloads = [bytes([n]) * 3_000_000 for n in range(3)]
    assert [answer[:3_000_000] for answer in run_job(spark.sparkContext, payloads, echo)] == payloads


@pytest.mark.parametrize("action", ["raise", "kill"])
def test_a_task_that_fails_or_dies_once_is_tried_again(spark: SparkSession, marks: Path, action: str) -> None:
    payloads = [b"a", b"b", b"c", b"victim"]
    assert run_job(spark.sparkContext, payloads, Marking(marks, action)) == payloads
    tries = sorted(path.name for path in marks.iterdir())
    assert len([name for name in tries if name.startswith("00003-")]) == 2
    assert len(set(tries)) == len(tries) >= 5


def test_a_task_that_always_fails_is_told_in_one_line(spark: SparkSession) -> None:
    with pytest.raises(SparkError) as caught:
        run_job(spark.sparkContext, [b"me"], fail)
    assert caught.value.message == "a Spark job failed: ValueError: no luck with me"
    assert run_job(spark.sparkContext, [b"a"], echo)  # and the session goes on


def test_the_cause_is_found_also_where_the_traceback_begins_in_a_line_of_java() -> None:
    said = (
        "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
        ": org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
        '  File "run.py", line 70, in run\n'
        "    rows = connection.execute(sql)\n"
        "_duckdb.NotImplementedException: Not implemented Error: Unknown TimeZone 'CEST'!\n"
        "\n"
        'Candidate time zones: "CET", "CST"\n'
        " SQLSTATE: 38000\n"
        "\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1097)\n"
    )
    cause = "_duckdb.NotImplementedException: Not implemented Error: Unknown TimeZone 'CEST'!"
    assert job_failure(RuntimeError(said)).message == f"a Spark job failed: {cause}"


def test_an_interrupt_cancels_the_job_and_the_session_goes_on(spark: SparkSession, marks: Path) -> None:
    begun = 0.0

    def interrupt() -> None:
        nonlocal begun
        while not any(marks.iterdir()):
            time.sleep(0.05)
        begun = time.monotonic()
        _thread.interrupt_main()

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run_job(spark.sparkContext, [str(marks).encode()] * 4, wait)
    assert time.monotonic() - begun < 300
    assert run_job(spark.sparkContext, [b"a"], echo)
    assert len(list(marks.iterdir())) <= 2  # the tasks behind never began


@pytest.mark.parametrize(
    "reason",
    [
        '_duckdb.IOException: IO Error: Could not write file "/data/staging/1/r0.staged": No space left on device',
        "OSError: [Errno 28] No space left on device: '/data/staging/1/r0.staged'",
    ],
)
def test_a_full_disk_of_a_task_is_named_with_what_to_do(reason: str) -> None:
    error = failure_of(f"Job aborted\nTraceback (most recent call last):\n{reason}\n")
    assert error.message == "no space left for /data/staging/1"
    assert "free some space" in error.hint
