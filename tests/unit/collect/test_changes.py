"""What changes between two runs, or during one: windows, sources, files that move while they are read."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Generator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.doctor import examine, repair
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.cli.progress import Display
from tailpipe.cli.report import print_report
from tailpipe.collect import events
from tailpipe.errors import UsageError
from tailpipe.kernel.task import Outcome, Task
from tailpipe.lifecycle.compact import Subject, compact
from tailpipe.lifecycle.retain import expire
from tailpipe.model.coverage import DaySet
from tailpipe.model.window import requested_window

from .support import CONFIG, NOW, LocalEngine, World

TODAY = NOW.date()
LAYOUT = "file_layout = `(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`"


def days_ago(count: int) -> date:
    return TODAY - timedelta(days=count)


def line(when: date, message: str) -> str:
    return json.dumps({"time": f"{when}T10:00:00Z", "message": message}) + "\n"


def damage(path: Path) -> None:
    """Change the checksum of a compressed file, in place."""
    data = path.read_bytes()
    path.write_bytes(data[:-8] + bytes(byte ^ 255 for byte in data[-8:-4]) + data[-4:])


class Meanwhile(LocalEngine):
    """Lets something happen between the listing and the reading, once."""

    def __init__(self, happen: Callable[[], object]) -> None:
        super().__init__()
        self.happen: Callable[[], object] | None = happen

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Outcome, ...]], None, None]:
        if self.happen is not None:
            self.happen()
            self.happen = None
        return super().run(tasks)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def undated(tmp_path: Path) -> World:
    return World(tmp_path, CONFIG.replace(LAYOUT, ""))


def test_dates_that_were_left_out_of_a_file_come_when_they_are_asked_for_also_after_it_has_grown(
    undated: World,
) -> None:
    log = undated.logs / "app.log"
    log.write_text(line(days_ago(60), "old") + line(TODAY, "new"))
    undated.collect()
    log.write_text(log.read_text() + line(TODAY, "newer"))
    undated.collect()
    assert undated.rows() == ["new", "newer"]
    undated.collect(start=str(days_ago(90)))
    assert undated.rows() == ["new", "newer", "old"]
    assert not undated.has_twins()


def test_a_command_that_runs_again_for_some_days_keeps_the_rows_of_the_others(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_text(line(days_ago(3), "old") + line(TODAY, "new"))
    source = f'source "command" {{\n    command = ["cat", "{output}"]\n    per_day = false\n  }}'
    start, _, _ = CONFIG.partition('  source "file"')
    world = World(tmp_path, f"{start}  {source}\n}}\n")
    world.collect()
    world.collect(start=str(TODAY))
    assert world.rows() == ["new", "old"]


def test_a_log_that_is_rotated_between_listing_and_reading_gives_each_row_once(world: World) -> None:
    log = world.write(f"{TODAY}.jsonl", "a", "b")
    world.collect()
    world.write(log.name, "c", mode="a")

    def rotate() -> None:
        log.rename(log.with_name(f"{log.name}.1"))
        world.write(log.name, "x" * 20, "y", "z")

    world.engine = Meanwhile(rotate)
    assert world.collect().is_done
    assert world.rows() == ["a", "b", "c", "x" * 20, "y", "z"]
    assert not world.has_twins()


@pytest.mark.parametrize("skip", [False, True])
def test_a_file_that_vanishes_between_listing_and_reading_does_not_keep_its_day_from_landing(
    world: World, skip: bool
) -> None:
    world.write(f"{TODAY}-a.jsonl", "a")
    gone = world.write(f"{TODAY}-b.jsonl", "b")
    world.engine = Meanwhile(gone.unlink)
    assert world.collect(skip_bad_artifacts=skip).is_done
    assert world.rows() == ["a"]


@pytest.mark.parametrize("name", ["{}.tar", "{}.tar.gz"])
def test_an_archive_that_is_touched_and_renamed_gives_its_rows_once(world: World, name: str) -> None:
    path = world.logs / name.format(TODAY)
    with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as archive:
        for message in "abc":
            archive.add(world.write(f"{TODAY}.jsonl", message), f"{message}.jsonl")
    (world.logs / f"{TODAY}.jsonl").unlink()
    world.collect()
    os.utime(path, (NOW.timestamp() - 5, NOW.timestamp() - 5))
    assert world.collect().is_done
    path.rename(path.with_name(f"{TODAY}-moved{path.name[10:]}"))
    assert world.collect().is_done
    assert world.rows() == ["a", "b", "c"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_long_log_that_grows_and_is_rotated_gives_each_row_once(world: World, packed: bool) -> None:
    log = world.write(f"{TODAY}.jsonl", *(f"{number:05} {'.' * 1000}" for number in range(200)))
    world.collect()
    for number in range(200, 203):
        world.write(log.name, f"{number:05}", mode="a")
        assert world.collect().is_done
    world.write(log.name, "00203", mode="a")
    moved = log.rename(log.with_name(f"{log.name}.1"))
    if packed:
        log.with_name(f"{log.name}.1.gz").write_bytes(gzip.compress(moved.read_bytes()))
        moved.unlink()
    world.write(log.name, "00204")
    assert world.collect().is_done
    assert [row[:5] for row in world.rows()] == [f"{number:05}" for number in range(205)]
    assert not world.has_twins()


@pytest.mark.parametrize("after", [(), ("x",), ("x" * 20, "y", "z")])
@pytest.mark.parametrize("skip", [False, True])
def test_a_log_that_is_cut_while_it_is_overwritten_keeps_its_rows(
    world: World, after: tuple[str, ...], skip: bool
) -> None:
    log = world.write(f"{TODAY}.jsonl", "a", "b")
    world.collect()
    world.engine = Meanwhile(lambda: world.write(log.name, *after))
    assert world.collect(overwrite=True, skip_bad_artifacts=skip).is_done
    assert world.rows() == ["a", "b", *after]
    assert world.collect().is_done
    assert world.rows() == ["a", "b", *after]


@pytest.mark.parametrize("cut", [1, 20, 40])
def test_a_line_that_is_being_written_after_the_listing_waits_for_its_end(world: World, cut: int) -> None:
    log = world.write(f"{TODAY}.jsonl", "a")
    os.utime(log, (NOW.timestamp() - 3600,) * 2)
    text = line(TODAY, "b")

    def write(part: str) -> None:
        log.write_text(log.read_text() + part)

    world.engine = Meanwhile(lambda: write(text[:cut]))
    assert world.collect().accounts.rejected == 0
    write(text[cut:])
    assert world.collect().accounts.rejected == 0
    assert world.rows() == ["a", "b"]


def test_a_document_that_is_being_written_after_the_listing_is_taken_whole_later(tmp_path: Path) -> None:
    config = CONFIG.replace("format.jsonl.default", "format.json.documents")
    world = World(tmp_path, 'format "json" "documents" {}\n' + config)
    log = world.write(f"{TODAY}.json", "a")
    os.utime(log, (NOW.timestamp() - 3600,) * 2)
    text = line(TODAY, "b")
    world.engine = Meanwhile(lambda: log.write_text(log.read_text() + text[:20]))
    assert world.collect().accounts.rejected == 0
    log.write_text(log.read_text() + text[20:])
    world.collect()
    assert world.rows() == ["a", "b"]


def test_a_source_that_was_renamed_leaves_no_gaps_behind(world: World) -> None:
    world.write(f"{days_ago(1)}.jsonl", "a")
    world.collect()
    world.text = world.text.replace('source "file" {', 'source "file" "other" {')
    world.now += timedelta(days=5)
    summary = world.collect()
    assert (world.rows(), str(summary.gaps)) == (["a"], "")


@pytest.mark.parametrize("layout", [LAYOUT, ""])
def test_deleted_days_stay_away_from_a_source_that_comes_later_or_is_renamed(tmp_path: Path, layout: str) -> None:
    world = World(tmp_path, CONFIG.replace(LAYOUT, layout))
    for count in range(4):
        world.write(f"{days_ago(count)}.jsonl", f"m{count}")
    world.collect()
    with world.catalog() as catalog:
        catalog.delete("app.x", DaySet.span(days_ago(40), days_ago(2)))
    world.text = world.text.replace('source "file" {', 'source "file" "other" {')
    world.write(f"{days_ago(2)}-late.jsonl", "late")
    for overwrite in (False, False, True):
        summary = world.collect(overwrite=overwrite)
        assert (world.rows(), str(summary.gaps)) == (["m0", "m1"], "")
    world.collect(start=str(days_ago(2)))
    assert world.rows() == ["late", "m0", "m1", "m2"]


@pytest.mark.parametrize("layout", [LAYOUT, ""])
def test_a_log_that_is_rotated_while_its_source_gets_another_name_is_still_known(tmp_path: Path, layout: str) -> None:
    world = World(tmp_path, CONFIG.replace(LAYOUT, layout))
    log = world.write(f"{TODAY}.jsonl", "a", "b")
    world.collect()
    world.text = world.text.replace('source "file" {', 'source "file" "other" {')
    log.rename(log.with_name(f"{TODAY}.jsonl.1"))
    world.write(f"{TODAY}.jsonl.1", "c", mode="a")
    world.write(f"{TODAY}.jsonl", "d")
    for _ in range(2):
        assert world.collect().is_done
        assert world.rows() == ["a", "b", "c", "d"]


def test_rows_that_are_lost_with_their_log_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(tmp_path)
    _, gone = (world.write(f"{days_ago(count)}.jsonl", f"m{count}") for count in (1, 2))
    world.collect()
    with world.catalog() as catalog:
        layout = catalog.database.layout
        for file in catalog.snapshot().files:
            layout.stored(file.path).unlink()
            layout.public(file.path).unlink()  # or it would be restored from there
    gone.unlink()
    repair(layout.home, data=layout.data, with_checksums=False)
    for is_first in (True, False):
        done = world.report()
        assert world.rows() == ["m1"]
        assert bool(done.partitions[0].committed) == is_first
        assert str(done.partitions[0].lost) == str(days_ago(2))
        print_report(done, "pretty")
        assert f"lost: rows of {days_ago(2)}; their logs no longer exist" in capsys.readouterr().out


def test_lost_rows_come_back_also_where_a_source_of_their_day_is_no_longer_in_the_config(tmp_path: Path) -> None:
    start, _, _ = CONFIG.partition('  source "file"')
    one, other = (f'  source "file" "{name}" {{\n    paths = ["LOGS/{name}"]\n    {LAYOUT}\n  }}\n' for name in "ab")
    world = World(tmp_path, f"{start}{one}{other}}}\n")
    world.write(f"a/{TODAY}.jsonl", "a")
    world.write(f"b/{TODAY}.jsonl", "b")
    world.collect()
    with world.catalog() as catalog:
        catalog.delete("app.x")
    world.text = f"{start}{one}}}\n"
    world.collect(start=str(TODAY))
    assert world.rows() == ["a"]
    with world.catalog() as catalog:
        assert catalog.state("app.x").lost == {}
    world.collect()
    assert world.rows() == ["a"]


def test_the_name_of_a_source_means_that_one_and_not_others_of_its_type(tmp_path: Path) -> None:
    start, _, _ = CONFIG.partition('  source "file"')
    sources = '  source "file" { paths = ["LOGS/a"] }\n  source "file" "export" { paths = ["LOGS/b"] }\n}\n'
    world = World(tmp_path, start + sources)
    world.write(f"a/{TODAY}.jsonl", "a")
    world.write(f"b/{TODAY}.jsonl", "b")
    world.collect(source="file")
    assert world.rows() == ["a"]
    world.collect(source="export")
    assert world.rows() == ["a", "b"]


def test_a_day_with_an_artifact_left_out_is_not_covered(world: World) -> None:
    world.write(f"{TODAY}-a.jsonl", "a")
    bad = world.write(f"{TODAY}-b.jsonl.gz", "b")
    whole = bad.read_bytes()
    bad.write_bytes(whole[:20])
    summary = world.collect(skip_bad_artifacts=True)
    assert (world.rows(), str(summary.gaps)) == (["a"], str(TODAY))
    bad.write_bytes(whole)
    summary = world.collect()
    assert (world.rows(), str(summary.gaps)) == (["a", "b"], "")


@pytest.mark.parametrize("layout", [LAYOUT, ""])
def test_rows_of_an_artifact_that_is_left_out_stay_where_it_would_have_replaced_them(
    tmp_path: Path, layout: str
) -> None:
    world = World(tmp_path, CONFIG.replace(LAYOUT, layout))
    world.write(f"{TODAY}-a.jsonl", "a")
    packed = world.write(f"{TODAY}-b.jsonl.gz", "b", day=TODAY)
    world.collect()
    world.write(f"{TODAY}-c.jsonl", "c")
    world.engine = Meanwhile(lambda: damage(packed))
    summary = world.collect(str(TODAY), overwrite=True, skip_bad_artifacts=True)
    assert (len(summary.bad_artifacts), summary.failed, summary.is_done) == (1, (), False)
    assert world.rows() == ["a", "b", "c"]
    assert not world.has_twins()


def test_rows_of_a_command_that_fails_the_next_time_stay(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_text(line(TODAY, "a"))
    start, _, _ = CONFIG.partition('  source "file"')
    world = World(tmp_path, f'{start}  source "command" {{ command = ["cat", "{output}"] }}\n}}\n')
    world.collect(str(TODAY))
    output.unlink()
    summary = world.collect(skip_bad_artifacts=True)
    assert "No such file" in summary.bad_artifacts[0]
    assert world.rows() == ["a"]
    output.write_text(line(TODAY, "a") + line(TODAY, "b"))
    assert world.collect().is_done
    assert world.rows() == ["a", "b"]


def test_what_is_read_in_vain_has_nothing_to_expire_and_nothing_to_delete(world: World) -> None:
    bad = world.write(f"{days_ago(5)}.jsonl.gz", "b")
    bad.write_bytes(bad.read_bytes()[:20])
    shutil.copy(bad, bad.with_name(f"{days_ago(6)}.jsonl.gz"))
    assert len(world.collect(start=str(days_ago(6)), end=str(days_ago(5))).failed) == 2
    with world.catalog() as catalog:
        assert expire(catalog, "app.x", days_ago(2)).files == 0
        with pytest.raises(UsageError, match=r"partition not found: app\.x"):
            catalog.preview_deletion("app.x")


def test_rejected_rows_of_a_pack_stay_as_long_as_some_of_its_rows_do(undated: World) -> None:
    (undated.logs / "app.log").write_text(line(TODAY, "a") + line(days_ago(9), "b") + "what is this\n")
    undated.collect()
    with undated.catalog() as catalog:
        catalog.delete("app.x", DaySet.span(date.min, days_ago(5)))
        assert catalog.partitions()[0].rejected_rows == 1
        catalog.delete("app.x", DaySet.of([TODAY]))
        assert catalog.partitions()[0].rejected_rows == 0


def test_a_partition_that_holds_nothing_but_rejected_rows_can_be_deleted(undated: World) -> None:
    (undated.logs / "app.log").write_text("what is this\n")
    undated.collect()
    with undated.catalog() as catalog:
        assert catalog.preview_deletion("app.x", DaySet.of([TODAY])).rejected == 0
        assert catalog.preview_deletion("app.x").rejected == 1
        catalog.delete("app.x")
        assert catalog.partitions()[0].rejected_rows == 0


def test_what_was_deleted_is_freed_by_a_compaction_too(world: World) -> None:
    world.write(f"{TODAY}.jsonl", "a")
    world.collect()
    stored = world.root / "home" / ".tailpipe" / "files"
    with world.catalog() as catalog:
        catalog.delete("app.x")
        compact(catalog, world.engine, Subject("app.x"))
        assert any(path.is_file() for path in stored.rglob("*"))
        world.now += timedelta(hours=2)
        compact(catalog, world.engine, Subject("app.x"))
        assert not any(path.is_file() for path in stored.rglob("*"))


def test_what_was_deleted_is_freed_by_a_repair_too(world: World) -> None:
    world.write(f"{TODAY}.jsonl", "a")
    world.collect()
    with world.catalog() as catalog:
        catalog.delete("app.x")
    repair(world.root / "home")  # by today's clock that was long ago
    assert not any(path.is_file() for path in (world.root / "home" / ".tailpipe" / "files").rglob("*"))


def test_what_is_skipped_in_an_archive_or_is_not_text_is_reported(
    undated: World, capsys: pytest.CaptureFixture[str]
) -> None:
    with tarfile.open(undated.logs / "app.tar", "w") as archive:
        body = line(TODAY, "a").encode() + line(TODAY, "b!").encode().replace(b"!", b"\xff")
        for name, kind in (("a.log", tarfile.REGTYPE), ("b.log", tarfile.LNKTYPE), ("c.log", tarfile.SYMTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "a.log"
            member.size = len(body) if kind == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(body))
    report = undated.report()
    assert undated.rows() == ["a", "b\ufffd"]
    found = {"skipped hard link": 1, "skipped symbolic link": 1, "lines with invalid bytes": 1}
    assert report.partitions[0].warnings == found
    print_report(report, "pretty")
    assert "  skipped hard link: 1\n  skipped symbolic link: 1\n" in capsys.readouterr().out
    print_report(report, "json")
    assert json.loads(capsys.readouterr().out)[0]["warnings"] == found


def test_an_unfinished_line_is_told_until_it_is_taken(undated: World, capsys: pytest.CaptureFixture[str]) -> None:
    log = undated.logs / "app.log"
    log.write_text(line(TODAY, "a") + line(TODAY, "b").rstrip("\n"))
    written = undated.now + timedelta(minutes=3, seconds=30)  # a run is two minutes after the last
    os.utime(log, (written.timestamp(),) * 2)
    for _ in range(2):
        report = undated.report()
        assert (undated.rows(), report.partitions[0].incomplete_artifacts) == (["a"], 1)
        print_report(report, "pretty")
        told = "1 artifact with an incomplete last line; it is collected once the file has not changed for a minute"
        assert told in capsys.readouterr().out
        print_report(report, "json")
        assert json.loads(capsys.readouterr().out)[0]["incomplete_artifacts"] == 1
    report = undated.report()
    print_report(report, "pretty")
    assert "unfinished" not in capsys.readouterr().out
    assert (undated.rows(), report.partitions[0].incomplete_artifacts) == (["a", "b"], 0)


@pytest.mark.parametrize(("start", "end"), [("", None), (None, ""), ("", "")])
def test_an_empty_time_is_no_time_and_not_the_lack_of_one(start: str | None, end: str | None) -> None:
    with pytest.raises(UsageError, match='"" is not a time'):
        requested_window(start, end, now=NOW)


def test_a_hive_that_cannot_be_written_is_told_of_and_follows_later(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write(f"{TODAY}.jsonl", "a")
    world.points = "project.link=eio"
    assert world.collect().is_done
    [told] = [event.what for event in world.seen if isinstance(event, events.Warned)]
    assert told.endswith("it is committed, and the hive follows at the next run")
    display = Display(is_shown=False)
    for event in world.seen:
        display(event)
    assert capsys.readouterr().err == f"warning: app.x: {told}\n"  # also without progress
    assert world.rows() == ["a"]
    world.collect()
    assert examine(world.root / "home") == []


def test_what_is_left_out_is_not_counted_as_taken_and_the_run_has_failed(world: World) -> None:
    world.write(f"{TODAY}-a.jsonl", "a")
    packed = world.write(f"{TODAY}-b.jsonl.gz", "b", day=TODAY)
    damage(packed)
    summary = world.collect(skip_bad_artifacts=True)
    assert [reason.startswith(f'"{packed}" is damaged') for reason in summary.bad_artifacts] == [True]
    assert [one.artifacts for one in summary.committed] == [1]
    with world.catalog() as catalog:
        [found] = catalog.overview()
    assert found.last_run is not None
    assert found.last_run.outcome == "failed"


def test_a_table_whose_columns_cannot_change_so_does_not_keep_others_from_being_collected(world: World) -> None:
    world.write(f"{TODAY}.jsonl", "a")
    world.collect()
    other = CONFIG.replace('table "app"', 'table "zoo"').replace('partition "app"', 'partition "zoo"')
    world.text = CONFIG.replace('type = "varchar"', 'type = "integer"') + other
    app, zoo = world.report().partitions
    assert 'column "message" of table "app" is varchar' in app.error
    assert (zoo.is_done, world.rows(partition="zoo.x")) == (True, ["a"])


def test_units_that_are_done_again_look_at_their_own_files_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for age in range(1, 9):
        world.write(f"a/{days_ago(age)}.jsonl", "m")
        world.write(f"b/{days_ago(age)}.jsonl", "n")
    world.collect()
    shutil.rmtree(world.logs / "b")  # what stays of each day is carried over, so each is rewritten
    asked: list[int] = []
    whole = Catalog.snapshot

    def snapshot(catalog: Catalog, *names: Any, **more: Any) -> Snapshot:
        asked.append(len((found := whole(catalog, *names, **more)).files))
        return found

    monkeypatch.setattr(Catalog, "snapshot", snapshot)
    again = world.collect(overwrite=True)
    assert len(again.committed) == 8
    assert asked
    assert set(asked) == {1}
    monkeypatch.undo()
    assert world.rows() == ["m"] * 8 + ["n"] * 8
