"""The changes of a partition, newest first: who has made which, when, and in which version of the store's log it is."""

from __future__ import annotations

from datetime import datetime

from tailpipe.catalog import manifest as manifests
from tailpipe.catalog.database import Database
from tailpipe.catalog.fence import is_sweep
from tailpipe.catalog.log_entry import read_entry
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.errors import CatalogError
from tailpipe.frozen import frozen


@frozen
class PartitionChange:
    """One transaction. `version` is None if it was not pushed; what came and went is None if no manifest says it."""

    committed_at: datetime
    host: str | None
    kind: str
    unit: str | None
    version: int | None
    added_files: int | None
    removed_files: int | None
    rows: int | None
    """Of the added files."""
    bytes: int | None
    transaction: str


def changes(database: Database, partition: str, limit: int) -> list[PartitionChange]:
    """The newest changes of a partition, those of other hosts among them."""
    rows = database.connection.execute(
        "SELECT t.name, kind, unit, committed_at, host, p.version, number IS NOT NULL, record"
        " FROM transactions t LEFT JOIN pushed p ON p.transaction_id = t.id"
        " WHERE partition_id = (SELECT id FROM partitions WHERE name = ?) AND sequence IS NOT NULL"
        " ORDER BY sequence DESC LIMIT ?",
        (partition, limit),
    ).fetchall()
    found = []
    for name, kind, unit, moment, host, version, is_own, record in rows:
        made = _own(database, name, record) if is_own else _pulled(database, partition, name, version)
        added = [file for file in made.added if file.role == "data"] if made else []
        found.append(
            PartitionChange(
                datetime.fromisoformat(moment),
                host,
                "clean" if made and is_sweep(made) else kind,
                unit,
                version,
                len(added) if made else None,
                len(made.removed) if made else None,
                sum(file.rows for file in added) if made else None,
                sum(file.size for file in added) if made else None,
                name,
            )
        )
    return found


def _own(database: Database, transaction: str, record: str | None) -> Manifest | None:
    try:
        return manifests.of_transaction(database.layout, transaction, record)
    except CatalogError:
        return None


def _pulled(database: Database, partition: str, transaction: str, version: int | None) -> Manifest | None:
    """The manifest of another host, from the kept copy of the log; what was before its first push has none."""
    if version is None:
        return None
    path = database.layout.log_copy(partition, version)
    try:
        entry = read_entry(database.storage.read(path), version, str(path))
    except (OSError, CatalogError):
        return None
    return next((one for one in entry.manifests if one.transaction == transaction and not one.image), None)
