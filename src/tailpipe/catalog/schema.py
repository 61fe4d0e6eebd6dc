"""The tables of `catalog.db`, their version, and the steps from one version to the next."""

from __future__ import annotations

import sqlite3

from tailpipe.catalog import seals
from tailpipe.errors import CatalogError, NewerError

APPLICATION = 0x7470_6361  # "tpca": tells our database from any other SQLite file

_ARTIFACTS = """\
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    origin TEXT NOT NULL,
    generation INTEGER NOT NULL CHECK (generation >= 0),
    uri TEXT,
    source TEXT NOT NULL,
    unit TEXT NOT NULL,
    kind TEXT NOT NULL,
    as_of TEXT NOT NULL,
    size INTEGER,
    modified TEXT,
    etag TEXT,
    fingerprint TEXT,
    head TEXT,
    committed_bytes INTEGER NOT NULL CHECK (committed_bytes >= 0),
    committed_ordinals INTEGER NOT NULL CHECK (committed_ordinals >= 0),
    unread_bytes INTEGER NOT NULL CHECK (unread_bytes >= 0),
    taken TEXT NOT NULL, -- sets of days: 2024-01-01..2024-01-31, 2024-02-02
    left_out TEXT NOT NULL,
    transaction_id INTEGER NOT NULL REFERENCES transactions (id),
"""
_FIRST = f"""
CREATE TABLE partitions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    window_start TEXT NOT NULL,
    window_end TEXT NOT NULL,
    command TEXT NOT NULL,
    begun_at TEXT NOT NULL,
    ended_at TEXT,
    outcome TEXT NOT NULL DEFAULT 'running' CHECK (outcome IN ('running', 'done', 'failed', 'interrupted'))
) STRICT;
CREATE TABLE transactions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    kind TEXT NOT NULL CHECK (kind IN ('append', 'replace', 'rewrite', 'note', 'delete', 'repair')),
    unit TEXT,
    state TEXT NOT NULL CHECK (state IN ('intent', 'committed', 'published', 'aborted')),
    epoch INTEGER NOT NULL,
    run_id INTEGER REFERENCES runs (id),
    begun_at TEXT NOT NULL,
    committed_at TEXT,
    sequence INTEGER UNIQUE,
    record TEXT, -- the manifest, until it has been published
    CHECK ((sequence IS NOT NULL) = (state IN ('committed', 'published')))
) STRICT;
CREATE INDEX transactions_open ON transactions (partition_id, state) WHERE state IN ('intent', 'committed');
CREATE TABLE column_sets (
    id INTEGER PRIMARY KEY,
    columns TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    transaction_id INTEGER NOT NULL REFERENCES transactions (id),
    unit TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('data', 'rejected')),
    tp_index TEXT,
    tp_date TEXT,
    rows INTEGER NOT NULL CHECK (rows >= 0),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    sha256 TEXT NOT NULL,
    min_timestamp INTEGER, -- microseconds since 1970
    max_timestamp INTEGER,
    columns_id INTEGER NOT NULL REFERENCES column_sets (id),
    state TEXT NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'retired')),
    retired_by INTEGER REFERENCES transactions (id),
    retired_at TEXT,
    CHECK ((state = 'retired') = (retired_by IS NOT NULL)),
    CHECK (role = 'rejected' OR tp_date IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_of_partition ON files (partition_id, state, tp_date);
CREATE INDEX files_of_unit ON files (partition_id, unit) WHERE state = 'live';
CREATE INDEX files_retired ON files (retired_by) WHERE state = 'retired';
CREATE TABLE artifacts (
{_ARTIFACTS}    PRIMARY KEY (partition_id, origin, generation),
    UNIQUE (partition_id, uri)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_of_unit ON artifacts (partition_id, unit);
CREATE TABLE coverage (
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    source TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('covered', 'missing', 'dropped', 'unsettled')),
    days TEXT NOT NULL,
    PRIMARY KEY (partition_id, source, state)
) STRICT, WITHOUT ROWID;
CREATE TABLE losses (
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    unit TEXT NOT NULL,
    tp_date TEXT NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN ('dropped', 'missing')),
    PRIMARY KEY (partition_id, unit, tp_date)
) STRICT, WITHOUT ROWID;
CREATE TABLE accounts (
    transaction_id INTEGER NOT NULL REFERENCES transactions (id),
    origin TEXT NOT NULL,
    generation INTEGER NOT NULL,
    read INTEGER NOT NULL CHECK (read >= 0),
    kept INTEGER NOT NULL CHECK (kept >= 0),
    filtered INTEGER NOT NULL CHECK (filtered >= 0),
    rejected INTEGER NOT NULL CHECK (rejected >= 0),
    out_of_window INTEGER NOT NULL CHECK (out_of_window >= 0),
    duplicate INTEGER NOT NULL CHECK (duplicate >= 0),
    superseded_by INTEGER REFERENCES transactions (id),
    PRIMARY KEY (transaction_id, origin, generation),
    CONSTRAINT balance CHECK (read = kept + filtered + rejected + out_of_window + duplicate)
) STRICT, WITHOUT ROWID;
CREATE TABLE rejected_samples (
    transaction_id INTEGER NOT NULL REFERENCES transactions (id),
    number INTEGER NOT NULL,
    uri TEXT NOT NULL,
    position TEXT NOT NULL,
    reason TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (transaction_id, number)
) STRICT, WITHOUT ROWID;
"""

