"""Seals: checksums over the rows of the catalog, kept by triggers and verified when the rows are read.

SQLite notices a page that makes no sense, but not a flipped bit in a value. Each sealed set of rows has its number of
entries and the sum of their checksums; the sum does not depend on an order, so a commit changes it by what it changes.

The columns are in the triggers of every catalog: to seal others, write a migration that seals them again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

from tailpipe.errors import CatalogError
from tailpipe.frozen import frozen

REBUILD = "write it again from the manifests: tailpipe doctor --rebuild"
VERSION = 4
"""Since this version of `catalog.db` there are seals."""

FILE = (
    *("path", "unit", "tp_index", "tp_date", "rows", "bytes", "min_timestamp", "max_timestamp", "columns_id"),
    "partition_id",
)
_LEDGER_4 = (
    *("origin", "source", "unit", "as_of", "generation", "uri", "kind", "size", "modified", "etag", "committed_bytes"),
    *("committed_ordinals", "unread_bytes", "fingerprint", "head", "taken", "left_out"),
)
LEDGER = (*_LEDGER_4, "host")


class Seal(NamedTuple):
    """What a set of rows adds up to; rows and bytes are those of files, and 0 for everything else."""

    entries: int = 0
    digest: int = 0
    rows: int = 0
    size: int = 0


@frozen
class Sealed:
    """Rows of a table that are sealed together: which, by which key, and by which of their columns."""

    part: str
    table: str
    columns: tuple[str, ...]
    key: str = "{row}.partition_id"
    where: str = "true"
    sums: str = "0, 0"


_LIVE = "{{row}}.state = 'live' AND {{row}}.role = '{role}'"
_SEALED_4 = (
    Sealed("data", "files", FILE, where=_LIVE.format(role="data"), sums="{row}.rows, {row}.bytes"),
    Sealed("rejected", "files", FILE, where=_LIVE.format(role="rejected"), sums="{row}.rows, {row}.bytes"),
    Sealed("checksums", "files", ("path", "sha256"), where="{row}.state = 'live'"),
    Sealed("ledger", "artifacts", _LEDGER_4),
    Sealed("coverage", "coverage", ("source", "state", "days")),
    Sealed("frontiers", "frontiers", ("source", "day")),
    Sealed("losses", "losses", ("unit", "tp_date", "reason")),
    Sealed("columns", "column_sets", ("columns",), key="{row}.id"),
    Sealed("partitions", "partitions", ("id", "name"), key="0 * {row}.id"),
)
_NEW_5 = (
    replace(next(one for one in _SEALED_4 if one.part == "ledger"), columns=LEDGER),
    Sealed("cursors", "cursors", ("name", "value")),
)
_SEALED = (*(one for one in _SEALED_4 if one.part != "ledger"), *_NEW_5)

_TABLE = """
CREATE TABLE seals (
    part TEXT NOT NULL,
    key INTEGER NOT NULL, -- the partition, or the set of columns
    entries INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    PRIMARY KEY (part, key)
) STRICT, WITHOUT ROWID"""

_ADDED = (
    "ON CONFLICT (part, key) DO UPDATE SET entries = entries + excluded.entries, rows = rows + excluded.rows,"
    " bytes = bytes + excluded.bytes, digest = digest + excluded.digest"
)


def install(connection: sqlite3.Connection) -> None:
    """Let this connection write: the triggers call `_digest`, also for a row that a statement replaces."""
    connection.create_function("tailpipe_digest", -1, _digest, deterministic=True)
    connection.execute("PRAGMA trusted_schema = ON")
    connection.execute("PRAGMA recursive_triggers = ON")


def _digest(*values: object) -> int:
    """The checksum of one row."""
    return crc32(("%s|" * len(values) % values).encode())


def sealed(connection: sqlite3.Connection) -> dict[str, Sealed]:
    """The sealed parts of a catalog of this version; by its tables, because its number could be damaged too."""
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'cursors'").fetchone()
    return {one.part: one for one in (_SEALED if found else _SEALED_4)}


def load(connection: sqlite3.Connection, part: str, path: str) -> dict[int, Seal] | None:
    """The seals of a part by their key; None in a catalog that is older than seals."""
    try:
        found = connection.execute("SELECT key, entries, digest, rows, bytes FROM seals WHERE part = ?", (part,))
        return {key: Seal(*seal) for key, *seal in found}
    except sqlite3.OperationalError as problem:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version < VERSION and "no such table" in str(problem):
            return None
        raise damaged(path, str(problem)) from problem


def check(seal: Seal | None, rows: Iterable[tuple[object, ...]], columns: Sequence[str], what: str, path: str) -> None:
    """Refuse rows of these columns that are not those that were committed."""
    form = "%s|" * len(columns)
    digests = [crc32((form % row).encode()) for row in rows]  # without a call: there may be a hundred thousand
    entries, total, *_ = seal or Seal()
    if (entries, total) != (len(digests), sum(digests)):
        reason = f"{what} are not as they were committed"
        raise damaged(path, reason if entries == len(digests) else f"{reason} ({len(digests)} of {entries})")


def verify(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a catalog in which any sealed row is not as it was committed."""
    for one in sealed(connection).values():
        seals = load(connection, one.part, path)
        if seals is None:
            return
        words = _words(one, one.table, is_total=True)
        rows = connection.execute(
            f"SELECT {words['key']}, count(*), sum({words['digest']}), {words['sums']} FROM {one.table}"  # noqa: S608
            f" WHERE {words['where']} GROUP BY 1"
        )
        found = {key: Seal(*seal) for key, *seal in rows}
        for key in {*seals, *found}:
            if seals.get(key, Seal()) != found.get(key, Seal()):
                raise damaged(path, f"{one.part} are not as they were committed")


