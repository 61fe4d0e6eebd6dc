"""Versions: queries over what was there at a time or under a tag."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from tailpipe.catalog.clean import clean
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.errors import ObjectStoreError, UsageError, WorkspaceError
from tailpipe.model.store import Store
from tailpipe.stores.keys import tag_key
from tailpipe.stores.tags import Tag, create_tag, tags_of
from tailpipe.stores.version import NOW, Version
from tailpipe.stores.versions import make_tags, past
from tests.stores.conftest import Shared
from tests.stores.installed import NAME, write
from tests.stores.test_publish import install, opened, run
from tests.unit.catalog.conftest import PARTITION

__all__ = ["install"]

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WEEK = timedelta(days=7)


def put_at(lake: Shared, version: int) -> datetime:
    """Let a version have been put so many weeks after the first, by the clock of the store."""
    moment = BEGIN + WEEK * version
    path = Path(lake.objects.location) / lake.keys("log")[version - 1]
    os.utime(path, (moment.timestamp(),) * 2)
    return moment


def ids(lake: Shared, version: Version, history: str = "30d") -> list[str]:
    store = Store(name="lake", location=lake.objects.location, history=history)
    now = BEGIN + 10 * WEEK
    with lake.open() as catalog:
        found = past(catalog.database, version, lambda _: store, [store], now)
    return read(found)


def read(found: Snapshot) -> list[str]:
    sql = "SELECT tp_id FROM read_parquet(?) ORDER BY 1"
    return [row[0] for row in duckdb.execute(sql, [found.paths()]).fetchall()] if found.files else []


@pytest.fixture
def three(lake: Shared) -> Shared:
    """A partition with three versions: two rows, another one, and all of the day replaced."""
    steps: list[Callable[[], None]] = [
        lambda: lake.collect(["a1", "a2"]),
        lambda: lake.collect(["b1"], index="b"),
        lambda: lake.replace(["c1"]),
    ]
    for number, step in enumerate(steps, 1):
        step()
        lake.push()
        put_at(lake, number)
    return lake


def test_each_version_is_read_as_it_was(three: Shared) -> None:
    assert ids(three, Version(BEGIN + WEEK), "1Y") == ["a1", "a2"]
    assert ids(three, Version(BEGIN + 2 * WEEK - timedelta(seconds=1)), "1Y") == ["a1", "a2"]
    assert ids(three, Version(BEGIN + 2 * WEEK), "1Y") == ["a1", "a2", "b1"]
    assert ids(three, Version(BEGIN + 9 * WEEK), "1Y") == ["c1"]


def test_a_file_that_was_replaced_before_the_kept_history_is_an_error_unless_it_is_on_this_disk(three: Shared) -> None:
    assert ids(three, Version(BEGIN + 2 * WEEK), history="10d") == ["a1", "a2", "b1"]
    for path in three.ask("SELECT path FROM files WHERE state = 'retired'"):
        (three.home / ".tailpipe" / str(path[0])).unlink()
    with pytest.raises(UsageError, match=r"version 2 of .* is not kept any more: 2 of its files"):
        ids(three, Version(BEGIN + 2 * WEEK), history="10d")
    with pytest.raises(WorkspaceError, match="is only in a store"):
        ids(three, Version(BEGIN + 2 * WEEK), history="1Y")
    assert ids(three, Version(BEGIN + 3 * WEEK), history="10d") == ["c1"]


def test_before_the_log_there_is_nothing_or_an_error(three: Shared) -> None:
    committed = three.clock().replace(year=1990)
    assert ids(three, Version(committed)) == []
    with pytest.raises(UsageError, match="its log in the store begins at 2026-01-08"):
        ids(three, Version(BEGIN + WEEK - timedelta(seconds=1)))


def test_a_tag_keeps_the_versions_that_it_names(three: Shared) -> None:
    store = Store(name="lake", location=three.objects.location)

    def create(name: str) -> None:
        with three.open() as catalog:
            make_tags(catalog.database, name, [PARTITION], lambda _: store, "web-1", BEGIN)

    create("q1-incident")
    assert tags_of(three.objects)["q1-incident"].versions == {PARTITION: 3}
    three.collect(["d1"], index="d")
    with pytest.raises(UsageError, match="has changes that are not pushed"):
        create("later")
    three.push()
    assert ids(three, Version(tag="q1-incident")) == ["c1"]
    with pytest.raises(UsageError, match='tag "q1-incident" exists in store "lake"'):
        create("q1-incident")
    with pytest.raises(UsageError, match="tag not found: q2"):
        ids(three, Version(tag="q2"))
    for name in ("", "a/b", "../x", "-a", "a b", "é"):
        with pytest.raises(UsageError, match="cannot be the name of a tag"):
            create(name)


def test_a_tag_in_the_place_of_another_one_is_an_error(three: Shared) -> None:
    create_tag(three.objects, Tag("one", BEGIN, "web-1", {PARTITION: 1}))
    create_tag(three.objects, Tag("two", BEGIN, "web-1", {PARTITION: 2}))
    swapped = three.objects.get(tag_key("one"))
    three.objects.delete([tag_key("two")])
    three.objects.put(tag_key("two"), swapped)

    with pytest.raises(ObjectStoreError, match=r'two\.json" is not a tag') as caught:
        ids(three, Version(tag="two"))

    assert caught.value.hint == "delete the object, then create the tag again"


def test_without_a_store_the_past_reaches_as_far_as_replaced_files_are_on_this_disk(lake: Shared) -> None:
    lake.collect(["a1"])
    before = lake.clock()
    lake.clock.pass_(minutes=5)
    lake.replace(["b1"])
    lake.collect(["c1"], index="c")

    def at(moment: datetime) -> list[str]:
        with lake.open() as catalog:
            found = past(catalog.database, Version(moment), lambda _: None, [], lake.clock())
        return read(found)

    assert at(before) == ["a1"]
    assert at(datetime(1990, 1, 1, tzinfo=UTC)) == []
    with lake.open() as catalog:
        clean(catalog.database, PARTITION, timedelta(0))
    with pytest.raises(UsageError, match="files that were replaced since are no longer on this disk"):
        at(before)
    assert at(lake.clock()) == ["b1", "c1"]


def test_times_and_tags_are_parsed() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert Version.parse(None, None, now=now) == NOW
    assert Version.parse("T-1d", None, now=now) == Version(now - timedelta(days=1))
    with pytest.raises(UsageError, match="cannot be combined"):
        Version.parse("T-1d", "x", now=now)
    with pytest.raises(UsageError, match="is in the future"):
        Version.parse("2026-03-02", None, now=now)
    with pytest.raises(UsageError, match="needs a time zone"):
        Version.parse(datetime(2026, 1, 1), None, now=now)


def test_the_commands_query_connect_and_tag(install: Path) -> None:
    write(install, "a")
    opened(install).collect([NAME])
    assert "tagged 1 partition in lake: one" in run("tag", "create", "one").stderr
    write(install, "b")
    opened(install).collect([NAME])
    count = "SELECT count(*) AS n FROM app"
    workspace = opened(install)
    assert workspace.query(count).to_pylist() == [{"n": 2}]
    assert workspace.query(count, tag="one").to_pylist() == [{"n": 1}]
    assert workspace.query(count, as_of=datetime.now(UTC)).to_pylist() == [{"n": 2}]
    assert json.loads(run("query", count, "--tag", "one", "--output", "json").stdout) == [{"n": 1}]
    for command in (("query", count), ("connect",)):
        told = run(*command, "--as-of", "2020-01-01").stderr
        early = r"warning: nothing was committed before 2020-01-01T00:00:00\+00:00; first commit: \d{4}-\S+Z\n"
        assert len(re.findall(early, told)) == 1
    path = run("connect", "--tag", "one").stdout.strip()
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute(count).fetchall() == [(1,)]
    (record,) = json.loads(run("tag", "list", "--output", "json").stdout)
    assert (record["name"], record["store"], record["host"], record["partitions"]) == ("one", "lake", "web-1", 1)
    assert NAME in run("tag", "show", "one").stdout
    assert run("tag", "drop", "one").exit_code == 0
    with pytest.raises(UsageError, match="tag not found: one"):
        run("query", count, "--tag", "one")
    with pytest.raises(UsageError, match="--live shows the current files"):
        run("connect", "--live", "--as-of", "T-1M")
