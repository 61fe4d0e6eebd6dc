"""Manifests as text (inside the catalog, until published) and as parquet files (for ever after).

A parquet file has a row for each entry. `body` is the entry as JSON; the other columns are for those who query
manifests with SQL. Keys and kinds of entries that a newer version has added are kept; only a higher format is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

from tailpipe.catalog.entries import EXTRA_ENTRIES, LISTS, from_plain, plain
from tailpipe.errors import CatalogError, NewerError
from tailpipe.model.manifest import Manifest
from tailpipe.sql.arrow import numbers, strings
from tailpipe.storage.local import LOCAL
from tailpipe.storage.storage import Storage

__all__ = ["FORMAT", "from_text", "read", "to_text", "write"]

RESTORE = "restore it from a backup, or, while catalog.db is sound, run: tailpipe doctor --repair"
FORMAT = 3
"""The first format had the numbers 1 and, with an image, 2: versions that know no other refuse this one."""
_encode = json.JSONEncoder(ensure_ascii=False).encode


def to_text(manifest: Manifest) -> str:
    """The manifest as one JSON text."""
    return _encode({"format": FORMAT, **plain(manifest)})


def from_text(text: str) -> Manifest:
    """The manifest that `to_text` wrote, or that of an earlier version."""
    whole = json.loads(text)
    _check_format(whole.pop("format", 1), "a record of catalog.db")
    return from_plain(whole)


def write(manifest: Manifest, path: Path) -> None:
    """Write a parquet file with one row for each entry, so that any tool can read the history."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = plain(manifest)
    lists = {name: whole.pop(name) for name in LISTS} | whole.pop(EXTRA_ENTRIES)
    entries = [("transaction", whole), *((kind, entry) for kind, some in lists.items() for entry in some)]
    bodies = [_encode(entry) for _, entry in entries]
    columns = _columns(entries, pa) | {"body": strings(bodies)}
    table = pa.table(columns).replace_schema_metadata(
        {
            "tailpipe.manifest": str(FORMAT),
            "tailpipe.entries": str(len(entries)),
            "tailpipe.check": str(_check(zip((kind for kind, _ in entries), bodies, strict=True))),
        }
    )
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def read(path: Path, storage: Storage = LOCAL) -> Manifest:
    """Read a manifest file, or raise CatalogError if it is not whole and NewerError if it is of a higher format."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Not `read_table`: that would look for a dataset and start threads.
        with pq.ParquetFile(pa.BufferReader(storage.read(path)), page_checksum_verification=True) as file:
            table = file.read(use_threads=False)
        facts = table.schema.metadata or {}
        _check_format(int(facts[b"tailpipe.manifest"]), str(path))
        rows = table.select(["entry", "body"]).to_pylist()
        if int(facts[b"tailpipe.entries"]) != len(rows):
            raise ValueError("it has another number of entries")
        # The first manifests have no checksum.
        total = int(facts.get(b"tailpipe.check", -1))
        if total not in (-1, _check((row["entry"], row["body"]) for row in rows)):
            raise ValueError("its checksum is another")
        return from_plain(_whole(rows))
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as problem:
        raise CatalogError(f"{path} is not a readable manifest: {problem}", path=str(path), hint=RESTORE) from problem


def _whole(rows: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """The entries of a file as the dictionary that they were written from."""
    whole: dict[str, Any] = {name: [] for name in LISTS}
    extra: dict[str, list[Any]] = {}
    for row in rows:
        kind, body = row["entry"], json.loads(row["body"])
        if kind == "transaction":
            whole |= body
        else:
            (whole[kind] if kind in LISTS else extra.setdefault(kind, [])).append(body)
    return {**whole, EXTRA_ENTRIES: extra}


def _columns(entries: Iterable[tuple[str, Mapping[str, Any]]], pa: Any) -> dict[str, Any]:
    """What can be said of entries in columns; most of it of files."""
    rows: list[dict[str, Any]] = [
        {
            "entry": kind,
            "name": str(entry.get("path") or entry.get("source") or entry.get("transaction") or ""),
            **{name: entry.get(name) for name in ("path", "role", "tp_index", "size", "rows", "sha256")},
            "tp_date": _days(entry.get("tp_date")),
            "first_event": _microseconds(entry.get("min_timestamp")),
            "last_event": _microseconds(entry.get("max_timestamp")),
        }
        for kind, entry in entries
    ]
    made: dict[str, Any] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name in ("size", "rows"):
            made[name] = numbers(values, pa.int64())
        elif name == "tp_date":
            made[name] = numbers(values, pa.int32()).view(pa.date32())
        elif name in ("first_event", "last_event"):
            made[name] = numbers(values, pa.int64()).view(pa.timestamp("us", "UTC"))
        else:
            made[name] = strings(values)
    return made


def _days(text: str | None) -> int | None:
    """A date as Arrow keeps it: days since 1970."""
    return (date.fromisoformat(text) - date(1970, 1, 1)).days if text else None


def _microseconds(text: str | None) -> int | None:
    """A bound, as microseconds since 1970; one without a zone is UTC, as in the files."""
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _check_format(number: int, where: str) -> None:
    if number > FORMAT:
        raise NewerError(
            f"{where} was written by a newer tailpipe (format {number}, this one knows {FORMAT})",
            path=where,
            hint="upgrade tailpipe",
        )
    if number < 1:
        raise ValueError(f"unknown format {number}")


def _check(entries: Iterable[tuple[str, str]]) -> int:
    """A checksum of all that a manifest says: parquet notices only what it cannot unpack."""
    total = 0
    for kind, body in entries:
        total = crc32(f"{kind} {body}".encode(), total)
    return total
