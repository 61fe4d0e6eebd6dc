"""Deliberately broken protocols: the harness must catch each of them, or it proves nothing.

Each one is installed into a child process only, by exchanging one step of the protocol.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tailpipe.catalog import apply as apply_module
from tailpipe.catalog import clean, layout, project, publish, recover, verify
from tailpipe.catalog.commit import Committed, Transaction
from tailpipe.catalog.database import Database
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.model.staged import Staged, StagedFile
from tests.crash.disks import Journaled
from tests.crash.world import StepKind


def state_before_data() -> None:
    """The catalog says that files are live before they are there."""

    def broken(self: Transaction, staged: Staged) -> Committed:
        self.database.failpoints.reach("verify.before")
        self.check(staged, verify.account_problems(staged, self.kind))
        self.database.failpoints.reach("verify.after")
        files = tuple(
            replace(file, path=self._target(file, layout.file_name(self.name, number)))
            for number, file in enumerate(staged.files)
        )
        made = self._commit(lambda connection, draft: self._draft(connection, draft, staged, files))
        self._store(staged)
        return self._publish(made)

    _put(Transaction, "commit", broken)


def publish_before_commit() -> None:
    """The hive shows files that may never be committed."""
    original = Transaction._store

    def broken(self: Transaction, staged: Staged) -> tuple[StagedFile, ...]:
        files = original(self, staged)
        for file in files:
            if file.role == "data":
                public = self.database.layout.public(file.path)
                self.database.tree.make_directory(public.parent)
                self.database.tree.link(self.database.layout.stored(file.path), public)
        return files

    _put(Transaction, "_store", broken)


def ledger_apart() -> None:
    """Position and data are kept in two transactions, as if in two stores."""
    original = Transaction._commit
    enter = apply_module._enter

    def broken(self: Transaction, draft: Callable[[sqlite3.Connection, Manifest], Manifest]) -> Manifest:
        _put(apply_module, "_enter", lambda *_: None)
        made = original(self, draft)
        self.database.failpoints.reach("commit.after")
        with self.database.writing() as connection:
            row = connection.execute("SELECT id FROM transactions WHERE name = ?", (self.name,)).fetchone()
            if made.artifacts:
                enter(connection, made, self.partition_id, row[0])
        return made

    _put(Transaction, "_commit", broken)


def delete_before_replace() -> None:
    """What is replaced goes before there is anything new."""
    original = Transaction._store

    def broken(self: Transaction, staged: Staged) -> tuple[StagedFile, ...]:
        if self.kind == "replace":
            with self.database.writing() as connection:
                connection.execute(
                    "UPDATE files SET state = 'retired', retired_at = '', retired_by ="
                    " (SELECT id FROM transactions WHERE name = ?) WHERE unit = ? AND state = 'live'",
                    (self.name, str(self.unit)),
                )
        return original(self, staged)

    _put(Transaction, "_store", broken)


def unlink_before_commit() -> None:
    """Replaced files are removed before the commit that retires them."""
    original = Transaction._draft

    def broken(self: Transaction, *arguments: Any) -> Manifest:
        made = original(self, *arguments)
        for path in made.removed:
            self.database.storage.delete(self.database.layout.stored(path))
        return made

    _put(Transaction, "_draft", broken)


def no_fsync() -> None:
    """Nothing is made durable; only the loss of power shows it."""
    _put(Journaled, "sync", lambda *_: None)


def no_directory_fsync() -> None:
    """The files are made durable, but not their names."""
    original = Journaled.sync

    def broken(self: Journaled, path: Path) -> None:
        if not path.is_dir():
            original(self, path)

    _put(Journaled, "sync", broken)


def no_roll_forward() -> None:
    """A committed transaction counts as published without having been."""

    def broken(database: Database, manifest: Manifest) -> None:
        with database.writing() as connection:
            connection.execute("UPDATE transactions SET state = 'published' WHERE name = ?", (manifest.transaction,))

    _put(recover, "publish", broken)


def no_rollback() -> None:
    """An intent without a commit is forgotten, but what it left is not removed."""

    def broken(database: Database, partition: str, transactions: list[str]) -> None:
        with database.writing() as connection:
            connection.executemany(
                "UPDATE transactions SET state = 'aborted' WHERE name = ?", [(name,) for name in transactions]
            )

    _put(recover, "rollback", broken)


def aborted_before_removed() -> None:
    """A rollback is marked as done before it is."""
    original = recover.rollback

    def broken(database: Database, partition: str, transactions: list[str]) -> None:
        with database.writing() as connection:
            connection.executemany(
                "UPDATE transactions SET state = 'aborted' WHERE name = ?", [(name,) for name in transactions]
            )
        original(database, partition, transactions)

    _put(recover, "rollback", broken)


def published_before_projected() -> None:
    """The mark comes before the work."""
    original = project.project

    def broken(database: Database, transaction: str, paths: list[str]) -> None:
        with database.writing() as connection:
            connection.execute("UPDATE transactions SET state = 'published' WHERE name = ?", (transaction,))
        original(database, transaction, paths)

    _put(publish, "project", broken)


def link_before_unlink() -> None:
    """New files appear in the hive while the replaced ones are still there."""
    original = project._unlink_then_link

    def broken(database: Database, transaction: str, changes: list[Any]) -> None:
        original(database, transaction, [replace(change, goes=()) for change in changes])
        original(database, transaction, [replace(change, comes=()) for change in changes])

    _put(project, "_exchange", lambda *_: False)
    _put(project, "_unlink_then_link", broken)


def no_manifest() -> None:
    """The history from which a lost catalog is told again is not written."""
    _put(publish, "_write_manifest", lambda *_: None)


def forgotten_before_unlinked() -> None:
    """A clean-up forgets the names of files before it has removed them."""
    original = clean.clean

    def broken(database: Database, partition: str, *rest: Any) -> clean.Cleaned:
        rows = database.connection.execute("SELECT path FROM files WHERE state = 'retired'").fetchall()
        with database.writing() as connection:
            connection.execute("DELETE FROM files WHERE state = 'retired'")
        for (path,) in rows:
            database.failpoints.reach("clean.unlink")
            database.storage.delete(database.layout.stored(path))
        return original(database, partition, *rest)

    _put(clean, "clean", broken)


@dataclass(frozen=True)
class Mutant:
    """How to break it, and the step and failpoints at which it shows."""

    install: Callable[[], None]
    kind: StepKind
    first: str
    second: str = ""
    with_power_loss: bool = False


MUTANTS = {
    mutant.install.__name__: mutant
    for mutant in (
        Mutant(state_before_data, "append", "store.directory"),
        Mutant(publish_before_commit, "append", "commit.before"),
        Mutant(ledger_apart, "append", "commit.after"),
        Mutant(delete_before_replace, "replace", "commit.before"),
        Mutant(unlink_before_commit, "replace", "commit.before"),
        Mutant(no_fsync, "append", "commit.after", with_power_loss=True),
        Mutant(no_directory_fsync, "append", "commit.after", with_power_loss=True),
        Mutant(no_roll_forward, "append", "commit.after"),
        Mutant(no_rollback, "append", "store.synced"),
        Mutant(aborted_before_removed, "append", "store.synced", "rollback.orphan"),
        Mutant(published_before_projected, "append", "project.link"),
        Mutant(link_before_unlink, "replace", "project.unlink"),
        Mutant(no_manifest, "append", ""),
        Mutant(forgotten_before_unlinked, "clean", "clean.unlink"),
    )
}


def install(name: str) -> None:
    """Break this process."""
    MUTANTS[name].install()


def _put(owner: object, name: str, value: object) -> None:
    setattr(owner, name, value)


__all__ = ["MUTANTS", "Mutant", "install"]
