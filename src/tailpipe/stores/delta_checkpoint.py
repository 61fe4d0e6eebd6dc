"""Checkpoints of a Delta log as parquet: one row for each action that still holds.

Tombstones of removed files are left out. They serve VACUUM alone, which `delta.deletedFileRetentionDuration` keeps
from deleting anything.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_MARK = "tailpipe.checkpoint"
_ADD = ("path", "partitionValues", "size", "modificationTime", "dataChange", "stats")


def to_parquet(
    adds: Sequence[Mapping[str, Any]],
    versions: Mapping[str, int],
    metadata: Mapping[str, Any],
    protocol: Mapping[str, Any],
) -> bytes:
    """A checkpoint of these files, versions of partitions and facts of the table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = [
        {"protocol": protocol},
        {"metaData": _with_pairs(metadata)},
        *({"txn": {"appId": name, "version": version}} for name, version in versions.items()),
        # What a checkpoint says is no change of the data.
        *(
            {"add": {**add, "partitionValues": list(add["partitionValues"].items()), "dataChange": False}}
            for add in adds
        ),
    ]
    sink = io.BytesIO()
    table = pa.Table.from_pylist(rows, schema=_schema()).replace_schema_metadata({_MARK: "1"})
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def read_facts(data: bytes) -> tuple[dict[str, Any], dict[str, int]]:
    """The metadata of the table, and the versions of partitions."""
    metadata: dict[str, Any] = {}
    versions: dict[str, int] = {}
    for row in _rows(data, ["metaData", "txn"]):
        metadata = row["metaData"] or metadata
        if row["txn"]:
            versions[row["txn"]["appId"]] = row["txn"]["version"]
    if metadata:
        metadata["configuration"] = dict(metadata["configuration"] or ())
        metadata["format"]["options"] = dict(metadata["format"]["options"] or ())
    return metadata, versions


def is_ours(data: bytes) -> bool:
    """Whether we have written a checkpoint: that of another program may hide a commit of that program."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return _MARK.encode() in (pq.read_metadata(pa.BufferReader(data)).metadata or {})


def read_adds(data: bytes) -> list[dict[str, Any]]:
    """The files, as commits add them."""
    rows = _rows(data, [f"add.{name}" for name in _ADD])
    adds = [row["add"] for row in rows if row["add"]]
    return [{**add, "partitionValues": dict(add["partitionValues"])} for add in adds]


def _rows(data: bytes, columns: list[str]) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(pa.BufferReader(data)) as file:
        found: list[dict[str, Any]] = file.read(columns=columns, use_threads=False).to_pylist()
    return found


def _with_pairs(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kind = metadata["format"]
    return {
        **metadata,
        "configuration": list(metadata["configuration"].items()),
        "format": {**kind, "options": list(kind["options"].items())},
    }


def _schema() -> pa.Schema:
    import pyarrow as pa

    text, number, truth, pairs = pa.string(), pa.int64(), pa.bool_(), pa.map_(pa.string(), pa.string())
    kind = pa.struct({"provider": text, "options": pairs})
    return pa.schema(
        {
            "txn": pa.struct({"appId": text, "version": number, "lastUpdated": number}),
            "add": pa.struct(
                {
                    "path": text,
                    "partitionValues": pairs,
                    "size": number,
                    "modificationTime": number,
                    "dataChange": truth,
                    "stats": text,
                }
            ),
            "remove": pa.struct({"path": text, "deletionTimestamp": number, "dataChange": truth}),
            "metaData": pa.struct(
                {
                    "id": text,
                    "name": text,
                    "description": text,
                    "format": kind,
                    "schemaString": text,
                    "partitionColumns": pa.list_(text),
                    "configuration": pairs,
                    "createdTime": number,
                }
            ),
            "protocol": pa.struct(
                {
                    "minReaderVersion": pa.int32(),
                    "minWriterVersion": pa.int32(),
                    "readerFeatures": pa.list_(text),
                    "writerFeatures": pa.list_(text),
                }
            ),
        }
    )
