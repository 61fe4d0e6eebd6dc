"""The head: a small file next to the data that names the newest published transaction and its workspace.

It reveals that `catalog.db` is older than the data (restored from a backup, or its log was lost), or that two
workspaces share a `data_dir`. It only warns: a head that cannot be read is ignored and written again.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from tailpipe.catalog.layout import Layout
from tailpipe.catalog.schema import has_column
from tailpipe.catalog.seals import REBUILD
from tailpipe.errors import CatalogError, WorkspaceError
from tailpipe.frozen import frozen

if TYPE_CHECKING:
    from tailpipe.catalog.database import Database
    from tailpipe.storage.storage import Storage


@frozen
class Head:
    """The newest transaction of the data in a directory, and the workspace that wrote it."""

    workspace: str
    home: str
    partition: str
    transaction: str
    sequence: int


def read(layout: Layout, storage: Storage) -> Head | None:
    """The head, or None if there is none that can be believed."""
    try:
        facts = json.loads(storage.read(layout.head))
        total = facts.pop("check")
        head = Head(**facts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return head if total == crc32(repr(head).encode()) else None


def check(connection: sqlite3.Connection, layout: Layout, head: Head | None) -> None:
    """Refuse a catalog that does not know the newest transaction of its data.

    The head must have been read before the first statement: whatever it names was committed by then.
    """
    if head is None:
        return
    workspace = workspace_of(connection)
    if workspace not in (None, head.workspace):
        raise foreign(layout, head)
    known = connection.execute(
        "SELECT 1 FROM transactions WHERE name = ? AND (sequence IS NOT NULL OR number IS NOT NULL)"
        if has_column(connection, "transactions", "number")
        else "SELECT 1 FROM transactions WHERE name = ? AND sequence IS NOT NULL",
        (head.transaction,),
    ).fetchone()
    if known is None:
        raise CatalogError(
            f"{layout.database} is older than the data in {layout.data}: it does not know transaction"
            f" {head.transaction} of {head.partition}",
            path=str(layout.database),
            hint=REBUILD,
        )


def foreign(layout: Layout, head: Head) -> WorkspaceError:
    """The error of two workspaces with the same data directory."""
    return WorkspaceError(
        f"{layout.data} contains the data of another workspace, at {head.home}",
        path=str(layout.data),
        hint="set another data_dir for this workspace",
    )


def ensure(database: Database) -> None:
    """Write the head if it is lost or late, as it may be after a crash."""
    now = read(database.layout, database.storage)
    row = database.connection.execute(
        "SELECT p.name, t.name, number FROM transactions t JOIN partitions p ON p.id = partition_id"
        " WHERE number IS NOT NULL AND state = 'published' ORDER BY number DESC LIMIT 1"
    ).fetchone()
    workspace = workspace_of(database.connection)
    if row and workspace and (now is None or now.sequence < row[2]):
        newest = Head(workspace, str(database.layout.home), *row)
        with database.writing():  # one at a time, because there is one draft
            advance(database, newest, draft(database, newest, database.layout.head.with_name("head.new")))


def draft(database: Database, head: Head, path: Path) -> Path:
    """Write a head aside, durably."""
    database.tree.make_directory(path.parent)
    text = json.dumps({**asdict(head), "check": crc32(repr(head).encode())}, ensure_ascii=False)
    database.tree.write(path, text.encode())
    return path


def advance(database: Database, head: Head, written: Path) -> None:
    """Let a draft be the head, unless a later one already is; to be called where no other writer is at it."""
    now = read(database.layout, database.storage)
    if now is None or now.sequence < head.sequence or now.workspace != head.workspace:
        database.storage.put_file(written, database.layout.head)


def workspace_of(connection: sqlite3.Connection) -> str | None:
    """The name that a catalog was given when it was made; None if it is older than such names."""
    try:
        row = connection.execute("SELECT id FROM workspace").fetchone()
    except sqlite3.OperationalError as problem:
        if "no such table" in str(problem):
            return None
        raise
    return str(row[0]) if row else None
