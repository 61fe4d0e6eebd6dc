"""What the loop decides, with jobs of the test's own and a clock that takes no time."""

from __future__ import annotations

import queue
import threading
import time

import pytest

from tailpipe.errors import ConfigError, Diagnostic, Place, TailpipeError
from tailpipe.follow.loop import TaskResult
from tailpipe.follow.news import Collected, Failing, Recovered, Reloaded, TaskDone
from tailpipe.follow.schedule import DETECT, MAINTAIN, PUSH, Turn
from tailpipe.follow.worker import Result, Stopped, Worker
from tailpipe.model.artifact import Accounts
from tests.unit.follow.support import FakeJobs, looped, summary, until


def _raise(error: BaseException) -> object:
    raise error


def test_cycles_with_rows_are_told_and_idle_ones_are_not() -> None:
    jobs = FakeJobs(["a", "b"], {"a": lambda: summary("a", 3)})
    loop, _, told = looped(jobs)
    until(loop, lambda: len(jobs.done) >= 6)
    loop.stop()
    assert loop.end(patience=5, cut=5)
    assert {type(one) for one in told} == {Collected}
    state = loop.status.state
    assert state.is_ready
    assert state.problems == {}
    runs = jobs.done.count("a")
    assert state.partitions["a"].accounts == Accounts(read=3 * runs, kept=3 * runs)
    assert (state.partitions["b"].runs, state.partitions["b"].accounts) == (jobs.done.count("b"), Accounts())


def test_one_that_fails_is_told_with_its_next_try_and_the_others_go_on() -> None:
    answers = iter([TailpipeError("no such bucket", hint="create it")] * 3)
    jobs = FakeJobs(["bad", "good"])
    jobs.answers["bad"] = lambda: _raise(error) if (error := next(answers, None)) else summary("bad", 1)
    loop, _, told = looped(jobs)
    until(loop, lambda: loop.status.state.partitions["bad"].failures == 3)
    assert list(loop.status.state.problems) == ["bad"]
    assert "no such bucket" in loop.status.state.problems["bad"]
    assert jobs.done.count("good") > 3
    until(loop, lambda: loop.status.state.partitions["bad"].accounts.kept == 1)
    failing = [one for one in told if isinstance(one, Failing)]
    assert [(one.name, one.retry_seconds, one.failures) for one in failing] == [
        ("bad", 10, 1),
        ("bad", 20, 2),
        ("bad", 40, 3),
    ]
    assert Recovered("bad") in told
    assert loop.status.state.problems == {}


def test_a_bug_in_a_source_is_a_failure_like_others() -> None:
    jobs = FakeJobs(["a"], {"a": lambda: _raise(ZeroDivisionError("password=hunter2hunter2"))})
    loop, _, told = looped(jobs)
    until(loop, lambda: bool(told))
    (failing,) = told
    assert isinstance(failing, Failing)
    assert failing.error.startswith("ZeroDivisionError")
    assert "hunter2" not in failing.error


def test_one_that_hangs_turns_red_and_the_others_go_on() -> None:
    release = threading.Event()
    jobs = FakeJobs(["hangs", "good"])

    def hang() -> object:
        release.wait(20)
        return summary("hangs", 1)

    jobs.answers["hangs"] = hang
    loop, bell, told = looped(jobs)
    bell.is_busy = lambda: any(one.turn is not None and one.turn.partition == "good" for one in loop._workers)
    until(loop, lambda: loop.status.state.partitions["hangs"].is_stuck)
    seen = jobs.done.count("good")
    until(loop, lambda: jobs.done.count("good") >= seen + 5)
    assert loop.status.state.problems == {"hangs": "the run is stuck"}
    assert [one.is_stuck for one in told if isinstance(one, Failing)] == [True]
    threads = len(loop._workers)
    assert threads == 2
    release.set()
    jobs.answers.pop("hangs")
    until(loop, lambda: not loop.status.state.problems)
    until(loop, lambda: len(loop._workers) == 1)
    assert Recovered("hangs") in told


def test_one_that_holds_the_slots_of_the_others_is_interrupted_and_then_runs_beside_them() -> None:
    release, idents = threading.Event(), list[int]()
    jobs = FakeJobs(["blocks", "good"])

    def block() -> object:
        idents.append(threading.get_ident())
        while not release.is_set():
            time.sleep(0.01)
        return summary("blocks", 1)

    jobs.answers["blocks"] = block
    loop, bell, told = looped(jobs)
    bell.is_busy = lambda: any(one.turn is not None and one.turn.partition == "good" for one in loop._workers)
    until(loop, lambda: loop.status.state.partitions["blocks"].is_stuck)

    def wait() -> object:  # for a slot, until the other one lets go
        until = time.monotonic() + 20
        while not loop.status.state.partitions["blocks"].failures and time.monotonic() < until:
            jobs.blockers = frozenset(idents)
            bell.now += 1
            bell.ring()
            time.sleep(0.01)
        jobs.blockers = frozenset()
        return summary("good", 1)

    jobs.answers["good"] = wait
    until(loop, lambda: loop.status.state.partitions["good"].accounts.kept == 1, rounds=10_000)
    failing = [one for one in told if isinstance(one, Failing) and not one.is_stuck]
    assert [(one.name, one.retry_seconds) for one in failing] == [("blocks", 120)]
    assert "held the task slots" in loop.status.state.problems["blocks"]
    jobs.answers.pop("good")
    seen = jobs.done.count("good")
    until(loop, lambda: len(idents) == 2, rounds=10_000)
    until(loop, lambda: jobs.done.count("good") > seen + 20, rounds=10_000)  # it is tried again, and they go on
    assert list(loop.status.state.problems) == ["blocks"]
    assert not any(one.was_interrupted for one in loop._workers)
    release.set()
    until(loop, lambda: not loop.status.state.problems, rounds=10_000)
    assert Recovered("blocks") in told
    loop.stop()
    loop.clock = time.monotonic
    assert loop.end(patience=5, cut=5)


