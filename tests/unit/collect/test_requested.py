"""Which days a sequence of runs brings: incidents, gaps, filling, and clocks that were wrong."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog import doctor
from tailpipe.catalog.rebuild import rebuild
from tailpipe.cli.again import Typed
from tailpipe.cli.report import print_report
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet

from .support import CONFIG, NOW, World

TODAY = NOW.date()
INCIDENT = TODAY - timedelta(days=100)
LOGS = (0, 1, 2, 3, 4, 5, 19, 30, 31, 35, 36, 50, 51, 99, 100, 110)
"""So many days ago there are logs of."""

COMMAND = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
partition "app" "x" {
  source "command" {
    command = ["cat ROOT/printed/$(echo $TAILPIPE_FROM | cut -c1-10) 2>/dev/null || true"]
    shell   = true
  }
}
"""


def ago(count: int) -> date:
    return TODAY - timedelta(days=count)


def messages(*counts: int) -> list[str]:
    """What the logs of these days say."""
    return [f"{count:03d}" for count in counts if count in LOGS]


def coverage(world: World, source: str = "file") -> Coverage:
    with world.catalog() as catalog:
        return catalog.coverage("app.x")[source]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Logs of some of the last days."""
    world = World(tmp_path)
    for count in LOGS:
        world.write(f"{ago(count)}.jsonl", f"{count:03d}")
    return world


def test_after_the_window_of_an_incident_a_plain_run_takes_the_last_thirty_days(world: World) -> None:
    summary = world.collect(str(INCIDENT), str(INCIDENT))
    assert world.rows() == ["100"]
    assert (summary.gaps, summary.not_requested) == (NO_DAYS, DaySet.span(ago(99), TODAY))
    summary = world.collect()
    assert world.rows() == messages(*range(31), 100)
    assert (summary.gaps, summary.not_requested) == (NO_DAYS, DaySet.span(ago(99), ago(31)))


def test_a_window_with_an_end_does_not_move_the_frontier_of_a_partition_that_is_followed(world: World) -> None:
    world.now -= timedelta(days=5)
    world.collect()
    world.now += timedelta(days=5)
    world.collect(str(INCIDENT), str(INCIDENT))
    world.collect(str(ago(1)), str(ago(1)))
    known = coverage(world)
    assert known.frontier == ago(5)
    assert known.gaps(TODAY) == DaySet.span(ago(4), ago(2)) | DaySet.of([TODAY])
    summary = world.collect()
    assert world.rows() == messages(*range(36), 100)
    assert summary.not_requested == DaySet.span(ago(99), ago(36))


def test_filling_brings_the_days_that_nobody_requested(world: World) -> None:
    world.collect(str(INCIDENT), str(INCIDENT))
    summary = world.collect(fill=True)
    assert world.rows() == messages(*range(101))
    assert summary.not_requested == NO_DAYS
    assert coverage(world).frontier == TODAY
    assert world.collect(fill=True).committed == ()


def test_from_without_to_begins_anew_from_that_day_and_says_what_lies_between(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.now -= timedelta(days=20)
    world.collect()
    world.now += timedelta(days=20)
    report = world.report(str(ago(3)))
    print_report(report, "pretty", typed=Typed(start="T-1d"))
    told = f"not requested: {ago(19)}..{ago(4)}; to collect them: tailpipe collect app.x --fill"
    assert told in capsys.readouterr().out
    assert world.collect().committed == ()
    world.collect(fill=True)
    assert world.rows() == messages(*range(51))


def test_what_a_window_was_asked_for_and_did_not_bring_is_finished_by_a_plain_run(world: World) -> None:
    bad = world.write(f"{INCIDENT}.jsonl.gz", "packed")
    whole = bad.read_bytes()
    bad.write_bytes(whole[:-10])
    assert not world.collect(str(INCIDENT), str(ago(99))).is_done
    assert coverage(world).missing == DaySet.of([INCIDENT])
    bad.write_bytes(whole)
    assert world.collect().is_done
    assert world.rows() == [*messages(*range(31), 99, 100), "packed"]
    assert coverage(world).missing == NO_DAYS


def test_an_undated_file_is_read_again_for_days_that_are_requested_later(tmp_path: Path) -> None:
    world = World(tmp_path, text=CONFIG.replace("file_layout", "# file_layout"))
    for count in (0, 10, 60, 100):
        world.write("app.log", f"{count:03d}", day=ago(count), mode="a")
    world.collect(str(INCIDENT), str(INCIDENT))
    assert world.rows() == ["100"]
    world.collect()
    assert world.rows() == ["000", "010", "100"]
    world.collect(fill=True)
    assert world.rows() == ["000", "010", "060", "100"]
    assert not world.has_twins()


def test_days_that_were_lost_come_back_and_the_others_are_left_alone(world: World) -> None:
    world.collect(str(INCIDENT), str(INCIDENT))
    world.collect(str(ago(2)))
    (lost,) = (tmp for tmp in (world.root / "home").rglob(f"tp_date={INCIDENT}/*") if ".tailpipe" in str(tmp))
    for link in (world.root / "home").rglob(f"tp_date={INCIDENT}/*"):
        link.unlink()
    assert not lost.exists()
    doctor.repair(world.root / "home")
    assert (coverage(world).missing, coverage(world).frontier) == (DaySet.of([INCIDENT]), TODAY)
    world.collect()
    assert world.rows() == ["000", "001", "002", "100"]


def test_a_rebuild_brings_the_frontier_back_even_if_a_run_did_nothing_but_move_it(world: World) -> None:
    world.collect(str(ago(3)), str(TODAY))
    assert coverage(world).frontier is None
    assert world.collect(str(ago(3))).committed == ()
    before = coverage(world)
    assert before.frontier == TODAY
    rebuild(world.root / "home")
    assert coverage(world) == before


def test_a_source_that_comes_later_has_a_frontier_of_its_own(world: World) -> None:
    world.collect(str(ago(60)))
    (world.root / "other").mkdir()
    for count in (0, 20, 50):
        (world.root / "other" / f"{ago(count)}.jsonl").write_text(
            f'{{"time": "{ago(count)}T10:00:00Z", "message": "other {count}"}}\n'
        )
    start = CONFIG.index('  source "file"')
    second = CONFIG[start:].replace('"file"', '"file" "second"').replace("LOGS", str(world.root / "other"))
    world.text = CONFIG.rstrip().removesuffix("}") + second
    summary = world.collect()
    assert [row for row in world.rows() if "other" in row] == ["other 0", "other 20"]
    assert summary.not_requested == DaySet.span(ago(60), ago(31))
    world.collect(fill=True)
    assert [row for row in world.rows() if "other" in row] == ["other 0", "other 20", "other 50"]


@pytest.mark.parametrize(
    "ahead", [timedelta(hours=13), *(pytest.param(timedelta(days=n), marks=pytest.mark.slow) for n in (1, 2))]
)
def test_a_command_day_that_was_run_while_the_clock_was_ahead_is_finished(tmp_path: Path, ahead: timedelta) -> None:
    world = World(tmp_path, text=COMMAND.replace("ROOT", str(tmp_path)))
    (tmp_path / "printed").mkdir()
    printed = tmp_path / "printed" / str(TODAY)
    lines = [f'{{"time": "{TODAY}T{hour}:00:00Z", "message": "{hour}"}}\n' for hour in (10, 13, 20)]
    printed.write_text(lines[0])
    world.now += ahead
    world.collect()
    world.now += timedelta(hours=1) - ahead
    printed.write_text("".join(lines[:2]))
    world.collect()
    assert world.rows() == ["10", "13"]
    assert coverage(world, "command").frontier == TODAY
    world.now += timedelta(days=1)
    printed.write_text("".join(lines))
    world.collect()
    assert world.rows() == ["10", "13", "20"]
    # Its day is over: it does not run for it again.
    printed.write_text("")
    world.now += timedelta(days=1)
    world.collect()
    assert world.rows() == ["10", "13", "20"]


def test_a_clock_that_was_far_ahead_stops_the_partition_until_somebody_names_a_day(world: World) -> None:
    world.collect()
    world.now += timedelta(days=400)
    world.collect()
    world.now -= timedelta(days=400)
    summary = world.collect()
    assert summary.error.startswith(f"the clock says {TODAY}, but app.x was collected up to {ago(-400)}")
    assert f"tailpipe collect app.x --from {TODAY}" in summary.error
    assert world.collect(str(TODAY)).is_done
    world.now += timedelta(days=20)
    world.write(f"{ago(-20)}.jsonl", "later")
    summary = world.collect()
    assert [one.unit for one in summary.committed] == [str(ago(-20))]


def test_a_clock_that_was_behind_leaves_nothing_out(world: World) -> None:
    world.collect()
    before = coverage(world)
    world.now -= timedelta(days=1)
    world.collect()
    world.now += timedelta(days=1)
    world.write(f"{TODAY}-b.jsonl", "b")
    world.collect()
    assert coverage(world) == before
    assert world.rows() == [*messages(*range(31)), "b"]
