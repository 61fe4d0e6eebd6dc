"""Retention: what is too old goes, counts as dropped, and does not come back by itself."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.lifecycle.maintain import maintain
from tailpipe.lifecycle.retain import Expired, expire, expire_all, preview
from tailpipe.model.coverage import NO_DAYS, DaySet
from tailpipe.model.maintenance import Maintenance
from tailpipe.model.partition import Retention
from tailpipe.model.request import Collect
from tailpipe.model.window import Window
from tests.unit.collect.support import CONFIG, NOW, World

TODAY = NOW.date()
KEEP = CONFIG.replace('partition "app" "x" {', 'partition "app" "x" {\n  retention { keep = "10d" }')


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A log for each of the last twenty days."""
    world = World(tmp_path)
    for count in range(20):
        world.write(f"{days_ago(count)}.jsonl", f"m{count:02d}")
    return world


def days_ago(count: int) -> date:
    return TODAY - timedelta(days=count)


def maintained(world: World, start: str | None = None) -> Maintenance:
    """Collect, and maintain it afterwards."""
    world.collect(start=start)
    window = Window.parse(start, None, now=world.now) if start else None
    partition, table = world.config.partitions["app.x"], world.config.tables["app"]
    with world.catalog() as catalog:
        return maintain(catalog, world.engine, partition, table, Collect(world.now, window), frozenset())


@pytest.mark.parametrize(
    ("keep", "oldest"),
    [("1d", date(2024, 3, 9)), ("2W", date(2024, 2, 25)), ("1m", date(2024, 2, 10)), ("2Y", date(2022, 3, 10))],
)
def test_a_day_that_is_kept_in_part_is_kept_whole(keep: str, oldest: date) -> None:
    assert Retention(keep=keep).oldest(datetime(2024, 3, 10, 23, 59, tzinfo=UTC)) == oldest
    assert Retention(keep=keep).oldest(datetime(2024, 3, 10, 0, 0, tzinfo=UTC)) == oldest


def test_what_has_expired_is_dropped_and_stays_away_until_it_is_asked_for(world: World) -> None:
    assert maintained(world) == Maintenance()  # without a retention everything stays
    assert len(world.rows()) == 20
    with world.catalog() as catalog:
        told = preview(catalog, "app.x", days_ago(10))
        assert catalog.snapshot().rows == 20
    assert (told.dates, told.rows, told.files) == (DaySet.span(days_ago(19), days_ago(11)), 9, 9)
    world.text = KEEP
    assert maintained(world) == Maintenance(told.dates, 9)
    assert world.rows() == [f"m{count:02d}" for count in range(11)]
    with world.catalog() as catalog:
        known = catalog.coverage("app.x")["file"]
        assert known.dropped.last == days_ago(11)
        assert expire(catalog, "app.x", days_ago(10)) == Expired("app.x", days_ago(10))  # there is nothing left to do
        sequence = catalog.snapshot().sequence
    summary = world.collect()
    assert (summary.committed, summary.gaps) == ((), NO_DAYS)
    with world.catalog() as catalog:
        assert catalog.snapshot().sequence == sequence
    # Asked for, they come back, and stay until the next plain run.
    start = str(days_ago(13))
    done = maintained(world, start=start)
    assert done.warnings == (
        f"days before {days_ago(10)} exceed the retention of 10d; the next run without --from deletes them",
    )
    assert not done.expired_days
    assert len(world.rows()) == 14
    assert maintained(world).expired_days == DaySet.span(days_ago(13), days_ago(11))
    assert len(world.rows()) == 11


def test_a_first_collection_asks_for_nothing_beyond_the_retention(world: World) -> None:
    world.text = KEEP
    summary = world.collect()
    assert world.rows() == [f"m{count:02d}" for count in range(11)]
    assert set(summary.skipped) <= {"beyond the retention: use --from"}
    with world.catalog() as catalog:
        assert catalog.coverage("app.x")["file"].known.first == days_ago(10)


def test_days_that_nobody_filled_are_no_gaps_once_they_are_too_old(world: World) -> None:
    world.collect(start=str(days_ago(19)), end=str(days_ago(18)))
    world.text = KEEP
    summary = world.collect()
    assert world.rows() == [*(f"m{count:02d}" for count in range(11)), "m18", "m19"]
    assert not summary.gaps


