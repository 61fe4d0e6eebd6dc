"""Apply a manifest to the tables: the one state transition, made by a commit and repeated by a rebuild."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, date
from typing import TYPE_CHECKING

from tailpipe.catalog.coverage import change
from tailpipe.catalog.hosts import own_hosts
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.snapshot import microseconds
from tailpipe.errors import CommitError
from tailpipe.model.staged import StagedArtifact, StagedFile

if TYPE_CHECKING:
    from tailpipe.catalog.commit import Transaction

_PORTION = 500
"""Every SQLite takes at least 999 values in a statement."""


def apply(
    connection: sqlite3.Connection, manifest: Manifest, *, partition_id: int, transaction_id: int, applied: int = 0
) -> None:
    """Make the catalog know what the manifest says; the caller holds the transaction.

    The first changes of coverage, as many as `applied`, are known already: those of the runs that have begun here.
    """
    for path in manifest.removed:
        _retire(connection, path, manifest, partition_id, transaction_id)
    _forget_replaced(connection, manifest, partition_id, transaction_id)
    for file in manifest.added:
        _add(connection, file, manifest, partition_id, transaction_id)
    if manifest.artifacts:
        _enter(connection, manifest, partition_id, transaction_id)
    change(connection, partition_id, manifest.coverage[applied:])
    for name, value in manifest.cursors.items():
        if value is None:
            connection.execute("DELETE FROM cursors WHERE partition_id = ? AND name = ?", (partition_id, name))
        else:
            connection.execute(
                "INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
                (partition_id, name, value),
            )
    key = (partition_id, str(manifest.unit))
    lost = connection.execute("SELECT tp_date FROM losses WHERE partition_id = ? AND unit = ?", key).fetchall()
    connection.executemany(
        "DELETE FROM losses WHERE partition_id = ? AND unit = ? AND tp_date = ?",
        [(*key, day) for (day,) in lost if date.fromisoformat(day) in manifest.restores],
    )
    connection.executemany(
        "INSERT INTO losses VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET reason = excluded.reason",
        [(partition_id, str(loss.unit), loss.tp_date.isoformat(), loss.reason) for loss in manifest.losses],
    )
    if manifest.image:
        connection.execute("DELETE FROM images WHERE partition_id = ?", (partition_id,))
        connection.execute("INSERT INTO images VALUES (?, ?)", (partition_id, transaction_id))
    connection.executemany(
        "INSERT INTO rejected_samples VALUES (?, ?, ?, ?, ?, ?)",
        [
            (transaction_id, number, sample.uri, sample.position, sample.reason, sample.text)
            for number, sample in enumerate(manifest.samples)
        ],
    )


def _retire(
    connection: sqlite3.Connection, path: str, manifest: Manifest, partition_id: int, transaction_id: int
) -> None:
    # Units are never merged: that a unit can be replaced whole depends on it.
    unit = str(manifest.unit) if manifest.unit else None
    changed = connection.execute(
        "UPDATE files SET state = 'retired', retired_by = ?, retired_at = ?"
        " WHERE path = ? AND partition_id = ? AND state = 'live' AND unit = coalesce(?, unit)",
        (transaction_id, manifest.committed_at.isoformat(), path, partition_id, unit),
    )
    if changed.rowcount != 1:
        raise refused(manifest, f"{path} is not a live file of it")


def _forget_replaced(
    connection: sqlite3.Connection, manifest: Manifest, partition_id: int, transaction_id: int
) -> None:
    """Take out of the ledger, and out of the valid accounts, what this transaction replaces."""
    gone = set(manifest.drops)
    if manifest.kind == "replace":
        known = connection.execute(
            "SELECT origin, generation FROM artifacts WHERE partition_id = ? AND unit = ?",
            (partition_id, str(manifest.unit)),
        )
        gone = set(known) - {one.entry.identity for one in manifest.artifacts if one.is_resumed}
    connection.executemany(
        "DELETE FROM artifacts WHERE partition_id = ? AND origin = ? AND generation = ?",
        [(partition_id, *identity) for identity in gone],
    )
    # An artifact stays in its unit for ever, so its accounts are those of transactions of that unit.
    connection.executemany(
        "UPDATE accounts SET superseded_by = ? WHERE superseded_by IS NULL AND origin = ? AND generation = ?"
        " AND transaction_id IN (SELECT id FROM transactions WHERE partition_id = ? AND unit = ?)",
        [(transaction_id, *identity, partition_id, str(manifest.unit)) for identity in gone],
    )


def _add(
    connection: sqlite3.Connection, file: StagedFile, manifest: Manifest, partition_id: int, transaction_id: int
) -> None:
    connection.execute(
        "INSERT INTO files (path, partition_id, transaction_id, unit, role, tp_index, tp_date, rows, bytes,"
        " sha256, min_timestamp, max_timestamp, columns_id, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            file.path,
            partition_id,
            transaction_id,
            str(manifest.unit),
            file.role,
            file.tp_index,
            file.tp_date.isoformat() if file.tp_date else None,
            file.rows,
            file.size,
            file.sha256,
            microseconds(file.min_timestamp),
            microseconds(file.max_timestamp),
            columns_id(connection, json.dumps(dict(file.columns), ensure_ascii=False)),
            file.key,
        ),
    )


def _enter(connection: sqlite3.Connection, manifest: Manifest, partition_id: int, transaction_id: int) -> None:
    """Enter the artifacts into the ledger, each from exactly where the last commit of it ended."""
    query = (
        "SELECT generation, committed_bytes, committed_ordinals, unit FROM artifacts"
        " WHERE partition_id = ? AND origin = ?"
    )
    known = {
        (origin, generation): (size, ordinals, unit)
        for origin in {one.entry.origin for one in manifest.artifacts}
        for generation, size, ordinals, unit in connection.execute(query, (partition_id, origin))
    }
    for one in manifest.artifacts:
        entry, row = one.entry, known.get(one.entry.identity)
        committed = row[:2] if row else None
        if is_taken(one, committed):
            size, ordinals = committed or (0, 0)
            raise refused(
                manifest,
                f'"{entry.origin}" is committed up to byte {size} and row {ordinals},'
                f" but was read from byte {one.offset_bytes} and row {one.offset_rows}",
            )
        if row and row[2] != str(entry.unit):
            raise refused(manifest, f'"{entry.origin}" belongs to the unit {row[2]}')
        known[entry.identity] = (entry.committed_bytes, entry.committed_ordinals, str(entry.unit))
    _write_entries(connection, manifest.artifacts, partition_id, transaction_id)
    if manifest.kind == "note":
        return  # nothing was read
    counts = ((one.entry.identity, one.accounts) for one in manifest.artifacts)
    connection.executemany(
        "INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
        [
            (transaction_id, *key, of.read, of.kept, of.filtered, of.rejected, of.out_of_window, of.duplicate)
            for key, of in counts
        ],
    )


def is_taken(one: StagedArtifact, committed: tuple[int, int] | None) -> bool:
    """Whether an artifact is committed up to another place than it was read from; None if nothing is committed."""
    if (committed or (0, 0)) != (one.offset_bytes, one.offset_rows):
        return True
    # It was empty when it was committed: then only new content counts.
    is_new = bool(one.entry.committed_bytes or one.entry.committed_ordinals) or one.accounts.read == 0
    return committed == (0, 0) and not is_new


def _write_entries(
    connection: sqlite3.Connection, artifacts: Sequence[StagedArtifact], partition_id: int, transaction_id: int
) -> None:
    own = own_hosts(connection)
    # A name is unique among the artifacts of this workspace (owner ""), and among those of each other host. It belongs
    # to the artifact that was last seen there: after a rotation that is another one.
    owned = [("" if own.owns(one.entry.host) else str(one.entry.host), one.entry) for one in artifacts]
    owners = {(owner, entry.uri): entry.identity for owner, entry in owned}
    for owner in {owner for owner, _ in owners}:
        names = [owner] if owner else sorted(own.before)
        others = f"host IN ({_marks(names)})" + ("" if owner else " OR host IS NULL")
        uris = [uri for of, uri in owners if of == owner and uri is not None]
        for some in (uris[start : start + _PORTION] for start in range(0, len(uris), _PORTION)):
            connection.execute(
                f"UPDATE artifacts SET uri = NULL WHERE partition_id = ? AND uri IN ({_marks(some)}) AND ({others})",  # noqa: S608
                (partition_id, *some, *names),
            )
    rows = [
        (
            partition_id,
            *entry.identity,
            entry.uri if owners.get((owner, entry.uri)) == entry.identity else None,
            entry.source,
            str(entry.unit),
            entry.kind,
            entry.as_of.astimezone(UTC).isoformat(),
            entry.size,
            entry.modified.astimezone(UTC).isoformat() if entry.modified else None,
            entry.etag,
            entry.fingerprint,
            entry.head,
            entry.committed_bytes,
            entry.committed_ordinals,
            entry.unread_bytes,
            str(entry.taken),
            str(entry.left_out),
            transaction_id,
            entry.host,
        )
        for owner, entry in owned
    ]
    connection.executemany(f"INSERT OR REPLACE INTO artifacts VALUES ({_marks(rows[0])})", rows)  # noqa: S608


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def columns_id(connection: sqlite3.Connection, columns: str) -> int:
    """The number of a set of columns, given as JSON; the files of one table share a few of them."""
    row = connection.execute("SELECT id FROM column_sets WHERE columns = ?", (columns,)).fetchone()
    if row is None:
        row = (connection.execute("INSERT INTO column_sets (columns) VALUES (?)", (columns,)).lastrowid,)
    return int(row[0])


def refused(of: Manifest | Transaction, reason: str) -> CommitError:
    """The error of a transaction that must not be committed."""
    unit = str(of.unit or of.kind)
    message = f"{of.partition} {unit} was not committed: {reason}"
    return CommitError(message, partition=of.partition, unit=unit, hint="nothing was changed; collect it again")
