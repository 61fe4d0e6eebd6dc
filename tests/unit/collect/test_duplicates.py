"""The same event through two sources: one row, counted, whoever comes first and whatever comes later."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.kernel.task import Reading
from tailpipe.model.artifact import Artifact
from tests.unit.collect.support import World

LAYOUT = "`(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`"
CONFIG = f"""
table "app" {{
  format = format.jsonl.default
  column "tp_timestamp" {{ source = "time" }}
  column "message" {{ type = "varchar" }}
}}
partition "app" "x" {{
  dedupe_key = ["event_id", "region"]
  source "file" "one" {{
    paths       = ["LOGS/one"]
    file_layout = {LAYOUT}
  }}
  source "file" "two" {{
    paths       = ["LOGS/two"]
    file_layout = {LAYOUT}
  }}
}}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, CONFIG)
    for source in ("one", "two"):
        (world.logs / source).mkdir()
    return world


def write(
    world: World,
    name: str,
    *events: tuple[str | None, str],
    time: str = "2024-03-09T10:00:00Z",
    region: str | None = "eu",
) -> None:
    rows = [{"time": time, "event_id": key, "region": region, "message": text} for key, text in events]
    path = world.logs / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    at = datetime(2024, 3, 9, 23, tzinfo=UTC).timestamp()
    os.utime(path, (at, at))


def test_an_event_that_comes_through_two_sources_on_one_day_is_there_once(world: World) -> None:
    write(world, "one/2024-03-09.jsonl", ("1", "a"), ("2", "b"))
    write(world, "two/2024-03-09.jsonl", ("2", "b again"), ("3", "c"), ("3", "c twice"))
    summary = world.collect()
    assert summary.is_done
    assert (summary.accounts.read, summary.accounts.kept, summary.accounts.duplicate) == (5, 3, 2)
    assert world.rows("event_id") == ["1", "2", "3"]
    with world.catalog() as catalog:
        assert catalog.accounts("app.x").is_balanced


def test_an_event_that_is_live_stays_and_the_late_one_is_counted(world: World) -> None:
    write(world, "one/2024-03-09.jsonl", ("1", "first"))
    world.collect()
    write(world, "two/2024-03-09.jsonl", ("1", "second"), ("2", "other"))
    summary = world.collect()
    assert (summary.accounts.kept, summary.accounts.duplicate) == (1, 1)
    assert world.rows() == ["first", "other"]


def test_an_event_of_the_night_is_found_although_its_file_is_of_the_next_day(world: World) -> None:
    write(world, "one/2024-03-08.jsonl", ("1", "in its day"), time="2024-03-08T23:59:00Z")
    write(world, "two/2024-03-09.jsonl", ("1", "a day later"), time="2024-03-08T23:59:00Z")
    write(world, "two/2024-03-08.jsonl", ("9", "alone"), time="2024-03-08T12:00:00Z")
    summary = world.collect()  # both days in one run, maybe in one batch
    assert (summary.accounts.kept, summary.accounts.duplicate) == (2, 1)
    assert world.rows("event_id") == ["1", "9"]


@pytest.mark.parametrize("first", ["one", "two"])
def test_which_row_stays_does_not_depend_on_the_order_of_the_sources(world: World, first: str) -> None:
    start, *sources = CONFIG.split('  source "file" ')
    sources[-1] = sources[-1].removesuffix("}\n")
    if first == "two":
        sources.reverse()
    world.text = start + "".join(f'  source "file" {source}' for source in sources) + "}\n"
    paths = {}
    for source in ("one", "two"):
        write(world, f"{source}/2024-03-09.jsonl", ("1", source))
        origin = str(world.logs / source / "2024-03-09.jsonl")
        paths[Reading(Artifact(origin), origin).row_prefix("app.x")] = source
    world.collect()
    assert world.rows() == [paths[min(paths)]]


def test_rows_without_a_key_are_like_no_other(world: World) -> None:
    write(world, "one/2024-03-09.jsonl", (None, "a"), (None, "a"))
    write(world, "two/2024-03-09.jsonl", (None, "a"))
    write(world, "two/2024-03-08.jsonl", ("1", "b"), ("1", "b"), region=None, time="2024-03-08T10:00:00Z")
    summary = world.collect()
    assert (summary.accounts.kept, summary.accounts.duplicate) == (5, 0)


def test_collecting_again_and_overwriting_change_nothing(world: World) -> None:
    write(world, "one/2024-03-09.jsonl", ("1", "a"), ("2", "b"))
    write(world, "two/2024-03-09.jsonl", ("2", "b"), ("3", "c"))
    world.collect()
    ids = world.rows("tp_id")
    assert not world.collect().committed
    summary = world.collect("2024-03-09", "2024-03-09", overwrite=True)
    assert (summary.accounts.kept, summary.accounts.duplicate) == (3, 1)
    assert world.rows("tp_id") == ids
    summary = world.collect("2024-03-09", "2024-03-09", overwrite=True, source="two")
    assert (summary.accounts.read, summary.accounts.kept + summary.accounts.duplicate) == (2, 2)
    assert world.rows("event_id") == ["1", "2", "3"]


