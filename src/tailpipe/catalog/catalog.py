"""The catalog: open it, take snapshots, and hold a partition for writing."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Literal

from tailpipe.catalog import clean, commit, delete, locks, overview, read, recover, roots, runs
from tailpipe.catalog.coverage import load_coverage, postpone, save_coverage
from tailpipe.catalog.database import Database, open_database, storage_errors, utc_now
from tailpipe.catalog.facts import write_fact
from tailpipe.catalog.failpoints import Failpoints
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.run_record import Ended, RunFacts
from tailpipe.catalog.snapshot import Bring, Snapshot, roots_of, sequence, snapshot
from tailpipe.errors import LockedError, StorageError, UsageError
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import EVERY_DAY, Advance, Coverage, DaySet, Drop, Operation, Request, dropped_days
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered, Kind, Sample, Staged, StagedArtifact
from tailpipe.model.window import Window
from tailpipe.storage.local import LOCAL
from tailpipe.storage.storage import LocalTree

LEAST_BYTES = 64 * 1024 * 1024
"""With less room than this nothing is begun: the catalog itself must always have some."""


class Catalog:
    """One opened catalog; a reader takes no lock and never blocks a writer."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def open(
        cls,
        home: Path | Layout,
        *,
        data: Path | None = None,
        is_read_only: bool = False,
        storage: LocalTree = LOCAL,
        clock: Callable[[], datetime] = utc_now,
        failpoints: Failpoints | None = None,
        on_commit: Callable[[], None] = lambda: None,
        may_be_lost: bool = False,
        host: str | None = None,
        bring: Bring | None = None,
    ) -> Catalog:
        """Open the workspace directory `home`; for writing, it is made if need be.

        With a `host`, new files and commands get origins of that host: several hosts share a store. `bring` fetches
        files that are in a store alone.
        """
        database = open_database(
            Layout.of(home, data),
            is_read_only=is_read_only,
            storage=storage,
            clock=clock,
            failpoints=failpoints,
            on_commit=on_commit,
            may_be_lost=may_be_lost,
            host=host,
            bring=bring,
        )
        return cls(database)

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the database; errors of SQLite about a damaged one get a next step, wherever it was read."""
        self.close()
        if isinstance(error, sqlite3.DatabaseError):
            with storage_errors(self.database.layout.database):
                raise error

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def snapshot(
        self,
        table: str | None = None,
        partition: str | None = None,
        *,
        unit: Unit | None = None,
        dates: tuple[date, date] | None = None,
    ) -> Snapshot:
        """The live files of all tables, of one table, or of one partition (`table.partition`), or some of the last."""
        return snapshot(self.database, table, partition, unit=str(unit) if unit else None, dates=dates)

    def sequence(self) -> int:
        """The number of the newest commit: while it stays, a snapshot is current."""
        return sequence(self.database)

    def partitions(self) -> list[read.PartitionTotals]:
        """All partitions that ever held something, with what they hold now."""
        return read.partitions(self.database)

    def state(self, partition: str) -> read.PartitionState:
        """All that a run of a partition starts from, at one instant."""
        return read.partition_state(self.database, partition)

    def coverage(self, partition: str) -> Mapping[str, Coverage]:
        """What is known of the days of each source of a partition."""
        return read.coverage(self.database, partition)

    def left_out(self, partition: str) -> DaySet:
        """The days of rows of a partition that were read but not kept, because they were not requested."""
        return read.left_out(self.database, partition)

    def cursors(self, partition: str) -> dict[str, str]:
        """The named positions that transactions of a partition have set."""
        return read.cursors(self.database, partition)

    def first_date(self, partition: str) -> date | None:
        """The oldest date of which a partition holds rows."""
        return read.first_date(self.database, partition)

    def last_change(self, before: datetime) -> datetime | None:
        """When the newest change of the workspace up to `before` was committed; None if there was none."""
        return read.last_change(self.database, before)

    def overview(self, with_store: Container[str] = ()) -> list[overview.Overview]:
        """All partitions with what they hold, their coverage and last run; `with_store` are those that have one."""
        return overview.overview(self.database, with_store)

    def accounts(self, partition: str) -> Accounts:
        """Where all rows of a partition went that count today."""
        return read.totals(self.database, partition)

    def samples(self, partition: str, limit: int = 100) -> list[Sample]:
        """The newest rejected rows of a partition."""
        return read.samples(self.database, partition, limit)

    def rejected_files(self, partition: str, unit: Unit | None = None) -> dict[str, Path]:
        """The stored files that hold the rejected rows of a partition or unit, those of the newest Day first."""
        found = self.rejected_snapshot(partition, unit)
        return {file.path: Path(path) for file, path in zip(found.files, found.paths(), strict=True)}

    def rejected_snapshot(self, partition: str, unit: Unit | None = None) -> Snapshot:
        """The live files with the rejected rows of a partition or unit, also those in a store alone."""
        files = read.rejected_files(self.database, partition, str(unit) if unit else None)
        own = roots_of(self.database.connection)
        return Snapshot(self.database.layout.internal, tuple(files), {}, 0, own, bring=self.database.bring)

    def rejected_paths(self, partition: str, unit: Unit) -> list[str]:
        """The stored paths of the rejected rows of a unit, without fetching any."""
        return [file.path for file in read.rejected_files(self.database, partition, str(unit))]

    def preview_deletion(self, partition: str, days: DaySet = EVERY_DAY) -> delete.Deletion:
        """What deleting these dates would take away."""
        self._check_known(partition)
        with self.database.reading() as connection:
            return delete.preview(connection, partition, days)

    def delete(self, partition: str, days: DaySet = EVERY_DAY) -> commit.Committed:
        """Delete dates of a partition, even one that no config names any more; they count as dropped."""
        self._check_known(partition)
        with self.writer(partition) as writer:
            return writer.delete(days)

    @contextlib.contextmanager
    def writer(self, partition: str) -> Iterator[Writer]:
        """Hold the partition for writing: its lock, a new epoch, and everything recovered."""
        with contextlib.ExitStack() as held:
            # Not around the body: what goes wrong there is not about the catalog's files.
            with storage_errors(self.database.layout.lock(partition)):
                held.enter_context(locks.hold(self.database, partition))
                self.database.failpoints.reach("lock.taken")
                partition_id, epoch = locks.take_over(self.database, partition)
                roots.check_present(self.database, partition)
                snapshot(self.database, partition=partition)  # nothing is written on top of damage
                recovered = recover.recover(self.database, partition, partition_id)
            yield Writer(self.database, partition, partition_id, epoch, recovered)

    def settle(self, partition: str) -> None:
        """Finish what a process that died has left of a partition, and free what is due; a live one does so itself."""
        with storage_errors(self.database.layout.staging):
            is_due = recover.is_due(self.database, partition) or clean.is_due(self.database, partition)
        if is_due:
            with contextlib.suppress(LockedError), self.writer(partition) as writer:
                writer.clean()

    def is_known(self, partition: str) -> bool:
        """Whether the partition ever held something."""
        row = self.database.connection.execute(
            "SELECT 1 FROM partitions p WHERE name = ? AND EXISTS"
            " (SELECT 1 FROM transactions t WHERE t.partition_id = p.id AND t.sequence IS NOT NULL)",
            (partition,),
        ).fetchone()
        return row is not None

    def _check_known(self, partition: str) -> None:
        if not self.is_known(partition):
            known = ", ".join(one.name for one in self.partitions()) or "none"
            raise UsageError(f"partition not found: {partition}", hint=f"partitions with data: {known}")


@dataclass
class Writer:
    """A partition that this process alone writes; `recovered` counts what a dead one had left open."""

    database: Database
    partition: str
    partition_id: int
    epoch: int
    recovered: int
    run_id: int | None = None

    def begin_run(
        self,
        window: Window,
        requests: Mapping[str, DaySet],
        command: str = "",
        frontiers: Mapping[str, date] | None = None,
    ) -> None:
        """Record what this run sets out to do: the days it requests are missing until they are covered.

        `frontiers` are the days up to which sources are requested by a run without an end.
        """
        frontiers = frontiers or {}
        with self.database.writing() as connection:
            locks.check_epoch(self.database, self.partition, self.partition_id, self.epoch)
            known = load_coverage(connection, self.partition_id)
            for key, coverage in known.items():
                # A frontier that was derived from the runs before must not follow from this one.
                save_coverage(connection, self.partition_id, key, coverage)
            own, changes = self.database.host.own(known), list[tuple[str, Operation]]()
            dropped = dropped_days(own.values())
            for source in sorted({*requests, *frontiers}):
                key = self.database.host.key(source, known)
                if source not in own and dropped:  # days that were dropped before there was this source
                    changes.append((key, Drop(dropped)))
                if source in frontiers:
                    changes.append((key, Advance(frontiers[source])))
                if requests.get(source):
                    changes.append((key, Request(requests[source])))
            postpone(connection, self.partition_id, changes)
            self.run_id = runs.begin(self.database, connection, self.partition_id, window, command)

    def end_run(self, outcome: Ended, facts: RunFacts | None = None) -> None:
        """Note how the run ended and what it brought; without one, there is nothing to note."""
        if self.run_id is None:
            return
        with self.database.writing() as connection:
            runs.end(self.database, connection, self.run_id, outcome, facts)
        self.run_id = None

    def fold_idle(self, command: str) -> bool:
        """Count a run without news for the last one, if that had none either, and clean up; whether that was so."""
        with self.database.writing() as connection:
            locks.check_epoch(self.database, self.partition, self.partition_id, self.epoch)
            is_folded = runs.note_idle(self.database, connection, self.partition_id, command)
        if is_folded:
            self.clean()
        return is_folded

    @contextlib.contextmanager
    def ending(self, facts_of: Callable[[BaseException], RunFacts | None] = lambda _: None) -> Iterator[None]:
        """Record how a run ended that has begun and does not come to its end: by an error, or an interrupt."""
        try:
            yield
        except BaseException as error:
            self.end_run("failed" if isinstance(error, Exception) else "interrupted", facts_of(error))
            raise

    def finish(
        self,
        outcome: Ended,
        noted: Sequence[LedgerEntry] = (),
        covers: Sequence[Covered] | None = None,
        recipe: str | None = None,
        facts: RunFacts | None = None,
    ) -> Mapping[str, Coverage]:
        """End a run: note what needs no unit, record how it ended, and clean up; the coverage of each source now.

        `covers` are days without a unit; None if there is nothing to note. `recipe` is a print of the config that the
        rows were made by; None if none was committed.
        """
        if covers is not None:
            self.note(noted, covers)
        self.end_run(outcome, facts)
        if recipe is not None:
            with self.database.writing() as connection:
                write_fact(connection, f"recipe:{self.partition}", recipe)
        self.clean()
        return read.coverage(self.database, self.partition)

    def check_space(self, size: int = 0) -> int:
        """Refuse to stage so many bytes where there is no room for them; how many bytes are free."""
        layout = self.database.layout
        staging = layout.staging_in(layout.root(self.partition))
        with storage_errors(staging):
            free = self.database.tree.free(staging)
        needed = size + LEAST_BYTES
        if free < needed:
            raise StorageError(
                f"only {free / 1e6:,.0f} MB are free for {staging}, and {needed / 1e6:,.0f} MB are needed",
                path=str(staging),
                hint="free some space, or move the workspace to another disk; nothing was changed",
            )
        return free

    def begin(self, unit: Unit, kind: Literal["append", "replace", "rewrite"] = "append") -> commit.Transaction:
        """Begin a transaction: `replace` retires all files of the unit, `rewrite` those that are named."""
        return commit.begin(self, kind, unit)

    def begin_all(self, units: Iterable[tuple[Unit, Kind]]) -> list[commit.Transaction]:
        """Begin a transaction for each unit, or none of them."""
        begun: list[commit.Transaction] = []
        try:
            for unit, kind in units:
                begun.append(commit.begin(self, kind, unit))
        except BaseException:
            for transaction in begun:
                transaction.abort()
            raise
        return begun

    def note(
        self,
        entries: Sequence[LedgerEntry] = (),
        covers: Sequence[Covered] = (),
        cursors: Mapping[str, str | None] | None = None,
    ) -> commit.Committed:
        """Note what needs no unit: artifacts with another name or date but no new rows, empty days, and cursors."""
        transaction = commit.begin(self, "note", None)
        seen = tuple(
            StagedArtifact(entry, Accounts(), entry.committed_bytes, entry.committed_ordinals) for entry in entries
        )
        return transaction.commit(Staged(artifacts=seen, covers=tuple(covers), cursors=cursors or {}))

    def delete(self, days: DaySet = EVERY_DAY) -> commit.Committed:
        """Retire every file of these dates and mark the days dropped."""
        return delete.delete(commit.begin(self, "delete", None), days)

    def clean(self, grace: timedelta = clean.GRACE) -> clean.Cleaned:
        """Unlink files that were retired longer ago than `grace`."""
        with storage_errors(self.database.layout.files):
            return clean.clean(self.database, self.partition, grace)
