"""Images: the whole state of a partition in one manifest, which replaces all manifests before it.

A rebuild begins the history of a partition with its newest image.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import groupby

from tailpipe.catalog.apply import columns_id
from tailpipe.catalog.manifest_record import ImageRow
from tailpipe.model.host import Host, qualified

_FIRST = ("transactions", "files")
"""These are restored before all others, which refer to them."""
_SET = "(SELECT columns FROM column_sets c WHERE c.id = columns_id)"
_EXCLUDED = frozenset({"runs", "images", "pending", "pushed", "stores"})
"""What is known of runs and stores is of this catalog alone, and `coverage` holds what is pending."""
_REFERENCES = ("transaction_id", "retired_by", "superseded_by")

Value = str | int | None


def take(connection: sqlite3.Connection, partition_id: int) -> tuple[ImageRow, ...]:
    """Every committed row of a partition, of whatever table."""
    found = []
    for table in tables(connection):
        names = columns(connection, table)
        where = "partition_id = :id"
        if "partition_id" not in names:
            where = "transaction_id IN (SELECT id FROM transactions WHERE partition_id = :id)"
        elif table == "transactions":
            where += " AND sequence IS NOT NULL"
        plain = [name for name in names if name not in ("partition_id", "run_id", "record", "columns_id")]
        wanted = [*plain, *(["columns"] if "columns_id" in names else [])]
        chosen = ", ".join(_SET if name == "columns" else name for name in wanted)
        rows = connection.execute(f"SELECT {chosen} FROM {table} WHERE {where}", {"id": partition_id})  # noqa: S608
        found += [ImageRow(table, dict(zip(wanted, row, strict=True))) for row in rows]
    return tuple(found)


def shared(image: Sequence[ImageRow], host: str, keys: Mapping[str, str]) -> tuple[ImageRow, ...]:
    """The image as other hosts restore it: files are in the store alone, and what names no host is of this one.

    `keys` are those of the live files by their paths. Retired files are left out: the store does not have them.
    """
    owner, found = Host(host), []
    for row in image:
        values = dict(row.values)
        if row.table == "files":
            if values["state"] != "live":
                continue
            values |= {"here": 0, "there": 1, "key": keys[str(values["path"])], "left_at": None, "is_pinned": 0}
        elif row.table == "transactions":
            values |= {"number": None, "host": values["host"] or host}
        elif row.table == "artifacts" and values["host"] is None:
            values["host"] = owner.of(str(values["kind"]))
        elif row.table in ("coverage", "frontiers") and "@" not in str(values["source"]):
            values["source"] = qualified(str(values["source"]), host)
        found.append(ImageRow(row.table, values))
    return tuple(found)


def restore(connection: sqlite3.Connection, image: Sequence[ImageRow], partition_id: int) -> None:
    """Insert these rows of a partition of which nothing is known yet.

    Transactions whose numbers are taken get others. Tables and columns that a newer version has added are omitted.
    """
    known = {table: set(columns(connection, table)) for table in tables(connection)}
    ids: dict[Value, Value] = {}
    column_sets: dict[str, int] = {}

    def row_of(row: ImageRow) -> dict[str, Value]:
        values = {**row.values, "partition_id": partition_id}
        if "columns" in values:
            text = str(values.pop("columns"))
            if text not in column_sets:
                column_sets[text] = columns_id(connection, text)
            values["columns_id"] = column_sets[text]
        values |= {name: ids[values[name]] for name in _REFERENCES if values.get(name) in ids}
        return {name: value for name, value in values.items() if name in known[row.table]}

    understood = (row for row in image if row.table in known)
    for table, rows in groupby(understood, lambda row: row.table):
        if table == "transactions":
            for row in rows:
                # Earlier versions numbered all transactions by their sequence.
                values = {"number": row.values["sequence"], **row_of(row), "state": "published"}
                done = connection.execute(
                    _insert(table, tuple(values)), list((values | _free(connection, values)).values())
                )
                ids[row.values["id"]] = done.lastrowid
            continue
        for names, some in groupby(map(row_of, rows), tuple):
            connection.executemany(_insert(table, names), (list(values.values()) for values in some))


def _insert(table: str, names: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - ours


def _free(connection: sqlite3.Connection, values: Mapping[str, Value]) -> dict[str, Value]:
    """The numbers of a transaction that are taken, exchanged for such that are not."""
    found: dict[str, Value] = {}
    for name in ("id", "sequence", "number"):
        taken = f"SELECT 1 FROM transactions WHERE {name} = ?"  # noqa: S608 - one of three names
        if connection.execute(taken, (values[name],)).fetchone():
            (found[name],) = connection.execute(f"SELECT max({name}) + 1 FROM transactions").fetchone()  # noqa: S608
    return found


def tables(connection: sqlite3.Connection) -> list[str]:
    """The tables in an image, in the order in which they are restored."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    of_partition = {"partition_id", "transaction_id"}
    found = [name for name in names if name not in _EXCLUDED and of_partition & {*columns(connection, name)}]
    return sorted(found, key=lambda name: (name not in _FIRST, name != _FIRST[0], name))


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """The names of the columns of a table."""
    return [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
