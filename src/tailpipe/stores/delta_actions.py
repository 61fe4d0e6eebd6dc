"""Changes of the files of partitions, as one commit of a Delta log; pure.

A commit says all that is new since the one before: files added and removed, and for each partition up to which version
of its own log that is (`txn`). So anyone can see what is published, and nothing is published twice.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, unquote

from tailpipe.frozen import frozen
from tailpipe.model.staged import StagedFile
from tailpipe.stores.delta_schema import PARTITION_COLUMNS, Columns, LeftOut, delta_schema, merged
from tailpipe.stores.keys import earlier_root, key_below

Action = Mapping[str, Any]
"""A line of a commit: the kind of the action, and its facts."""

ENGINE = "tailpipe"
"""The `engineInfo` of our commits."""
_NAMESPACE = uuid.UUID("5c7a1b0e-7f0c-5d0e-9a55-7a4d3c2b1f60")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COLUMNS = "tailpipe.columns"
_KEEP = {"delta.deletedFileRetentionDuration": "interval 5200 weeks"}
"""The store itself deletes what was replaced; a VACUUM of another engine must find nothing old enough."""


class GapError(Exception):
    """Changes of a partition do not follow what is published of it; up to `published` it is."""

    def __init__(self, partition: str, published: int, version: int) -> None:
        super().__init__(f"{partition}: version {version} does not follow the published version {published}")
        self.partition = partition
        self.published = published


@frozen
class Change:
    """What one version of a partition's log changes: files by their keys in the store.

    A change that `is_whole` names all live files of the partition at that version instead: what else is published of it
    goes. `is_compaction` says that the rows stay the same.
    """

    partition: str
    version: int
    committed_at: datetime
    added: Mapping[str, StagedFile] = field(default_factory=dict, hash=False)
    removed: Sequence[str] = ()
    is_whole: bool = False
    is_compaction: bool = False


@frozen
class Commit:
    """The actions to write, if there are any, and the columns that the table does not have after it."""

    actions: tuple[Action, ...]
    left_out: tuple[LeftOut, ...]

    def to_bytes(self) -> bytes:
        """The commit as the log holds it: a line of JSON for each action."""
        return "".join(_json(action) + "\n" for action in self.actions).encode()


def table_of(root: str) -> str:
    """The table that is published below a root."""
    return unquote(root.rpartition("/")[2].removeprefix("tp_table="))


def is_earlier(root: str) -> bool:
    """Whether an earlier version of tailpipe published a table there: its times are `timestamp`."""
    return root == earlier_root(table_of(root))


def protocol_of(root: str) -> dict[str, Any]:
    """What readers must support. Only `timestamp_ntz` is right in all time zones: our files name none."""
    if is_earlier(root):
        return {"minReaderVersion": 1, "minWriterVersion": 2}
    features = ["timestampNtz"]
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}


def log_key(root: str, name: str) -> str:
    """The key of an object of the log."""
    return f"{root}/_delta_log/{name}"


def delta_path(root: str, key: str) -> str | None:
    """The path of a file as Delta writes it: relative, percent-encoded once more; None if it is not of the table."""
    below = key_below(root, key)
    return quote(below.removeprefix(f"{root}/"), safe="/=") if below else None


def commit_of(
    root: str,
    changes: Iterable[Change],
    *,
    versions: Mapping[str, int],
    metadata: Mapping[str, Any] | None,
    live: Mapping[str, str | None],
) -> Commit:
    """The commit that brings a Delta table up to the newest of these changes.

    `versions` and `metadata` are what the log says now; `live` are its paths with their partitions, which only whole
    changes need. Raises GapError if versions are missing between.
    """
    pending = _pending(changes, versions)
    adds, removes = _net(root, pending, live)
    known: Columns = json.loads(metadata["configuration"].get(_COLUMNS, "{}")) if metadata else {}
    columns = known
    for kinds in dict.fromkeys(tuple(file.columns.items()) for file, _ in adds.values()):
        columns = merged(columns, dict(kinds))
    schema, left_out = delta_schema(columns, is_zoned=is_earlier(root))
    if not adds and not removes:
        return Commit((), left_out)
    moment = _milliseconds(max(change.committed_at for change in pending))
    actions: list[Action] = [{"commitInfo": _info(pending, moment)}]
    if metadata is None:
        actions.append({"protocol": protocol_of(root)})
    if metadata is None or columns != known:
        actions.append({"metaData": _metadata(table_of(root), schema, columns, metadata, moment)})
    newest = {change.partition: change for change in pending}
    actions += [
        {"txn": {"appId": name, "version": one.version, "lastUpdated": _milliseconds(one.committed_at)}}
        for name, one in newest.items()
    ]
    actions += [_remove(path, change) for path, change in removes.items()]
    actions += [_add(path, file, change, is_zoned=is_earlier(root)) for path, (file, change) in adds.items()]
    return Commit(tuple(actions), left_out)


def _pending(changes: Iterable[Change], versions: Mapping[str, int]) -> list[Change]:
    """The changes that are not published, in the order of each partition; a whole one makes earlier ones needless."""
    found: list[Change] = []
    reached = dict(versions)
    some = sorted(changes, key=lambda one: (one.partition, one.version))
    whole = {one.partition: one for one in some if one.is_whole and one.version >= versions.get(one.partition, 0)}
    for name, one in whole.items():
        found.append(one)
        reached[name] = one.version
    for one in some:
        before = reached.get(one.partition, 0)
        if one.is_whole or one.version <= before:
            continue
        if one.version > before + 1:
            raise GapError(one.partition, before, one.version)
        found.append(one)
        reached[one.partition] = one.version
    return found


def _net(
    root: str, pending: Sequence[Change], live: Mapping[str, str | None]
) -> tuple[dict[str, tuple[StagedFile, Change]], dict[str, Change]]:
    """What is added and removed in the end: one commit may not name a file in both ways."""
    adds: dict[str, tuple[StagedFile, Change]] = {}
    removes: dict[str, Change] = {}
    for change in pending:
        files = {path: file for key, file in change.added.items() if (path := _data_path(root, key, file))}
        if change.is_whole:
            own = {path for path, name in live.items() if name == _name(change.partition)}
            removes.update(dict.fromkeys(own - files.keys(), change))
            files = {path: file for path, file in files.items() if path not in own}
        for path in filter(None, (delta_path(root, key) for key in change.removed)):
            if adds.pop(path, None) is None:
                removes[path] = change
        for path, file in files.items():
            removes.pop(path, None)
            adds[path] = (file, change)
    return adds, removes


def _data_path(root: str, key: str, file: StagedFile) -> str | None:
    if file.role != "data":
        return None
    path = delta_path(root, key)
    if path is None:
        raise ValueError(f"{key} is not of the table at {root}")
    return path


def _info(pending: Sequence[Change], moment: int) -> dict[str, Any]:
    versions = {change.partition: change.version for change in pending}
    return {
        "timestamp": moment,
        "operation": "WRITE",
        "operationParameters": {"versions": _json(versions)},
        "isBlindAppend": False,
        "engineInfo": ENGINE,
    }


def _metadata(
    table: str, schema: str, columns: Columns, before: Mapping[str, Any] | None, moment: int
) -> dict[str, Any]:
    return {
        "id": str(uuid.uuid5(_NAMESPACE, table)),
        "name": table,
        "description": "Published by tailpipe, which alone may write it",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": list(PARTITION_COLUMNS),
        "configuration": {**_KEEP, _COLUMNS: _json(columns)},
        "createdTime": before.get("createdTime") if before else moment,
    }


def _add(path: str, file: StagedFile, change: Change, *, is_zoned: bool) -> Action:
    day = file.tp_date.isoformat() if file.tp_date else None
    return {
        "add": {
            "path": path,
            "partitionValues": {"tp_partition": _name(change.partition), "tp_index": file.tp_index, "tp_date": day},
            "size": file.size,
            "modificationTime": _milliseconds(change.committed_at),
            "dataChange": not change.is_compaction,
            "stats": _json(_stats(file, "Z" if is_zoned else "")),
        }
    }


def _remove(path: str, change: Change) -> Action:
    moment = _milliseconds(change.committed_at)
    return {"remove": {"path": path, "deletionTimestamp": moment, "dataChange": not change.is_compaction}}


def _stats(file: StagedFile, zone: str) -> dict[str, Any]:
    if file.min_timestamp is None or file.max_timestamp is None:
        return {"numRecords": file.rows}
    return {
        "numRecords": file.rows,
        "minValues": {"tp_timestamp": _instant(file.min_timestamp) + zone},
        "maxValues": {"tp_timestamp": _instant(file.max_timestamp) + zone},
        "nullCount": {"tp_timestamp": 0},
    }


def _name(partition: str) -> str:
    """The value of `tp_partition`."""
    return partition.partition(".")[2]


def _aware(moment: datetime) -> datetime:
    """A time without a zone is UTC, as in the files."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _instant(moment: datetime) -> str:
    return _aware(moment).isoformat(timespec="microseconds").removesuffix("+00:00")


def _milliseconds(moment: datetime) -> int:
    return (_aware(moment) - _EPOCH) // timedelta(milliseconds=1)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
