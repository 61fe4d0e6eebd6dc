"""Files with a date in their names and no layout: the report proposes one, and it works as it is."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from tailpipe.cli.app import app
from tailpipe.cli.report import print_report
from tailpipe.cli.report_records import summary_record
from tailpipe.collect.events import Report

from .support import CONFIG, NOW, World

UNDATED = "\n".join(line for line in CONFIG.splitlines() if "file_layout" not in line)
DAYS = [NOW.date() - timedelta(days=n) for n in range(4)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, UNDATED)
    for day in DAYS:
        world.write(f"net/{day}.jsonl", f"{day}", day=day)
    return world


def proposal(world: World, capsys: pytest.CaptureFixture[str]) -> str:
    print_report(Report((world.collect(),)), "text")
    *_, said, line, again = capsys.readouterr().out.splitlines()
    assert "to collect them by day: tailpipe partition delete app.x, rename the partition, and collect it" in again
    assert "source file: 4 of 4 undated files have a date in the path; to collect them by day" in said
    return line.strip()


def paste(world: World, line: str) -> None:
    world.text = UNDATED.replace('paths       = ["LOGS"]', f'paths = ["LOGS"]\n    {line}')


def units(world: World, partition: str) -> set[str]:
    with world.catalog() as catalog:
        snapshot = catalog.snapshot(partition=partition)
        return {file.unit for file in snapshot.files}


def test_the_proposed_layout_can_be_pasted_and_gives_days(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    line = proposal(world, capsys)
    fresh = World(world.root / "fresh", UNDATED)
    fresh.root.mkdir()
    for day in DAYS:
        fresh.write(f"net/{day}.jsonl", f"{day}", day=day)
    paste(fresh, line)
    summary = fresh.collect()
    assert summary.units == {str(day) for day in DAYS}
    assert [one.unit for one in summary.committed] == [str(day) for day in DAYS]  # from today back
    assert summary.dated_names == ()


def test_after_pasting_deleting_and_renaming_collected_files_become_days_without_duplicates(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    paste(world, proposal(world, capsys))
    before = world.rows()
    with world.catalog() as catalog:
        catalog.delete("app.x")
    world.text = world.text.replace('"app" "x"', '"app" "y"')
    assert world.collect(str(DAYS[-1])).is_done
    assert world.rows() == []
    assert world.rows(partition="app.y") == before == sorted(str(day) for day in DAYS)
    assert units(world, "app.y") == {str(day) for day in DAYS}


def test_after_pasting_new_files_become_days_and_earlier_rows_stay(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    paste(world, proposal(world, capsys))
    before = world.rows()
    assert world.collect().committed == ()
    world.collect(str(DAYS[-1]))
    assert world.rows() == before
    tomorrow = NOW.date() + timedelta(days=1)
    world.now += timedelta(days=1)
    world.write(f"net/{tomorrow}.jsonl", "new")
    assert world.collect().units == {str(tomorrow)}
    assert sorted(world.rows()) == sorted([*before, "new"])


def test_json_reports_the_proposal(world: World) -> None:
    (found,) = summary_record(world.collect())["dated_names"]
    assert (found["source"], found["files"], found["dated"]) == ("file", 4, 4)
    assert found["file_layout"].startswith("net/%{YEAR:year}-")


def test_few_dates_in_names_propose_nothing(world: World) -> None:
    for number in range(3):
        world.write(f"net/{'abc'[number]}.jsonl", "x", day=date(2024, 1, 1))
    assert world.collect().dated_names == ()


def test_config_check_proposes_the_layout_for_local_files_and_lists_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "logs").mkdir()
    text = UNDATED.replace("LOGS", str(tmp_path / "logs"))
    bucket = '\npartition "app" "b" {\n  source "aws_s3_bucket" {\n    paths = ["s3://my-logs/"]\n  }\n}\n'
    (tmp_path / "config" / "main.tpc").write_text(text + bucket)
    env = {"TAILPIPE_INSTALL_DIR": str(tmp_path), "HOME": str(tmp_path)}
    assert "no file_layout takes it" not in CliRunner().invoke(app, ["config", "check"], env=env).stderr
    for day in DAYS:
        (tmp_path / "logs" / f"{day}.jsonl").write_text("{}\n")
    done = CliRunner().invoke(app, ["config", "check"], env=env)
    assert done.exit_code == 0, (done.output, done.exception)
    assert '4 of 4 files of source "file" have a date in the path, and no file_layout takes it' in done.stderr
    assert "to collect them by day: file_layout = `%{YEAR:year}-" in done.stderr
