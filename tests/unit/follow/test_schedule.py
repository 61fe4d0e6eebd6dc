"""When jobs are due, by a clock that the test moves."""

from __future__ import annotations

from tailpipe.follow.schedule import COLLECT, DETECT, MAINTAIN, PUSH, Paces, Schedule, Turn

PACES = Paces(every=10, maintain=600, push=60, detect=10, longest_backoff=300, stuck=100)


def _schedule(*names: str, tasks: tuple[str, ...] = ()) -> Schedule:
    return Schedule.of(names, PACES, 0.0, tasks)


def _do(schedule: Schedule, turn: Turn, at: float, took: float = 1.0, **how: bool) -> None:
    was_woken = turn.is_woken
    schedule.begin(turn, at)
    schedule.end(turn, at + took, **{"is_done": True, "was_woken": was_woken, **how})


def test_partitions_come_in_turn_and_each_at_its_interval() -> None:
    schedule = _schedule("a", "b")
    first = schedule.next(0)
    assert first is not None
    _do(schedule, first, 0)
    second = schedule.next(1)
    assert second is not None
    assert {first.partition, second.partition} == {"a", "b"}
    _do(schedule, second, 1)
    assert (schedule.next(2), schedule.delay(2)) == (None, 8.0)
    assert schedule.next(10) is first


def test_a_run_that_takes_longer_than_the_interval_is_due_again_at_once_after_the_others() -> None:
    schedule = _schedule("slow", "b")
    slow, other = schedule.turns
    _do(schedule, slow, 0, took=30)
    assert schedule.next(30) is other
    _do(schedule, other, 30)
    assert schedule.next(31) is slow


def test_one_that_fails_waits_longer_each_time_and_the_others_do_not() -> None:
    schedule = _schedule("bad", "good")
    bad, good = schedule.turns
    waits, now = [], 0.0
    for _ in range(7):
        _do(schedule, bad, now, is_done=False)
        waits.append(bad.due - now - 1)
        now = bad.due
    assert waits == [10, 20, 40, 80, 160, 300, 300]
    _do(schedule, good, 0)
    assert good.due == 10
    schedule.wake_partitions(["bad"], now - 200)
    assert bad.due == now, "file changes do not wake one that fails"
    _do(schedule, bad, now)
    assert bad.due == now + 10


def test_a_changed_file_wakes_at_once_and_then_at_most_every_second() -> None:
    schedule = _schedule("a")
    (turn,) = schedule.turns
    _do(schedule, turn, 0, took=0.5)
    schedule.wake_partitions(["a", "unknown"], 5)
    assert schedule.next(5) is turn
    _do(schedule, turn, 5, took=0.5, has_news=True)
    schedule.wake_partitions(["a"], 5.6)
    assert turn.due == 6
    schedule.begin(turn, 6)
    schedule.wake_partitions(["a"], 6.1)
    schedule.end(turn, 6.5, is_done=True, has_news=True, was_woken=True)
    assert turn.due == 7, "a change while it runs makes it run again"


def test_a_log_that_never_rests_is_collected_ever_less_often_up_to_the_interval() -> None:
    schedule, now, gaps = _schedule("a"), 0.0, []
    (turn,) = schedule.turns
    for _ in range(400):
        _do(schedule, turn, now, took=0.2, has_news=True)
        schedule.wake_partitions(["a"], now + 0.3)
        gaps.append(turn.due - now)
        now = turn.due
    assert gaps == sorted(gaps)
    assert (gaps[0], gaps[59], gaps[70], gaps[130], gaps[200], gaps[-1]) == (1, 1, 2, 4, 8, 10)
    _do(schedule, turn, now)
    schedule.wake_partitions(["a"], now + 5)
    assert turn.due == now + 5, "after a rest it is quick again"


def test_tasks_come_at_their_own_intervals_and_after_news_sooner() -> None:
    schedule = _schedule("a", tasks=(MAINTAIN, PUSH, DETECT))
    due = {turn.kind: turn.due for turn in schedule.turns}
    assert due == {COLLECT: 0, MAINTAIN: 600, PUSH: 60, DETECT: 10}
    detect = next(turn for turn in schedule.turns if turn.kind == DETECT)
    _do(schedule, detect, 10)
    assert detect.due == 70
    schedule.wake_tasks(30)
    assert detect.due == 30
    maintenance = next(turn for turn in schedule.turns if turn.kind == MAINTAIN)
    assert maintenance.due == 600


def test_one_that_hangs_is_found_once() -> None:
    schedule = _schedule("a", "b")
    turn = schedule.turns[0]
    schedule.begin(turn, 0)
    assert schedule.find_stuck(99) == []
    assert schedule.find_stuck(100) == [turn]
    assert schedule.find_stuck(200) == []
    assert schedule.next(200) is schedule.turns[1]
    schedule.end(turn, 300, is_done=True)
    assert not turn.is_stuck


def test_a_new_config_keeps_what_runs_and_tries_at_once_what_has_failed() -> None:
    schedule = _schedule("a", "b", "gone", "running")
    a, b, _, running = schedule.turns
    for _ in range(6):
        _do(schedule, a, 0, is_done=False)
    _do(schedule, b, 0)
    schedule.begin(running, 0)
    schedule.renew(["a", "b", "new"], PACES, 5.0)
    assert [turn.partition for turn in schedule.turns] == ["a", "b", "new", "running"]
    assert (a.failures, a.due, b.due, schedule.turns[2].due) == (0, 15, 10, 5)
