"""Cleaning a store: what nothing names goes, and nothing that a sleeping writer is about to name."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog.changes import changes
from tailpipe.catalog.layout import Layout
from tailpipe.model.store import Store
from tailpipe.stores import sweep as sweeping
from tailpipe.stores.keys import checkpoint_key
from tailpipe.stores.log import store_id
from tailpipe.stores.push import push, put_checkpoint
from tailpipe.stores.sweep import Swept, sweep
from tailpipe.stores.versions import make_tags
from tests.stores.conftest import Shared
from tests.stores.installed import NAME, write
from tests.stores.test_publish import install, opened, run
from tests.unit.catalog.conftest import PARTITION

__all__ = ["install"]

NO_AGE = timedelta(0)
"""Everything counts as old that is there when the sweep begins; what comes later must not."""


def swept(lake: Shared, history: timedelta = timedelta(0), age: timedelta = NO_AGE, *, dry_run: bool = False) -> Swept:
    with lake.open() as catalog:
        store = str(store_id(catalog.database, lake.objects, may_make=False))
    layout = Layout.of(lake.home)
    time.sleep(0.05)  # times of files are only as fine as the ticks of the system
    return sweep(layout, lake.objects, store, "cleaner", history=history, age=age, dry_run=dry_run)


def named(lake: Shared) -> set[str]:
    """The keys of live files by the log, as a host sees them that knows nothing else."""
    other = Shared(lake.home.parent / "fresh", lake.objects, host="fresh")
    other.push()
    return {str(key) for (key,) in other.ask("SELECT key FROM files WHERE state = 'live'")}


def files(lake: Shared) -> set[str]:
    return {*lake.keys("data"), *lake.keys("rejected")}


def push_while(lake: Shared, then: Callable[[], object]) -> None:
    """Push, and let something happen when the files are up and the commit is not made."""
    calls = []

    def once() -> None:
        calls.append(1)
        if len(calls) == 1:
            then()

    with lake.writer() as writer:
        push(writer, replace(lake.target(), emit=lambda _: once()))
    assert calls


def test_replaced_files_go_after_the_history_and_live_ones_stay(lake: Shared) -> None:
    lake.collect(["a1", "a2"], rejected=2)
    lake.push()
    lake.replace(["b1"])
    lake.push()
    before = files(lake)
    assert swept(lake, history=timedelta(days=1)).objects == 0
    assert swept(lake, age=timedelta(days=1)).objects == 0
    _age_log(lake)
    assert swept(lake, dry_run=True).objects == 2
    assert files(lake) == before
    done = swept(lake)
    assert (done.objects, done.kept_objects) == (2, 1)
    assert files(lake) == named(lake)
    lake.push()
    assert set(lake.rows()) == {"b1"}


def _age_log(lake: Shared) -> None:
    """Let all versions be from a day ago."""
    moment = datetime.now(UTC).timestamp() - 86_400
    for key in lake.keys("log"):
        os.utime(Path(lake.objects.location) / key, (moment, moment))


def test_what_a_tag_names_is_kept_until_it_is_dropped(lake: Shared) -> None:
    lake.collect(["a1"])
    lake.push()
    store = Store(name="lake", location=lake.objects.location)
    with lake.open() as catalog:
        make_tags(catalog.database, "kept", [PARTITION], lambda _: store, "web-1", datetime.now(UTC))
    lake.replace(["b1"])
    lake.push()
    _age_log(lake)
    assert swept(lake).objects == 0
    lake.objects.delete(["tags/kept.json"])
    assert swept(lake).objects == 1


def test_of_checkpoints_the_newest_is_kept(lake: Shared) -> None:
    for number in range(3):
        lake.collect([f"a{number}"], index=str(number))
        lake.push()
        with lake.writer() as writer:
            put_checkpoint(writer, lake.target())
    assert swept(lake, age=timedelta(days=1)).objects == 0
    assert swept(lake).objects == 2
    assert [key for key in lake.keys("log") if key.endswith(".checkpoint")] == [checkpoint_key(PARTITION, 3)]
    assert len(named(lake)) == 3


def test_objects_of_a_partition_without_a_log_are_left_alone(lake: Shared) -> None:
    lake.collect(["a1"])
    push_while(lake, lambda: swept(lake))
    assert named(lake) <= files(lake)


def test_a_sleeping_writer_finds_the_sweep_and_puts_its_files_again(lake: Shared) -> None:
    lake.collect(["a1"])
    lake.push()
    lake.collect(["b1"], index="b")
    push_while(lake, lambda: swept(lake))
    assert len(named(lake)) == 2
    assert named(lake) <= files(lake)
    for kept in range(3):
        lake.collect([f"c{kept}"], index=f"c{kept}")
        push_while(lake, lambda: swept(lake))
    assert len(named(lake)) == 5
    assert named(lake) <= files(lake)


def test_a_killed_writer_that_comes_back_trusts_no_object_from_before_the_sweep(lake: Shared) -> None:
    lake.collect(["a1"])
    lake.push()
    lake.collect(["b1"], index="b")
    with pytest.raises(ZeroDivisionError):
        push_while(lake, lambda: 1 // 0)
    with lake.open() as catalog, catalog.database.writing() as connection:
        connection.execute("UPDATE files SET key = NULL WHERE there = 0")  # killed before it was noted
    (lost,) = files(lake) - named(lake)

    def sweep_late() -> None:
        """The sweep has listed the old object before, and deletes it now."""
        lake.objects.delete([lost])

    swept(lake, age=timedelta(days=1))  # announces itself
    push_while(lake, sweep_late)
    assert len(named(lake)) == 2
    assert named(lake) <= files(lake)


def test_the_log_of_a_partition_shows_sweeps(lake: Shared) -> None:
    lake.collect(["a1"])
    lake.push()
    swept(lake)
    lake.push()
    with lake.open() as catalog:
        found = changes(catalog.database, PARTITION, 5)
    assert [(one.kind, one.host, one.version) for one in found] == [("clean", "cleaner", 2), ("append", "web-1", 1)]


@pytest.mark.slow
def test_of_hosts_that_push_and_clean_at_the_same_time_none_loses_a_file(lake: Shared) -> None:
    lake.collect(["first"])
    lake.push()

    def work(number: int) -> None:
        own = Shared(lake.home.parent / f"ws-{number}", lake.objects, host=f"web-{number + 2}")
        own.push()
        for step in range(4):
            own.collect([f"{number}-{step}"], index=f"{number}-{step}")
            push_while(own, lambda: swept(own))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert len(named(lake)) == 13
    assert named(lake) <= files(lake)


def test_without_the_fence_files_would_be_lost(lake: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "_append", lambda *_: None)
    lake.collect(["a1"])
    lake.push()
    lake.collect(["b1"], index="b")
    push_while(lake, lambda: swept(lake))
    assert named(lake) - files(lake)


def test_the_command_reports_what_it_would_delete_and_deletes_it(install: Path) -> None:
    write(install, "a")
    opened(install).collect([NAME])
    (record,) = json.loads(run("store", "clean", "--dry-run", "--output", "json").stdout)
    assert (record["store"], record["objects"], record["kept_objects"]) == ("lake", 0, 1)
    stray = install / "lake" / "data" / "app" / "tp_partition-x" / "stray.parquet"
    stray.write_bytes(b"PAR1")
    moment = datetime.now(UTC).timestamp() - 8 * 86_400
    os.utime(stray, (moment, moment))
    (record,) = json.loads(run("store", "clean", "lake", "--output", "json").stdout)
    assert (record["objects"], record["bytes"], stray.exists()) == (1, 4, False)
    write(install, "b")
    opened(install).collect([NAME])
    assert opened(install).query("SELECT count(*) AS n FROM app").to_pylist() == [{"n": 2}]
