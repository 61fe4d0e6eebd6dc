"""The database: one open `catalog.db` with the layout, storage, clock and failpoints that belong to it."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tailpipe.catalog import head, schema, seals
from tailpipe.catalog.failpoints import Failpoints
from tailpipe.catalog.home import has_history
from tailpipe.catalog.hosts import own_hosts, remember_host
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.place import check_place, remember_place
from tailpipe.catalog.root_facts import load_roots
from tailpipe.errors import CatalogError, StorageError, WorkspaceError
from tailpipe.frozen import frozen
from tailpipe.model.host import Host, check_host
from tailpipe.storage.local import LOCAL, NETWORK
from tailpipe.storage.storage import LocalTree, Storage

BUSY_SECONDS = 60.0
utc_now = partial(datetime.now, UTC)
"""The clock, except in tests."""


@frozen
class Database:
    """What every step of the catalog works with."""

    layout: Layout
    connection: sqlite3.Connection
    is_read_only: bool
    storage: Storage = LOCAL
    """Where the immutable files, manifests and the head are."""
    tree: LocalTree = LOCAL
    """The local disk: staging, the hive and locks."""
    clock: Callable[[], datetime] = utc_now
    failpoints: Failpoints = field(default_factory=Failpoints)
    on_commit: Callable[[], None] = lambda: None
    """Called after each commit, when it is published; it may not fail."""
    host: Host = field(default_factory=Host)
    """Whose files and commands are this workspace's own."""
    bring: Callable[..., list[str]] | None = None
    """Fetches files that are in a store alone: see `Snapshot.bring`."""

    def now(self) -> datetime:
        """The time by the clock, in UTC: times are compared as text."""
        return self.clock().astimezone(UTC)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view over several statements; a value that cannot be one is damage, not a mistake of ours."""
        with self.writing("BEGIN") as connection:
            try:
                yield connection
            except (ValueError, TypeError) as problem:
                raise seals.damaged(str(self.layout.database), str(problem)) from problem

    @contextlib.contextmanager
    def writing(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """All of it or nothing; waits for another writer."""
        with storage_errors(self.layout.database):
            self.connection.execute(begin)
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                # A full disk can end the transaction by itself; only what is still open is rolled back.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def open_database(
    layout: Layout,
    *,
    is_read_only: bool = False,
    storage: LocalTree = LOCAL,
    clock: Callable[[], datetime] = utc_now,
    failpoints: Failpoints | None = None,
    on_commit: Callable[[], None] = lambda: None,
    may_be_lost: bool = False,
    host: str | None = None,
    bring: Callable[..., list[str]] | None = None,
) -> Database:
    """Open the catalog of a workspace; for writing it is made if the workspace has none yet.

    It is refused where its files are not, unless they `may_be_lost`: then they are only if they were there.
    """
    if host is not None:
        check_host(host)
    points = failpoints or Failpoints.from_environment(os.environ)
    with storage_errors(layout.database):
        if not is_read_only:
            _prepare(layout, storage, may_be_lost=may_be_lost)
        elif not _has_database(layout):
            raise _missing(layout, storage)
        newest = head.read(layout, storage)  # before the first statement: see `head.check`
        connection = _connect(layout, is_read_only)
        try:
            if is_read_only:
                schema.ensure(connection, str(layout.database))
            else:
                schema.migrate(connection, str(layout.database))
            head.check(connection, layout, newest)
            check_place(connection, layout, storage, may_be_lost=may_be_lost)
            if not is_read_only:
                remember_place(connection, layout)
                remember_host(connection, host)
            own = own_hosts(connection, host)
            layout = replace(layout, roots=load_roots(connection))
        except BaseException:
            connection.close()
            raise
    return Database(layout, connection, is_read_only, storage, storage, clock, points, on_commit, own, bring)


def _connect(layout: Layout, is_read_only: bool) -> sqlite3.Connection:
    path = layout.database
    query = "mode=rwc"
    if is_read_only:
        # Without a log to read and a place to make one, SQLite opens a WAL database only as immutable.
        is_still = not path.with_name("catalog.db-wal").exists() and not os.access(path.parent, os.W_OK)
        query = "mode=ro&immutable=1" if is_still else "mode=ro"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{query}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=not is_read_only,  # a session that reads may be used by several threads, one after the other
    )
    try:
        if not is_read_only:
            path.chmod(0o600)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        seals.install(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(layout: Layout, tree: LocalTree, *, may_be_lost: bool) -> None:
    if (kind := tree.filesystem(layout.home)) in NETWORK:
        raise WorkspaceError(
            f"{layout.home} is on a network file system ({kind}), where SQLite's log and locks are not safe",
            path=str(layout.home),
            hint="keep the workspace on a local disk; data_dir may point to the shared one",
        )
    if layout.home.exists() and (owner := layout.home.stat().st_uid) != os.geteuid():
        raise WorkspaceError(
            f"{layout.home} belongs to another user (uid {owner}, you are {os.geteuid()})",
            path=str(layout.home),
            hint="run tailpipe as its owner, or use another workspace",
        )
    if not _has_database(layout) and has_history(layout, tree):
        raise _missing(layout, tree)
    if _has_database(layout) and not tree.is_directory(layout.files):
        # Before a directory is made in a place that may be the wrong one.
        open_database(layout, is_read_only=True, storage=tree, may_be_lost=may_be_lost).close()
    changed: set[Path] = set()
    for directory in (layout.locks, layout.files, layout.rejected, layout.staging, layout.manifests):
        changed |= tree.make_directory(directory)
    tree.settle(changed)


def _has_database(layout: Layout) -> bool:
    try:
        return layout.database.stat().st_size > 0
    except FileNotFoundError:
        return False


def _missing(layout: Layout, storage: Storage) -> CatalogError:
    if has_history(layout, storage):
        return CatalogError(f"{layout.database} is missing", path=str(layout.database), hint=seals.REBUILD)
    return CatalogError(
        f"{layout.home} has no catalog", path=str(layout.database), hint="nothing has been collected yet"
    )


@contextlib.contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and the system into messages with a next step."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as problem:
        raise _from_sqlite(problem, path) from problem
    except UnicodeDecodeError as problem:  # of a name that SQLite complains about
        raise seals.damaged(str(path), str(problem)) from problem
    except OSError as problem:
        raise _from_system(problem, path) from problem


def _from_sqlite(problem: sqlite3.DatabaseError, path: Path) -> WorkspaceError:
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StorageError(f"no space left for {path}", path=str(path), hint="free some space, then run it again")
    if code == sqlite3.SQLITE_BUSY:
        return StorageError(
            f"{path} was held by another process for {BUSY_SECONDS:.0f} seconds",
            path=str(path),
            hint="run it again when the other process has finished",
        )
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR):
        return StorageError(f"cannot use {path}: {problem}", path=str(path), hint="check its owner and permissions")
    return seals.damaged(str(path), str(problem))


def _from_system(problem: OSError, path: Path) -> StorageError:
    place = str(problem.filename2 or problem.filename or path)  # of two, what was to be made
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(f"no space left for {place}", path=place, hint="free some space, then run it again")
    reason = (problem.strerror or str(problem)).lower()
    hints = {
        errno.EROFS: "mount it writable, or choose another workspace",
        errno.EACCES: "check its owner and permissions",
        errno.EPERM: "check its owner and permissions",
    }
    hint = hints.get(problem.errno or 0, "check the disk, then run: tailpipe doctor")
    return StorageError(f"cannot use {place}: {reason}", path=place, hint=hint)
