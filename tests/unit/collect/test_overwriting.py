"""Overwriting: suggestions do what they say when they are followed word by word, and no day is emptied unasked."""

from __future__ import annotations

import shlex
from datetime import date, timedelta
from pathlib import Path

import pytest

from tailpipe.cli.again import Typed
from tailpipe.cli.report import print_report
from tailpipe.cli.report_records import preview_record, summary_record
from tailpipe.collect import events
from tailpipe.collect.job import Job
from tailpipe.collect.planner import Planned, plan_partition
from tailpipe.model.coverage import DaySet
from tailpipe.model.request import Collect
from tests.unit.collect.support import CONFIG, NOW, World

TODAY = NOW.date()
OLD, OLDER = TODAY - timedelta(days=60), TODAY - timedelta(days=90)
CHANGED = CONFIG.replace('column "message" { type', 'column "message" {\n null_if = "a"\n type')
EMPTY = CONFIG.replace('partition "app" "x" {', 'partition "app" "x" {\n  filter = "message = \'nobody\'"')
UNDATED = CONFIG.replace("file_layout = `(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`", "")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def lines(capsys: pytest.CaptureFixture[str], summary: events.Summary, typed: Typed | None = None) -> list[str]:
    print_report(events.Report((summary,)), "pretty", typed=typed or Typed())
    return capsys.readouterr().out.splitlines()


def followed(world: World, line: str) -> events.Summary:
    """The run that a line of a report suggests."""
    _, _, command = line.partition("tailpipe collect ")
    partition, *words = shlex.split(command)
    assert partition == "app.x"
    values = {flag: words[words.index(flag) + 1] for flag in ("--from", "--to") if flag in words}
    return world.collect(values.get("--from"), values.get("--to"), overwrite="--overwrite" in words)


@pytest.mark.slow
@pytest.mark.parametrize("typed", [Typed(), Typed(start=str(OLDER)), Typed(start=str(OLDER), end=str(OLD))])
@pytest.mark.parametrize("is_dated", [True, False])
def test_the_suggestion_after_a_change_of_the_config_applies_it_to_old_rows(
    world: World, capsys: pytest.CaptureFixture[str], typed: Typed, is_dated: bool
) -> None:
    world.text = CONFIG if is_dated else UNDATED
    world.write(f"{OLD}.jsonl", "a")
    world.write(f"{OLDER}.jsonl", "a", "b")
    world.collect(str(OLDER))
    world.text = world.text.replace('column "message" { type', 'column "message" {\n null_if = "a"\n type')
    told = [line for line in lines(capsys, world.collect(typed.start, typed.end), typed) if "to apply" in line]
    assert followed(world, told[0]).is_done
    assert world.rows() == ["b", None, None]
    assert not world.collect().is_stale


