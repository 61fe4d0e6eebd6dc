"""The fence of a clean-up: what it means for this catalog that a store was swept.

A sweep deletes old objects that no log names. It says so in the log first. A writer that finds it in front of its next
entry puts all files again that no log names yet, under keys that were never used: the old ones may still be deleted.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime

from tailpipe.catalog.facts import read_fact, write_fact
from tailpipe.catalog.manifest_record import Manifest

_SWEEP = "sweep_before"
_SUFFIX = ".parquet"


def sweep_manifest(name: str, partition: str, host: str, now: datetime, before: datetime) -> Manifest:
    """The manifest of a sweep of objects that are older than `before`; it changes nothing else."""
    extra = {_SWEEP: before.isoformat()}
    return Manifest(f"{0:08d}-{name}", 0, partition, "note", None, now, now, host=host, extra=extra)


def is_sweep(manifest: Manifest) -> bool:
    """Whether the manifest is that of a sweep."""
    return _SWEEP in manifest.extra


def fence(connection: sqlite3.Connection, manifest: Manifest, partition_id: int) -> None:
    """If the manifest is that of a sweep, give files other keys that no log names; the caller holds the transaction."""
    if not is_sweep(manifest):
        return
    mark = f"-{manifest.transaction.rpartition('-')[2][:8]}"
    connection.execute(
        "UPDATE files SET key = substr(key, 1, length(key) - ?) || ? WHERE partition_id = ? AND state = 'live'"
        " AND there = 0 AND key IS NOT NULL AND transaction_id NOT IN (SELECT transaction_id FROM pushed)",
        (len(_SUFFIX), f"{mark}{_SUFFIX}", partition_id),
    )
    # Of a push that was killed, not even the keys may be known.
    write_fact(connection, f"sweep:{manifest.partition}", mark)


def fence_mark(connection: sqlite3.Connection, partition: str) -> str:
    """What names of objects end with since the newest sweep that is known here."""
    return read_fact(connection, f"sweep:{partition}") or ""
