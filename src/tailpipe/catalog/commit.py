"""The commit protocol: a transaction from its intent to its publication.

    1 intent      a row in the catalog; then the staging directory, which the job fills
    2 verify      size, footer, columns, bounds of each file; the accounts balance
    3 store       files fsynced and put into `files/`, directories fsynced
    4 commit      one SQLite transaction, and only if the epoch is still ours
    5 publish     manifest, hive, mark, staging

Until 4 a crash or an error leaves the partition as it was; from 4 on the next writer of the
partition finishes everything.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from tailpipe.catalog import layout, manifest, verify
from tailpipe.catalog.apply import apply, refused
from tailpipe.catalog.coverage import load_coverage, take_pending
from tailpipe.catalog.database import Database, storage_errors
from tailpipe.catalog.locks import check_epoch
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.catalog.publish import publish
from tailpipe.catalog.recover import rollback
from tailpipe.errors import StorageError
from tailpipe.frozen import frozen
from tailpipe.model.coverage import Cover
from tailpipe.model.ledger import Unit
from tailpipe.model.meter import Meter
from tailpipe.model.staged import Kind, Staged, StagedFile

if TYPE_CHECKING:
    from tailpipe.catalog.catalog import Writer


class _CheckedError(Exception):
    """Rolls back what was only tried."""


@frozen
class Committed:
    """A transaction that holds; `problem` says why its files are not in the hive yet, if they are not."""

    transaction: str
    sequence: int
    unit: Unit | None
    rows: int
    files: tuple[str, ...]
    retired: tuple[str, ...]
    problem: str = ""


@frozen
class Transaction:
    """One unit of work of a partition, between its intent and its end."""

    database: Database
    partition: str
    partition_id: int
    epoch: int
    name: str
    kind: Kind
    unit: Unit | None
    begun_at: datetime
    staging: Path
    """The private directory for the job's files; give them names that do not end in `.parquet`."""
    stored: list[Path] = field(default_factory=list)
    """Its files in `files/`, or about to be: an abort removes them without a search."""

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give up if the job failed; what was committed before stays."""
        if error is not None:
            self.abort()

    def commit(self, staged: Staged, meter: Meter | None = None) -> Committed:
        """Make all of it live, or raise and leave everything as it was."""
        try:
            with storage_errors(self.staging):
                with (meter or Meter())("verify"):
                    # Decided in the commit itself; checked here too, because a writer that took over clears staging.
                    check_epoch(self.database, self.partition, self.partition_id, self.epoch)
                    self.database.failpoints.reach("verify.before")
                    found = [one for file in staged.files for one in verify.file_problems(file, self.staging)]
                    self.check(staged, found + verify.account_problems(staged, self.kind))
                    self.database.failpoints.reach("verify.after")
                files = self._store(staged)
        except BaseException:
            self.abort()
            raise
        return self.record(lambda connection, draft: self._draft(connection, draft, staged, files))

    def abort(self) -> None:
        """Give up: drop the staging directory and whatever was stored; a committed transaction stays."""
        try:
            with storage_errors(self.staging):
                rollback(self.database, self.partition, [self.name], self.stored)
        except StorageError:
            return  # the intent stays, and the next writer of the partition clears it away

    def record(self, draft: Callable[[sqlite3.Connection, Manifest], Manifest]) -> Committed:
        """Commit what `draft` makes of the current state, then publish it."""
        try:
            with storage_errors(self.staging):
                made = self._commit(draft)
        except sqlite3.IntegrityError as problem:
            self.abort()
            raise refused(self, str(problem)) from problem
        except BaseException:
            # The rollback looks into the catalog: if the commit has happened after all, it does nothing.
            self.abort()
            raise
        return self._publish(made)

    def check(self, staged: Staged, found: Sequence[str]) -> None:
        """Refuse what must not be committed: `found` are problems of its files and accounts."""
        misplaced = [one.entry for one in staged.artifacts if one.entry.unit != self.unit and self.kind != "note"]
        problems = [*found, *(f'"{entry.origin}" belongs to the unit {entry.unit}' for entry in misplaced)]
        if problems:
            raise refused(self, "; ".join(problems[:5]))

    def checked(self, staged: Staged) -> Manifest:
        """The manifest of files that have keys in a store already, if the catalog accepts it; nothing is changed.

        It has no number of this workspace: the log of the store is written first, and the catalog learns it from there.
        """
        files = tuple(replace(file, path=self._target(file, file.path)) for file in staged.files)
        try:
            with self.database.writing() as connection:
                check_epoch(self.database, self.partition, self.partition_id, self.epoch)
                made = self._draft(connection, self._empty(connection), staged, files)
                (number,) = connection.execute("SELECT id FROM transactions WHERE name = ?", (self.name,)).fetchone()
                apply(connection, made, partition_id=self.partition_id, transaction_id=number)
                raise _CheckedError
        except _CheckedError:
            return replace(made, sequence=0, previous=None)
        except sqlite3.IntegrityError as problem:
            raise refused(self, str(problem)) from problem

    def _store(self, staged: Staged) -> tuple[StagedFile, ...]:
        storage, sources = self.database.storage, [self.staging / file.path for file in staged.files]
        for source in sources:
            self.database.tree.protect(source)
        # The tasks have done so already; then it costs nothing, and a task on another host may not have.
        self.database.tree.settle(sources)
        stored, changed = [], set[Path]()
        for number, (file, source) in enumerate(zip(staged.files, sources, strict=True)):
            path = self._target(file, layout.file_name(self.name, number))
            target = self.database.layout.stored(path)
            changed |= storage.prepare(target)
            self.database.failpoints.reach("store.directory")
            self.stored.append(target)
            storage.put_file(source, target)
            self.database.failpoints.reach("store.rename")
            stored.append(replace(file, path=path))
        storage.settle(changed)
        self.database.failpoints.reach("store.synced")
        return tuple(stored)

    def _target(self, file: StagedFile, name: str) -> str:
        if file.role == "rejected" or file.tp_date is None:
            return f"{layout.rejected_directory(self.partition, str(self.unit))}/{name}"
        return layout.data_path(self.partition, file.tp_index, file.tp_date, name)

    def _draft(
        self, connection: sqlite3.Connection, draft: Manifest, staged: Staged, files: tuple[StagedFile, ...]
    ) -> Manifest:
        removed = staged.retires
        if self.kind == "replace":
            live = connection.execute(
                "SELECT path FROM files WHERE partition_id = ? AND unit = ? AND state = 'live' ORDER BY path",
                (self.partition_id, str(self.unit)),
            )
            removed = tuple(path for (path,) in live)
        # A rewrite that drops nothing loses no row of the files that it replaces.
        query = "SELECT role, rows FROM files WHERE path = ?"
        found = [connection.execute(query, (path,)).fetchone() for path in removed]
        is_lossless = self.kind == "rewrite" and not staged.drops
        for role, carried in (("data", staged.carried), ("rejected", staged.carried_rejected)):
            rows = sum(row[1] for row in found if row and row[0] == role)
            if carried > rows or (is_lossless and carried != rows):
                raise refused(self, f"the retired files hold {rows} rows, but {carried} are carried over")
        known = load_coverage(connection, self.partition_id)
        return replace(
            draft,
            added=files,
            removed=removed,
            artifacts=staged.artifacts,
            drops=staged.drops,
            restores=staged.restores,
            coverage=tuple(
                (self.database.host.key(one.source, known), Cover(one.days, one.settled_before))
                for one in staged.covers
            ),
            samples=staged.samples,
            ingested_at=staged.ingested_at,
            cursors=staged.cursors,
        )

    def _commit(self, draft: Callable[[sqlite3.Connection, Manifest], Manifest]) -> Manifest:
        self.database.failpoints.reach("commit.begin")
        with self.database.writing() as connection:
            check_epoch(self.database, self.partition, self.partition_id, self.epoch)
            # What runs have changed since the last manifest is applied already; an image tells it by itself.
            pending = take_pending(connection, self.partition_id)
            made = draft(connection, self._empty(connection))
            applied = 0 if made.image else len(pending)
            made = replace(made, coverage=(*pending[:applied], *made.coverage))
            row = connection.execute(
                "UPDATE transactions SET state = 'committed', number = ?, committed_at = ?, ingested_at = ?, host = ?,"
                " record = ?, sequence = (SELECT coalesce(max(sequence), 0) + 1 FROM transactions)"
                " WHERE name = ? AND state = 'intent' RETURNING id",
                (
                    made.sequence,
                    made.committed_at.isoformat(),
                    made.ingested_at.astimezone(UTC).isoformat() if made.ingested_at else None,
                    made.host,
                    manifest.to_text(made),
                    self.name,
                ),
            ).fetchone()
            if row is None:
                raise refused(self, "its transaction is over")
            apply(connection, made, partition_id=self.partition_id, transaction_id=row[0], applied=applied)
            self.database.failpoints.reach("commit.before")
        return made

    def _empty(self, connection: sqlite3.Connection) -> Manifest:
        """The next manifest of the workspace, before it says anything.

        By the previous transaction of the partition, a rebuild notices that a manifest was lost.
        """
        (number,) = connection.execute("SELECT coalesce(max(number), 0) + 1 FROM transactions").fetchone()
        previous = connection.execute(
            "SELECT name FROM transactions INDEXED BY transactions_numbered"
            " WHERE partition_id = ? AND number IS NOT NULL ORDER BY number DESC LIMIT 1",
            (self.partition_id,),
        ).fetchone()
        return Manifest(
            self.name,
            number,
            self.partition,
            self.kind,
            self.unit,
            self.begun_at,
            self.database.now(),
            previous=str(previous[0]) if previous else "",
            host=self.database.host.name,
        )

    def _publish(self, made: Manifest) -> Committed:
        problem = ""
        try:
            with storage_errors(self.staging):
                self.database.failpoints.reach("commit.after")
                publish(self.database, made)
        except StorageError as error:
            problem = f"{error.message}; it is committed, and the hive follows at the next run"
        self.database.on_commit()
        rows = sum(file.rows for file in made.added if file.role == "data")
        paths = tuple(file.path for file in made.added)
        return Committed(self.name, made.sequence, self.unit, rows, paths, made.removed, problem)


def begin(writer: Writer, kind: Kind, unit: Unit | None) -> Transaction:
    """Record the intent, then make the staging directory."""
    database, partition, partition_id, epoch = writer.database, writer.partition, writer.partition_id, writer.epoch
    database.failpoints.reach("intent.before")
    now = database.now()
    with database.writing() as connection:
        check_epoch(database, partition, partition_id, epoch)
        (number,) = connection.execute(
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'transactions'), 0) + 1"
        ).fetchone()
        # The random part keeps names apart from those of other hosts, and of a catalog that was lost.
        name = f"{number:08d}-{secrets.token_hex(8)}"
        connection.execute(
            "INSERT INTO transactions (name, partition_id, kind, unit, state, epoch, run_id, begun_at)"
            " VALUES (?, ?, ?, ?, 'intent', ?, ?, ?)",
            (name, partition_id, kind, str(unit) if unit else None, epoch, writer.run_id, now.isoformat()),
        )
    database.failpoints.reach("intent.after")
    staging = database.layout.staging_in(database.layout.root(partition)) / name
    transaction = Transaction(database, partition, partition_id, epoch, name, kind, unit, now, staging)
    try:
        with storage_errors(transaction.staging):
            database.tree.make_directory(transaction.staging)
        database.failpoints.reach("staging.made")
    except BaseException:
        transaction.abort()
        raise
    return transaction