def test_days_before_the_last_thirty_that_were_not_overwritten_are_named(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write(f"{TODAY}.jsonl", "a")
    world.write(f"{OLD}.jsonl", "a")
    world.collect(str(OLD))
    world.text = CHANGED
    told = lines(capsys, world.collect(overwrite=True))
    assert world.rows() == ["a", None]
    assert told[1] == (
        f"  rows since {OLD} are from before the change of the config;"
        f" to apply it to them: tailpipe collect app.x --from {OLD} --overwrite"
    )
    assert followed(world, told[1]).is_done
    assert world.rows() == [None, None]


@pytest.mark.parametrize("window", [(str(OLD), None), (str(OLDER), str(OLDER)), ("T-1d", None)])
@pytest.mark.parametrize("is_dated", [True, False])
@pytest.mark.parametrize("overwrite", [True, False])
def test_rows_that_a_run_leaves_as_an_earlier_config_made_them_are_named(
    world: World,
    capsys: pytest.CaptureFixture[str],
    window: tuple[str, str | None],
    is_dated: bool,
    overwrite: bool,
) -> None:
    world.text = CONFIG if is_dated else UNDATED
    for day in (OLDER, OLD):
        world.write(f"{day}.jsonl", "a")
    world.collect(str(OLDER))
    for day in (OLDER, OLD, TODAY):
        world.write(f"{day}-new.jsonl", "b")
    world.text = world.text.replace('column "message" { type', 'column "message" {\n null_if = "a"\n type')
    typed = Typed(start=window[0], end=window[1])
    told = [one for one in lines(capsys, world.collect(*window, overwrite=overwrite), typed) if "before the" in one]
    assert len(told) == 1
    followed(world, told[0])
    assert "a" not in world.rows()


def test_a_deleted_day_is_not_brought_back_by_the_suggestion(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    for day in (OLDER, OLD, TODAY):
        world.write(f"{day}.jsonl", "a")
    world.collect(str(OLDER))
    with world.catalog() as catalog:
        catalog.delete("app.x", DaySet.of([OLD]))
    world.text = CHANGED
    assert followed(world, lines(capsys, world.collect())[1]).is_done
    assert world.rows() == ["a", None]


@pytest.mark.parametrize("text", [CONFIG, UNDATED])
def test_overwriting_empties_no_day_unless_it_may(world: World, capsys: pytest.CaptureFixture[str], text: str) -> None:
    world.text = text
    world.write(f"{TODAY}.jsonl", "a", "b")
    world.write(f"{TODAY - timedelta(days=1)}.jsonl", "c")
    world.collect()
    world.text = text.replace('partition "app" "x" {', 'partition "app" "x" {\n  filter = "message = \'nobody\'"')
    summary = world.collect(overwrite=True)
    assert not summary.is_done
    assert summary.is_refused
    assert world.rows() == ["a", "b", "c"]
    reasons = [reason for one in summary_record(summary)["failed"] for reason in one["reasons"]]
    assert all("overwriting would leave no rows of" in reason for reason in reasons)
    assert all(reason.endswith("filtered; to accept this: --accept-loss") for reason in reasons)
    assert not any("--skip-bad-artifacts" in line for line in lines(capsys, summary))
    assert world.collect(overwrite=True, accept_loss=True).is_done
    assert world.rows() == []


def test_a_day_of_which_rows_are_left_is_overwritten_beside_one_that_would_be_empty(world: World) -> None:
    world.write(f"{TODAY}.jsonl", "nobody", "a")
    world.write(f"{TODAY - timedelta(days=1)}.jsonl", "c")
    world.collect()
    world.text = EMPTY
    assert [one.unit for one in world.collect(overwrite=True).failed] == [str(TODAY - timedelta(days=1))]
    assert world.rows() == ["c", "nobody"]


def test_rows_that_would_move_to_other_dates_leave_no_date_empty_unasked(world: World) -> None:
    world.write(f"{TODAY}.jsonl", "a")
    world.collect()
    world.text = CONFIG.replace('{ source = "time" }', "{ transform = \"time::TIMESTAMP - INTERVAL '400 days'\" }")
    [failed] = world.collect(overwrite=True).failed
    assert f"no rows of {TODAY}, which has 1" in failed.reasons[0]
    assert world.rows("tp_date") == [TODAY]


def test_a_log_that_is_gone_keeps_its_rows_when_its_day_is_overwritten(world: World) -> None:
    path = world.write(f"{TODAY}.jsonl", "a")
    world.write(f"{TODAY}-2.jsonl", "b")
    world.collect()
    path.unlink()
    world.text = EMPTY
    assert not world.collect(overwrite=True, accept_loss=False).failed  # the day keeps a row
    assert world.rows() == ["a"]


def test_a_plan_to_overwrite_says_what_lies_outside_of_it(world: World) -> None:
    for day in (TODAY, OLD):
        world.write(f"{day}.jsonl", "a")
    world.collect(str(OLD))
    record = preview_record(world.config.partitions["app.x"], planned(world))
    assert [unit["unit"] for unit in record["units"]] == [str(TODAY)]
    [found] = record["unlisted_days"]
    assert (found["artifacts"], found["first_day"]) == (1, str(OLD))


def planned(world: World) -> Planned:
    partition = world.config.partitions["app.x"]
    with world.catalog() as catalog:
        request = Collect(world.now, overwrite=True)
        job = Job(partition, world.config.tables["app"], catalog, world.engine, request)
        return plan_partition(job, catalog.state("app.x"))


def test_suggestions_repeat_the_source_the_window_and_the_switches() -> None:
    flags = {"start": "T-6d", "end": None, "skip_bad_artifacts": True, "compact": False, "push": True}
    typed = Typed.of("old logs", flags)
    assert typed.overwrite("app.x", date(2024, 1, 1)) == (
        "tailpipe collect app.x 'old logs' --from T-6d --overwrite --skip-bad-artifacts --no-compact"
    )
    assert Typed().overwrite("app.x", date(2024, 1, 1)) == "tailpipe collect app.x --from 2024-01-01 --overwrite"
