"""Changes of partitions as a commit of a Delta log."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from tailpipe.model.staged import StagedFile
from tailpipe.stores.delta_actions import Change, Commit, GapError, commit_of, delta_path

AT = datetime(2024, 6, 1, 12, 0, 0, 7000, tzinfo=UTC)
MS = 1717243200007
ROOT = "data/t"


def file(**facts: Any) -> StagedFile:
    whole: dict[str, Any] = {
        "path": "",
        "rows": 3,
        "size": 44,
        "sha256": "",
        "tp_date": date(2024, 1, 2),
        "tp_index": "web",
        "min_timestamp": datetime(2024, 1, 2, 0, 0, 0, 1),
        "max_timestamp": datetime(2024, 1, 2, 23, 59, 59, 999999, tzinfo=UTC),
        "columns": {"tp_timestamp": "TIMESTAMP", "n": "INTEGER"},
        **facts,
    }
    return StagedFile(**whole)


def change(version: int, added: str = "", removed: str = "", *, partition: str = "t.p", **facts: Any) -> Change:
    """Files of one letter each."""
    files = {f"{ROOT}/{name}": file() for name in added}
    return Change(partition, version, AT, files, [f"{ROOT}/{name}" for name in removed], **facts)


def commit(
    *changes: Change,
    versions: Mapping[str, int] | None = None,
    metadata: Mapping[str, Any] | None = None,
    live: Mapping[str, str | None] | None = None,
) -> Commit:
    return commit_of(ROOT, changes, versions=versions or {}, metadata=metadata, live=live or {})


def of_kind(made: Commit, kind: str) -> list[Any]:
    return [action[kind] for action in made.actions if kind in action]


def paths(made: Commit) -> tuple[set[str], set[str]]:
    return {one["path"] for one in of_kind(made, "add")}, {one["path"] for one in of_kind(made, "remove")}


def test_the_first_commit_has_all_that_a_table_needs() -> None:
    made = commit(change(1, "a"))
    assert [next(iter(action)) for action in made.actions] == ["commitInfo", "protocol", "metaData", "txn", "add"]
    assert of_kind(made, "protocol") == [
        {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timestampNtz"],
            "writerFeatures": ["timestampNtz"],
        }
    ]
    (metadata,) = of_kind(made, "metaData")
    assert metadata["partitionColumns"] == ["tp_partition", "tp_index", "tp_date"]
    assert metadata["format"] == {"provider": "parquet", "options": {}}
    assert (metadata["name"], metadata["createdTime"]) == ("t", MS)
    assert uuid.UUID(metadata["id"])
    assert of_kind(made, "txn") == [{"appId": "t.p", "version": 1, "lastUpdated": MS}]
    (info,) = of_kind(made, "commitInfo")
    assert (info["engineInfo"], info["timestamp"]) == ("tailpipe", MS)
    assert [json.loads(line) for line in made.to_bytes().splitlines()] == list(made.actions)


def test_the_id_of_a_table_is_that_of_its_name() -> None:
    def identity(table: str) -> str:
        made = commit_of(f"data/{table}", [Change(f"{table}.p", 1, AT, {f"data/{table}/a": file()})], **NOTHING)
        return str(of_kind(made, "metaData")[0]["id"])

    assert identity("t") == identity("t") != identity("u")


NOTHING: dict[str, Any] = {"versions": {}, "metadata": None, "live": {}}


def test_an_added_file_has_its_values_size_and_bounds() -> None:
    (add,) = of_kind(commit(change(1, "a")), "add")
    assert add["partitionValues"] == {"tp_partition": "p", "tp_index": "web", "tp_date": "2024-01-02"}
    assert (add["size"], add["modificationTime"], add["dataChange"]) == (44, MS, True)
    assert json.loads(add["stats"]) == {
        "numRecords": 3,
        "minValues": {"tp_timestamp": "2024-01-02T00:00:00.000001"},
        "maxValues": {"tp_timestamp": "2024-01-02T23:59:59.999999"},
        "nullCount": {"tp_timestamp": 0},
    }


def test_bounds_with_a_zone_become_utc_and_missing_ones_are_left_out() -> None:
    local = datetime(2024, 1, 2, 1, tzinfo=timezone(timedelta(hours=2)))
    one = Change("t.p", 1, AT, {f"{ROOT}/a": file(min_timestamp=local), f"{ROOT}/b": file(min_timestamp=None)})
    first, second = (json.loads(add["stats"]) for add in of_kind(commit(one), "add"))
    assert first["minValues"] == {"tp_timestamp": "2024-01-01T23:00:00.000000"}
    assert second == {"numRecords": 3}


def test_no_index_is_null() -> None:
    made = commit(Change("t.p", 1, AT, {f"{ROOT}/a": file(tp_index=None)}))
    assert of_kind(made, "add")[0]["partitionValues"]["tp_index"] is None


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("tp_index-a%2Fb/tp_date-2024-01-01/x.parquet", "tp_index-a%252Fb/tp_date-2024-01-01/x.parquet"),
        ("tp_index=x~0a/f", "tp_index=x~0a/f"),
        ("a b/ü", "a%20b/%C3%BC"),
        ("q?#", "q%3F%23"),
    ],
)
def test_paths_are_encoded_once_more_than_keys(key: str, path: str) -> None:
    assert delta_path(ROOT, f"{ROOT}/{key}") == path


def test_rejected_rows_are_not_published_and_foreign_keys_are_a_mistake() -> None:
    assert delta_path(ROOT, "data/tt/x") is None
    made = commit(Change("t.p", 1, AT, {"rejected/x": file(role="rejected")}, ["rejected/y"]))
    assert made.actions == ()
    with pytest.raises(ValueError, match="data/u/x is not of the table at data/t"):
        commit(Change("t.p", 1, AT, {"data/u/x": file()}))


def test_published_versions_are_skipped_and_the_newest_is_noted() -> None:
    changes = [change(1, "a"), change(2, "b", "a"), change(3, "c"), change(1, "q", partition="t.q")]
    made = commit(*changes, versions={"t.p": 2})
    assert paths(made) == ({"c", "q"}, set())
    assert {one["appId"]: one["version"] for one in of_kind(made, "txn")} == {"t.p": 3, "t.q": 1}
    assert commit(*changes, versions={"t.p": 3, "t.q": 1}).actions == ()


def test_changes_may_come_in_any_order_and_twice() -> None:
    assert paths(commit(change(2, "b", "a"), change(1, "a"), change(1, "a"))) == ({"b"}, set())


def test_one_commit_never_names_a_file_in_both_ways() -> None:
    changes = [change(1, "ab"), change(2, "c", "a"), change(3, "", "x")]
    assert paths(commit(*changes)) == ({"b", "c"}, {"x"})


@pytest.mark.parametrize("versions", [{}, {"t.p": 1}])
def test_a_gap_between_versions_is_an_error(versions: dict[str, int]) -> None:
    with pytest.raises(GapError) as caught:
        commit(change(3, "c"), versions=versions)
    assert caught.value.partition == "t.p"
    with pytest.raises(GapError):
        commit(change(2, "b"), change(4, "d"), versions={"t.p": 1})


def test_a_whole_change_is_the_difference_to_what_is_published() -> None:
    published = {"a": "p", "b": "p", "z": "other"}
    made = commit(change(9, "bc", is_whole=True), versions={"t.p": 3}, live=published)
    assert paths(made) == ({"c"}, {"a"})
    same = commit(change(9, "ab", is_whole=True), versions={"t.p": 9}, live=published)
    assert same.actions == ()
    older = commit(change(8, "c", is_whole=True), versions={"t.p": 9}, live=published)
    assert older.actions == ()
    changes = [change(7, "x"), change(9, "bc", is_whole=True), change(10, "d", "c")]
    after = commit(*changes, versions={"t.p": 3}, live=published)
    assert paths(after) == ({"d"}, {"a"})


def test_compaction_changes_no_data() -> None:
    made = commit(change(2, "c", "ab", is_compaction=True), versions={"t.p": 1})
    assert [one["dataChange"] for one in of_kind(made, "add") + of_kind(made, "remove")] == [False] * 3


def test_new_columns_come_with_new_metadata_and_others_do_not() -> None:
    (before,) = of_kind(commit(change(1, "a")), "metaData")
    later = {"versions": {"t.p": 1}, "metadata": before}
    assert of_kind(commit_of(ROOT, [change(2, "b")], live={}, **later), "metaData") == []
    wider = Change("t.p", 2, AT + timedelta(days=1), {f"{ROOT}/b": file(columns={"n": "BIGINT", "m": "TIME"})})
    made = commit_of(ROOT, [wider], live={}, **later)
    (after,) = of_kind(made, "metaData")
    assert {one["name"]: one["type"] for one in json.loads(after["schemaString"])["fields"]} == {
        "tp_timestamp": "timestamp_ntz",
        "n": "long",
        "tp_partition": "string",
        "tp_index": "string",
        "tp_date": "date",
    }
    assert (after["id"], after["createdTime"]) == (before["id"], before["createdTime"])
    assert [one.column for one in made.left_out] == ["m"]


def test_a_commit_is_the_same_each_time() -> None:
    first, again = (commit(change(1, "ab"), change(1, "c", partition="t.q")).to_bytes() for _ in range(2))
    assert first == again
