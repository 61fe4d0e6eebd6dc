"""A run from files to committed days, with the kernel in this process."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections.abc import Generator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.cli.report import print_report
from tailpipe.cli.report_records import summary_record
from tailpipe.collect import events
from tailpipe.errors import ConfigError, StorageError, TailpipeError
from tailpipe.kernel.task import Outcome, Task
from tailpipe.model.assumed_years import AssumedYears
from tailpipe.model.coverage import DaySet
from tailpipe.query.rejected import rejected_rows

from .support import CONFIG, NOW, LocalEngine, World

TODAY = NOW.date()


def days_ago(count: int) -> date:
    return TODAY - timedelta(days=count)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def order(world: World) -> list[str]:
    return [event.unit for event in world.seen if isinstance(event, events.Committed)]


def test_the_first_run_takes_the_last_thirty_days_from_today_back_and_later_ones_go_forward(world: World) -> None:
    for count in (0, 1, 2, 29, 31):
        world.write(f"{days_ago(count)}.jsonl", f"m{count}")
    summary = world.collect()
    assert world.rows() == ["m0", "m1", "m2", "m29"]
    assert order(world) == [str(days_ago(count)) for count in (0, 1, 2, 29)]
    assert summary.skipped == {"before the first day: use --from": 1} or summary.listed == 4
    assert world.engine.jobs[0] == 1  # the newest day alone, so that there is soon something to query
    world.seen.clear()
    world.now += timedelta(days=2)
    world.write(f"{TODAY + timedelta(days=1)}.jsonl", "n1")
    world.write(f"{TODAY + timedelta(days=2)}.jsonl", "n2")
    world.collect()
    assert order(world) == [str(TODAY + timedelta(days=1)), str(TODAY + timedelta(days=2))]


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [(KeyboardInterrupt(), "interrupted"), (TailpipeError("the engine is gone"), "failed")],
    ids=["interrupt", "error"],
)
def test_a_run_that_is_ended_after_a_commit_keeps_it_and_leaves_no_transaction_open(
    world: World, fault: BaseException, outcome: str
) -> None:
    class Ending(LocalEngine):
        def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
            done = list(super().run(tasks))
            if len(self.jobs) == 2:  # the second batch, whose two transactions are open
                raise fault
            yield from done

    for count in range(3):
        world.write(f"{days_ago(count)}.jsonl", f"m{count}")
    world.engine = Ending()
    if outcome == "interrupted":
        with pytest.raises(KeyboardInterrupt):
            world.collect()
    else:
        summary = world.collect()
        assert [one.unit for one in summary.committed] == [str(days_ago(0))]
        assert summary.error == "the engine is gone"
    with world.catalog() as catalog:
        (overview,) = catalog.overview()
        with catalog.writer("app.x") as writer:
            assert writer.recovered == 0
    assert overview.last_run is not None
    assert overview.last_run.outcome == outcome
    assert world.rows() == ["m0"]
    assert list((world.root / "home" / ".tailpipe" / "staging").iterdir()) == []


def test_a_run_reports_what_is_listed_and_how_many_bytes_are_read(world: World) -> None:
    for count in range(3):
        world.write(f"{days_ago(count)}.jsonl", *["m" * 100] * (10 if count == 1 else 500))
    for count in range(100):
        world.write(f"{days_ago(3)}-{count:03}.jsonl", day=days_ago(3))
    world.collect()
    assert world.seen[0] == events.Opened(1)
    assert [event.artifacts for event in world.seen if isinstance(event, events.Listing)] == [100]
    (planned,) = (event for event in world.seen if isinstance(event, events.Planned))
    sizes = [event.size for event in world.seen if isinstance(event, events.Progress)]
    assert sizes == sorted(sizes)
    assert 0 < sizes[0] < planned.size
    assert sizes[-1] == planned.size


def test_collecting_twice_adds_nothing_and_needs_no_job(world: World) -> None:
    world.write(f"{TODAY}.jsonl", "a", "b")
    world.collect()
    jobs = list(world.engine.jobs)
    summary = world.collect()
    assert (summary.committed, summary.is_done) == ((), True)
    assert world.engine.jobs == jobs
    assert world.rows() == ["a", "b"]


def test_what_is_appended_late_rotated_zipped_or_truncated_gives_exactly_the_new_rows(world: World) -> None:
    old = world.write(f"{days_ago(3)}.jsonl", "a1", "a2")
    world.collect()
    world.write(f"{days_ago(3)}.jsonl", "a3", mode="a")
    world.collect()
    assert world.rows() == ["a1", "a2", "a3"]
    world.write(f"late/{days_ago(20)}.jsonl", "late")
    world.collect()
    old.rename(old.with_name(f"{days_ago(3)}.jsonl.1"))
    world.collect()
    rotated = old.with_name(f"{days_ago(3)}.jsonl.1")
    with rotated.open("rb") as plain, gzip.open(f"{rotated}.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    rotated.unlink()
    world.collect()
    assert world.rows() == ["a1", "a2", "a3", "late"]
    world.write(f"{days_ago(3)}.jsonl", "b1")
    world.collect()
    assert world.rows() == ["a1", "a2", "a3", "b1", "late"]
    assert not world.has_twins()


def test_rows_whose_date_differs_from_their_files_day_are_there_once(world: World) -> None:
    world.write(f"{days_ago(1)}.jsonl", "of its day")
    world.write(f"{days_ago(1)}.jsonl", "of the day before", day=days_ago(2), mode="a")
    world.write(f"{days_ago(2)}.jsonl", "other")
    world.collect()
    world.collect()
    found = world.rows("message, tp_date")
    assert found == [("of its day", days_ago(1)), ("of the day before", days_ago(2)), ("other", days_ago(2))]


def test_a_damaged_artifact_rolls_its_day_back_and_the_others_land(world: World) -> None:
    world.write(f"{days_ago(1)}.jsonl.gz", "good")
    bad = world.write(f"{days_ago(2)}.jsonl.gz", *(f"bad{i}" for i in range(1000)))
    world.write(f"{days_ago(2)}-b.jsonl.gz", "beside the bad one")
    whole = bad.read_bytes()
    bad.write_bytes(whole[:-20])
    summary = world.collect()
    assert not summary.is_done
    assert [failed.unit for failed in summary.failed] == [str(days_ago(2))]
    assert str(bad) in summary.failed[0].reasons[0]
    assert "truncated" in summary.failed[0].reasons[0]
    assert world.rows() == ["good"]
    assert days_ago(2) in summary.gaps
    skipped = world.collect(skip_bad_artifacts=True)
    assert [str(bad) in reason for reason in skipped.bad_artifacts] == [True]
    assert world.rows() == ["beside the bad one", "good"]
    bad.write_bytes(whole)
    assert world.collect().is_done
    assert len(world.rows()) == 1002
    assert not world.has_twins()


def test_two_sources_fall_and_stand_together(tmp_path: Path) -> None:
    text = CONFIG.replace(
        "partition",
        'format "regex" "line" { layout = `(?P<time>\\S+) (?P<message>.*)` }\npartition',
    ).replace(
        'paths       = ["LOGS"]',
        'paths       = ["LOGS/json"]',
    )
    layout = "file_layout = `%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`"
    second = f'source "file" "lines" {{ paths = ["LOGS/lines"] format = format.regex.line {layout} }}'
    world = World(tmp_path, text=text.rstrip()[:-1] + second + "\n}\n")
    world.write(f"json/{days_ago(1)}.jsonl", "json")
    broken = world.logs / "lines" / f"{days_ago(1)}.gz"
    broken.parent.mkdir()
    broken.write_bytes(gzip.compress(f"{days_ago(1)}T10:00:00Z line\n".encode())[:-4])
    assert not world.collect().is_done
    assert world.rows() == []
    broken.write_bytes(gzip.compress(f"{days_ago(1)}T10:00:00Z line\n".encode()))
    assert world.collect().is_done
    assert world.rows() == ["json", "line"]
    assert sorted(set(world.rows("tp_source_location"))) == sorted(
        [str(broken), str(world.logs / "json" / f"{days_ago(1)}.jsonl")]
    )


def test_rejected_rows_are_counted_and_shown(world: World) -> None:
    path = world.write(f"{TODAY}.jsonl", "a", "b")
    with path.open("a") as file:
        file.write("no json\n" + '{"message": "no time"}\n')
    summary = world.collect()
    assert summary.is_done
    assert (summary.accounts.kept, summary.accounts.rejected, summary.accounts.read) == (2, 2, 4)
    assert [(sample.uri, sample.position) for sample in summary.rejected_samples] == [
        (str(path), "line 3"),
        (str(path), "line 4"),
    ]


def test_the_rejected_rows_of_a_replaced_artifact_go_with_it(world: World) -> None:
    for name in ("a", "b"):
        path = world.logs / name / f"{TODAY}.jsonl"
        path.parent.mkdir()
        path.write_text("oops\n{}\n")
        world.write(f"{name}/{TODAY}.jsonl", f"{name}1", mode="a")
    world.collect()
    (world.logs / "b" / f"{TODAY}.jsonl").unlink()
    # What is no longer listed keeps its rows, so the unit is rewritten; one of the bad lines is good by now.
    world.text = CONFIG.replace('source = "time"', 'transform = "coalesce(try_cast(time as timestamp), now())"')
    summary = world.collect(start=str(TODAY), overwrite=True)
    assert (summary.committed[0].accounts.rejected, summary.committed[0].accounts.kept) == (1, 2)
    with world.catalog() as catalog:
        (totals,) = catalog.partitions()
        paths = list(catalog.rejected_files("app.x").values())
        assert catalog.accounts("app.x").rejected == totals.rejected_rows == 3
    rows = rejected_rows("app.x", paths, 100)
    assert sorted((Path(row.file).parent.name, row.line) for row in rows) == [("a", 1), ("b", 1), ("b", 2)]


def test_a_run_that_finds_nothing_or_fails_is_noted_too(world: World) -> None:
    world.write(f"{TODAY}.jsonl", "a")
    world.collect()
    world.collect()
    with world.catalog() as catalog:
        (one,) = catalog.overview()
    assert one.last_run is not None
    assert (one.last_run.begun_at, one.last_run.outcome) == (world.now, "done")
    shutil.rmtree(world.logs)
    world.text = world.text.replace("LOGS", str(world.root / "gone"))
    assert world.collect().error
    with world.catalog() as catalog:
        (one,) = catalog.overview()
    assert one.last_run is not None
    assert (one.last_run.begun_at, one.last_run.outcome) == (world.now, "failed")


def test_nothing_is_begun_on_a_full_disk_and_a_tight_one_is_told_of(world: World) -> None:
    path = world.write(f"{TODAY}.jsonl", "a")
    with path.open("a") as file:
        file.write(" " * 2_000_000 + "\n")
    world.free = 1_000_000
    with pytest.raises(StorageError, match=r"only 1 MB are free for .*staging, and 67 MB are needed") as caught:
        world.collect()
    assert "free some space" in caught.value.hint
    assert world.rows() == []
    world.free = 100_000_000
    world.collect()
    assert not any(isinstance(event, events.Warned) for event in world.seen)
    for number in range(3):
        os.truncate(world.write(f"{number}/{TODAY}.jsonl.gz", "a"), 50_000_000)
    world.collect(skip_bad_artifacts=True)
    (warned,) = (event for event in world.seen if isinstance(event, events.Warned))
    assert warned.what == "the disk may fill up: 100 MB free, 1,200 MB of logs to collect"


def test_overwriting_replaces_and_a_failed_overwrite_keeps_what_was_there(world: World) -> None:
    path = world.write(f"{days_ago(1)}.jsonl.gz", "a", "b")
    world.collect()
    before = world.rows("tp_id")
    world.collect(overwrite=True)
    assert world.rows("tp_id") == before
    good = path.read_bytes()
    path.write_bytes(good[:-8])
    summary = world.collect(overwrite=True)
    assert not summary.is_done
    assert world.rows() == ["a", "b"]


def test_deleted_days_stay_away_until_they_are_asked_for(world: World) -> None:
    for count in (1, 2):
        world.write(f"{days_ago(count)}.jsonl", f"m{count}")
    world.collect()
    with world.catalog() as catalog:
        catalog.delete("app.x", DaySet.of([days_ago(2)]))
    world.collect()
    assert world.rows() == ["m1"]
    world.collect(start=str(days_ago(2)))
    assert world.rows() == ["m1", "m2"]


def test_a_deleted_day_that_is_asked_for_brings_no_part_of_its_neighbour(world: World) -> None:
    for count in (1, 2, 3):
        world.write(f"{days_ago(count)}.jsonl", f"m{count}")
        world.write(f"{days_ago(count)}.jsonl", f"late{count}", day=days_ago(count + 1), mode="a")
    world.collect()
    with world.catalog() as catalog:
        catalog.delete("app.x", DaySet.of([days_ago(2), days_ago(3)]))
    assert world.rows() == ["late3", "m1"]
    asked = str(days_ago(3))
    summary = world.collect(asked, asked)
    assert sum(one.accounts.out_of_window for one in summary.committed) == 1
    assert world.rows() == ["late2", "late3", "m1", "m3"]
    assert world.collect().committed == ()
    world.collect(str(days_ago(1)), str(days_ago(1)), overwrite=True)
    assert world.rows() == ["late2", "late3", "m1", "m3"]
    world.collect(str(days_ago(2)), str(days_ago(2)))
    assert world.rows() == ["late1", "late2", "late3", "m1", "m2", "m3"]
    assert not world.has_twins()


def test_files_without_a_date_are_packed_and_cut_to_the_window(tmp_path: Path) -> None:
    world = World(tmp_path, text="\n".join(line for line in CONFIG.splitlines() if "file_layout" not in line))
    for number in range(5):
        path = world.logs / f"app{number}.jsonl"
        path.write_text("")
        world.write(f"app{number}.jsonl", f"m{number}", day=days_ago(number))
        os.utime(path, (NOW.timestamp() - number * 86400,) * 2)
    world.write("app0.jsonl", "old", day=days_ago(60), mode="a")
    (world.logs / "bad.gz").write_bytes(gzip.compress(b"x" * 1000)[:-8])
    summary = world.collect()
    assert not summary.is_done
    assert "bad.gz" in summary.bad_artifacts[0]
    assert world.rows() == [f"m{number}" for number in range(5)]
    (world.logs / "bad.gz").unlink()
    assert world.collect().is_done
    assert world.rows() == [f"m{number}" for number in range(5)]
    world.collect(start=str(days_ago(70)))
    assert "old" in world.rows()
    assert not world.has_twins()


def test_new_fields_and_wider_types_are_found_on_the_way(world: World) -> None:
    first = world.logs / f"{days_ago(1)}.jsonl"
    first.write_text(f'{{"time": "{days_ago(1)}T01:00:00Z", "message": "a", "n": 1}}\n')
    world.collect()
    second = world.logs / f"{TODAY}.jsonl"
    second.write_text(f'{{"time": "{TODAY}T01:00:00Z", "message": "b", "n": 1.5, "fresh": "x"}}\n')
    assert world.collect().is_done
    assert world.rows("message, n, fresh") == [("a", 1.0, None), ("b", 1.5, "x")]


def test_a_wrong_filter_is_told_at_its_place_before_anything_runs(world: World) -> None:
    world.text = CONFIG.replace('partition "app" "x" {', 'partition "app" "x" {\n  filter = "message ="')
    with pytest.raises(ConfigError) as caught:
        world.collect()
    assert caught.value.diagnostics[0].place.line == 8
    assert world.engine.jobs == []


def test_hostile_names_are_collected_like_any_other(world: World) -> None:
    names = ["_x.log", ".x.log", "a b.log", "a[1].log", "a:b.log", "ü.log", "new\nline.log", "a*.log", "%41.log"]
    world.text = (
        CONFIG.replace("(%{DATA}/)?", "")
        .replace("%{DATA}`", "%{GREEDYDATA}`")
        .replace("%{MONTHDAY:day}", "%{MONTHDAY:day}-")
    )
    for number, name in enumerate(names):
        world.write(f"{TODAY}-{name}", f"m{number}")
    summary = world.collect()
    assert summary.is_done, summary
    found = summary.unmatched_files
    assert world.rows() == sorted(f"m{number}" for number in range(len(names))), found


def test_when_nothing_matches_the_report_says_what_was_seen(world: World) -> None:
    (world.logs / "other.txt").write_text("x")
    summary = world.collect()
    (found,) = summary.unmatched_files
    assert (found.files, found.unmatched, found.example) == (1, 1, "other.txt")
    assert "YEAR" in found.file_layout


def test_a_first_run_over_older_logs_says_where_they_are(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.write("2023-01-05.jsonl", "a")
    world.write("2023-01-07.jsonl", "b")
    report = world.report()
    (found,) = report.partitions[0].unlisted_days
    assert (found.artifacts, found.first_day, found.last_day) == (2, date(2023, 1, 5), date(2023, 1, 7))
    print_report(report, "pretty")
    assert capsys.readouterr().out.splitlines() == [
        "app.x: no new data",
        "  source file: 2 artifacts outside the requested window, 2023-01-05 to 2023-01-07;"
        " to collect them: tailpipe collect app.x --from 2023-01-05",
    ]
    assert len(world.collect("2023-01-05", "2023-01-06").committed) == 1
    assert world.collect().unlisted_days == ()  # by now there is something, and who left the rest out knows it


def test_a_first_run_over_an_undated_older_log_says_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path, text=re.sub(r"file_layout .*", "", CONFIG))
    world.write("app.log", "a", day=date(2023, 1, 5))
    print_report(world.report(), "pretty")
    first, second = capsys.readouterr().out.splitlines()
    assert first == "app.x: 0 rows, 1 undated artifact, 1 out of window"
    assert "--from" in second
    print_report(world.report("2023-01-01", "2023-01-31"), "pretty")
    assert "--from" not in capsys.readouterr().out


def test_a_missing_directory_fails_its_partition_and_not_the_others(tmp_path: Path) -> None:
    text = CONFIG + 'partition "app" "y" { source "file" { paths = ["LOGS/nowhere"] } }\n'
    world = World(tmp_path, text=text)
    world.write(f"{TODAY}.jsonl", "a")
    report = world.report()
    assert [summary.is_done for summary in report.partitions] == [True, False]
    assert "nowhere" in report.partitions[1].error


def test_a_day_whose_files_were_rewritten_is_replaced_by_deleting_and_collecting_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    day = str(days_ago(1))
    world.write(f"{day}-a.jsonl", "a1", "a2")
    world.collect()
    way = (
        "if files were corrected: tailpipe partition delete app.x --from DAY --to DAY,"
        " then tailpipe collect app.x --from DAY --to DAY"
    )
    for count, overwrite in ((1, False), (2, True)):
        world.write(f"{day}-a.jsonl", f"new {count}", f"more {count}")
        print_report(world.report(day, day, overwrite=overwrite), "pretty")
        out = capsys.readouterr().out
        assert way in out
        said = "1 file rewritten or cut: new rows were added, and the earlier rows stay"
        assert ("1 artifact not overwritten: rewritten since" if overwrite else said) in out
    with world.catalog() as catalog:
        catalog.delete("app.x", DaySet.of([days_ago(1)]))
    print_report(world.report(day, day), "pretty")
    assert world.rows() == ["more 2", "new 2"]
    assert "stay" not in capsys.readouterr().out
    assert not world.has_twins()


def test_overwriting_keeps_the_rows_of_artifacts_that_are_gone(world: World) -> None:
    world.write(f"{days_ago(1)}-a.jsonl", "a1", "a2")
    gone = world.write(f"{days_ago(1)}-b.jsonl", "b1")
    world.write(f"{days_ago(1)}-b.jsonl", "b0", day=days_ago(2), mode="a")
    world.collect()
    before = world.rows("tp_id, message")
    gone.unlink()
    summary = world.collect(overwrite=True)
    assert summary.is_done, summary
    assert summary.skipped["no longer listed: its rows stay"] == 1
    assert world.rows("tp_id, message") == before
    assert not world.has_twins()


COMMAND = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
partition "app" "x" {
  source "command" {
    command = ["/bin/sh", "-c", "SCRIPT"]
    timeout = "5m"
  }
}
"""