_SECOND = """
CREATE INDEX transactions_of_unit ON transactions (partition_id, unit);
CREATE INDEX runs_of_partition ON runs (partition_id);
"""
"""A history of years is not read from its beginning to find what belongs to one partition or unit."""

_THIRD = """
CREATE TABLE frontiers (
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    source TEXT NOT NULL,
    day TEXT, -- null: only windows with an end were requested
    PRIMARY KEY (partition_id, source)
) STRICT, WITHOUT ROWID;
CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""
"""A source without a frontier is of an older version: it is derived when it is read, and written with the next run."""

_FOURTH = """
CREATE INDEX transactions_of_partition ON transactions (partition_id, sequence);
CREATE TABLE workspace (id TEXT NOT NULL) STRICT;
INSERT INTO workspace VALUES (lower(hex(randomblob(16))));
CREATE TABLE images ( -- the newest manifest of a partition that tells all of it
    partition_id INTEGER PRIMARY KEY REFERENCES partitions (id),
    transaction_id INTEGER NOT NULL REFERENCES transactions (id)
) STRICT;
"""
"""What damage is noticed by: who this catalog is, where the history of a partition begins, and the seals."""

_FIFTH = f"""
ALTER TABLE files ADD COLUMN here INTEGER NOT NULL DEFAULT 1 CHECK (here IN (0, 1));
ALTER TABLE files ADD COLUMN there INTEGER NOT NULL DEFAULT 0 CHECK (there IN (0, 1));
ALTER TABLE transactions ADD COLUMN ingested_at TEXT;
ALTER TABLE transactions ADD COLUMN host TEXT;
ALTER TABLE transactions ADD COLUMN number INTEGER -- of those committed here, without gaps; null: pulled from a store
;
UPDATE transactions SET number = sequence;
CREATE UNIQUE INDEX transactions_numbered ON transactions (number);
CREATE TABLE artifacts_5 (
{_ARTIFACTS}    host TEXT, -- null: of this workspace, or of no host
    PRIMARY KEY (partition_id, origin, generation)
) STRICT, WITHOUT ROWID;
INSERT INTO artifacts_5 SELECT partition_id, origin, generation, uri, source, unit, kind, as_of, size, modified, etag,
    fingerprint, head, committed_bytes, committed_ordinals, unread_bytes, taken, left_out, transaction_id, NULL
    FROM artifacts;