def test_undated_files_are_cut_to_what_is_kept(tmp_path: Path) -> None:
    world = World(tmp_path, KEEP.replace("file_layout", "// file_layout"))
    for count in (1, 9, 12):
        world.write("app.jsonl", f"m{count:02d}", day=days_ago(count), mode="a")
    summary = world.collect()
    assert world.rows() == ["m01", "m09"]
    assert summary.accounts.out_of_window == 1
    world.now += timedelta(days=5)
    assert maintained(world).expired_days == DaySet.of([days_ago(9)])
    assert world.rows() == ["m01"]
    world.write("app.jsonl", "new", day=days_ago(0), mode="a")
    maintained(world)
    assert world.rows() == ["m01", "new"]


def test_files_that_were_dropped_go_after_the_grace_also_when_nothing_else_expires(world: World) -> None:
    world.collect()

    def expired(oldest: date) -> tuple[int, int]:
        """How many files an expiry drops, and how many there are on disk afterwards."""
        with world.catalog() as catalog:
            gone = expire(catalog, "app.x", oldest)
        return gone.files, sum(path.is_file() for path in (world.root / "home/.tailpipe/files").rglob("*"))

    assert expired(days_ago(10)) == (9, 20)
    world.now += timedelta(hours=25)
    assert expired(days_ago(10)) == (0, 11)


def test_a_partition_that_holds_nothing_has_nothing_to_expire(world: World) -> None:
    with world.catalog() as catalog:
        assert expire(catalog, "app.x", TODAY) == Expired("app.x", TODAY)


def test_a_partition_that_is_locked_stops_no_other(world: World) -> None:
    world.text = CONFIG + CONFIG[CONFIG.index('partition "app" "x"') :].replace('"app" "x"', '"app" "y"')
    world.collect(start="T-20d")
    oldest = {"app.x": days_ago(10), "app.y": days_ago(10)}
    with world.catalog() as catalog, catalog.writer("app.x"), world.catalog() as other:
        locked, done = expire_all(other, oldest, dry_run=False)
    assert 'partition "app.x" is being written by' in locked.locked
    assert (locked.rows, done.locked, done.rows) == (0, "", 9)


@pytest.mark.parametrize("ahead", [80, 4000])
def test_a_clock_that_has_jumped_ahead_expires_nothing_until_it_is_confirmed(world: World, ahead: int) -> None:
    world.text = KEEP
    world.collect()
    world.now += timedelta(days=ahead)
    (note,) = maintained(world).warnings
    assert note == (
        f"no days expired: the clock says {world.now:%Y-%m-%d}, but the last change was on {TODAY};"
        " if the clock is right, run: tailpipe expire app.x --force"
    )
    world.now += timedelta(hours=1)
    assert maintained(world).warnings == (note,)
    assert len(world.rows()) == 11
    with world.catalog() as catalog:
        (kept,) = expire_all(catalog, {"app.x": world.now.date()}, dry_run=False, now=world.now)
        assert (kept.rows, kept.clock_warning) == (11, note.removeprefix("no days expired: ").partition(";")[0])
        assert catalog.snapshot().rows == 11


def test_after_a_pause_what_has_expired_goes_by_force_or_once_the_clock_went_on(world: World) -> None:
    world.text = KEEP
    world.collect()
    world.now += timedelta(days=100)
    maintained(world)
    world.now += timedelta(days=3)
    assert maintained(world).expired_rows == 11
    assert world.rows() == []


def test_somebody_who_knows_the_time_drops_what_has_expired(world: World) -> None:
    world.text = KEEP
    world.collect()
    world.now += timedelta(days=100)
    with world.catalog() as catalog:
        (gone,) = expire_all(catalog, {"app.x": world.now.date()}, dry_run=False)
        assert (gone.rows, gone.clock_warning) == (11, "")
        assert catalog.snapshot().rows == 0


def test_a_pause_of_weeks_is_no_jump(world: World) -> None:
    world.text = KEEP
    world.collect()
    world.now += timedelta(days=45)
    assert maintained(world).expired_rows == 11