def damaged(path: str, reason: str) -> CatalogError:
    """The error of a damaged catalog."""
    return CatalogError(f"{path} is damaged: {reason}", path=path, hint=REBUILD)


def fourth_migration() -> str:
    """The statements that seal an existing catalog, and keep it sealed."""
    return ";\n".join([_TABLE, *_statements(_SEALED_4)])


def fifth_migration() -> str:
    """The statements that seal the ledger with the hosts of artifacts, and cursors."""
    return ";\n".join(["DELETE FROM seals WHERE part = 'ledger'", *_statements(_NEW_5)])


def _statements(sealed: Iterable[Sealed]) -> list[str]:
    statements = []
    for one in sealed:
        words = _words(one, one.table, is_total=True)
        statements.append(
            f"INSERT INTO seals SELECT '{one.part}', {words['key']}, count(*), {words['sums']},"  # noqa: S608
            f" sum({words['digest']}) FROM {one.table} WHERE {words['where']} GROUP BY 2"
        )
        statements += [
            _trigger(one, name, event, row)
            for name, event, row in (
                ("inserted", "INSERT", "NEW"),
                ("deleted", "DELETE", "OLD"),
                ("left", "UPDATE", "OLD"),
                ("entered", "UPDATE", "NEW"),
            )
        ]
    return statements


def _trigger(one: Sealed, name: str, event: str, row: str) -> str:
    sign = "" if row == "NEW" else "-"
    words = _words(one, row)
    rows, size = (f"{sign}({value})" for value in words["sums"].split(", "))
    values = f"'{one.part}', {words['key']}, {sign}1, {rows}, {size}, {sign}{words['digest']}"
    added = f"INSERT INTO seals VALUES ({values}) {_ADDED}"  # noqa: S608 - all of it is ours
    return f"CREATE TRIGGER {one.part}_{name} AFTER {event} ON {one.table} WHEN {words['where']} BEGIN {added}; END"


def _words(one: Sealed, row: str, *, is_total: bool = False) -> dict[str, str]:
    sums = one.sums.format(row=row).split(", ")
    return {
        "key": one.key.format(row=row),
        "where": one.where.format(row=row),
        "sums": ", ".join(f"sum({value})" for value in sums) if is_total else ", ".join(sums),
        "digest": f"tailpipe_digest({', '.join(f'{row}.{column}' for column in one.columns)})",
    }
