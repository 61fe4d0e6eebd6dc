"""Runs of detections: only new rows, each hit once, whatever happens to the files meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.catalog.catalog import Catalog
from tailpipe.model.detection import HITS
from tailpipe.model.window import Window
from tailpipe.operations.compact import Compact, compact
from tailpipe.operations.doctor import examine, rebuild
from tests.unit.detect.world import World, found

FAILED = """
detection "failed" {
  table = "app_log"
  where = "event = 'failed'"
}
"""
ALL = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC))


@pytest.mark.slow
def test_only_new_rows_are_examined_and_each_is_a_hit_once(tmp_path: Path) -> None:
    world = World(tmp_path, FAILED)
    world.begin()
    for user in ("a", "b", "c", "d", "e"):  # the fifth collection compacts the day
        world.log({"event": "failed", "user": user}, {"event": "fine", "user": "x"})
        world.collect()
        assert found(world.detect()) == {"failed": [user]}
        assert found(world.detect()) == {}
    with Catalog.open(tmp_path / "data" / "default") as catalog:
        assert len(catalog.snapshot(partition="app_log.p").files) < 5
    world.collect(overwrite=True)  # the same rows, with another ingest time
    run = world.detect()
    assert (found(run), run.results[0].known) == ({}, 5)
    shutil.move(tmp_path / "data/default/.tailpipe/catalog.db", tmp_path / "lost.db")
    rebuild(world.open(), accept_loss=False)
    run = world.detect()
    assert (found(run), run.results[0].known, run.is_first) == ({}, 0, False)
    world.log({"event": "failed", "user": "f"}, day="2024-01-09")
    world.collect()
    assert found(world.detect()) == {"failed": ["f"]}
    assert world.hits() == [("failed", user) for user in "fabcde"]


def test_the_first_run_begins_with_what_comes_then_and_a_window_searches_the_rest(tmp_path: Path) -> None:
    world = World(tmp_path, FAILED)
    world.append({"event": "failed", "user": "old"})
    run = world.detect()
    assert (run.is_first, found(run)) == (True, {})
    assert found(world.detect(window=ALL, dry_run=True)) == {"failed": ["old"]}
    assert world.hits() == []
    assert found(world.detect(window=ALL)) == {"failed": ["old"]}
    replay = world.detect(window=ALL)
    assert (found(replay), replay.results[0].known) == ({}, 1)
    assert world.hits() == [("failed", "old")]


@pytest.mark.slow
def test_a_partition_that_comes_later_is_new_from_its_beginning(tmp_path: Path) -> None:
    world = World(tmp_path, FAILED)
    world.append({"event": "failed", "user": "old"})
    world.detect()
    world.configure(FAILED, ("p", "q"))
    world.append({"event": "failed", "user": "q1"}, partition="q")
    assert found(world.detect()) == {"failed": ["q1"]}


@pytest.mark.slow
def test_a_run_of_some_detections_leaves_the_new_rows_to_the_others(tmp_path: Path) -> None:
    world = World(tmp_path, FAILED + 'detection "all" {\n table = "app_log"\n where = "true"\n}\n')
    world.begin()
    world.append({"event": "failed", "user": "a"})
    assert found(world.detect("all")) == {"all": ["a"]}
    assert found(world.detect()) == {"failed": ["a"]}
    assert world.hits() == [("all", "a"), ("failed", "a")]


def test_a_broken_detection_fails_alone_and_catches_up(tmp_path: Path) -> None:
    broken = 'detection "sum" {\n table = "app_log"\n where = "CAST(event AS INTEGER) = 1"\n}\n'
    world = World(tmp_path, FAILED + broken)
    world.begin()
    world.append({"event": "failed", "user": "a"})
    run = world.detect()
    assert found(run) == {"failed": ["a"]}
    assert [one.failure for one in run.results if one.failure] == [
        "could not convert string 'failed' to INT32 when casting from source column event"
    ]
    world.append({"event": "failed", "user": "b"})
    assert found(world.detect()) == {"failed": ["b"]}
    world.configure(FAILED + broken.replace("CAST(event AS INTEGER) = 1", "event = 'failed'"))
    assert found(world.detect()) == {"sum": ["a", "b"]}
    assert found(world.detect()) == {}


@pytest.mark.slow
def test_a_value_is_seen_for_the_first_time_once_and_the_first_run_is_silent(tmp_path: Path) -> None:
    first = 'detection "new" {\n table = "app_log"\n where = "true"\n first_seen = ["\\"user\\""]\n}\n'
    world = World(tmp_path, first)
    world.detect()  # nothing is there to be learnt
    world.append({"user": "a"}, {"user": "b"})
    assert found(world.detect()) == {}
    world.append({"user": "b"}, {"user": "c", "at": 5}, {"user": "c", "at": 4})
    assert found(world.detect()) == {"new": ["c"]}
    world.append({"user": "c"}, {"user": "d"})
    assert found(world.detect()) == {"new": ["d"]}


@pytest.mark.slow
def test_a_suppressed_group_makes_a_hit_again_after_the_time(tmp_path: Path) -> None:
    quiet = (
        'detection "quiet" {\n table = "app_log"\n where = "event = \'failed\'"\n group_by = ["ip"]\n'
        ' suppress = "60s"\n}\n'
    )
    world = World(tmp_path, quiet)
    world.begin()
    times = [("a", "1", 0), ("b", "1", 30), ("c", "2", 31), ("d", "1", 59), ("e", "1", 60), ("f", "1", 100)]
    for some in (times[:2], times[2:]):
        world.append(*({"event": "failed", "user": user, "ip": ip, "at": at} for user, ip, at in some))
        world.detect()
    expected = [("quiet", "a"), ("quiet", "c"), ("quiet", "e")]
    assert world.hits() == expected
    assert found(world.detect(window=ALL)) == {}


@pytest.mark.slow
def test_a_statement_joins_new_rows_with_other_tables(tmp_path: Path) -> None:
    statement = (
        'detection "join" {\n table = "app_log"\n'
        " sql = \"SELECT n.tp_id FROM new_rows n JOIN app_log o ON o.ip = n.ip AND o.event = 'failed'"
        " WHERE n.event = 'login'\"\n}\n"
    )
    world = World(tmp_path, statement)
    world.append({"event": "failed", "user": "old", "ip": "1"})
    world.detect()
    world.append({"event": "login", "user": "a", "ip": "1"}, {"event": "login", "user": "b", "ip": "2"})
    assert found(world.detect()) == {"join": ["a"]}


EVIL = (
    "sql = \"SELECT tp_id FROM read_text('/etc/hostname')\"",
    "sql = \"COPY new_rows TO 'x.csv'\"",
    'sql = "SELECT tp_id FROM new_rows; SELECT 1"',
    'sql = "SELECT 1 AS other FROM new_rows"',
    "where = \"getenv('HOME') <> ''\"",
    "where = \"event IN (SELECT content FROM read_text('/etc/hostname'))\"",
    'where = "true) THEN 1 END FROM new_rows; DROP VIEW new_rows; --"',
    'where = "event"',
)


def test_a_detection_reads_rows_and_nothing_else(tmp_path: Path) -> None:
    rules = [f'detection "evil_{n}" {{\n table = "app_log"\n {rule}\n}}\n' for n, rule in enumerate(EVIL)]
    world = World(tmp_path, "".join(rules) + FAILED)
    world.begin()
    world.append({"event": "failed", "user": "a"})
    run = world.detect()
    assert [one.detection.name for one in run.results if one.failure] == [f"evil_{n}" for n in range(len(EVIL))]
    assert found(run) == {"failed": ["a"]}


def test_hits_stay_on_their_host(tmp_path: Path) -> None:
    store = f'store "lake" {{ location = "{tmp_path}/lake" }}\nworkspace "default" {{ store = store.lake }}\n'
    stores = World(tmp_path, FAILED + store).open().stores
    assert stores.of("app_log.p") is not None
    assert stores.of(HITS) is None


@pytest.mark.slow
def test_hits_are_files_of_an_ordinary_partition(tmp_path: Path) -> None:
    world = World(tmp_path, FAILED)
    world.begin()
    for number in range(3):
        world.append({"event": "failed", "user": str(number)}, day=f"2024-01-1{number}")
        world.detect()
    home = world.open()
    assert examine(home, with_checksums=True) == []
    (done,) = compact(home, Compact([HITS]))
    assert done.partition == HITS
    assert len(world.hits()) == 3
    (row,) = world.rows(
        "SELECT hit_table, hit_partition, severity, detection_hit.tp_partition, row_count FROM detection_hit"
        " JOIN app_log ON app_log.tp_id = hit_tp_id WHERE app_log.user = '1'"
    )
    assert row == ("app_log", "p", "medium", "hits", 1)


CRASH = """from_json('1', repeat('[', 20000) || '\\"INT\\"' || repeat(']', 20000))::VARCHAR"""
CRASHING = f"""
detection "a" {{
  table = "app_log"
  where = "event = 'failed'"
}}
detection "condition" {{
  table = "app_log"
  where = "{CRASH} IS NULL"
}}
detection "group" {{
  table     = "app_log"
  where     = "event = 'failed'"
  group_by  = ["{CRASH}"]
  threshold = 1
  within    = "1h"
}}
detection "statement" {{
  table = "app_log"
  sql   = "SELECT tp_id FROM new_rows WHERE {CRASH} IS NULL"
}}
detection "value" {{
  table      = "app_log"
  where      = "event = 'failed'"
  first_seen = ["{CRASH}"]
}}
detection "z" {{
  table = "app_log"
  sql   = "SELECT tp_id FROM new_rows WHERE event = 'failed'"
}}
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs Linux")
def test_a_detection_that_crashes_the_engine_fails_alone_and_misses_no_row(tmp_path: Path) -> None:
    world = World(tmp_path, CRASHING)
    world.begin()
    world.append({"event": "failed", "user": "u"})
    env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(tmp_path)}
    call = [sys.executable, "-m", "tailpipe", "detect", "--output", "json"]
    done = subprocess.run(call, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "6 detections run, 4 failed: 2 new hits" in done.stderr
    results = json.loads(done.stdout)["detections"]
    crashed = {one["name"] for one in results if one["error"] == "the statement crashed the SQL engine"}
    assert crashed == {"condition", "group", "statement", "value"}
    assert world.hits() == [("a", "u"), ("z", "u")]
    world.configure(CRASHING.replace(f"{CRASH} IS NULL", "event = 'failed'").replace(CRASH, "user"))
    assert found(world.detect()) == {"condition": ["u"], "group": ["u"], "statement": ["u"]}