def test_an_interrupt_that_comes_as_a_job_ends_leaves_a_result_and_the_thread() -> None:
    results: queue.SimpleQueue[Result] = queue.SimpleQueue()
    worker = Worker(results.put)
    for number in range(200):
        turn = Turn("collect", f"{number}", 0)
        worker.give(turn, lambda: None)
        worker.interrupt()
        result = results.get(timeout=10)
        assert (result.turn, type(result.error)) in ((turn, Stopped), (turn, type(None)))
        assert not worker.interrupt(), "nothing runs"
    worker.dismiss()
    assert worker.join(10)


def test_a_changed_file_brings_its_partition_forward() -> None:
    jobs = FakeJobs(["a", "b"])
    loop, bell, _ = looped(jobs)
    until(loop, lambda: len(jobs.done) == 2)
    until(loop, lambda: not bell.is_busy())
    bell.now += 2
    at, bell.changed = bell.now, {"b"}
    bell.ring()
    until(loop, lambda: len(jobs.done) == 3)
    assert (jobs.done[-1], bell.now) == ("b", at)


def test_tasks_come_by_themselves_and_their_failures_turn_it_red() -> None:
    hits = {("root_login", "high"): 2}
    jobs = FakeJobs(["a"], {"a": lambda: summary("a", 1)}, [MAINTAIN, PUSH, DETECT])
    jobs.answers[DETECT] = lambda: TaskResult("2 new hits", {"hits": 2}, hits)
    jobs.answers[PUSH] = lambda: TaskResult(problem="a: no route to host")
    loop, _, told = looped(jobs)
    until(loop, lambda: {MAINTAIN, PUSH, DETECT} <= set(jobs.done) and "push" in loop.status.state.tasks)
    assert loop.status.state.problems == {"push": "a: no route to host"}
    assert TaskDone(DETECT, "2 new hits", {"hits": 2}) in told
    assert loop.status.state.hits["root_login", "high"] == 2 * told.count(TaskDone(DETECT, "2 new hits", {"hits": 2}))


def test_the_engine_is_closed_when_there_was_no_work_for_long() -> None:
    jobs = FakeJobs(["a"])
    loop, bell, _ = looped(jobs)
    until(loop, lambda: not jobs.has_engine, rounds=1000)
    assert 900 <= bell.now < 980
    assert jobs.done.count("close") == 1


def test_a_broken_config_keeps_the_old_one_and_says_so() -> None:
    jobs = FakeJobs(["a"])
    jobs.reloading = lambda: _raise(ConfigError((Diagnostic("unknown block partitoin", Place("a.tpc", 1, 1)),)))  # type: ignore[assignment]
    loop, _, told = looped(jobs)
    loop.reload()
    until(loop, lambda: bool(told))
    (one,) = told
    assert isinstance(one, Reloaded)
    assert (one.partitions, "partitoin" in one.error) == (1, True)
    assert "config" in loop.status.state.problems

    def good() -> None:
        jobs.partitions = ["a", "b"]

    jobs.reloading = good
    loop.reload()
    until(loop, lambda: "b" in jobs.done)
    assert told[1] == Reloaded(2)
    assert loop.status.state.problems == {}
    assert set(loop.status.state.partitions) == {"a", "b"}


def test_stopping_waits_for_the_commit_and_interrupts_what_goes_on_after_it() -> None:
    begun, seen = threading.Event(), list[BaseException]()

    def run() -> object:
        begun.set()
        try:
            while True:
                threading.Event().wait(0.01)
        except BaseException as error:
            seen.append(error)
            raise

    jobs = FakeJobs(["a"], {"a": run})
    loop, bell, told = looped(jobs)
    bell.is_busy = lambda: False
    loop.round()
    assert begun.wait(10)
    loop.stop()
    loop.clock = time.monotonic
    assert loop.end(patience=0.05, cut=10)
    assert [type(one) for one in seen] == [Stopped]
    assert told == []


@pytest.mark.parametrize("signals", [1, 3])
def test_a_stopped_loop_begins_nothing_more(signals: int) -> None:
    jobs = FakeJobs(["a"])
    loop, _, _ = looped(jobs)
    for _ in range(signals):
        loop.stop()
    loop.run()
    assert (jobs.done, loop.status.state.is_stopping) == ([], True)
