"""Tables that an earlier version published: below a root with `=`, and with times in the zone of the reader."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import deltalake
import pytest

from tailpipe.errors import ObjectStoreError
from tailpipe.model.table import Column
from tailpipe.storage.objects import Objects
from tailpipe.stores.delta import publish
from tailpipe.stores.delta_actions import Change, commit_of
from tailpipe.stores.delta_log import LogState, commit_key, read_log
from tailpipe.stores.keys import earlier_root, key_below
from tailpipe.stores.publish import Publisher
from tests.delta.conftest import Store
from tests.delta.lake import ROOT, TABLE, Lake, change, day
from tests.delta.readers import READERS, Place, keys_by_deltalake
from tests.object_faults import FaultyObjects, Kill, KilledError, script

P = "things.p"
EARLIER = earlier_root(TABLE)


@pytest.fixture
def lake(objects: Objects, staging: Path) -> Lake:
    """A table as an earlier version has left it: two days, published as version 1."""
    made = Lake(objects, staging, [Column("host"), Column("ts", "timestamp[]")])
    made.is_earlier = True
    rows = [day(1, ts=["2024-07-01T00:00:00Z"]), day(2) | {"host": "012345678901"}, day(2) | {"host": "y" * 200}]
    first = made.put(P, rows)
    nothing: dict[str, str | None] = {}
    commit = commit_of(EARLIER, [change(P, 1, first)], versions={}, metadata=None, live=nothing)
    assert objects.put(commit_key(EARLIER, 0), commit.to_bytes())
    made.is_earlier = False
    return made


@pytest.fixture
def earlier(store: Store) -> Place:
    return Place(store.place.uri.replace(ROOT, EARLIER), store.place.endpoint, store.place.options)


def whole(lake: Lake, version: int) -> Change:
    return change(P, version, lake.files, is_whole=True)


def test_a_table_stays_where_it_is_until_it_is_moved(earlier: Place, objects: Objects, lake: Lake) -> None:
    new = lake.put(P, [day(3)])
    publisher = Publisher(objects)
    publisher.put(TABLE, [change(P, 2, new)])
    assert publisher.is_earlier(P)
    assert read_log(objects, ROOT).version == -1
    for reader in ("deltalake", "polars-arrow"):
        assert READERS[reader](earlier) == [{"ts": None, **row} for row in lake.expected(lake.files)]
    (key,) = new
    publisher.put(TABLE, [change(P, 3, {}, key)])
    assert keys_by_deltalake(earlier) == {key.removeprefix(f"{EARLIER}/") for key in lake.files if key not in new}


@pytest.mark.slow
@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("reader", READERS)
def test_old_and_new_files_of_a_moved_table_are_right_in_every_reader(
    store: Store, earlier: Place, objects: Objects, lake: Lake, reader: str
) -> None:
    before = objects.get(commit_key(EARLIER, 0))
    publisher = Publisher(objects)
    publisher.renew(TABLE, [whole(lake, 1)])
    new = lake.put(P, [day(2, ts=["2024-07-01T00:00:00.000001Z", None]), day(3)])
    publisher.put(TABLE, [change(P, 2, new)])
    assert not publisher.is_earlier(P)
    assert READERS[reader](store.place) == lake.expected(lake.files)
    assert objects.get(commit_key(EARLIER, 0)) == before
    assert len(keys_by_deltalake(earlier)) == len(lake.files) - len(new)


def test_a_moved_file_that_is_replaced_goes(store: Store, objects: Objects, lake: Lake) -> None:
    publisher, old = Publisher(objects), list(lake.files)
    publisher.renew(TABLE, [whole(lake, 1)])
    new = lake.put(P, [day(1)])
    publisher.put(TABLE, [change(P, 2, new, *old)])
    assert keys_by_deltalake(store.place) == {key.removeprefix(f"{ROOT}/") for key in new}


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "step", [("copy", 0), ("copy", 2), ("put", 0), ("delete", 0)], ids=lambda step: "-".join(map(str, step))
)
def test_a_killed_move_is_finished_by_another_host(
    store: Store, lake: Lake, step: tuple[str, int], is_done: bool
) -> None:
    with pytest.raises(KilledError):
        Publisher(FaultyObjects(store.open(), script({step: Kill(is_done)}))).renew(TABLE, [whole(lake, 1)])
    other = store.open()
    Publisher(other).renew(TABLE, [whole(lake, 1)])
    assert READERS["polars"](store.place) == lake.expected(lake.files)
    other.requests.clear()
    Publisher(other).renew(TABLE, [whole(lake, 1)])
    assert other.requests["copy"] == 0


def test_hosts_that_move_a_table_while_others_push_lose_nothing(store: Store, objects: Objects, lake: Lake) -> None:
    days = [lake.put(P, [day(number)]) for number in range(3, 9)]
    first = {key: file for key, file in lake.files.items() if not any(key in one for one in days)}
    changes = [change(P, number + 2, added) for number, added in enumerate(days)]

    def mover() -> None:
        Publisher(store.open()).renew(TABLE, [change(P, 1, first, is_whole=True)])

    def pusher() -> None:
        mine, state = store.open(), None
        for upto in range(1, len(changes) + 1):
            state = publish(mine, TABLE, [change(P, 1, first), *changes[:upto]], since=state).state

    tasks: list[Callable[[], None]] = [pusher, mover, pusher]
    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(task) for task in tasks]:
            done.result()
    # What was published at the earlier root meanwhile, the next push publishes.
    publish(store.open(), TABLE, [change(P, 1, first), *changes])
    expected = [{"ts": None, **row} for row in lake.expected(lake.files)]
    assert READERS["polars"](store.place) == expected


def test_an_object_that_is_missing_is_named(objects: Objects, lake: Lake) -> None:
    key = next(iter(lake.files))
    objects.delete([key])
    with pytest.raises(ObjectStoreError, match=f'{key}": it is missing') as caught:
        Publisher(objects).renew(TABLE, [whole(lake, 1)])
    assert caught.value.hint == "run: tailpipe doctor --stores"
    assert read_log(objects, ROOT).version == -1


def test_a_state_of_the_earlier_root_does_not_outlast_the_move(store: Store, objects: Objects, lake: Lake) -> None:
    state: LogState = publish(objects, TABLE, [change(P, 2, lake.put(P, [day(3)]))]).state
    Publisher(store.open()).renew(TABLE, [whole(lake, 2)])
    done = publish(objects, TABLE, [change(P, 3, lake.put(P, [day(4)]))], since=state)
    assert done.state.root == ROOT
    assert keys_by_deltalake(store.place) == {str(key_below(ROOT, key)).removeprefix(f"{ROOT}/") for key in lake.files}
    assert deltalake.DeltaTable(store.place.uri, storage_options=store.place.options).protocol().min_reader_version == 3
