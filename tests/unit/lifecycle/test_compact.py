"""Compaction with the kernel in this process: the files change, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tailpipe.catalog import doctor
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.snapshot import LiveFile
from tailpipe.errors import LockedError, StorageError, UsageError
from tailpipe.kernel.carry import CarriedFile
from tailpipe.kernel.compact import Compaction, Index, compact_files
from tailpipe.kernel.task import Staging
from tailpipe.lifecycle.compact import (
    BATCH_BYTES,
    Compacted,
    Subject,
    _batches,
    compact,
    compact_all,
    preview,
    subject_of,
)
from tailpipe.lifecycle.maintain import maintain
from tailpipe.lifecycle.policy import FEW_FILES, FileGroup, Wanted
from tailpipe.model.coverage import EVERY_DAY, DaySet
from tailpipe.model.request import Collect
from tailpipe.model.staged import StagedFile
from tailpipe.query.session import Session
from tailpipe.storage.local import LocalStorage
from tests.counting import calls, calls_of
from tests.unit.collect.support import CONFIG, NOW, LocalEngine, World

TODAY = NOW.date()
OLD = TODAY - timedelta(days=5)


class Full(LocalStorage):
    """Has next to no room left."""

    def free(self, path: Path) -> int:
        return 1_000_000


class Broken(LocalEngine):
    """Stages a file, and dies."""

    def compact(self, tasks: Sequence[Compaction]) -> list[tuple[StagedFile, ...]]:
        compact_files(tasks[0])
        raise RuntimeError("the power went")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def collect_often(world: World, times: int, day: date = OLD) -> None:
    for number in range(times):
        world.write(f"{number}/{day}.jsonl", f"m{number}", f"n{number}")
        world.collect(start=str(day - timedelta(days=1)))


def do(world: World, *, table: bool = True, index: Index | None = None, wanted: Wanted | None = None) -> Compacted:
    declared = world.config.tables["app"] if table else None
    with world.catalog() as catalog:
        subject = Subject("app.x", declared, index, wanted or Wanted())
        told = preview(catalog, world.engine, subject)
        done = compact(catalog, world.engine, subject)
    assert (told.files, told.rows, told.bytes) == (done.files, done.rows, done.bytes)
    assert doctor.examine(world.root / "home", with_checksums=True) == []
    return done


def files(world: World) -> list[tuple[str, str | None, date]]:
    with world.catalog() as catalog:
        live = catalog.snapshot(partition="app.x").files
    return sorted(((one.unit, one.tp_index, one.tp_date) for one in live), key=str)


def everything(world: World) -> tuple[Any, ...]:
    """Rows, ledger, coverage and accounts: all that must not change."""
    with world.catalog() as catalog:
        state = catalog.state("app.x")
        return Counter(map(str, world.rows("*"))), state, catalog.accounts("app.x")


def test_small_files_become_one_and_nothing_else_changes(world: World) -> None:
    collect_often(world, 3)
    before = everything(world)
    done = do(world)
    assert (done.files, done.new_files, done.rows) == (3, 1, 6)
    assert everything(world) == before
    assert files(world) == [(str(OLD), "default", OLD)]
    hive = list((world.root / "home").glob("tp_table=app/*/*/*/*.parquet"))
    assert len(hive) == 1
    assert do(world) == Compacted("app.x")  # what is right is left alone
    # The ledger knows its artifacts still.
    world.write(f"0/{OLD}.jsonl", "more", mode="a")
    world.collect()
    assert len(world.rows()) == 7
    assert not world.has_twins()


def test_rows_are_sorted_by_time_then_id(world: World) -> None:
    for number, hour in enumerate((9, 3, 6)):
        path = world.logs / f"{number}" / f"{OLD}.jsonl"
        path.parent.mkdir()
        path.write_text("".join(f'{{"time": "{OLD}T{hour:02d}:{m:02d}:00Z", "message": "x"}}\n' for m in (30, 10, 10)))
        world.collect()
    do(world)
    with world.catalog() as catalog, duckdb.connect() as connection:
        (path_,) = catalog.snapshot(partition="app.x").paths()
        rows = connection.execute("SELECT tp_timestamp, tp_id FROM read_parquet(?)", [path_]).fetchall()
    assert rows == sorted(rows)
    assert len(rows) == 9


def test_files_with_other_columns_are_brought_to_those_of_the_table(world: World) -> None:
    collect_often(world, 2)
    kept = CONFIG.replace('column "message" { type = "varchar" }', 'column "message" { type = "varchar" }\n  COLUMNS')
    world.text = kept.replace("COLUMNS", 'column "level" { type = "integer" }')
    path = world.write(f"7/{OLD}.jsonl")
    path.write_text(f'{{"time": "{OLD}T10:00:00Z", "message": "l", "level": 3, "old": "o"}}\n')
    world.collect()
    # The column goes from the table, a wider one and a new one come; what was collected stays.
    world.text = kept.replace("COLUMNS", 'column "new" { type = "date" }\n  column "level" { type = "bigint" }')
    do(world)
    with world.catalog() as catalog:
        (columns,) = catalog.snapshot(partition="app.x").columns.values()
    assert list(columns)[:3] == ["message", "new", "level"]
    assert (columns["level"], columns["new"]) == ("BIGINT", "DATE")
    assert world.rows("message, level, new") == [
        ("l", 3, None),
        ("m0", None, None),
        ("m1", None, None),
        ("n0", None, None),
        ("n1", None, None),
    ]


def test_a_partition_that_no_config_names_keeps_its_columns(world: World) -> None:
    collect_often(world, 3)
    before = everything(world)
    assert do(world, table=False).new_files == 1
    assert everything(world) == before


def test_units_stay_apart_also_where_they_hold_rows_of_one_date(world: World) -> None:
    for day in (OLD, OLD + timedelta(days=1)):
        for name in ("a", "b"):
            world.write(f"{name}/{day}.jsonl", f"{day} {name}", day=OLD)
            world.collect()
    assert do(world).new_files == 2
    assert files(world) == [(str(OLD), "default", OLD), (str(OLD + timedelta(days=1)), "default", OLD)]
    # So that a unit can still be replaced whole.
    before = world.rows("tp_id, message")
    world.collect(start=str(OLD), end=str(OLD), overwrite=True)
    assert world.rows("tp_id, message") == before


def test_only_the_days_that_are_asked_for_are_compacted(world: World) -> None:
    collect_often(world, 2)
    collect_often(world, 2, day=OLD - timedelta(days=3))
    assert do(world, wanted=Wanted(DaySet.of([OLD]))).files == 2
    assert do(world).files == 2


def test_reindexing_divides_the_files_as_collecting_would(world: World) -> None:
    world.write(f"a/{OLD}.jsonl", "one", "two")
    world.collect()
    world.write(f"b/{OLD}.jsonl", "two", "three")
    with (world.logs / "b" / f"{OLD}.jsonl").open("a") as file:
        file.write(f'{{"time": "{OLD}T11:00:00Z"}}\n')
    world.collect()
    ids = Counter(world.rows("tp_id, message"))
    world.text = CONFIG.replace('partition "app" "x" {', 'partition "app" "x" {\n  tp_index = "message"')
    world.write(f"c/{OLD}.jsonl", "three")
    world.collect()
    done = do(world, index=Index("message"))
    assert (done.files, done.new_files) == (3, 4)
    assert [index for _, index, _ in files(world)] == ["one", "three", "two", None]
    assert all(index == message for index, message in world.rows("tp_index, message"))
    assert ids - Counter(world.rows("tp_id, message")) == Counter()
    assert do(world, index=Index("message")) == Compacted("app.x")
    hive = {path.parent.parent.name for path in (world.root / "home").glob("tp_table=app/*/*/*/*.parquet")}
    assert hive == {"tp_index=__HIVE_DEFAULT_PARTITION__", "tp_index=one", "tp_index=two", "tp_index=three"}
    # And back: all rows have one index again.
    assert do(world, index=Index(None)).new_files == 1
    assert set(world.rows("tp_index")) == {"default"}


def test_an_index_stays_as_it_is_whatever_its_directory_is_called(world: World) -> None:
    world.text = CONFIG.replace('partition "app" "x" {', 'partition "app" "x" {\n  tp_index = "message"')
    indexes = ["long" * 50, "it's 50%/b", "", "NULL"]
    for number in range(2):
        world.write(f"{number}/{OLD}.jsonl", *indexes)
        world.collect()
    before = everything(world)
    done = do(world)
    assert (done.files, done.new_files) == (8, 4)
    assert everything(world) == before
    assert sorted(set(world.rows("tp_index"))) == sorted(indexes)


def test_an_index_needs_a_config(world: World) -> None:
    with pytest.raises(UsageError, match="no longer in the config"):
        subject_of("app.gone", None, {}, EVERY_DAY, reindex=True)
    assert subject_of("app.gone", None, {}, EVERY_DAY, reindex=False) == Subject("app.gone")


def test_a_large_group_becomes_several_files_one_after_the_other_in_time(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        for number in range(2):
            connection.execute(
                "COPY (SELECT md5(i::VARCHAR) AS tp_id, TIMESTAMP '2024-03-05' + to_seconds((i * 7919) % 86400)"
                f" AS tp_timestamp, 'a' AS tp_index FROM range({number}, 400000, 2) r(i))"
                f" TO '{tmp_path / str(number)}' (FORMAT parquet)"
            )
    columns = {"tp_id": "VARCHAR", "tp_timestamp": "TIMESTAMP", "tp_index": "VARCHAR"}
    parts = tuple(CarriedFile(str(tmp_path / str(number)), OLD, "a", columns) for number in range(2))
    staging = tmp_path / "staging"
    staging.mkdir()
    task = Compaction(parts, columns, Staging(str(staging), "c"), 0, part_bytes=3_000_000)
    made = compact_files(task)
    assert sum(file.rows for file in made) == 400_000
    assert len(made) > 1
    bounds = [(file.min_timestamp, file.max_timestamp) for file in made]
    assert all(one[1] <= other[0] for one, other in pairwise(bounds))  # type: ignore[operator]
    assert sorted(path.name for path in staging.iterdir()) == sorted(file.path for file in made)


def test_a_query_that_is_under_way_keeps_its_answer(world: World) -> None:
    collect_often(world, 2)
    with world.catalog() as catalog:
        snapshot = catalog.snapshot()
    with Session(snapshot, dict(world.config.tables)) as session:
        do(world)
        world.now += timedelta(minutes=30)  # clean-ups come and go
        world.collect()
        assert list(session.run("SELECT count(*) FROM app").rows) == [(4,)]
    world.now += timedelta(hours=1)
    world.collect()
    assert not any(Path(path).exists() for path in snapshot.paths())


def test_files_that_were_put_together_go_after_the_grace_also_when_nothing_else_is_to_do(world: World) -> None:
    collect_often(world, 2)
    with world.catalog() as catalog:
        before = catalog.snapshot().paths()
    do(world)
    assert all(Path(path).exists() for path in before)
    world.now += timedelta(hours=2)
    assert do(world) == Compacted("app.x")
    assert not any(Path(path).exists() for path in before)


def test_what_another_process_writes_is_left_alone(world: World) -> None:
    collect_often(world, 4)
    with world.catalog() as catalog, catalog.writer("app.x"), world.catalog() as other:
        with pytest.raises(LockedError):
            compact(other, world.engine, Subject("app.x"))
        done = maintain(other, world.engine, *chosen(world), Collect(world.now), {str(OLD)})
    assert done.warnings[0].startswith('maintenance failed: partition "app.x" is being written by')
    assert len(files(world)) == 4


def test_a_partition_that_is_locked_stops_no_other(world: World) -> None:
    world.text = CONFIG + CONFIG[CONFIG.index('partition "app" "x"') :].replace('"app" "x"', '"app" "y"')
    collect_often(world, 2)
    with world.catalog() as catalog, catalog.writer("app.x"), world.catalog() as other:
        locked, done = compact_all(other, world.engine, [Subject("app.x"), Subject("app.y")], dry_run=False)
    assert 'partition "app.x" is being written by' in locked.locked
    assert (locked.files, done.locked, done.files, done.new_files) == (0, "", 2, 1)


def chosen(world: World) -> tuple[Any, Any]:
    return world.config.partitions["app.x"], world.config.tables["app"]


def maintained(world: World, day: date) -> tuple[int, int]:
    with world.catalog() as catalog:
        done = maintain(catalog, world.engine, *chosen(world), Collect(world.now), {str(day)})
    assert done.warnings == ()
    return done.compacted_files, done.new_files


def test_after_a_collection_only_the_units_it_touched_are_compacted(world: World) -> None:
    collect_often(world, 4)
    collect_often(world, 4, day=OLD - timedelta(days=3))
    assert maintained(world, OLD) == (4, 1)
    assert len(files(world)) == 5


@pytest.mark.parametrize("day", [TODAY, OLD])
def test_after_a_collection_a_day_is_compacted_when_it_pays(world: World, day: date) -> None:
    collect_often(world, 3, day)
    before = everything(world)
    assert maintained(world, day) == (0, 0)
    world.write(f"3/{day}.jsonl", "m3", "n3")
    world.collect(start=str(day - timedelta(days=1)))
    assert maintained(world, day) == (4, 1)
    assert maintained(world, day) == (0, 0)
    assert sum(before[0].values()) + 2 == len(world.rows())
    assert doctor.examine(world.root / "home", with_checksums=True) == []


@pytest.mark.slow
def test_many_appends_leave_few_files_and_rewrite_each_row_a_few_times(world: World) -> None:
    merged = 0
    for number in range(20):
        world.write(f"{number}/{TODAY}.jsonl", f"m{number}")
        world.collect()
        before = stored(world)
        maintained(world, TODAY)
        merged += sum(rows for path, rows in before.items() if path not in stored(world))
        assert len(files(world)) <= FEW_FILES
    assert len(world.rows()) == 20
    assert not world.has_twins()
    assert (merged, sorted(stored(world).values())) == (16 + 12 + 4, [4, 16])


def stored(world: World) -> dict[str, int]:
    with world.catalog() as catalog:
        return {one.path: one.rows for one in catalog.snapshot(partition="app.x").files}


def test_compaction_is_refused_where_there_is_no_room_for_it(world: World) -> None:
    collect_often(world, 2)
    before = everything(world)
    with world.catalog() as catalog:
        full = Catalog(replace(catalog.database, tree=Full()))
        with pytest.raises(StorageError, match="only 1 MB are free") as caught:
            compact(full, world.engine, Subject("app.x"))
    assert "free some space" in caught.value.hint
    assert everything(world) == before


def test_a_failed_job_leaves_everything_as_it_was(world: World) -> None:
    collect_often(world, 3)
    before = everything(world), files(world)
    with world.catalog() as catalog, pytest.raises(RuntimeError):
        compact_all(catalog, Broken(), [Subject("app.x")], dry_run=False)
    assert (everything(world), files(world)) == before
    assert not list((world.root / "home" / ".tailpipe" / "staging").iterdir())


def test_the_columns_of_new_files_are_worked_out_once_for_all_groups(world: World) -> None:
    for age in range(5, 9):
        collect_often(world, 2, TODAY - timedelta(days=age))
    with world.catalog() as catalog:
        subject = Subject("app.x", world.config.tables["app"])
        assert preview(catalog, world.engine, subject).groups == 4
        assert calls_of("merged_columns", lambda: preview(catalog, world.engine, subject)) == 1


def test_units_are_put_into_batches_in_one_walk() -> None:
    file = LiveFile("a", "app.x", "u", None, OLD, 1, BATCH_BYTES // 3, 0, 1, 1)
    groups = [FileGroup(f"{number:03d}", OLD, (file,)) for number in range(300)]
    assert [len(batch) for batch in _batches(groups)] == [3] * 100
    small = [replace(group, files=(file._replace(size=1),)) for group in groups]
    once, twice = calls(lambda: list(_batches(small[:150]))), calls(lambda: list(_batches(small)))
    assert twice < 2.5 * once
