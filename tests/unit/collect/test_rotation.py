"""Logs that are rotated while they are collected: every row once, whatever the instant."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.cli.report import print_report
from tailpipe.collect.events import Report
from tests.sampling import sampled
from tests.unit.collect import rotating
from tests.unit.collect.live import collect_while_it_turns
from tests.unit.collect.rotating import Turning, at, happen
from tests.unit.collect.support import CONFIG, LocalEngine, World

STEPS = (3, 5, 7, 10)
Change = Callable[[Turning], Iterator[None]]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Turning]:
    yield Turning(tmp_path)
    happen()


def chain(world: Turning, files: int) -> None:
    for number in range(files - 1, -1, -1):
        world.append(f"app.log.{number}" if number else "app.log", 4)


def check(world: Turning) -> None:
    """After all has come to rest, every row is there once."""
    happen()
    for _ in range(2):
        summary = world.collect()
        assert summary.is_done, summary
    assert world.rows() == sorted(world.written)
    assert not world.has_twins()


@pytest.mark.parametrize("step", sampled(STEPS, 2))
@pytest.mark.parametrize(
    "change",
    [
        rotating.rename_chain,
        rotating.gzip_chain,
        rotating.gzip_in_place,
        rotating.copytruncate,
        rotating.slow_copytruncate,
        rotating.replace_all,
    ],
)
def test_a_rotation_at_any_step_of_a_first_run_gives_each_row_once(world: Turning, change: Change, step: int) -> None:
    chain(world, 3)
    at(step, lambda: change(world))
    world.collect()
    check(world)


@pytest.mark.slow
@pytest.mark.parametrize("step", sampled(STEPS, 2))
@pytest.mark.parametrize(
    "change", [rotating.rename_chain, rotating.gzip_chain, rotating.copytruncate, rotating.slow_copytruncate]
)
def test_a_rotation_at_any_step_of_a_later_run_gives_each_row_once(world: Turning, change: Change, step: int) -> None:
    chain(world, 2)
    world.collect()
    world.append("app.log", 3)
    at(step, lambda: change(world))
    world.collect()
    check(world)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("count", [9, 90])
def test_a_log_that_is_begun_anew_while_it_is_read_is_read_again(world: Turning, count: int, packed: bool) -> None:
    log = world.append("app.log", 30)
    copy = world.logs / f"app.log.1{'.gz' if packed else ''}"
    reads = 0

    def happens(what: str) -> None:
        nonlocal reads
        reads += what == "read"
        if what == "read" and reads == 3:
            copy.write_bytes(gzip.compress(log.read_bytes()) if packed else log.read_bytes())
            log.write_bytes(world.lines(count))

    happen(happens)
    assert world.collect().is_done
    assert reads > 3
    check(world)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_log_that_is_copied_and_not_cut_yet_is_collected_once(world: Turning, is_known: bool) -> None:
    log, copy = world.append("app.log", 9), world.logs / "app.log.1"
    if is_known:
        world.collect()
        world.append("app.log", 2)
    for part in (log.read_bytes()[:100], log.read_bytes()):
        copy.write_bytes(part)
        assert world.collect().skipped["is still being written"] == 1
        assert world.rows() == sorted(world.written)
    log.write_bytes(world.lines(3))
    check(world)


def test_a_file_that_is_still_being_compressed_is_reported(world: Turning, capsys: pytest.CaptureFixture[str]) -> None:
    log, copy = world.append("app.log", 9), world.logs / "app.log.1.gz"
    copy.write_bytes(gzip.compress(log.read_bytes())[:-9])
    summary = world.collect()
    assert (summary.skipped, world.rows()) == ({"is still being written": 1}, sorted(world.written))
    print_report(Report((summary,)), "pretty")
    assert capsys.readouterr().out.splitlines()[-1] == (
        f"  source file: 1 artifact not collected: still being written, left for the next run (first: {copy})"
    )
    copy.write_bytes(gzip.compress(log.read_bytes()))
    log.write_bytes(world.lines(3))
    assert world.collect().unavailable_artifacts == ()
    check(world)


def test_a_copy_that_stays_is_a_file_of_its_own(world: Turning) -> None:
    log = world.append("app.log", 4)
    copy = world.logs / "app.log.keep"
    copy.write_bytes(log.read_bytes())
    world.collect()
    os.utime(copy, (log.stat().st_mtime - 90,) * 2)
    world.collect()
    assert world.rows() == sorted([*world.written, *world.written])


def test_a_chain_that_is_renamed_once_the_first_file_is_read_is_collected_whole_by_the_same_run(
    world: Turning,
) -> None:
    chain(world, 6)
    before = list(world.written)
    opened = 0

    def happens(what: str) -> None:
        nonlocal opened
        opened += what == "open"
        if what == "open" and opened == 2:
            next(rotating.rename_chain(world))

    happen(happens)
    summary = world.collect()
    assert summary.is_done, summary
    assert set(before) <= set(world.rows())
    check(world)


def test_a_log_that_turns_faster_than_it_can_be_read_is_left_for_the_next_run(
    world: Turning, capsys: pytest.CaptureFixture[str]
) -> None:
    from tailpipe.cli.report import print_report
    from tailpipe.collect.events import Report

    chain(world, 2)
    steady = world.append("other.log", 2)

    def happens(what: str) -> None:
        if what == "open":
            (world.logs / "app.log").rename(world.logs / f"app.log.{datetime.now(UTC).timestamp()}")
            world.append("app.log", 1)

    happen(happens)
    summary = world.collect()
    assert not summary.is_done
    assert summary.changed_artifacts == (f'"{world.logs}/app.log" was rotated or replaced after it was listed',)
    assert str(steady) in world.rows("tp_source_location")  # what stays as it is does not wait
    print_report(Report((summary,)), "pretty")
    assert f'deferred to the next run: "{world.logs}/app.log" was rotated' in capsys.readouterr().out
    check(world)


@pytest.mark.slow
def test_a_day_whose_log_turns_again_and_again_is_rolled_back_and_taken_later(tmp_path: Path) -> None:
    day = datetime.now(UTC).date()
    world = Turning(tmp_path, CONFIG)
    log, count = f"{day}.log", 0
    world.append(log, 3)

    def happens(what: str) -> None:
        nonlocal count
        if what == "open":
            count += 1
            (world.logs / log).rename(world.logs / f"{log}.{count}")
            world.append(log, 1)

    happen(happens)
    [failed] = world.collect().failed
    assert (failed.unit, failed.reasons[0].endswith("after it was listed; the next run collects it")) == (
        str(day),
        True,
    )
    check(world)


def test_a_file_that_grows_while_it_is_read_is_fine(world: Turning) -> None:
    log = world.append("app.log", 4)

    def happens(what: str) -> None:
        if what in ("open", "read") and log.stat().st_size < 4000:
            world.append("app.log", 1)

    happen(happens)
    assert world.collect().is_done
    assert len(world.engine.jobs) == 1
    check(world)


def test_two_names_of_one_file_are_collected_once_whichever_is_known(world: Turning) -> None:
    log = world.append("b.log", 4)
    world.collect()
    os.link(log, world.logs / "a.log")
    os.link(log, world.logs / "c.log")
    world.append("b.log", 2)
    assert world.collect().skipped == {"listed twice": 2}
    log.unlink()
    world.append("a.log", 2)
    check(world)


def test_overwriting_is_done_once_though_a_log_turns_meanwhile(world: Turning) -> None:
    chain(world, 3)
    world.collect()
    at(7, lambda: rotating.rename_chain(world))
    assert world.collect(overwrite=True).is_done
    check(world)


def test_a_bad_artifact_is_told_once_though_the_run_lists_again(world: Turning) -> None:
    chain(world, 3)
    (world.logs / "bad.gz").write_bytes(b"\x1f\x8b\x08\x00")
    os.utime(world.logs / "bad.gz", (1, 1))
    at(7, lambda: rotating.rename_chain(world))
    summary = world.collect(skip_bad_artifacts=True)
    assert len(summary.bad_artifacts) == 1
    assert world.rows() == sorted(world.written)


def test_a_log_that_may_not_be_read_for_a_moment_is_not_taken_for_another(
    world: Turning, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By a stand-in for the system's call: root may read everything.
    world.append("app.log", 4)
    world.collect()
    world.append("app.log", 2)
    opened = os.open

    def deny(path: str, flags: int, *rest: int, **named: int) -> int:
        if str(path).endswith("app.log"):
            raise PermissionError(13, "Permission denied", path)
        return opened(path, flags, *rest, **named)

    class Late(LocalEngine):
        def run(self, tasks):  # type: ignore[no-untyped-def]
            monkeypatch.undo()
            return super().run(tasks)

    world.engine = Late()
    monkeypatch.setattr(os, "open", deny)
    assert world.collect().bad_artifacts == (f'cannot read "{world.logs}/app.log": Permission denied',)
    check(world)


@pytest.mark.parametrize("style", ["rename", "gzip"])
def test_a_program_that_rotates_while_runs_collect_has_each_row_collected_once(tmp_path: Path, style: str) -> None:
    collect_while_it_turns(World(tmp_path), style, rounds=2, pause=0.1)
