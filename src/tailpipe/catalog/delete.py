"""Delete dates of a partition: a transaction like any other, after which those days count as dropped."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import date

from tailpipe.catalog.commit import Committed, Transaction
from tailpipe.catalog.coverage import load_coverage
from tailpipe.catalog.manifest_record import Loss, Manifest
from tailpipe.frozen import frozen
from tailpipe.model.coverage import EVERY_DAY, DaySet, Drop
from tailpipe.model.ledger import Unit


@frozen
class Deletion:
    """What a deletion would remove."""

    partition: str
    files: int
    rows: int
    size: int
    dates: DaySet
    rejected: int = 0
    """How many rejected rows go with them."""


@frozen
class _Doomed:
    path: str
    unit: Unit
    tp_date: date | None
    rows: int
    size: int


def preview(connection: sqlite3.Connection, partition: str, days: DaySet) -> Deletion:
    """What a deletion of these days would remove, for the confirmation before it."""
    (partition_id,) = connection.execute("SELECT id FROM partitions WHERE name = ?", (partition,)).fetchone()
    found = _doomed(connection, partition_id, days)
    doomed = [one for one in found if one.tp_date]
    return Deletion(
        partition,
        len(doomed),
        sum(one.rows for one in doomed),
        sum(one.size for one in doomed),
        DaySet.of(one.tp_date for one in doomed if one.tp_date),
        sum(one.rows for one in found if not one.tp_date),
    )


def delete(transaction: Transaction, days: DaySet) -> Committed:
    """Retire every file of these dates, and mark the days dropped for all sources of all hosts."""

    def draft(connection: sqlite3.Connection, made: Manifest) -> Manifest:
        doomed = _doomed(connection, transaction.partition_id, days)
        dates = DaySet.of(one.tp_date for one in doomed if one.tp_date)
        losses = {Loss(one.unit, one.tp_date, "dropped") for one in doomed if one.tp_date}
        coverage = load_coverage(connection, transaction.partition_id)
        # Only days of which something is known are dropped; the others can still be requested.
        dropped = ((key, days & (known.known | dates)) for key, known in coverage.items())
        transaction.database.failpoints.reach("delete.before")
        return replace(
            made,
            removed=tuple(one.path for one in doomed),
            coverage=tuple((key, Drop(some)) for key, some in dropped if some),
            losses=tuple(sorted(losses, key=lambda loss: (str(loss.unit), loss.tp_date))),
        )

    committed = transaction.record(draft)
    transaction.database.failpoints.reach("delete.after")
    return committed


def _doomed(connection: sqlite3.Connection, partition_id: int, days: DaySet) -> list[_Doomed]:
    rows = connection.execute(
        "SELECT path, unit, tp_date, rows, bytes FROM files WHERE partition_id = ? AND state = 'live' ORDER BY path",
        (partition_id,),
    )
    files = [
        _Doomed(path, Unit.from_key(unit), date.fromisoformat(day) if day else None, count, size)
        for path, unit, day, count, size in rows
    ]
    dated = [one for one in files if (one.tp_date or one.unit.day) in days]
    # Rejected rows have no date of their own: they go with the Day of their unit, or with the last rows of a pack.
    stay = {one.unit for one in files if one.tp_date and one.tp_date not in days}
    going = {one.unit for one in dated} - stay
    undated = (one for one in files if one.tp_date is None and one.unit.day is None)
    return dated + [one for one in undated if one.unit in going or days == EVERY_DAY]
