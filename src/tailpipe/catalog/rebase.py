"""Rebase a partition: restore it from the log of its store, then replay what this workspace has not pushed.

Other hosts may have appended to the log what does not go together with transactions that wait here to be pushed. All of
it happens in one SQLite transaction: a kill leaves the state before it or after it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from tailpipe.catalog import image
from tailpipe.catalog import manifest as manifests
from tailpipe.catalog.apply import is_taken
from tailpipe.catalog.catalog import Writer
from tailpipe.catalog.coverage import Changes, postpone, take_pending
from tailpipe.catalog.database import Database
from tailpipe.catalog.enter import enter, enter_dropped, forget_begun
from tailpipe.catalog.facts import write_fact
from tailpipe.catalog.hosts import own_hosts, remember_host
from tailpipe.catalog.locks import check_epoch
from tailpipe.catalog.log_entry import LogEntry
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.recover import DROPPED
from tailpipe.catalog.snapshot import count_move
from tailpipe.errors import CatalogError, CommitError, NewerError
from tailpipe.frozen import frozen
from tailpipe.model.coverage import Advance, Drop, Request
from tailpipe.model.host import qualified
from tailpipe.model.staged import StagedArtifact

_LAST = ("pushed", "images")
"""In no image, but derived with the rest."""


@frozen
class Displaced:
    """A transaction of this workspace that does not follow from the log any more, and was dropped.

    `taken` counts its artifacts that the log has, by the host that pushed them; `left` are those that it has not.
    """

    manifest: Manifest
    reason: str
    taken: Mapping[str, int] = field(default_factory=dict)
    left: tuple[StagedArtifact, ...] = ()
    gone: tuple[StagedArtifact, ...] = ()
    """Those that are counted in `taken`."""

    @property
    def rows(self) -> int:
        """How many rows were in it."""
        return sum(file.rows for file in self.manifest.added if file.role == "data")


@frozen
class Rebased:
    """What a rebase has changed: how many transactions are new here, what was dropped, and files to project."""

    pulled: int
    displaced: tuple[Displaced, ...]
    paths: tuple[str, ...]


@frozen
class _Before:
    """What only this catalog knows of the partition: it has to survive."""

    own: Mapping[str, tuple[int, int | None]]
    """Number and run of the transactions of this workspace."""
    names: Mapping[int, str]
    files: Mapping[str, Mapping[str, Any]]
    sequence: int


class _MissingError(Exception):
    """A transaction cannot be replayed, because its files are no longer on the disk."""

    def __init__(self, transaction: str) -> None:
        super().__init__(transaction)
        self.transaction = transaction


def unpushed(
    database: Database, partition: str, names: Iterable[tuple[str, str | None]]
) -> list[tuple[Manifest, bool]]:
    """The manifests of pending transactions and whether they are published; CatalogError if one is lost."""
    found = []
    for name, record in names:
        path = database.layout.manifest(name)
        try:
            found.append((manifests.of_transaction(database.layout, name, record), record is None))
        except NewerError:
            raise
        except CatalogError as problem:
            raise CatalogError(
                f"{partition}: other hosts have pushed, and a transaction that this host has not pushed cannot be"
                f" applied on top of that: its manifest {path} is missing or damaged",
                path=str(path),
                hint="restore that file from a backup, or discard the unpushed commits and collect again:"
                " tailpipe doctor --rebuild --accept-loss, then tailpipe collect",
            ) from problem
    return found


def rebase(
    writer: Writer,
    store: str,
    host: str,
    entries: Sequence[LogEntry],
    waiting: Sequence[tuple[Manifest, bool]],
) -> Rebased:
    """Restore the partition from these entries, of which the first is the whole state; then replay `waiting`."""
    lost: set[str] = set()
    while True:
        try:
            with writer.database.writing() as connection:
                check_epoch(writer.database, writer.partition, writer.partition_id, writer.epoch)
                return _Rebase(writer, connection, store, host).run(entries, waiting, lost)
        except _MissingError as missing:
            lost.add(missing.transaction)


def split_taken(
    connection: sqlite3.Connection, partition_id: int, artifacts: Iterable[StagedArtifact]
) -> tuple[dict[str, int], tuple[StagedArtifact, ...], tuple[StagedArtifact, ...]]:
    """How many artifacts each host has taken meanwhile, the artifacts that are left, and those that are gone."""
    taken: dict[str, int] = {}
    left, gone = [], []
    for one in artifacts:
        row = connection.execute(
            "SELECT committed_bytes, committed_ordinals, coalesce(a.host, t.host) FROM artifacts a"
            " JOIN transactions t ON t.id = transaction_id"
            " WHERE a.partition_id = ? AND origin = ? AND generation = ?",
            (partition_id, *one.entry.identity),
        ).fetchone()
        if is_taken(one, row[:2] if row else None):
            gone.append(one)
            if row:
                taken[row[2]] = taken.get(row[2], 0) + 1
        else:
            left.append(one)
    return taken, tuple(left), tuple(gone)


class _Rebase:
    def __init__(self, writer: Writer, connection: sqlite3.Connection, store: str, host: str) -> None:
        self.writer, self.connection, self.store, self.host = writer, connection, store, host
        self.database, self.partition_id = writer.database, writer.partition_id

    def run(self, entries: Sequence[LogEntry], waiting: Sequence[tuple[Manifest, bool]], lost: set[str]) -> Rebased:
        remember_host(self.connection, self.host)
        before = self._before()
        operations = self._own_changes(take_pending(self.connection, self.partition_id))
        self._forget()
        pulled = sum(self._enter(entry, before) for entry in entries)
        self.connection.executemany(
            "UPDATE transactions SET number = ?, run_id = ? WHERE name = ?",
            [(number, run, name) for name, (number, run) in before.own.items()],
        )
        dropped = []
        for manifest, is_published in waiting:
            found = self._again(manifest.owned_by(self.host), is_published, before, manifest.transaction in lost)
            if found is not None:
                dropped.append(found)
                operations = (*operations, *self._still_true(found))
        postpone(self.connection, self.partition_id, operations)
        self._keep_dropped(before, dropped)
        paths = self._place_files(before, lost)
        self._renumber(before.sequence)
        count_move(self.connection)
        self.connection.execute(
            "INSERT INTO stores VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version",
            (self.partition_id, self.store, entries[-1].version),
        )
        self.database.failpoints.reach("rebase.before")
        return Rebased(pulled, tuple(dropped), tuple(paths))

    def _before(self) -> _Before:
        rows = self.connection.execute(
            "SELECT id, name, number, run_id, sequence FROM transactions WHERE partition_id = ?", (self.partition_id,)
        ).fetchall()
        cursor = self.connection.execute("SELECT * FROM files WHERE partition_id = ?", (self.partition_id,))
        columns = [name for name, *_ in cursor.description]
        files = [dict(zip(columns, row, strict=True)) for row in cursor]
        (newest,) = self.connection.execute("SELECT coalesce(max(sequence), 0) FROM transactions").fetchone()
        return _Before(
            {name: (number, run) for _, name, number, run, place in rows if number is not None and place is not None},
            {number: name for number, name, *_ in rows},
            {row["path"]: row for row in files},
            newest,
        )

    def _own_changes(self, changes: Changes) -> Changes:
        """Changes of coverage as other hosts see them; those of other hosts are what the log says."""
        own = own_hosts(self.connection, self.host)
        named = ((key if "@" in key else qualified(key, self.host), operation) for key, operation in changes)
        return tuple((key, operation) for key, operation in named if own.owns(key.partition("@")[2]))

    def _forget(self) -> None:
        """Take out all that is derived from transactions, and these."""
        tables = [*_LAST, *reversed(image.tables(self.connection))]
        for table in (one for one in tables if one != "transactions"):
            where = "partition_id = ?"
            if "partition_id" not in image.columns(self.connection, table):
                where = "transaction_id IN (SELECT id FROM transactions WHERE partition_id = ?)"
            self.connection.execute(f"DELETE FROM {table} WHERE {where}", (self.partition_id,))  # noqa: S608 - ours
        self.connection.execute(
            "DELETE FROM transactions WHERE partition_id = ? AND sequence IS NOT NULL", (self.partition_id,)
        )

    def _enter(self, entry: LogEntry, before: _Before) -> int:
        known = set(before.names.values())
        for manifest in entry.manifests:
            if entry.is_checkpoint:
                forget_begun(self.connection, manifest)
                image.restore(self.connection, manifest.image, self.partition_id)
            else:
                enter(self.connection, manifest, pushed_by=entry.host)
        names = [manifest.transaction for manifest in entry.manifests]
        if entry.is_whole:
            names = entry.manifests[0].transactions + names
        self.connection.executemany(
            "INSERT OR IGNORE INTO pushed SELECT id, ? FROM transactions WHERE name = ?",
            [(entry.version, name) for name in names],
        )
        return sum(name not in known for name in names)

    def _again(self, manifest: Manifest, is_published: bool, before: _Before, is_lost: bool) -> Displaced | None:
        """Replay a transaction that was not pushed; it is returned if it does not follow any more."""
        reason = "this disk has its files no more" if is_lost else self._changed_unit(manifest)
        if not reason:
            self.connection.execute("SAVEPOINT again")
            try:
                enter(self.connection, manifest, is_published=is_published)
                self.connection.execute(
                    "UPDATE transactions SET run_id = ? WHERE name = ?",
                    (before.own[manifest.transaction][1], manifest.transaction),
                )
            except (CommitError, sqlite3.IntegrityError) as problem:
                self.connection.execute("ROLLBACK TO again")
                reason = problem.message if isinstance(problem, CommitError) else str(problem)
            finally:
                self.connection.execute("RELEASE again")
        if not reason:
            return None
        return Displaced(manifest, reason, *split_taken(self.connection, self.partition_id, manifest.artifacts))

    def _changed_unit(self, manifest: Manifest) -> str:
        """A replacement forgets all artifacts of its unit, so it must retire all of its files."""
        if manifest.kind != "replace":
            return ""
        rows = self.connection.execute(
            "SELECT path FROM files WHERE partition_id = ? AND unit = ? AND state = 'live'",
            (self.partition_id, str(manifest.unit)),
        )
        return "" if {path for (path,) in rows} == set(manifest.removed) else f"{manifest.unit} has changed"

    def _still_true(self, found: Displaced) -> Changes:
        """What a dropped transaction says of coverage and still holds: what was requested, and days that are taken."""
        manifest = found.manifest
        if manifest.kind == "delete":
            return ()
        if manifest.kind == "append" and not found.left:
            return manifest.coverage
        return tuple((key, one) for key, one in manifest.coverage if isinstance(one, (Request, Advance, Drop)))

    def _keep_dropped(self, before: _Before, dropped: Sequence[Displaced]) -> None:
        """Enter what was dropped as aborted: its number is used, and its files are to be cleaned up."""
        for manifest in (found.manifest for found in dropped):
            run_id = before.own[manifest.transaction][1]
            enter_dropped(self.connection, manifest, epoch=self.writer.epoch, run_id=run_id)
            fact = DROPPED.format(partition_id=self.partition_id, transaction=manifest.transaction)
            write_fact(self.connection, fact, manifests.to_text(manifest))

    def _place_files(self, before: _Before, lost: set[str]) -> list[str]:
        """Say of each file again where it is, and keep those on the disk that are live no more as retired ones."""
        rows = self.connection.execute(
            "SELECT path, f.state, t.number, f.there, (f.here, f.left_at, f.is_pinned) IS (0, NULL, 0)"
            " FROM files f JOIN transactions t ON t.id = transaction_id WHERE f.partition_id = ?",
            (self.partition_id,),
        ).fetchall()
        changed = []
        for path, state, number, is_there, is_plain in rows:
            row = before.files.get(path)
            was_live = row is not None and row["state"] == "live"
            if row is not None and (was_live or state == "retired"):
                is_here, left_at = row["here"], row["left_at"] if state == "live" else None
            else:
                # Of other hosts, or its row was dropped when it was cleaned up.
                is_own = number is not None or row is not None
                is_here, left_at = int(is_own and self.database.storage.exists(self.database.layout.stored(path))), None
                owner = path.rpartition("/")[2].rpartition("-")[0]
                if state == "live" and not is_here and not is_there and owner not in lost:
                    raise _MissingError(owner)
            if was_live != (state == "live"):
                changed.append(path)
            if row is None and is_plain and not is_here:
                continue  # a new machine has ten thousand of these
            self.connection.execute(
                "UPDATE files SET here = ?, left_at = ?, is_pinned = ?, key = coalesce(key, ?) WHERE path = ?",
                (is_here, left_at, row["is_pinned"] if row else 0, row["key"] if row else None, path),
            )
        known = {path for path, *_ in rows}
        return [*changed, *(self._retire(row, before) for path, row in before.files.items() if path not in known)]

    def _retire(self, row: Mapping[str, Any], before: _Before) -> str:
        """Keep a file that the log does not name, until it is cleaned up."""
        ids = dict(
            self.connection.execute(
                "SELECT name, id FROM transactions WHERE partition_id = ? AND name IN (?, ?)",
                (self.partition_id, before.names[row["transaction_id"]], before.names.get(row["retired_by"], "")),
            ).fetchall()
        )
        (newest,) = self.connection.execute(
            "SELECT max(transaction_id) FROM pushed WHERE transaction_id IN"
            " (SELECT id FROM transactions WHERE partition_id = ?)",
            (self.partition_id,),
        ).fetchone()
        values = dict(row) | {
            "transaction_id": ids.get(before.names[row["transaction_id"]], newest),
            "state": "retired",
            "retired_by": newest,
            "retired_at": row["retired_at"] or self.database.now().isoformat(),
            "left_at": None,
        }
        self.connection.execute(
            f"INSERT INTO files ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",  # noqa: S608 - ours
            list(values.values()),
        )
        return str(row["path"])

    def _renumber(self, newest: int) -> None:
        """Give the transactions sequences above all earlier ones, so that readers notice the change."""
        rows = self.connection.execute(
            "SELECT id FROM transactions WHERE partition_id = ? AND sequence IS NOT NULL ORDER BY sequence",
            (self.partition_id,),
        ).fetchall()
        # By way of negative ones, because no two may have the same in between.
        for sign, start in ((-1, newest), (1, newest)):
            self.connection.executemany(
                "UPDATE transactions SET sequence = ? WHERE id = ?",
                [(sign * number, one) for number, (one,) in enumerate(rows, start + 1)],
            )