def test_an_event_whose_row_went_comes_back_with_an_overwrite(world: World) -> None:
    block = CONFIG[CONFIG.index('  source "file" "one"') : CONFIG.index('  source "file" "two"')]
    world.text = CONFIG.replace(block, '  source "command" "one" { command = ["cat", "LOGS/one/now"] }\n')
    today = {"time": "2024-03-10T10:00:00Z"}
    write(world, "one/now", ("1", "a"), **today)
    world.collect("2024-03-10", "2024-03-10")
    write(world, "two/2024-03-10.jsonl", ("1", "b"), **today)
    world.collect("2024-03-10", "2024-03-10", source="two")
    assert world.rows() == ["a"]
    write(world, "one/now")
    world.collect("2024-03-10", "2024-03-10")  # a command gives its day anew, and now without the event
    assert world.rows() == []
    world.collect("2024-03-10", "2024-03-10", overwrite=True)
    assert world.rows() == ["b"]


def test_an_event_of_the_night_is_found_also_when_its_day_is_collected_anew(world: World) -> None:
    write(world, "one/2024-03-08.jsonl", ("1", "a"), time="2024-03-08T23:59:00Z")
    write(world, "two/2024-03-09.jsonl", ("1", "b"), ("2", "c"), time="2024-03-08T23:59:00Z")
    for overwrite in (False, True):
        world.collect("2024-03-08", "2024-03-09", overwrite=overwrite)
        assert world.rows("event_id") == ["1", "2"]
    summary = world.collect("2024-03-08", "2024-03-08", overwrite=True)  # the newer day came first, and has it
    assert (summary.accounts.kept, summary.accounts.duplicate) == (0, 1)
    assert world.rows("event_id") == ["1", "2"]


def test_the_same_key_on_another_date_is_another_event(world: World) -> None:
    write(world, "one/2024-03-08.jsonl", ("1", "a"), time="2024-03-08T10:00:00Z")
    world.collect()
    rows = [("2024-03-08T10:00:00Z", "2"), ("2024-03-09T10:00:00Z", "1"), ("2024-03-10T10:00:00Z", "1")]
    lines = [json.dumps({"time": time, "event_id": key, "region": "eu", "message": time}) for time, key in rows]
    (world.logs / "two/2024-03-09.jsonl").write_text("\n".join(lines) + "\n")
    summary = world.collect()
    assert (summary.accounts.kept, summary.accounts.duplicate) == (3, 0)


@pytest.mark.parametrize("more", [{}, {"event_id": "1"}, {"region": "eu"}])
def test_a_key_that_older_files_do_not_have_is_no_duplicate_of_theirs(world: World, more: dict[str, str]) -> None:
    world.text = CONFIG.replace("  dedupe_key", "#")
    old = {"time": "2024-03-09T10:00:00Z", "message": "old", **more}
    (world.logs / "one/2024-03-09.jsonl").write_text(json.dumps(old) + "\n")
    world.collect()
    world.text = CONFIG
    write(world, "two/2024-03-09.jsonl", ("1", "a"))
    summary = world.collect()
    assert (summary.accounts.kept, summary.accounts.duplicate) == (1, 0)


def test_a_key_of_any_name_is_found_however_its_case_is_written(world: World) -> None:
    world.text = CONFIG.replace('["event_id", "region"]', '["Event_ID", "group"]')
    for source, text in (("one", "a"), ("two", "b")):
        row = {"time": "2024-03-09T10:00:00Z", "event_id": "1", "group": 7, "message": text}
        (world.logs / source / "2024-03-09.jsonl").write_text(json.dumps(row) + "\n")
        world.collect()
    assert world.rows() == ["a"]


def test_events_are_held_against_those_of_a_file_that_lacks_a_part_of_the_key(world: World) -> None:
    bare = {"time": "2024-03-09T10:00:00Z", "event_id": "1", "message": "bare"}
    for name in ("one", "two"):
        (world.logs / name / "2024-03-09-bare.jsonl").write_text(json.dumps(bare) + "\n")
    write(world, "one/2024-03-09.jsonl", ("1", "a"))
    write(world, "two/2024-03-09.jsonl", ("1", "b"), ("2", "c"))
    summary = world.collect()
    assert (summary.accounts.kept, summary.accounts.duplicate) == (4, 1)
    assert world.rows("event_id") == ["1", "1", "1", "2"]


def test_a_key_whose_type_has_changed_since_is_held_against_all_that_is_there(world: World) -> None:
    for name, keys in (("one/2024-03-09", [1]), ("two/2024-03-09", ["x"]), ("one/2024-03-09-b", ["x", "1", "y"])):
        rows = [{"time": "2024-03-09T10:00:00Z", "event_id": key, "region": "eu", "message": name} for key in keys]
        (world.logs / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        summary = world.collect()
    assert (summary.accounts.kept, summary.accounts.duplicate) == (1, 2)
    assert sorted(map(str, world.rows("event_id"))) == ["1", "x", "y"]
