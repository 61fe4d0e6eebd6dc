"""Publishing a table: twice, from several hosts, with lost replies, with checkpoints, and made anew."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deltalake
import pytest

from tailpipe.errors import ObjectStoreError
from tailpipe.model.staged import StagedFile
from tailpipe.model.table import Column
from tailpipe.storage.object_stores import open_objects
from tailpipe.storage.objects import Objects
from tailpipe.stores.delta import publish
from tailpipe.stores.delta_actions import Change, GapError, log_key
from tailpipe.stores.delta_log import LogState, delete_log, read_log, write_checkpoint
from tests.delta.conftest import Store
from tests.delta.lake import AT, ROOT, TABLE, Lake, change, day
from tests.delta.readers import READERS, by_deltalake, by_duckdb, connected, keys_by_deltalake
from tests.object_faults import Busy, FaultyObjects, Kill, KilledError, Lost, on_key, script

COLUMNS = [Column("host", "varchar"), Column("n", "integer")]
P, Q = "things.p", "things.q"


@pytest.fixture
def lake(objects: Objects, staging: Path) -> Lake:
    return Lake(objects, staging, COLUMNS)


def below(keys: Mapping[str, Any] | set[str]) -> set[str]:
    return {key.removeprefix(f"{ROOT}/") for key in keys}


def live(objects: Objects) -> set[str]:
    """The paths that our own reader of the log finds."""
    return set(read_log(objects, ROOT).live())


def commits(objects: Objects) -> int:
    return sum(one.key.endswith(".json") for one in objects.list(log_key(ROOT, "").rstrip("/")))


def files(*names: str, **facts: Any) -> dict[str, StagedFile]:
    """Files that are only named: for what is about the log alone."""
    return {f"{ROOT}/{name}.parquet": staged(**facts) for name in names}


def staged(**facts: Any) -> StagedFile:
    facts = {"rows": 1, "size": 1, "sha256": "", "tp_date": AT.date(), "columns": {"n": "INTEGER"}, **facts}
    return StagedFile("", **facts)


def test_a_published_change_is_not_published_again(store: Store, objects: Objects, lake: Lake) -> None:
    changes = [change(P, 1, lake.put(P, [day(1, n=1)])), change(P, 2, lake.put(P, [day(2, n=2)]))]
    first = publish(objects, TABLE, changes)
    assert (first.is_changed, first.state.version, first.state.versions) == (True, 0, {P: 2})
    for since in (None, first.state):
        again = publish(store.open(), TABLE, changes, since=since)
        assert (again.is_changed, again.state.version) == (False, 0)
    assert keys_by_deltalake(store.place) == below(lake.files)
    assert by_deltalake(store.place) == lake.expected(lake.files)


def test_only_what_is_missing_is_committed(store: Store, objects: Objects, lake: Lake) -> None:
    old = lake.put(P, [day(1, n=1)])
    publish(objects, TABLE, [change(P, 1, old)])
    new, other = lake.put(P, [day(1, n=2)]), lake.put(Q, [day(3, n=3)])
    done = publish(store.open(), TABLE, [change(P, 1, old), change(P, 2, new, *old), change(Q, 1, other)])
    assert (done.state.version, done.state.versions) == (1, {P: 2, Q: 1})
    assert by_duckdb(store.place) == lake.expected([*new, *other])


def test_a_table_without_files_has_no_log(objects: Objects) -> None:
    done = publish(objects, TABLE, [change(P, 1, {}), change(P, 2, {})])
    assert (done.is_changed, done.state.version) == (False, -1)
    assert list(objects.list("")) == []


def test_missing_versions_are_refused_and_a_whole_change_mends_it(store: Store, objects: Objects, lake: Lake) -> None:
    first, gone, kept, other = (lake.put(P, [day(n, n=n)]) for n in range(1, 5))
    mine = lake.put(Q, [day(5, n=5)])
    publish(objects, TABLE, [change(P, 1, first | gone), change(Q, 1, mine)])
    with pytest.raises(GapError, match="version 3 does not follow the published version 1") as caught:
        publish(objects, TABLE, [change(P, 3, kept)])
    assert caught.value.partition == P
    publish(objects, TABLE, [change(P, 7, first | kept, is_whole=True), change(P, 8, other)])
    assert by_duckdb(store.place) == lake.expected([*first, *kept, *other, *mine])
    assert not publish(objects, TABLE, [change(P, 7, gone, is_whole=True)]).is_changed


def test_the_log_can_be_deleted_and_published_again(store: Store, objects: Objects, lake: Lake) -> None:
    parts = [lake.put(P, [day(n, n=n)]) for n in range(1, 7)]
    for number, added in enumerate(parts):
        removed = parts[number - 1] if number % 2 else {}
        publish(objects, TABLE, [change(P, number + 1, added, *removed)], checkpoint_every=4)
    before = read_log(objects, ROOT)
    rows, table = by_duckdb(store.place), store.place.table()
    delete_log(objects, ROOT)
    assert not list(objects.list(log_key(ROOT, "").rstrip("/")))
    remaining = {key: file for part in parts[1::2] for key, file in part.items()}
    # Another host does not know that the log is gone.
    done = publish(store.open(), TABLE, [change(P, 6, remaining, is_whole=True)], since=before)
    assert (done.state.version, done.state.versions) == (0, before.versions)
    again = store.place.table()
    assert by_duckdb(store.place) == rows == lake.expected(remaining)
    assert again.schema().to_json() == table.schema().to_json()
    assert again.metadata().id == table.metadata().id
    assert set(again.file_uris()) == set(table.file_uris())


@pytest.mark.parametrize("reader", READERS)
def test_columns_that_come_and_grow_are_read_in_all_files(
    store: Store, objects: Objects, lake: Lake, reader: str
) -> None:
    small = [Column("host", "varchar"), Column("n", "utinyint"), Column("f", "float"), Column("d", "decimal(9,2)")]
    large = [Column("n", "bigint"), Column("f", "double"), Column("d", "decimal(20,2)"), Column("m", "json")]
    lake.put(P, [day(1, n=255, f=1.5, d="1.25")], small)
    publish(objects, TABLE, [change(P, 1, lake.files)])
    new = lake.put(P, [day(2, n=-(2**60), f=1e300, d="1e17", m={"a": 1})], [small[0], *large])
    publish(objects, TABLE, [change(P, 2, new)])
    found = READERS[reader](store.place)
    assert found == [{"m": None, **row} for row in lake.expected(lake.files)]
    commit = [json.loads(line) for line in objects.get(log_key(ROOT, f"{1:020}.json")).splitlines()]
    assert [next(iter(action)) for action in commit] == ["commitInfo", "metaData", "txn", "add"]


def test_a_column_whose_files_disagree_is_left_out_of_the_table(store: Store, objects: Objects, lake: Lake) -> None:
    lake.put(P, [day(1, n=1)])
    assert publish(objects, TABLE, [change(P, 1, lake.files)]).left_out == ()
    new = lake.put(P, [day(2, n="many")], [Column("host", "varchar"), Column("n", "varchar")])
    for number, added in enumerate((new, lake.put(P, [day(3, n="x")], [Column("host"), Column("n", "varchar")]))):
        done = publish(objects, TABLE, [change(P, 2 + number, added)])
        assert [(one.column, one.reason) for one in done.left_out] == [
            ("n", "its files have different types: INTEGER, VARCHAR")
        ]
    assert len(by_duckdb(store.place)) == 3
    assert "n" not in by_duckdb(store.place)[0]


@pytest.mark.parametrize("fault", [Lost(), Busy()], ids=["lost", "busy"])
def test_an_unknown_outcome_is_settled_by_reading(objects: Objects, fault: Lost | Busy) -> None:
    publish(objects, TABLE, [change(P, 1, files("a"))])
    faulty = FaultyObjects(objects, on_key(log_key(ROOT, "0"), fault, methods=["put"]))
    done = publish(faulty, TABLE, [change(P, 2, files("b"), *files("a"))])
    assert faulty.faults
    assert done.state.versions == {P: 2}
    assert (commits(objects), live(objects)) == (2, {"b.parquet"})


def test_a_store_that_never_answers_is_reported(objects: Objects) -> None:
    faulty = FaultyObjects(objects, on_key(log_key(ROOT, "0"), Busy(), methods=["put"], times=99))
    with pytest.raises(ObjectStoreError, match="cannot put"):
        publish(faulty, TABLE, [change(P, 1, files("a"))])
    assert commits(objects) == 0


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", [("put", 0), ("put", 1), ("replace", 0)], ids=["commit", "checkpoint", "pointer"])
def test_a_killed_publication_is_finished_by_another_host(
    objects: Objects, step: tuple[str, int], is_done: bool
) -> None:
    changes = [change(P, 1, files("a"))]
    with pytest.raises(KilledError):
        publish(FaultyObjects(objects, script({step: Kill(is_done)})), TABLE, changes, checkpoint_every=1)
    done = publish(objects, TABLE, changes, checkpoint_every=1)
    assert (done.state.version, done.state.checkpoint) == (0, 0)
    assert read_log(objects, ROOT).checkpoint == 0
    assert (commits(objects), live(objects)) == (1, {"a.parquet"})


def test_a_checkpoint_that_fails_fails_nothing(objects: Objects) -> None:
    faulty = FaultyObjects(objects, on_key(log_key(ROOT, "0"), Busy(), methods=["put"]))
    faulty.plan = script({("put", 1): Busy()})
    done = publish(faulty, TABLE, [change(P, 1, files("a"))], checkpoint_every=1)
    assert (done.is_changed, done.state.checkpoint) == (True, -1)
    assert publish(objects, TABLE, [], checkpoint_every=1).state.checkpoint == 0


def test_readers_begin_at_the_checkpoint(store: Store, objects: Objects, lake: Lake) -> None:
    parts = [lake.put(P, [day(1 + n, n=n)]) for n in range(7)]
    parts.append(lake.put(Q, [{**day(9, n=9), "host": None}, {**day(9, n=8), "host": "a/b"}]))
    state: LogState | None = None
    for number, added in enumerate(parts[:-1]):
        removed = parts[number - 1] if number == 3 else ()
        done = publish(objects, TABLE, [change(P, number + 1, added, *removed)], since=state, checkpoint_every=5)
        state = done.state
    publish(objects, TABLE, [change(Q, 1, parts[-1])], since=state, checkpoint_every=5)
    # Without the commits before it, only the checkpoint can tell.
    objects.delete(log_key(ROOT, f"{version:020}.json") for version in range(5))
    fresh = read_log(objects, ROOT)
    assert (fresh.checkpoint, fresh.version, fresh.versions) == (4, 7, {P: 7, Q: 1})
    expected = [key for number, part in enumerate(parts) if number != 2 for key in part]
    assert set(fresh.live()) == {path.replace("%", "%25") for path in below(set(expected))}
    for reader in READERS.values():
        assert reader(store.place) == lake.expected(expected)


def test_a_large_commit_is_followed_by_a_checkpoint(objects: Objects) -> None:
    many = files(*(str(number) for number in range(10_000)))
    state = publish(objects, TABLE, [change(P, 1, many)]).state
    assert (state.version, state.checkpoint) == (0, 0)
    assert publish(objects, TABLE, [change(P, 2, files("x"))]).state.checkpoint == 0
    assert len(live(objects)) == 10_001


def test_a_vacuum_of_another_program_finds_nothing_to_delete(tmp_path: Path, staging: Path) -> None:
    """The store keeps replaced files for its history, and has files that are not published yet."""
    (tmp_path / "store").mkdir()
    lake = Lake(open_objects(str(tmp_path / "store")), staging, COLUMNS)
    old = lake.put(P, [day(1, n=1)])
    publish(lake.objects, TABLE, [change(P, 1, old)])
    publish(lake.objects, TABLE, [change(P, 2, lake.put(P, [day(1, n=2)]), *old)], checkpoint_every=1)
    lake.put(P, [day(3, n=3)])
    table = tmp_path / "store" / ROOT
    for path in table.rglob("*.parquet"):
        os.utime(path, (0, 0))
    assert deltalake.DeltaTable(str(table)).vacuum(dry_run=True, full=True) == []


def test_a_lost_pointer_to_the_checkpoint_is_no_loss(objects: Objects) -> None:
    for number in range(3):
        publish(objects, TABLE, [change(P, number + 1, files(str(number)))], checkpoint_every=2)
    pointer = log_key(ROOT, "_last_checkpoint")
    for data in (b"{broken", b'{"version": 77}', None):
        objects.delete([pointer]) if data is None else objects.replace(pointer, data)
        state = read_log(objects, ROOT)
        assert (state.version, state.checkpoint, len(state.live())) == (2, 1, 3)


def test_a_commit_of_another_program_is_refused(store: Store, objects: Objects, lake: Lake) -> None:
    state = publish(objects, TABLE, [change(P, 1, lake.put(P, [day(1, n=1), day(2, n=2)]))]).state
    table = store.place.table()
    deltalake.write_deltalake(table, table.to_pyarrow_table(), mode="append", storage_options=store.place.options)
    for since in (None, state):
        with pytest.raises(ObjectStoreError, match="commit 1 was made by another program") as caught:
            publish(objects, TABLE, [change(P, 2, {})], since=since)
        assert "tailpipe store publish STORE things" in caught.value.hint


def test_a_checkpoint_of_another_program_is_refused(store: Store, objects: Objects, lake: Lake) -> None:
    """It may hide a commit of that program."""
    publish(objects, TABLE, [change(P, 1, lake.put(P, [day(1, n=1)]))])
    store.place.table().create_checkpoint()
    with pytest.raises(ObjectStoreError, match="checkpoint 0 was made by another program"):
        publish(objects, TABLE, [change(P, 2, {})])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"0": b"{"}, "commit 0 is not JSON"),
        ({"0": None}, "commits are missing in it"),
        ({"1.checkpoint": b"PAR1"}, "checkpoint 1 is not readable"),
    ],
)
def test_a_damaged_log_is_named(objects: Objects, damage: dict[str, bytes | None], message: str) -> None:
    for number in range(2):
        publish(objects, TABLE, [change(P, number + 1, files(str(number)))])
    for name, data in damage.items():
        version, _, kind = name.partition(".")
        key = log_key(ROOT, f"{int(version):020}.{'checkpoint.parquet' if kind else 'json'}")
        objects.delete([key]) if data is None else objects.replace(key, data)
    with pytest.raises(ObjectStoreError, match=message):
        publish(objects, TABLE, [change(P, 3, files("c"))])


def test_four_hosts_make_sixty_commits_and_each_lands_once(store: Store, objects: Objects) -> None:
    """Two hosts race for the changes of one partition, the others have partitions of their own."""
    names = {0: P, 1: P, 2: Q, 3: "things.r"}
    changes = {
        name: [
            change(
                name, version, files(f"{name}-{version}"), *(files(f"{name}-{version - 1}") if version % 5 == 0 else ())
            )
            for version in range(1, 21)
        ]
        for name in set(names.values())
    }

    def host(number: int) -> None:
        mine, state = store.open(), None
        for upto in range(1, 21):
            state = publish(mine, TABLE, changes[names[number]][:upto], since=state, checkpoint_every=25).state

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(host, number) for number in names]:
            done.result()
    state = read_log(objects, ROOT)
    assert state.versions == dict.fromkeys(changes, 20)
    assert commits(objects) == state.version + 1 == 60
    assert state.checkpoint >= 24
    expected = {f"{name}-{n}.parquet" for name in changes for n in range(1, 21) if n % 5 != 4}
    assert set(state.live()) == expected == keys_by_deltalake(store.place)
    for version in range(60):
        table = deltalake.DeltaTable(store.place.uri, version=version, storage_options=store.place.options)
        assert {uri.rpartition("/")[2] for uri in table.file_uris()} == _replayed(objects, version)


def _replayed(objects: Objects, version: int) -> set[str]:
    """The files of a version by the plainest means: commit after commit, with no checkpoint."""
    found: set[str] = set()
    for number in range(version + 1):
        actions = [json.loads(line) for line in objects.get(log_key(ROOT, f"{number:020}.json")).splitlines()]
        found -= {action["remove"]["path"] for action in actions if "remove" in action}
        found |= {action["add"]["path"] for action in actions if "add" in action}
    return found


def test_a_replaced_day_is_never_seen_in_part(store: Store, objects: Objects, lake: Lake) -> None:
    """Each version of the day has four files and one number in all rows, so half of it would show two numbers."""
    days = [lake.put(P, [day(1, n=n) | {"host": str(host)} for host in range(4)]) for n in range(8)]
    publish(objects, TABLE, [change(P, 1, days[0])])

    def writer() -> None:
        other, state = store.open(), None
        for number in range(1, len(days)):
            changes = [change(P, number + 1, days[number], *days[number - 1])]
            state = publish(other, TABLE, changes, since=state, checkpoint_every=3).state

    def read() -> list[tuple[int, int, int]]:
        query = f"SELECT count(*), min(n), max(n) FROM delta_scan('{store.place.uri}')"
        found = store.place.table().to_pyarrow_table(columns=["n"])["n"].to_pylist()
        return [*connection.execute(query).fetchall(), (len(found), min(found), max(found))]

    with ThreadPoolExecutor(1) as pool, connected(store.place) as connection:
        seen, done = read(), pool.submit(writer)
        while not done.done():
            seen += read()
        done.result()
        last = read()
    assert {(count, first == newest) for count, first, newest in seen} == {(4, True)}
    assert last == [(4, len(days) - 1, len(days) - 1)] * 2


def test_an_added_and_removed_file_of_one_publication_is_never_named(objects: Objects) -> None:
    publish(objects, TABLE, [change(P, 1, files("a", "b")), change(P, 2, files("c"), *files("a"))])
    data = objects.get(log_key(ROOT, f"{0:020}.json"))
    assert b"a.parquet" not in data
    assert live(objects) == {"b.parquet", "c.parquet"}


def test_requests_are_few(objects: Objects) -> None:
    state = publish(objects, TABLE, [change(P, 1, files("a"))]).state
    for number in range(2, 30):
        state = publish(objects, TABLE, [change(P, number, files(str(number)))], since=state).state
    objects.requests.clear()
    publish(objects, TABLE, [change(P, 30, files("x"))], since=state)
    assert objects.requests == {"list": 1, "put": 1}
    write_checkpoint(objects, read_log(objects, ROOT))
    objects.requests.clear()
    publish(objects, TABLE, [Change(P, 31, AT, files("y"))])
    assert objects.requests == {"get": 2, "list": 1, "put": 1}
