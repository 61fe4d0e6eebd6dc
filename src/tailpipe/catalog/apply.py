"""Apply a manifest to the tables: the one state transition, made by a commit and told again by a rebuild."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from tailpipe.catalog.coverage import change
from tailpipe.catalog.hosts import own_hosts
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.snapshot import EPOCH
from tailpipe.errors import CommitError
from tailpipe.model.artifact import Accounts
from tailpipe.model.host import Host
from tailpipe.model.staged import StagedArtifact, StagedFile

if TYPE_CHECKING:
    from tailpipe.catalog.commit import Transaction

__all__ = ["apply", "columns_id", "is_taken", "refused"]

_PORTION = 500
"""Every SQLite takes at least 999 values in a statement."""


def apply(
    connection: sqlite3.Connection, manifest: Manifest, *, partition_id: int, transaction_id: int, applied: int = 0
) -> None:
    """Make the catalog know what the manifest says; the caller holds the transaction.

    So many of the first changes of coverage are `applied` already: those of the runs that have begun here.
    """
    for path in manifest.removed:
        _retire(connection, path, manifest, partition_id, transaction_id)
    _forget_replaced(connection, manifest, partition_id, transaction_id)
    for file in manifest.added:
        _add(connection, file, manifest, partition_id, transaction_id)
    if manifest.artifacts:
        _enter(connection, manifest, partition_id, transaction_id)
    change(connection, partition_id, manifest.coverage[applied:])
    _set_cursors(connection, manifest, partition_id)
    _restore(connection, manifest, partition_id)
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


def _set_cursors(connection: sqlite3.Connection, manifest: Manifest, partition_id: int) -> None:
    for name, value in manifest.cursors.items():
        if value is None:
            connection.execute("DELETE FROM cursors WHERE partition_id = ? AND name = ?", (partition_id, name))
        else:
            connection.execute(
                "INSERT INTO cursors VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
                (partition_id, name, value),
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


def _restore(connection: sqlite3.Connection, manifest: Manifest, partition_id: int) -> None:
    key = (partition_id, str(manifest.unit))
    lost = connection.execute("SELECT tp_date FROM losses WHERE partition_id = ? AND unit = ?", key).fetchall()
    connection.executemany(
        "DELETE FROM losses WHERE partition_id = ? AND unit = ? AND tp_date = ?",
        [(*key, day) for (day,) in lost if date.fromisoformat(day) in manifest.restores],
    )


def _add(
    connection: sqlite3.Connection,
    file: StagedFile,
    manifest: Manifest,
    partition_id: int,
    transaction_id: int,
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
            _microseconds(file.min_timestamp),
            _microseconds(file.max_timestamp),
            _columns_id(connection, file.columns),
            file.key,
        ),
    )


def _enter(connection: sqlite3.Connection, manifest: Manifest, partition_id: int, transaction_id: int) -> None:
    """Enter the artifacts into the ledger, each from exactly where the last commit of it ended."""
    known = _known(connection, {one.entry.origin for one in manifest.artifacts}, partition_id)
    for one in manifest.artifacts:
        _check_since(one, known.get(one.entry.identity), manifest)
        known[one.entry.identity] = (one.entry.committed_bytes, one.entry.committed_ordinals, str(one.entry.unit))
    _write_entries(connection, manifest.artifacts, partition_id, transaction_id)
    if manifest.kind == "note":
        return  # nothing was read
    connection.executemany(
        "INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
        [(transaction_id, *one.entry.identity, *_counts(one.accounts)) for one in manifest.artifacts],
    )


def _known(
    connection: sqlite3.Connection, origins: Iterable[str], partition_id: int
) -> dict[tuple[str, int], tuple[int, int, str]]:
    """How far the artifacts of these origins are committed, and their units, by identity."""
    found: dict[tuple[str, int], tuple[int, int, str]] = {}
    for some in _portions(list(origins)):
        rows = connection.execute(
            "SELECT origin, generation, committed_bytes, committed_ordinals, unit FROM artifacts"  # noqa: S608 - marks
            f" WHERE partition_id = ? AND origin IN ({_marks(some)})",
            (partition_id, *some),
        )
        found.update({(origin, generation): tuple(facts) for origin, generation, *facts in rows})
    return found


def _check_since(one: StagedArtifact, row: tuple[int, int, str] | None, manifest: Manifest) -> None:
    entry = one.entry
    stands = (row[0], row[1]) if row else (0, 0)
    if is_taken(one, stands if row else None):
        raise refused(
            manifest,
            f'"{entry.origin}" is committed up to byte {stands[0]} and row {stands[1]},'
            f" but was read from byte {one.offset_bytes} and row {one.offset_rows}",
        )
    if row and row[2] != str(entry.unit):
        raise refused(manifest, f'"{entry.origin}" belongs to the unit {row[2]}')


def is_taken(one: StagedArtifact, stands: tuple[int, int] | None) -> bool:
    """Whether an artifact is committed up to another place than it was read from; None if nothing is committed."""
    if (stands or (0, 0)) != (one.offset_bytes, one.offset_rows):
        return True
    return stands == (0, 0) and not _goes_on(one)


def _write_entries(
    connection: sqlite3.Connection, artifacts: Sequence[StagedArtifact], partition_id: int, transaction_id: int
) -> None:
    # A name belongs to the artifact that was last seen there: after a rotation that is another one.
    own = own_hosts(connection)
    owners = {(_owner(one, own), one.entry.uri): one.entry.identity for one in artifacts}
    for owner in {owner for owner, _ in owners}:
        names = [owner] if owner else sorted(own.before)
        others = f"host IN ({_marks(names)})" + ("" if owner else " OR host IS NULL")
        for some in _portions([uri for of, uri in owners if of == owner and uri is not None]):
            connection.execute(
                f"UPDATE artifacts SET uri = NULL WHERE partition_id = ? AND uri IN ({_marks(some)}) AND ({others})",  # noqa: S608
                (partition_id, *some, *names),
            )
    rows = []
    for one in artifacts:
        entry = one.entry
        rows.append(
            (
                partition_id,
                *entry.identity,
                entry.uri if owners.get((_owner(one, own), entry.uri)) == entry.identity else None,
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
        )
    connection.executemany(f"INSERT OR REPLACE INTO artifacts VALUES ({_marks(rows[0])})", rows)  # noqa: S608


def _owner(one: StagedArtifact, own: Host) -> str:
    """Among whose artifacts a name is given once: those of this workspace (empty), or those of another host."""
    return "" if own.owns(one.entry.host) else str(one.entry.host)


def _counts(accounts: Accounts) -> tuple[int, ...]:
    """In the order of the columns; `astuple` would copy them one by one."""
    kept, filtered, rejected = accounts.kept, accounts.filtered, accounts.rejected
    return accounts.read, kept, filtered, rejected, accounts.out_of_window, accounts.duplicate


def _portions(values: list[str]) -> Iterator[list[str]]:
    """As many as one statement takes, again and again."""
    return (values[start : start + _PORTION] for start in range(0, len(values), _PORTION))


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _goes_on(one: StagedArtifact) -> bool:
    """Whether there is something new in an artifact of which nothing was committed yet: it was empty then."""
    return bool(one.entry.committed_bytes or one.entry.committed_ordinals) or one.accounts.read == 0


def _columns_id(connection: sqlite3.Connection, columns: Mapping[str, str]) -> int:
    """The number of a set of columns; the files of one table share a few of them."""
    return columns_id(connection, json.dumps(dict(columns), ensure_ascii=False))


def columns_id(connection: sqlite3.Connection, text: str) -> int:
    """The same for a set as it is written down."""
    row = connection.execute("SELECT id FROM column_sets WHERE columns = ?", (text,)).fetchone()
    if row is None:
        row = (connection.execute("INSERT INTO column_sets (columns) VALUES (?)", (text,)).lastrowid,)
    return int(row[0])


def _microseconds(moment: datetime | None) -> int | None:
    """A time as the catalog keeps it; one without a zone is UTC, as in the files."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def refused(of: Manifest | Transaction, reason: str) -> CommitError:
    """The error of a transaction that must not be."""
    unit = str(of.unit or of.kind)
    message = f"{of.partition} {unit} was not committed: {reason}"
    return CommitError(message, partition=of.partition, unit=unit, hint="nothing was changed; collect it again")
