"""The overview: every partition with what it holds, what is covered, and its last run; quick, for one screen."""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Mapping
from dataclasses import field
from datetime import date, datetime

from tailpipe.catalog.coverage import load_coverage
from tailpipe.catalog.database import Database
from tailpipe.catalog.facts import read_fact
from tailpipe.catalog.read import PartitionTotals, partitions
from tailpipe.catalog.run_record import Outcome
from tailpipe.catalog.runs import outcome_now
from tailpipe.catalog.schema import has_column, has_table
from tailpipe.frozen import frozen
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet


@frozen
class LastRun:
    """When the last run of a partition began and ended, how, and why if it failed."""

    begun_at: datetime
    ended_at: datetime | None
    outcome: Outcome
    error: str = ""


@frozen
class HostState:
    """A host that has pushed to a partition, as far as its log is known here."""

    name: str
    commits: int
    committed_at: datetime
    """When it made the newest commit that it has pushed."""


@frozen
class StoreState:
    """Where the files of a partition are, and what is not pushed; all of it if it never met a store."""

    is_known: bool = False
    """Whether the partition has met a store; the files of no other are counted."""
    files_here: int = 0
    size_here: int = 0
    files_there: int = 0
    size_there: int = 0
    unpushed: int = 0
    """Transactions that are committed here alone; `since` is when the oldest of them was."""
    since: datetime | None = None
    pushed_at: datetime | None = None
    """When this host has last pushed it."""
    version: int = 0
    """Up to which version the log is known here."""
    hosts: tuple[HostState, ...] = ()


@frozen
class Overview:
    """A partition at a glance."""

    totals: PartitionTotals
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    last_run: LastRun | None = None
    lost: DaySet = NO_DAYS
    """The dates of rows that were lost and have not been collected again."""
    store: StoreState = field(default_factory=StoreState)

    @classmethod
    def empty(cls, name: str) -> Overview:
        """That of a partition that the catalog does not know."""
        return cls(PartitionTotals(name, 0, 0, 0, None, None, 0))


def overview(database: Database, with_store: Container[str] = ()) -> list[Overview]:
    """All partitions that ever held something or were tried, by name.

    What is not pushed is reported for those that have met a store, and for those `with_store` that have not yet.
    """
    held = {totals.name: totals for totals in partitions(database)}
    with database.reading() as connection:
        known = connection.execute("SELECT id, name FROM partitions ORDER BY name").fetchall()
        error = "coalesce(error, '')" if has_column(connection, "runs", "error") else "''"
        rows = connection.execute(
            f"SELECT p.id, p.name, begun_at, ended_at, outcome, {error} FROM partitions p"  # noqa: S608 - our own name
            " JOIN runs r ON r.id = (SELECT max(id) FROM runs WHERE partition_id = p.id)"
        ).fetchall()
        runs = {
            key: LastRun(
                datetime.fromisoformat(begun),
                datetime.fromisoformat(ended) if ended else None,
                outcome_now(database, name, outcome),
                problem,
            )
            for key, name, begun, ended, outcome, problem in rows
        }
        coverage = {key: database.host.own(load_coverage(connection, key)) for key, _ in known}
        lost = {key: _lost(connection, key) for key, _ in known}
        stores = _stores(connection, with_store)
    return [
        Overview(
            held.get(name) or Overview.empty(name).totals,
            coverage[key],
            runs.get(key),
            lost[key],
            stores.get(key, StoreState()),
        )
        for key, name in known
        if name in held or key in runs
    ]


def _stores(connection: sqlite3.Connection, with_store: Container[str]) -> dict[int, StoreState]:
    if not has_table(connection, "pushed"):
        return {}
    rows = connection.execute("SELECT id, name, id IN (SELECT partition_id FROM stores) FROM partitions").fetchall()
    return {
        key: _store(connection, key, name, bool(is_known))
        for key, name, is_known in rows
        if is_known or name in with_store
    }


def _store(connection: sqlite3.Connection, partition_id: int, name: str, is_known: bool) -> StoreState:
    here = size_here = there = size_there = 0
    if is_known:
        here, size_here, there, size_there = connection.execute(
            "SELECT coalesce(sum(here), 0), coalesce(sum(bytes * here), 0), coalesce(sum(there), 0),"
            " coalesce(sum(bytes * there), 0) FROM files WHERE partition_id = ? AND state = 'live'",
            (partition_id,),
        ).fetchone()
    count, since = connection.execute(
        "SELECT count(*), min(committed_at) FROM transactions WHERE partition_id = ? AND number IS NOT NULL"
        " AND sequence IS NOT NULL AND id NOT IN (SELECT transaction_id FROM pushed)",
        (partition_id,),
    ).fetchone()
    pushed_at = read_fact(connection, f"pushed:{name}")
    oldest, newest = (datetime.fromisoformat(moment) if moment else None for moment in (since, pushed_at))
    (version,) = connection.execute(
        "SELECT max(version) FROM stores WHERE partition_id = ?", (partition_id,)
    ).fetchone()
    rows = connection.execute(
        "SELECT host, count(*), max(committed_at) FROM transactions JOIN pushed ON transaction_id = id"
        " WHERE partition_id = ? AND host IS NOT NULL GROUP BY host ORDER BY host",
        (partition_id,),
    )
    hosts = tuple(HostState(host, commits, datetime.fromisoformat(moment)) for host, commits, moment in rows)
    return StoreState(is_known, here, size_here, there, size_there, count, oldest, newest, version, hosts)


def _lost(connection: sqlite3.Connection, partition_id: int) -> DaySet:
    rows = connection.execute(
        "SELECT tp_date FROM losses WHERE partition_id = ? AND reason = 'missing'", (partition_id,)
    )
    return DaySet.of(date.fromisoformat(day) for (day,) in rows)
