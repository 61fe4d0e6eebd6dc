"""A store whose tables an earlier version published."""

from __future__ import annotations

from tailpipe.catalog.learn import mark_put, unpushed_files
from tailpipe.stores.delta_actions import commit_of
from tailpipe.stores.delta_log import commit_key
from tailpipe.stores.keys import earlier_root, key_below, table_root
from tailpipe.stores.publish import whole_change
from tailpipe.stores.push import push
from tailpipe.stores.republish import republish
from tests.stores.conftest import Shared
from tests.stores.test_publish import TABLE, delta_keys, live_keys, pushed
from tests.stores.test_sweep import swept
from tests.unit.catalog.conftest import PARTITION


def test_a_table_of_an_earlier_version_is_moved_and_its_copies_go_with_the_originals(lake: Shared) -> None:
    lake.collect(["a"])
    lake.collect(["b"], index="b")
    earlier_push(lake)
    lake.collect(["c"], index="c")
    (report,) = pushed(lake).values()
    assert (report.publish_error, report.to_republish) == ("", f"lake {TABLE}")
    with lake.open() as catalog:
        (done,) = republish(catalog, lake.objects)
    assert (done.files, done.location) == (3, f"{lake.objects.location}/{table_root(TABLE)}")
    assert done.earlier_location == f"{lake.objects.location}/{earlier_root(TABLE)}"
    copies = {str(key_below(table_root(TABLE), key)) for key in live_keys(lake)}
    assert delta_keys(lake) == copies != live_keys(lake)
    assert swept(lake).objects == 0  # a copy stays as long as its original
    lake.replace(["again"])
    (report,) = pushed(lake).values()
    assert (report.publish_error, report.to_republish) == ("", "")
    assert swept(lake).objects == 6  # three files, and their copies below the root that they are not below
    assert delta_keys(lake) == {one.key for one in lake.objects.list("data") if "_delta_log" not in one.key}


def earlier_push(lake: Shared) -> None:
    """Push and publish as an earlier version did."""
    with lake.writer() as writer:
        files = unpushed_files(writer.database, writer.partition_id)
        keys = [f"{file.path.replace('files/', 'data/', 1)}.parquet" for file in files]
        mark_put(writer, zip(files, keys, strict=True))
        assert push(writer, lake.target()).transactions == len(files)
        whole = whole_change(writer.database, PARTITION, 1)
    root = earlier_root(TABLE)
    nothing: dict[str, str | None] = {}
    commit = commit_of(root, [whole], versions={}, metadata=None, live=nothing)
    assert lake.objects.put(commit_key(root, 0), commit.to_bytes())
