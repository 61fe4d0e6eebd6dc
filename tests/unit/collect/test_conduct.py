"""Several partitions at once: their tasks run in common jobs, and each goes its own way."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tailpipe.collect import conduct as conducting
from tailpipe.collect.packing import JOINT_BYTES, LEAST_TASK_BYTES, TASK_BYTES, Piece, pack, task_bytes
from tailpipe.errors import SparkError, StorageError
from tailpipe.kernel.task import Fault, Outcome, Share, Staging, Task

from .support import NOW, LocalEngine, World

TODAY = NOW.date()
TABLE = """
table "app" {
  format     = format.jsonl.default
  map_fields = []
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
"""
PARTITION = """
partition "app" "NAME" {
  source "file" {
    paths       = ["LOGS/NAME"]
    file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`
  }
}
"""
NAMES = ("a", "b", "c")


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, TABLE + "".join(PARTITION.replace("NAME", name) for name in NAMES))
    for name in NAMES:
        for back in range(3):
            made.write(f"{name}/{TODAY - timedelta(days=back)}.jsonl", f"{name}{back}")
    return made


def units(world: World) -> list[tuple[str, str]]:
    """What was committed, in order."""
    return [(one.partition, one.unit) for one in world.seen if type(one).__name__ == "Committed"]  # type: ignore[union-attr]


def everything(world: World) -> list[Any]:
    return [row for name in NAMES for row in world.rows(partition=f"app.{name}")]


def test_small_days_of_several_partitions_are_one_task(world: World) -> None:
    report = world.report()
    assert report.is_done
    assert world.engine.jobs == [1]
    assert everything(world) == ["a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1", "c2"]
    assert [one.partition for one in report.partitions] == ["app.a", "app.b", "app.c"]
    for name in NAMES:  # newest first
        own = [unit for partition, unit in units(world) if partition == f"app.{name}"]
        assert own == [str(TODAY - timedelta(days=back)) for back in range(3)]


def test_no_more_partitions_are_open_than_the_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conducting, "_OPEN", 2)
    assert world.report().is_done
    assert world.engine.jobs == [1, 1]
    assert len(everything(world)) == 9


def test_a_partition_with_much_to_read_is_not_kept_waiting_by_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conducting, "_JOB_BYTES", 1)
    assert world.report().is_done
    assert world.engine.jobs == [1, 1, 1]


def test_a_day_that_fails_rolls_back_alone(world: World) -> None:
    (world.logs / "b" / f"{TODAY - timedelta(days=1)}.jsonl.gz").write_bytes(b"\x1f\x8b\x08 cut")
    report = world.report()
    assert world.engine.jobs[0] == 1
    assert [(one.partition, [failed.unit for failed in one.failed]) for one in report.partitions if one.failed] == [
        ("app.b", [str(TODAY - timedelta(days=1))])
    ]
    assert everything(world) == ["a0", "a1", "a2", "b0", "b2", "c0", "c1", "c2"]


class Failing(LocalEngine):
    """Fails whenever it gets a task of one partition."""

    def __init__(self, partition: str) -> None:
        super().__init__()
        self._partition = partition

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        if any(share.partition == self._partition for task in tasks for share in task.shares):
            self.jobs.append(-len(tasks))
            raise SparkError("a job failed", hint="see the log")
        yield from super().run(tasks)


def test_a_job_that_fails_is_run_again_for_each_partition_alone(world: World) -> None:
    world.engine = Failing("app.b")
    a, b, c = world.report().partitions
    assert world.engine.jobs == [-1, 1, -1, 1]
    assert (a.is_done, c.is_done) == (True, True)
    assert b.error == "a job failed (see the log)"
    assert everything(world) == ["a0", "a1", "a2", "c0", "c1", "c2"]
    world.engine = LocalEngine()
    assert world.report().is_done
    assert len(everything(world)) == 9


class Absent(LocalEngine):
    """Does not start."""

    @property
    def cores(self) -> int:
        raise SparkError("Spark did not start", hint="see the log")


def test_an_engine_that_does_not_start_is_the_error_of_each_partition(world: World) -> None:
    world.engine = Absent()
    assert [one.error for one in world.report().partitions] == ["Spark did not start (see the log)"] * 3
    assert everything(world) == []
    world.engine = LocalEngine()
    assert world.report().is_done
    assert len(everything(world)) == 9


class Spoiling(LocalEngine):
    """Cannot read the newest file of the first partition, then fails, and is sound from then on."""

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        for number, outcomes in super().run(tasks):
            if len(self.jobs) > 1:
                yield number, outcomes
                continue
            (outcome,) = outcomes
            spoilt = [one for one in outcome.results if one.reading.artifact.uri.endswith(f"a/{TODAY}.jsonl")]
            assert len(spoilt) == 1
            results = (replace(one, fault=Fault("cannot be read")) if one in spoilt else one for one in outcome.results)
            yield number, (replace(outcome, results=tuple(results)),)
            raise SparkError("a job failed")


def test_a_job_that_fails_after_a_unit_was_begun_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailpipe.collect.batch.FIRST_ALONE_BYTES", 0)
    world.write(f"a/{TODAY}-more.jsonl", "a0 too")
    world.report()
    before = everything(world)
    world.engine = Spoiling()
    options: dict[str, Any] = {"overwrite": True, "skip_bad_artifacts": True}
    report = world.report(str(TODAY - timedelta(days=2)), str(TODAY), **options)
    assert [one.error for one in report.partitions] == ["", "", ""]
    assert report.partitions[0].bad_artifacts == ("cannot be read",)
    assert everything(world) == before


class Ending(LocalEngine):
    """Is ended by something after its first answer."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self._error = error

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        answers = super().run(tasks)
        yield next(answers)
        raise self._error


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), StorageError("the disk is full", path="x")], ids=["interrupt", "disk"]
)
def test_whatever_ends_a_run_leaves_no_transaction_and_no_lock(
    world: World, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr("tailpipe.collect.batch.FIRST_ALONE_BYTES", 0)  # so that there are several tasks
    world.engine = Ending(error)
    with pytest.raises(type(error)):
        world.report()
    assert units(world) == [("app.a", str(TODAY))]
    with world.catalog() as catalog:
        for name in NAMES:
            with catalog.writer(f"app.{name}") as writer:
                assert writer.recovered == 0
    assert list((world.root / "home" / ".tailpipe" / "staging").iterdir()) == []
    world.engine = LocalEngine()
    assert world.report().is_done
    assert everything(world) == ["a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1", "c2"]


def test_a_day_is_committed_while_later_ones_are_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailpipe.collect.batch.FIRST_ALONE_BYTES", 0)
    committed: list[int] = []

    class Counting(LocalEngine):
        def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
            for answer in super().run(tasks):
                committed.append(len(units(world)))
                yield answer

    world.engine = Counting()
    assert world.report().is_done
    assert world.engine.jobs == [4]  # the newest day of each partition, then all others
    assert committed == [0, 1, 2, 3]


def piece(size: int, unit: str = "u", *, is_alone: bool = False, template: Any = "t") -> Piece:
    from tests.unit.kernel.support import Memory

    share = Share("app.x", Memory(name="memory"), (), Staging(unit, "p"))
    return Piece(template, share, size, is_alone)


def test_every_core_has_a_task_once_there_is_work_for_it() -> None:
    megabyte = 1024 * 1024
    for cores in (1, 2, 8, 64):
        for total in (0, 1, 7 * megabyte, 8 * megabyte, 100 * megabyte, 5000 * megabyte):
            size = task_bytes(total, cores)
            tasks = -(-total // size)
            assert size <= max(TASK_BYTES, 1)
            assert tasks >= min(cores, total // LEAST_TASK_BYTES)
            assert total == 0 or size >= min(total, LEAST_TASK_BYTES)


def test_small_pieces_share_tasks_and_large_ones_do_not() -> None:
    small = [piece(1000, f"u{n}") for n in range(10)]
    assert pack(small, 5000) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    mixed = [piece(10), piece(JOINT_BYTES + 1, "v"), piece(10, "w")]
    assert pack(mixed, TASK_BYTES) == [[0, 2], [1]]
    assert pack([piece(10, is_alone=True), piece(10, "v"), piece(10, "w")], 5000) == [[0], [1, 2]]
    assert pack([piece(10), piece(10, "v", template="other"), piece(10, "w")], 5000) == [[0, 2], [1]]
    assert pack([piece(0, f"u{n}") for n in range(5)], 1) == [[0, 1, 2, 3, 4]]
    assert pack([], 1) == []


def test_the_largest_piece_of_a_unit_comes_first() -> None:
    large = JOINT_BYTES * 2
    pieces = [piece(large, "u"), piece(large * 2, "u"), piece(large * 3, "v")]
    assert pack(pieces, TASK_BYTES) == [[1], [0], [2]]