def test_a_command_runs_once_for_each_day_and_its_output_is_the_data(tmp_path: Path) -> None:
    world = World(tmp_path, text=COMMAND.replace("SCRIPT", f"{tmp_path}/run.sh"))
    (tmp_path / "run.sh").write_text(
        f"#!/bin/sh\ntest -e {world.logs}/fail && {{ echo broken >&2; exit 3; }}\n"
        """printf '{"time": "%s", "message": "%s"}\\n' "$TAILPIPE_FROM" "$TAILPIPE_TO"\n"""
    )
    (tmp_path / "run.sh").chmod(0o700)
    (world.logs / "fail").touch()
    summary = world.collect(start=str(days_ago(2)))
    assert len(summary.failed) == 3
    assert "exit code 3" in summary.failed[0].reasons[0]
    assert "broken" in summary.failed[0].reasons[0]
    (world.logs / "fail").unlink()
    assert world.collect(start=str(days_ago(2))).is_done
    assert world.rows("tp_date, message") == [
        (days_ago(count), f"{days_ago(count - 1)}T00:00:00Z") for count in (2, 1, 0)
    ]
    assert world.collect().is_done
    assert len(world.rows()) == 3  # today was asked again, and replaced
    assert not world.has_twins()


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    world = World(tmp_path, text=COMMAND.replace("SCRIPT", "sleep 60").replace('"5m"', '"1s"'))
    summary = world.collect(start=str(TODAY))
    assert "took longer than 1 s" in summary.failed[0].reasons[0]


