"""Seals: checksums over the rows of the catalog, kept by triggers and verified by whoever reads the rows.

SQLite notices a page that makes no sense, but not a flipped bit in a value. Each sealed set of rows has its number of
entries and the sum of their checksums; the sum does not depend on an order, so a commit changes it by what it changes.

The columns stand in the triggers of every catalog: whoever seals others has to write a migration that seals anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

from tailpipe.errors import CatalogError
from tailpipe.frozen import frozen

__all__ = [
    "FILE",
    "LEDGER",
    "REBUILD",
    "Seal",
    "check",
    "columns_of",
    "damaged",
    "fifth_migration",
    "fourth_migration",
    "install",
    "load",
    "sum_of",
    "verify",
]

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
class _Sealed:
    """Rows of a table that are sealed together: which, by which key, and by which of their columns."""

    part: str
    table: str
    columns: tuple[str, ...]
    key: str = "{row}.partition_id"
    where: str = "true"
    sums: str = "0, 0"


_LIVE = "{{row}}.state = 'live' AND {{row}}.role = '{role}'"
_SEALED_4 = (
    _Sealed("data", "files", FILE, where=_LIVE.format(role="data"), sums="{row}.rows, {row}.bytes"),
    _Sealed("rejected", "files", FILE, where=_LIVE.format(role="rejected"), sums="{row}.rows, {row}.bytes"),
    _Sealed("checksums", "files", ("path", "sha256"), where="{row}.state = 'live'"),
    _Sealed("ledger", "artifacts", _LEDGER_4),
    _Sealed("coverage", "coverage", ("source", "state", "days")),
    _Sealed("frontiers", "frontiers", ("source", "day")),
    _Sealed("losses", "losses", ("unit", "tp_date", "reason")),
    _Sealed("columns", "column_sets", ("columns",), key="{row}.id"),
    _Sealed("partitions", "partitions", ("id", "name"), key="0 * {row}.id"),
)
_NEW_5 = (
    replace(next(one for one in _SEALED_4 if one.part == "ledger"), columns=LEDGER),
    _Sealed("cursors", "cursors", ("name", "value")),
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
    """Let this connection write: the triggers call us, also for a row that a statement replaces."""
    connection.create_function("tailpipe_digest", -1, lambda *values: digest(values), deterministic=True)
    connection.execute("PRAGMA trusted_schema = ON")
    connection.execute("PRAGMA recursive_triggers = ON")


def digest(values: Sequence[object]) -> int:
    """The checksum of one row."""
    return crc32(("%s|" * len(values) % tuple(values)).encode())


def sum_of(rows: Iterable[tuple[object, ...]], columns: Sequence[str]) -> Seal:
    """What rows of these columns add up to; without a call for each, because there may be a hundred thousand."""
    form = "%s|" * len(columns)
    digests = [crc32((form % row).encode()) for row in rows]
    return Seal(len(digests), sum(digests))


def columns_of(connection: sqlite3.Connection, part: str) -> tuple[str, tuple[str, ...]]:
    """The table of a part, and the columns that are sealed in a catalog of this version."""
    return next(((one.table, one.columns) for one in _sealed(connection) if one.part == part), (part, ()))


def _sealed(connection: sqlite3.Connection) -> tuple[_Sealed, ...]:
    """What is sealed in a catalog of this version; by its tables, because its number could be damaged too."""
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'cursors'").fetchone()
    return _SEALED if found else _SEALED_4


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


def check(seal: Seal | None, found: Seal, what: str, path: str) -> None:
    """Refuse rows that are not those that were committed."""
    entries, total, *_ = seal or Seal()
    if (entries, total) != (found.entries, found.digest):
        reason = f"{what} are not as they were committed"
        raise damaged(path, reason if entries == found.entries else f"{reason} ({found.entries} of {entries})")


def verify(connection: sqlite3.Connection, path: str) -> None:
    """Refuse a catalog in which any sealed row is not as it was committed."""
    for one in _sealed(connection):
        sealed = load(connection, one.part, path)
        if sealed is None:
            return
        words = _words(one, one.table, is_total=True)
        rows = connection.execute(
            f"SELECT {words['key']}, count(*), sum({words['digest']}), {words['sums']} FROM {one.table}"  # noqa: S608
            f" WHERE {words['where']} GROUP BY 1"
        )
        found = {key: Seal(*seal) for key, *seal in rows}
        for key in {*sealed, *found}:
            if sealed.get(key, Seal()) != found.get(key, Seal()):
                raise damaged(path, f"{one.part} are not as they were committed")


def damaged(path: str, reason: str) -> CatalogError:
    """The error of a catalog that cannot be believed."""
    return CatalogError(f"{path} is damaged: {reason}", path=path, hint=REBUILD)


def fourth_migration() -> str:
    """The statements that seal a catalog as it is, and keep it sealed from then on."""
    return ";\n".join([_TABLE, *_statements(_SEALED_4)])


def fifth_migration() -> str:
    """The statements that seal the ledger with the hosts of artifacts, and cursors."""
    return ";\n".join(["DELETE FROM seals WHERE part = 'ledger'", *_statements(_NEW_5)])


def _statements(sealed: Iterable[_Sealed]) -> list[str]:
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


def _trigger(one: _Sealed, name: str, event: str, row: str) -> str:
    sign = "" if row == "NEW" else "-"
    words = _words(one, row)
    rows, size = (f"{sign}({value})" for value in words["sums"].split(", "))
    values = f"'{one.part}', {words['key']}, {sign}1, {rows}, {size}, {sign}{words['digest']}"
    added = f"INSERT INTO seals VALUES ({values}) {_ADDED}"  # noqa: S608 - all of it is ours
    return f"CREATE TRIGGER {one.part}_{name} AFTER {event} ON {one.table} WHEN {words['where']} BEGIN {added}; END"


def _words(one: _Sealed, row: str, *, is_total: bool = False) -> dict[str, str]:
    sums = one.sums.format(row=row).split(", ")
    return {
        "part": one.part,
        "table": one.table,
        "key": one.key.format(row=row),
        "where": one.where.format(row=row),
        "sums": ", ".join(f"sum({value})" for value in sums) if is_total else ", ".join(sums),
        "digest": f"tailpipe_digest({', '.join(f'{row}.{column}' for column in one.columns)})",
    }
