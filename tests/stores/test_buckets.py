"""What is tested on directories elsewhere, on buckets: cleaning, tags, versions, published tables and the doctor."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tailpipe.catalog.layout import Layout
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.model.store import Store
from tailpipe.stores import sweep as sweeping
from tailpipe.stores import versions
from tailpipe.stores.delta_log import read_log
from tailpipe.stores.examine import examine_store, repair_store
from tailpipe.stores.keys import table_root
from tailpipe.stores.log import store_id
from tailpipe.stores.publish import Publisher
from tailpipe.stores.republish import republish
from tailpipe.stores.sweep import Swept, sweep
from tailpipe.stores.tags import tags_of
from tailpipe.stores.version import Version
from tests.stores.conftest import Shared
from tests.stores.test_sweep import files, named, push_while
from tests.unit.catalog.conftest import PARTITION

pytestmark = pytest.mark.slow
TABLE = PARTITION.partition(".")[0]


def identity(host: Shared) -> str:
    with host.open() as catalog:
        return str(store_id(catalog.database, host.objects, may_make=False))


def swept(host: Shared) -> Swept:
    """Clean what nothing names now, however young it is."""
    time.sleep(1.1)  # buckets tell times in seconds
    none = timedelta(0)
    return sweep(Layout.of(host.home), host.objects, identity(host), "cleaner", history=none, age=none)


def past(host: Shared, version: Version, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    monkeypatch.setattr(versions, "open_store", lambda _: host.objects)
    store = Store(name="lake", location=host.objects.location, history="30d")
    with host.open() as catalog:
        return versions.past(catalog.database, version, lambda _: store, [store], datetime.now(UTC))


def test_cleaning_deletes_what_was_replaced_and_nothing_that_a_sleeping_writer_is_about_to_name(host: Shared) -> None:
    host.collect(["a1"])
    host.push()
    host.replace(["b1"])
    host.push()
    assert swept(host).objects == 1
    host.collect(["c1"], index="c")
    push_while(host, lambda: swept(host))
    assert len(named(host)) == 2
    assert named(host) <= files(host)
    host.push()
    assert set(host.rows()) == {"b1", "c1"}


def test_without_the_fence_files_would_be_lost(host: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "_append", lambda *_: None)
    host.collect(["a1"])
    host.push()
    host.collect(["b1"], index="b")
    push_while(host, lambda: swept(host))
    assert named(host) - files(host)


def test_tags_and_times_show_earlier_versions_and_a_tag_keeps_its_files(
    host: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.collect(["a1", "a2"])
    host.push()
    [first] = host.objects.list("log")
    time.sleep(1.1)
    monkeypatch.setattr(versions, "open_store", lambda _: host.objects)
    store = Store(name="lake", location=host.objects.location)
    with host.open() as catalog:
        versions.make_tags(catalog.database, "kept", [PARTITION], lambda _: store, "web-1", datetime.now(UTC))
    assert tags_of(host.objects)["kept"].versions == {PARTITION: 1}
    host.replace(["b1"])
    host.push()
    assert swept(host).objects == 0
    for version, rows in ((Version(tag="kept"), 2), (Version(first.modified), 2), (Version(datetime.now(UTC)), 1)):
        assert sum(file.rows for file in past(host, version, monkeypatch).files) == rows
    host.objects.delete(["tags/kept.json"])
    assert swept(host).objects == 1


def test_after_each_push_the_published_table_has_the_live_files_and_can_be_made_anew(host: Shared) -> None:
    def live() -> set[str]:
        found = host.ask("SELECT key FROM files WHERE state = 'live' AND role = 'data'")
        return {str(key).removeprefix(f"data/{TABLE}/").replace("%", "%25") for (key,) in found}

    steps: list[Callable[[], None]] = [lambda: host.collect(["a1"]), lambda: host.replace(["b1", "b2"])]
    for step in steps:
        step()
        host.push()
        with host.writer() as writer:
            Publisher(host.objects).publish(writer, identity(host))
        assert set(read_log(host.objects, table_root(TABLE)).live()) == live()
    with host.open() as catalog:
        [made] = republish(catalog, host.objects)
    assert (made.files, made.rows) == (1, 2)
    assert set(read_log(host.objects, table_root(TABLE)).live()) == live()


def test_the_doctor_finds_missing_and_altered_objects_and_puts_them_back(host: Shared) -> None:
    host.collect(["a1"])
    host.push()
    host.collect(["b1"], index="b")
    host.push()
    one, other = sorted(host.keys("data"))
    size = len(host.objects.get(other))
    host.objects.delete([one, host.keys("log")[1]])
    host.objects.replace(other, bytes(size))
    with host.open() as catalog:

        def findings() -> list[str]:
            found = examine_store(catalog.database, host.objects, [PARTITION], with_checksums=True)
            repair_store(catalog.database, host.objects, found)
            return sorted(finding.problem for finding in found)

        assert findings() == ["altered", "missing", "missing"]
        assert findings() == []