def test_a_filter_and_an_index_may_name_undeclared_fields_also_ones_that_come_later(world: World) -> None:
    world.text = CONFIG.replace(
        'partition "app" "x" {', 'partition "app" "x" {\n  filter = "host <> \'b\'"\n  tp_index = "zone"'
    )
    lines = [("a", None), ("b", None), ("c", "z1")]
    path = world.logs / f"{TODAY}.jsonl"
    with path.open("w") as file:
        for host, zone in lines:
            extra = f', "zone": "{zone}"' if zone else ""
            file.write(f'{{"time": "{TODAY}T01:00:00Z", "message": "{host}", "host": "{host}"{extra}}}\n')
    summary = world.collect()
    assert summary.is_done, summary
    assert (summary.accounts.kept, summary.accounts.filtered) == (2, 1)
    assert world.rows("message, tp_index") == [("a", None), ("c", "z1")]


def test_a_column_whose_field_no_row_has_is_reported(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.text = CONFIG.replace(
        'column "message"',
        'column "level" { source = "lvl" }\n  column "said" { source = "message" }\n  column "message"',
    )
    world.write(f"{TODAY}.jsonl", "a", "b")
    summary = world.collect()
    assert summary.empty_columns == {"level": "lvl"}
    print_report(events.Report((summary,)), "text", lambda _: DaySet())
    assert 'column level is null in every row: field "lvl" has no values' in capsys.readouterr().out


def test_a_mapped_field_that_no_row_has_is_reported(world: World) -> None:
    world.text = 'format "jsonl" "mapped" { field_map = { level = "lvl", said = "message" } }' + CONFIG.replace(
        "jsonl.default", "jsonl.mapped"
    ).replace('column "message" { type = "varchar" }', 'column "said" {}\n  column "level" {}')
    world.write(f"{TODAY}.jsonl", "a", "b")
    summary = world.collect()
    assert world.rows("said") == ["a", "b"]
    assert summary.empty_columns == {"level": "lvl"}


def test_whole_numbers_that_get_fractions_later_keep_all_their_digits(world: World) -> None:
    days = [TODAY - timedelta(days=n) for n in (3, 2, 1, 0)]
    values = [(2**60 + 1, 5), (7, 6), (2**60 + 3, 7), (2.5, 0.5)]
    texts = []
    for day, (long, short) in zip(days, values, strict=True):
        (world.logs / f"{day}.jsonl").write_text(
            f'{{"time": "{day}T01:00:00Z", "message": "m", "long": {long}, "short": {short}}}\n'
        )
        texts.append((str(day), str(long), float(short)))
        if day == days[0]:
            assert world.collect().is_done
    summary = world.collect()  # the newest day first: then the others are collected with what it has shown
    assert summary.is_done, summary
    with world.catalog() as catalog:
        kinds = [set(one.items()) for one in catalog.state("app.x").columns.values()]
    assert {kind for columns in kinds for name, kind in columns if name == "long"} == {"BIGINT", "VARCHAR"}
    assert {kind for columns in kinds for name, kind in columns if name == "short"} == {"BIGINT", "DOUBLE"}
    assert world.rows("tp_date::VARCHAR, long::VARCHAR, short::DOUBLE") == texts


def test_nothing_new_after_a_changed_table_names_overwrite(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.write(f"{TODAY}.jsonl", "a")
    world.collect()
    assert not world.collect().is_stale
    world.text = CONFIG.replace('column "message" { type', 'column "message" {\n null_if = "a"\n type')
    print_report(events.Report((world.collect(),)), "text")
    assert "app.x: no new data" in (told := capsys.readouterr().out)
    assert f"tailpipe collect app.x --from {TODAY} --overwrite" in told
    world.collect(overwrite=True)
    assert not world.collect().is_stale
    assert world.rows() == [None]


def test_the_hint_of_an_artifact_that_cannot_be_read_is_told_with_its_day(world: World) -> None:
    path = world.write(f"{TODAY}.jsonl.gz", "a")
    path.write_bytes(path.read_bytes()[:-4])
    (failed,) = world.collect().failed
    assert "is truncated at compressed byte" in failed.reasons[0]
    assert failed.reasons[0].endswith("(collect it again when the file is complete)")


def test_years_that_were_assumed_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = CONFIG.replace("jsonl.default", "syslog.default").replace('source = "time"', 'source = "timestamp"')
    assert config.count("syslog.default") == 1
    world = World(tmp_path)
    world.text = config
    day = datetime(TODAY.year, TODAY.month, TODAY.day) - timedelta(days=1)
    line = f"{day:%b} {day.day:>2} 01:00:00 web1 app: x\n"
    log = world.logs / f"{TODAY}.jsonl"
    log.write_text(line * 2)
    os.utime(log, (day.timestamp(), day.timestamp()))  # else the last message may go on
    summary = world.collect()
    assert summary.assumed_years == (AssumedYears("path", {day.year: 2}),), summary
    print_report(events.Report((summary,)), "text", lambda _: DaySet())
    said = f"  times have no year: assumed {day.year} for 2 rows, from the date in the path\n"
    assert said in capsys.readouterr().out
    assert summary_record(summary)["assumed_years"] == [{"year": day.year, "basis": "path", "rows": 2}]
