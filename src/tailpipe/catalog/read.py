"""Read the catalog: what plans and reports need to know; no lock is taken."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, date, datetime
from typing import Any

from tailpipe.catalog import seals
from tailpipe.catalog.coverage import load_coverage
from tailpipe.catalog.database import Database
from tailpipe.catalog.facts import read_fact
from tailpipe.catalog.layout import below, rejected_directory
from tailpipe.catalog.schema import has_table
from tailpipe.catalog.snapshot import ColumnSets, LiveFile, columns_of, live_file, moment_of, selected
from tailpipe.frozen import frozen
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import Coverage, DaySet
from tailpipe.model.host import Host
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Sample

_MANY = 20_000
"""With more live files than this, sums come from the seals."""


@frozen
class PartitionTotals:
    """How much a partition holds."""

    name: str
    files: int
    rows: int
    size: int
    first_date: date | None
    last_date: date | None
    rejected_rows: int
    first_event: datetime | None = None
    last_event: datetime | None = None


@frozen
class PartitionState:
    """What a run starts from: the coverage of each source, the ledger, and the dates that units lost.

    The coverage is that of this workspace, the ledger that of all hosts; `host` tells whose an entry is.
    `first_date` and `last_date` are the outermost dates of which it holds rows, `columns` are those of its live files,
    and `table_columns` those of all partitions of its table. `recipe` is a print of the config that its rows were last
    made by, as `Writer.finish` recorded it.
    """

    partition: str
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    ledger: tuple[LedgerEntry, ...] = ()
    lost: Mapping[Unit, DaySet] = field(default_factory=dict)
    first_date: date | None = None
    last_date: date | None = None
    columns: ColumnSets = field(default_factory=dict)
    table_columns: ColumnSets = field(default_factory=dict)
    recipe: str | None = None
    host: Host = field(default_factory=Host)


def partitions(database: Database) -> list[PartitionTotals]:
    """All partitions that ever held something, with what they hold now."""
    path = str(database.layout.database)
    with database.reading() as connection:
        data, aside = (seals.load(connection, part, path) for part in ("data", "rejected"))
        if data is None or aside is None:
            return [_totals(*row) for row in _sums(connection)]
        if sum(one.entries for one in data.values()) > _MANY:
            return _sealed_totals(connection, data, aside)
        rows = _sums(connection)
        for key, name, files, count, size, _, _, rejected, _, _ in rows:
            one, other = data.pop(key, seals.Seal()), aside.pop(key, seals.Seal())
            if (files, count, size, rejected) != (one.entries, one.rows, one.size + other.size, other.rows):
                raise seals.damaged(path, f"the files of {name} are not as they were committed")
        if any(seal.entries for seal in (*data.values(), *aside.values())):
            raise seals.damaged(path, "partitions are not as they were committed")
        return [_totals(*row) for row in rows]


def _sums(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute(
        "SELECT p.id, p.name, count(f.path) FILTER (WHERE role = 'data'),"
        " coalesce(sum(rows) FILTER (WHERE role = 'data'), 0), coalesce(sum(bytes), 0),"
        " min(tp_date) FILTER (WHERE role = 'data'), max(tp_date) FILTER (WHERE role = 'data'),"
        " coalesce(sum(rows) FILTER (WHERE role = 'rejected'), 0), min(min_timestamp), max(max_timestamp)"
        " FROM partitions p LEFT JOIN files f ON f.partition_id = p.id AND f.state = 'live'"
        " WHERE EXISTS (SELECT 1 FROM transactions t WHERE t.partition_id = p.id AND sequence > 0)"
        " GROUP BY p.name ORDER BY p.name"
    ).fetchall()


def _sealed_totals(
    connection: sqlite3.Connection, data: Mapping[int, seals.Seal], aside: Mapping[int, seals.Seal]
) -> list[PartitionTotals]:
    """The totals of a large catalog, from its seals: to add up a million files would take seconds.

    Only files of the first and the last date are looked at: a file holds rows of its date alone.
    """
    found = []
    for key, name in connection.execute(
        "SELECT id, name FROM partitions p WHERE EXISTS"
        " (SELECT 1 FROM transactions t WHERE t.partition_id = p.id AND sequence > 0) ORDER BY name"
    ).fetchall():
        one, other = data.get(key, seals.Seal()), aside.get(key, seals.Seal())
        of = "FROM files WHERE partition_id = ? AND state = 'live'"
        (first,) = connection.execute(f"SELECT min(tp_date) {of}", (key,)).fetchone()
        (last,) = connection.execute(f"SELECT max(tp_date) {of}", (key,)).fetchone()
        (since,) = connection.execute(f"SELECT min(min_timestamp) {of} AND tp_date = ?", (key, first)).fetchone()
        (until,) = connection.execute(f"SELECT max(max_timestamp) {of} AND tp_date = ?", (key, last)).fetchone()
        size = one.size + other.size
        found.append(_totals(key, name, one.entries, one.rows, size, first, last, other.rows, since, until))
    return found


def _totals(
    _: int,
    name: str,
    files: int,
    rows: int,
    size: int,
    first: str | None,
    last: str | None,
    rejected: int,
    since: int | None,
    until: int | None,
) -> PartitionTotals:
    days = [date.fromisoformat(day) if day else None for day in (first, last)]
    return PartitionTotals(name, files, rows, size, days[0], days[1], rejected, moment_of(since), moment_of(until))


def partition_state(database: Database, partition: str) -> PartitionState:
    """Everything a run needs to know of a partition, at one instant."""
    with database.reading() as connection:
        of_table = columns_of(database, connection, table=partition.partition(".")[0])
        row = connection.execute("SELECT id FROM partitions WHERE name = ?", (partition,)).fetchone()
        if row is None:
            return PartitionState(partition, table_columns=of_table, host=database.host)
        lost: dict[Unit, list[date]] = {}
        for unit, day, _ in _checked(database, connection, "losses", row[0]):
            lost.setdefault(Unit.from_key(unit), []).append(date.fromisoformat(day))
        for part in ("coverage", "frontiers"):
            _checked(database, connection, part, row[0])
        return PartitionState(
            partition,
            database.host.own(load_coverage(connection, row[0])),
            tuple(_entry(one) for one in _checked(database, connection, "ledger", row[0])),
            {unit: DaySet.of(days) for unit, days in lost.items()},
            *_dates(connection, partition),
            columns_of(database, connection, partition=partition),
            of_table,
            read_fact(connection, f"recipe:{partition}"),
            database.host,
        )


def _dates(connection: sqlite3.Connection, partition: str) -> tuple[date | None, date | None]:
    where = "state = 'live' AND role = 'data' AND partition_id = (SELECT id FROM partitions WHERE name = ?)"
    # In two statements: SQLite looks at the end of an index for a minimum or a maximum, but not for both at once.
    (first,) = connection.execute(f"SELECT min(tp_date) FROM files WHERE {where}", (partition,)).fetchone()  # noqa: S608
    (last,) = connection.execute(f"SELECT max(tp_date) FROM files WHERE {where}", (partition,)).fetchone()  # noqa: S608
    return date.fromisoformat(first) if first else None, date.fromisoformat(last) if last else None


def coverage(database: Database, partition: str) -> dict[str, Coverage]:
    """What is known of the days of each source of a partition, as far as this workspace collects it."""
    with database.reading() as connection:
        row = connection.execute("SELECT id FROM partitions WHERE name = ?", (partition,)).fetchone()
        return database.host.own(load_coverage(connection, row[0])) if row else {}


def cursors(database: Database, partition: str) -> dict[str, str]:
    """The named positions that transactions of a partition have set, if they are those that were committed."""
    with database.reading() as connection:
        row = connection.execute("SELECT id FROM partitions WHERE name = ?", (partition,)).fetchone()
        return dict(_checked(database, connection, "cursors", row[0])) if row else {}


def left_out(database: Database, partition: str) -> DaySet:
    """The days of rows of a partition that were read but not kept, because they were not requested."""
    with database.reading() as connection:
        rows = connection.execute(
            "SELECT DISTINCT left_out FROM artifacts WHERE left_out <> ''"
            " AND partition_id = (SELECT id FROM partitions WHERE name = ?)",
            (partition,),
        ).fetchall()
    return DaySet.union(DaySet.parse(text) for (text,) in rows)


def first_date(database: Database, partition: str) -> date | None:
    """The oldest date of which a partition holds rows."""
    with database.reading() as connection:
        return _dates(connection, partition)[0]


def last_change(database: Database, before: datetime) -> datetime | None:
    """When the newest change of the workspace up to `before` was committed; None if there was none."""
    with database.reading() as connection:
        (moment,) = connection.execute(
            "SELECT max(committed_at) FROM transactions WHERE committed_at <= ?", (before.astimezone(UTC).isoformat(),)
        ).fetchone()
    return datetime.fromisoformat(moment) if moment else None


def totals(database: Database, partition: str) -> Accounts:
    """The accounts of all current rows; replaced rows are omitted."""
    with database.reading() as connection:
        row = connection.execute(
            "SELECT sum(read), sum(kept), sum(filtered), sum(rejected), sum(out_of_window), sum(duplicate)"
            " FROM accounts WHERE superseded_by IS NULL AND transaction_id IN (SELECT t.id"
            " FROM transactions t JOIN partitions p ON p.id = t.partition_id WHERE p.name = ?)",
            (partition,),
        ).fetchone()
    return Accounts(*(value or 0 for value in row))


def samples(database: Database, partition: str, limit: int = 100) -> list[Sample]:
    """The newest rejected rows of a partition."""
    with database.reading() as connection:
        rows = connection.execute(
            "SELECT uri, position, reason, text FROM rejected_samples WHERE transaction_id IN (SELECT t.id"
            " FROM transactions t JOIN partitions p ON p.id = t.partition_id WHERE p.name = ?)"
            " ORDER BY transaction_id DESC, number LIMIT ?",
            (partition, limit),
        ).fetchall()
    return [Sample(*row) for row in rows]


def rejected_files(database: Database, partition: str, unit: str | None = None) -> list[LiveFile]:
    """The live files that hold the rejected rows of a partition or of one of its units, the newest Day first."""
    with database.reading() as connection:
        rows = connection.execute(
            f"SELECT {selected(connection)} FROM files WHERE path > ? AND path < ? AND state = 'live'"  # noqa: S608
            " ORDER BY unit DESC, path",
            below(rejected_directory(partition, unit)),
        ).fetchall()
    return [live_file(partition, *row) for row in rows]


def _checked(database: Database, connection: sqlite3.Connection, part: str, partition_id: int) -> list[Any]:
    """The sealed rows of a partition, if they are those that were committed."""
    path, of = str(database.layout.database), seals.sealed(connection).get(part)
    sealed = seals.load(connection, part, path)
    if of is None or (sealed is None and not has_table(connection, of.table)):
        return []  # a catalog of an earlier version
    columns = ", ".join(of.columns)
    query = f"SELECT {columns} FROM {of.table} WHERE partition_id = ? ORDER BY {columns}"  # noqa: S608 - ours
    rows = connection.execute(query, (partition_id,)).fetchall()
    if sealed is not None:
        seals.check(sealed.get(partition_id), rows, of.columns, f"the {part} of a partition", path)
    return rows


def _entry(row: tuple[Any, ...]) -> LedgerEntry:
    listed = dict(zip(seals.LEDGER, row, strict=False))  # catalogs of earlier versions have no host
    converted = {
        "unit": Unit.from_key(listed["unit"]),
        "as_of": datetime.fromisoformat(listed["as_of"]),
        "modified": datetime.fromisoformat(listed["modified"]) if listed["modified"] else None,
        "taken": DaySet.parse(listed["taken"]),
        "left_out": DaySet.parse(listed["left_out"]),
    }
    return LedgerEntry(**(listed | converted))
