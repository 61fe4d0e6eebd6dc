"""Manifests as text (inside the catalog, until published) and as parquet files (for ever after)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from tailpipe.catalog.frontier import derived_of
from tailpipe.errors import CatalogError
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import Coverage, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.manifest import ImageRow, Loss, Manifest
from tailpipe.model.staged import Sample, StagedArtifact, StagedFile
from tailpipe.sql.arrow import numbers, strings
from tailpipe.storage.local import LOCAL
from tailpipe.storage.storage import Storage

__all__ = ["from_text", "read", "to_text", "write"]

RESTORE = "restore it from a backup, or, while catalog.db is sound, run: tailpipe doctor --repair"
FORMAT = 1
WITH_IMAGE = 2
"""Not to be read by a version that would take the image for nothing."""
_LISTS = ("added", "removed", "artifacts", "coverage", "losses", "samples", "image")
_COLUMNS = ("entry", "name", "tp_date", "rows", "body")
_encode = json.JSONEncoder(ensure_ascii=False).encode


def to_text(manifest: Manifest) -> str:
    """The manifest as one JSON text."""
    return _encode(_plain(manifest))


def from_text(text: str) -> Manifest:
    """The manifest that `to_text` wrote."""
    return _manifest(json.loads(text))


def write(manifest: Manifest, path: Path) -> None:
    """Write a parquet file with one row for each entry, so that any tool can read the history."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole: dict[str, Any] = _plain(manifest)
    entries = [("transaction", {key: value for key, value in whole.items() if key not in _LISTS})]
    for name in _LISTS:
        entries += [(name, entry) for entry in _entries(whole[name])]
    schema = pa.schema(
        [(name, pa.int64() if name == "rows" else pa.string()) for name in _COLUMNS],
        metadata={
            "tailpipe.manifest": str(WITH_IMAGE if manifest.image else FORMAT),
            "tailpipe.entries": str(len(entries)),
            "tailpipe.check": str(_check((kind, _encode(entry)) for kind, entry in entries)),
        },
    )
    arrays = [
        strings([kind for kind, _ in entries]),
        strings([str(one.get("path") or one.get("source") or one.get("transaction") or "") for _, one in entries]),
        strings([entry.get("tp_date") for _, entry in entries]),
        numbers([entry.get("rows") for _, entry in entries], pa.int64()),
        strings([_encode(entry) for _, entry in entries]),
    ]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, compression="zstd")


def read(path: Path, storage: Storage = LOCAL) -> Manifest:
    """Read a manifest file, or raise CatalogError if it is not whole."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Not `read_table`: that would look for a dataset and start threads.
        with pq.ParquetFile(pa.BufferReader(storage.read(path))) as file:
            table = file.read(use_threads=False)
        facts = table.schema.metadata or {}
        rows = table.select(["entry", "body"]).to_pylist()
        if int(facts[b"tailpipe.manifest"]) not in (FORMAT, WITH_IMAGE) or int(facts[b"tailpipe.entries"]) != len(rows):
            raise ValueError("unknown format")
        # Manifests of earlier versions have no checksum.
        total = int(facts.get(b"tailpipe.check", -1))
        if total not in (-1, _check((row["entry"], row["body"]) for row in rows)):
            raise ValueError("its checksum is another")
        whole: dict[str, Any] = {name: [] for name in _LISTS}
        for row in rows:
            body = json.loads(row["body"])
            if row["entry"] == "transaction":
                whole.update(body)
            else:
                whole[row["entry"]].append(body)
        whole["removed"] = [one["path"] for one in whole["removed"]]
        whole["coverage"] = {one.pop("source"): one for one in whole["coverage"]}
        return _manifest(whole)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as problem:
        raise CatalogError(f"{path} is not a readable manifest: {problem}", path=str(path), hint=RESTORE) from problem


def _check(entries: Iterable[tuple[str, str]]) -> int:
    """A checksum of all that a manifest says: parquet notices only what it cannot unpack."""
    total = 0
    for kind, body in entries:
        total = crc32(f"{kind} {body}".encode(), total)
    return total


def _entries(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [{"source": source, **coverage} for source, coverage in value.items()]
    return [entry if isinstance(entry, dict) else {"path": entry} for entry in value]


_SCALARS = (str, int, type(None), float, bool)


def _plain(value: Any) -> Any:
    """A value in the terms of JSON; days and units by their text."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, StagedArtifact):
        return _plain_artifact(value)
    if isinstance(value, DaySet | Unit):
        return str(value)
    if dataclasses.is_dataclass(value):
        return {name: item if type(item) in _SCALARS else _plain(item) for name, item in vars(value).items()}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _plain_artifact(one: StagedArtifact) -> dict[str, Any]:
    """The same for an artifact, without a look at each of its facts: a Day may have thousands of them."""
    entry = one.entry
    written = {
        **vars(entry),
        "unit": str(entry.unit),
        "as_of": entry.as_of.isoformat(),
        "modified": entry.modified.isoformat() if entry.modified else None,
        "taken": str(entry.taken),
        "left_out": str(entry.left_out),
    }
    # The names of the offsets are those of the first manifests, which every version can read.
    return {
        "entry": written,
        "accounts": vars(one.accounts),
        "since_bytes": one.offset_bytes,
        "since_ordinals": one.offset_rows,
    }


def _manifest(whole: Mapping[str, Any]) -> Manifest:
    return Manifest(
        transaction=whole["transaction"],
        sequence=whole["sequence"],
        partition=whole["partition"],
        kind=whole["kind"],
        unit=Unit.from_key(whole["unit"]) if whole["unit"] else None,
        begun_at=datetime.fromisoformat(whole["begun_at"]),
        committed_at=datetime.fromisoformat(whole["committed_at"]),
        added=tuple(_file(one) for one in whole["added"]),
        removed=tuple(whole["removed"]),
        artifacts=tuple(_artifact(one) for one in whole["artifacts"]),
        drops=tuple((origin, generation) for origin, generation in whole["drops"]),
        restores=DaySet.parse(whole["restores"]),
        coverage={source: _coverage(one) for source, one in whole["coverage"].items()},
        losses=tuple(
            Loss(Unit.from_key(one["unit"]), date.fromisoformat(one["tp_date"]), one["reason"])
            for one in whole["losses"]
        ),
        samples=tuple(Sample(**one) for one in whole["samples"]),
        previous=whole.get("previous"),
        image=tuple(ImageRow(one["table"], one["values"]) for one in whole.get("image", ())),
    )


def _file(one: Mapping[str, Any]) -> StagedFile:
    bounds = {name: _moment(one[name]) for name in ("min_timestamp", "max_timestamp")}
    day = date.fromisoformat(one["tp_date"]) if one["tp_date"] else None
    return StagedFile(**{**one, **bounds, "tp_date": day})


def _artifact(one: Mapping[str, Any]) -> StagedArtifact:
    listed = one["entry"]
    entry = LedgerEntry(
        **{
            **listed,
            "unit": Unit.from_key(listed["unit"]),
            "as_of": datetime.fromisoformat(listed["as_of"]),
            "modified": _moment(listed["modified"]),
            "taken": DaySet.parse(listed["taken"]),
            "left_out": DaySet.parse(listed["left_out"]),
        }
    )
    return StagedArtifact(entry, Accounts(**one["accounts"]), one["since_bytes"], one["since_ordinals"])


def _coverage(one: Mapping[str, str | None]) -> Coverage:
    known = Coverage.parse({name: text for name, text in one.items() if text}, one.get("frontier"))
    # Before there was a frontier, none was written.
    return known if "frontier" in one else dataclasses.replace(known, frontier=derived_of(known))


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
