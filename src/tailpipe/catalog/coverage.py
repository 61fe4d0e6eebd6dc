"""Coverage in the catalog: what is known of the days of each source, and the changes that no manifest has yet.

The keys are those of `Host.key`: a source's name, with its host if the partition is in a store.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from dataclasses import replace

from tailpipe.catalog import frontier
from tailpipe.catalog.schema import has_table
from tailpipe.model.coverage import Coverage, Known, Operation, parse_operation

STATES = ("covered", "missing", "dropped", "unsettled")

WHOLE = "whole"
"""Stands among the pending changes of a catalog of an earlier version, for all that is known."""

Changes = tuple[tuple[str, Operation], ...]
"""Changes of coverage by key, in their order."""


def load_coverage(connection: sqlite3.Connection, partition_id: int) -> dict[str, Coverage]:
    """What is known of the days of each source of a partition, of all hosts, by key."""
    rows = connection.execute(
        "SELECT source, state, days FROM coverage WHERE partition_id = ? ORDER BY source", (partition_id,)
    )
    found: dict[str, dict[str, str]] = {}
    for key, state, days in rows:
        found.setdefault(key, {})[state] = days
    frontiers: dict[str, str | None] = {}
    if found and has_table(connection, "frontiers"):
        rows = connection.execute("SELECT source, day FROM frontiers WHERE partition_id = ?", (partition_id,))
        frontiers = dict(rows.fetchall())
    coverage = {key: Coverage.parse(states, frontiers.get(key)) for key, states in found.items()}
    for key in coverage.keys() - frontiers.keys():
        known = coverage[key]
        coverage[key] = replace(known, frontier=frontier.derived(connection, partition_id, known))
    return coverage


def save_coverage(connection: sqlite3.Connection, partition_id: int, key: str, coverage: Coverage) -> None:
    """Let this be what is known of the days of a source."""
    connection.executemany(
        "INSERT INTO coverage VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET days = excluded.days",
        [(partition_id, key, state, str(getattr(coverage, state))) for state in STATES],
    )
    day = coverage.frontier.isoformat() if coverage.frontier else None
    connection.execute(
        "INSERT INTO frontiers VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET day = excluded.day",
        (partition_id, key, day),
    )


def change(connection: sqlite3.Connection, partition_id: int, changes: Iterable[tuple[str, Operation]]) -> None:
    """Apply changes to what is known, one after the other."""
    changes = tuple(changes)
    if not changes:
        return
    known = load_coverage(connection, partition_id)
    for key, operation in changes:
        known[key] = known.get(key, Coverage()).after(operation)
    for key in dict.fromkeys(key for key, _ in changes):
        save_coverage(connection, partition_id, key, known[key])


def postpone(connection: sqlite3.Connection, partition_id: int, changes: Iterable[tuple[str, Operation]]) -> None:
    """Apply changes now that have no manifest of their own; the next one of the partition says them."""
    changes = tuple(changes)
    change(connection, partition_id, changes)
    connection.executemany(
        "INSERT INTO pending (partition_id, source, operation) VALUES (?, ?, ?)",
        [(partition_id, key, str(operation)) for key, operation in changes],
    )


def has_pending(connection: sqlite3.Connection, partition_id: int) -> bool:
    """Whether there are changes that no manifest has yet."""
    found = connection.execute("SELECT 1 FROM pending WHERE partition_id = ? LIMIT 1", (partition_id,))
    return found.fetchone() is not None


def take_pending(connection: sqlite3.Connection, partition_id: int) -> Changes:
    """Take the changes that no manifest has yet; the catalog knows them already."""
    rows = connection.execute(
        "SELECT source, operation FROM pending WHERE partition_id = ? ORDER BY id", (partition_id,)
    ).fetchall()
    connection.execute("DELETE FROM pending WHERE partition_id = ?", (partition_id,))
    if not any(text == WHOLE for _, text in rows):
        with contextlib.suppress(ValueError):  # else it is damaged, and the coverage itself, which is sealed, is said
            return tuple((key, parse_operation(text)) for key, text in rows)
    known = load_coverage(connection, partition_id)
    for key, coverage in known.items():
        save_coverage(connection, partition_id, key, coverage)  # with the frontier, if that was derived
    return tuple((key, Known(coverage)) for key, coverage in known.items())
