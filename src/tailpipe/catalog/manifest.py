"""Manifests as text (inside the catalog, until published) and as parquet files (for ever after).

A parquet file has a row for each entry. `body` is the entry as JSON; the other columns are for those who query
manifests with SQL. Keys and kinds of entries that a newer version has added are kept; only a higher format is refused.

An object of a store's log is such a file of one or more manifests, in their order: the column `part` numbers them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

from tailpipe.catalog.entries import EXTRA_ENTRIES, LISTS, from_plain, plain
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.snapshot import EPOCH, microseconds
from tailpipe.errors import CatalogError, NewerError
from tailpipe.sql.arrow import numbers, strings
from tailpipe.storage.local import LOCAL
from tailpipe.storage.storage import Storage

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


def write(manifests: Sequence[Manifest], target: Any, header: Mapping[str, Any] | None = None) -> None:
    """Write a parquet file with one row for each entry, so that any tool can read the history.

    With a header, of whatever JSON can say, it is an object of a log.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts: list[int] = []
    entries: list[tuple[str, Any]] = []
    for part, manifest in enumerate(manifests):
        whole = plain(manifest)
        lists = {name: whole.pop(name) for name in LISTS} | whole.pop(EXTRA_ENTRIES)
        entries += [("transaction", whole), *((kind, entry) for kind, some in lists.items() for entry in some)]
        parts += [part] * (len(entries) - len(parts))
    bodies = [_encode(entry) for _, entry in entries]
    columns = _columns(entries, pa) | {"body": strings(bodies)}
    facts = {
        "tailpipe.manifest": str(FORMAT),
        "tailpipe.entries": str(len(entries)),
        "tailpipe.check": str(_check(zip((kind for kind, _ in entries), bodies, strict=True))),
    }
    if header is not None:
        columns = {"part": numbers(parts, pa.int32()), **columns}
        facts["tailpipe.log"] = _encode(dict(header))
    table = pa.table(columns).replace_schema_metadata(facts)
    pq.write_table(table, target, compression="zstd", write_page_checksum=True)


def pack(manifests: Sequence[Manifest], header: Mapping[str, Any]) -> bytes:
    """Manifests in their order as one object of a log."""
    made = io.BytesIO()
    write(manifests, made, header)
    return made.getvalue()


def read(path: Path, storage: Storage = LOCAL) -> Manifest:
    """Read a manifest file, or raise CatalogError if it is not whole and NewerError if it is of a higher format."""
    try:
        data = storage.read(path)
    except OSError as problem:
        raise _unreadable(str(path), problem, RESTORE) from problem
    manifests, _ = _read(data, str(path), RESTORE)
    if len(manifests) != 1:
        raise _unreadable(str(path), f"it has {len(manifests)} transactions", RESTORE)
    return manifests[0]


def of_transaction(layout: Layout, name: str, record: str | None) -> Manifest:
    """The manifest of a transaction of this workspace: from its record in the catalog, until it is published."""
    return from_text(record) if record else read(layout.manifest(name))


def unpack(data: bytes, where: str) -> tuple[list[Manifest], dict[str, Any]]:
    """The manifests and the header that `pack` was given; errors as those of `read`."""
    return _read(data, where, "restore the object from a backup of the store, or from .tailpipe/log of a host")


def _read(data: bytes, where: str, hint: str) -> tuple[list[Manifest], dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Not `read_table`: that would look for a dataset and start threads.
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
            table = file.read(use_threads=False)
        facts = table.schema.metadata or {}
        _check_format(int(facts[b"tailpipe.manifest"]), where)
        has_parts = "part" in table.column_names
        rows = table.select(["entry", "body", *(["part"] if has_parts else [])]).to_pylist()
        if int(facts[b"tailpipe.entries"]) != len(rows):
            raise ValueError("it has another number of entries")
        # The first manifests have no checksum.
        total = int(facts.get(b"tailpipe.check", -1))
        if total not in (-1, _check((row["entry"], row["body"]) for row in rows)):
            raise ValueError("its checksum is another")
        parts: dict[int, list[Mapping[str, str]]] = {}
        for row in rows:
            parts.setdefault(row.get("part", 0), []).append(row)
        return [from_plain(_whole(some)) for _, some in sorted(parts.items())], json.loads(
            facts.get(b"tailpipe.log", b"{}")
        )
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as problem:
        raise _unreadable(where, problem, hint) from problem


def _unreadable(where: str, problem: object, hint: str) -> CatalogError:
    return CatalogError(f"{where} is not a readable manifest: {problem}", path=where, hint=hint)


def _whole(rows: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """The entries of a file as the dictionary that they were written from."""
    whole: dict[str, Any] = {name: [] for name in LISTS}
    extra: dict[str, list[Any]] = {}
    some = list(rows)
    bodies = json.loads(f"[{','.join(row['body'] for row in some)}]")  # at once: a checkpoint has tens of thousands
    for kind, body in zip((row["entry"] for row in some), bodies, strict=True):
        if kind == "transaction":
            whole |= body
        else:
            (whole[kind] if kind in LISTS else extra.setdefault(kind, [])).append(body)
    return {**whole, EXTRA_ENTRIES: extra}


def _columns(entries: Iterable[tuple[str, Mapping[str, Any]]], pa: Any) -> dict[str, Any]:
    """The facts of entries as columns; most of them are of files."""
    rows: list[dict[str, Any]] = [
        {
            "entry": kind,
            "name": str(entry.get("path") or entry.get("source") or entry.get("transaction") or ""),
            **{name: entry.get(name) for name in ("path", "role", "tp_index", "size", "rows", "sha256")},
            "tp_date": entry.get("tp_date"),
            "first_event": entry.get("min_timestamp"),
            "last_event": entry.get("max_timestamp"),
        }
        for kind, entry in entries
    ]
    made: dict[str, Any] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name in ("size", "rows"):
            made[name] = numbers(values, pa.int64())
        elif name == "tp_date":
            days = [(date.fromisoformat(text) - EPOCH.date()).days if text else None for text in values]
            made[name] = numbers(days, pa.int32()).view(pa.date32())
        elif name in ("first_event", "last_event"):
            times = [microseconds(datetime.fromisoformat(text) if text else None) for text in values]
            made[name] = numbers(times, pa.int64()).view(pa.timestamp("us", "UTC"))
        else:
            made[name] = strings(values)
    return made


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
    """A checksum of all entries of a manifest: parquet notices only what it cannot unpack."""
    return crc32("".join(f"{kind} {body}" for kind, body in entries).encode())