DROP TABLE artifacts;
ALTER TABLE artifacts_5 RENAME TO artifacts;
CREATE INDEX artifacts_of_unit ON artifacts (partition_id, unit);
CREATE UNIQUE INDEX artifacts_named ON artifacts (partition_id, uri, coalesce(host, ''));
CREATE TABLE stores ( -- up to which version of its log in a store a partition is known here
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    store TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 0),
    PRIMARY KEY (partition_id, store)
) STRICT, WITHOUT ROWID;
CREATE TABLE cursors (
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (partition_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE pending ( -- changes of coverage that no manifest has yet; 'whole' stands for all that is known
    id INTEGER PRIMARY KEY,
    partition_id INTEGER NOT NULL REFERENCES partitions (id),
    source TEXT NOT NULL,
    operation TEXT NOT NULL
) STRICT;
INSERT INTO pending (partition_id, source, operation) SELECT id, '', 'whole' FROM partitions;
"""  # noqa: S608 - all of it is ours
"""For stores: whose artifacts they are, where files are, and coverage as changes. What runs have requested before this
version is in no manifest, so the next one says all that is known."""

_SIXTH = """
ALTER TABLE files ADD COLUMN key TEXT;
ALTER TABLE files ADD COLUMN left_at TEXT;
ALTER TABLE files ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0 CHECK (is_pinned IN (0, 1));
CREATE INDEX files_elsewhere ON files (partition_id, tp_date) WHERE here = 0;
CREATE INDEX files_leaving ON files (partition_id) WHERE left_at IS NOT NULL;
CREATE TABLE pushed ( -- the transactions that the log of a partition's store has
    transaction_id INTEGER PRIMARY KEY REFERENCES transactions (id),
    version INTEGER NOT NULL CHECK (version >= 0)
) STRICT;
"""
"""For stores: the `key` of a file's object, since when (`left_at`) it waits to be unlinked here, whether it `is_pinned`
here, and what is pushed. No comment in a column that is added: SQLite would keep it at the end of the table, and the
next column would be part of it (so `transactions` cannot get any)."""

_COUNTED = (
    ("inserted", "INSERT", "NEW", 1),
    ("deleted", "DELETE", "OLD", -1),
    ("left", "UPDATE OF state, role, partition_id, columns_id", "OLD", -1),
    ("entered", "UPDATE OF state, role, partition_id, columns_id", "NEW", 1),
)
_SEVENTH = """
CREATE TABLE columns_in_use ( -- how many live files of a partition have a set of columns
    partition INTEGER NOT NULL,
    columns INTEGER NOT NULL,
    files INTEGER NOT NULL,
    PRIMARY KEY (partition, columns)
) STRICT, WITHOUT ROWID;
INSERT INTO columns_in_use SELECT partition_id, columns_id, count(*) FROM files
    WHERE state = 'live' AND role = 'data' GROUP BY 1, 2;
""" + ";\n".join(  # noqa: S608 - all of it is ours
    f"CREATE TRIGGER columns_in_use_{name} AFTER {event} ON files"  # noqa: S608
    f" WHEN {row}.state = 'live' AND {row}.role = 'data' BEGIN"
    f" INSERT INTO columns_in_use VALUES ({row}.partition_id, {row}.columns_id, {change})"
    " ON CONFLICT (partition, columns) DO UPDATE SET files = files + excluded.files; END"
    for name, event, row, change in _COUNTED
)
"""The columns of a table are known without looking at its files, of which there may be a million. It is derived, so an
image of a partition does not hold it: its columns are not named as those of tables that an image holds."""

_RUN_FACTS = (
    *("seconds REAL", "bytes INTEGER", "artifacts INTEGER", "read INTEGER", "kept INTEGER", "filtered INTEGER"),
    *("rejected INTEGER", "out_of_window INTEGER", "duplicate INTEGER", "profile TEXT", "error TEXT"),
    "idle_checks INTEGER NOT NULL DEFAULT 0",
)
_EIGHTH = (
    "\n"
    + "".join(f"ALTER TABLE runs ADD COLUMN {column};\n" for column in _RUN_FACTS)
    + """\
CREATE INDEX runs_open ON runs (partition_id) WHERE outcome = 'running';
CREATE INDEX transactions_of_run ON transactions (run_id) WHERE run_id IS NOT NULL;
"""
)
"""What a run took and brought; null if it has not ended, or an earlier version recorded it. Old runs are deleted, so
SQLite looks for transactions that refer to them."""

MIGRATIONS: tuple[str, ...] = (
    _FIRST,
    _SECOND,
    _THIRD,
    _FOURTH + seals.fourth_migration(),
    _FIFTH + seals.fifth_migration(),
    _SIXTH,
    _SEVENTH,
    _EIGHTH,
)
"""The script at place n leads from version n to n + 1; a published one is never edited."""

VERSION = len(MIGRATIONS)
_NEWER = 1000
"""A version further ahead than this is no newer tailpipe's, but a flipped bit."""
READABLE = 1
"""The oldest version that a reader understands: those after it have more indexes, and tables that may be missing."""


def migrate(connection: sqlite3.Connection, path: str, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """Bring the database to the newest version, each step in a transaction of its own."""
    for number in range(_version(connection, path, len(migrations)), len(migrations)):
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have been quicker while we waited for the lock.
        if connection.execute("PRAGMA user_version").fetchone()[0] == number:
            for statement in migrations[number].split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")


def ensure(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a database that a reader could not understand; readers never change it."""
    if _version(connection, path, VERSION) < READABLE:
        raise CatalogError(f"{path} is of an older version", path=path, hint="run tailpipe collect to upgrade it")


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether the database has this table: a reader may meet one of an older version."""
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,))
    return found.fetchone() is not None


def here_alone(connection: sqlite3.Connection) -> str:
    """The condition on files that are on this disk, as the end of a WHERE; earlier versions know no other."""
    return " AND here = 1" if has_column(connection, "files", "here") else ""


def has_column(connection: sqlite3.Connection, table: str, name: str) -> bool:
    """Whether a table has this column, for the same reason."""
    found = connection.execute("SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, name))
    return found.fetchone() is not None


def _version(connection: sqlite3.Connection, path: str, newest: int) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if version and application != APPLICATION:
        raise CatalogError(
            f"{path} is not a tailpipe catalog",
            path=path,
            hint="move it away, or choose another workspace",
        )
    if version not in range(newest + _NEWER) or (not version and application == APPLICATION):
        raise seals.damaged(path, f"there is no version {version}")
    if version > newest:
        raise NewerError(
            f"{path} was written by a newer tailpipe (version {version}, this one knows {newest})",
            path=path,
            hint="upgrade tailpipe",
        )
    return version
