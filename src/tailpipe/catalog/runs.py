"""The history of runs: begun, ended with what they brought, read, and pruned."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tailpipe.catalog.database import Database
from tailpipe.catalog.facts import read_fact, write_fact
from tailpipe.catalog.run_record import Ended, Outcome, RunFacts, RunRecord, profile_from, profile_text
from tailpipe.catalog.schema import has_column
from tailpipe.model.artifact import Accounts
from tailpipe.model.meter import Spent
from tailpipe.model.visible import shorten
from tailpipe.model.window import Window

_ERROR = 2_000
"""Longer error texts are cut."""
_PRUNED = timedelta(days=1)
"""How often a partition is pruned."""
_COUNTS = ("read", "kept", "filtered", "rejected", "out_of_window", "duplicate")
_FACTS = ("seconds", "bytes", "artifacts", *_COUNTS, "profile", "error")
_SETTLED = (
    "SELECT t.id FROM transactions t WHERE t.partition_id = :id AND t.committed_at < :oldest"
    " AND t.state = 'published' AND (NOT EXISTS (SELECT 1 FROM stores s WHERE s.partition_id = :id)"
    " OR t.id IN (SELECT transaction_id FROM pushed))"
)
"""Old transactions that stay as they are: one that is not pushed may still give way to another host."""


def begin(database: Database, connection: sqlite3.Connection, partition_id: int, window: Window, command: str) -> int:
    """Record that a run begins; one that is still open was killed, because the caller holds the partition."""
    connection.execute(
        "UPDATE runs SET outcome = 'interrupted' WHERE partition_id = ? AND outcome = 'running'", (partition_id,)
    )
    done = connection.execute(
        "INSERT INTO runs (partition_id, window_start, window_end, command, begun_at) VALUES (?, ?, ?, ?, ?)",
        (partition_id, window.start.isoformat(), window.end.isoformat(), command, database.now().isoformat()),
    )
    return int(done.lastrowid or 0)


def end(
    database: Database, connection: sqlite3.Connection, run_id: int, outcome: Ended, facts: RunFacts | None
) -> None:
    """Record how a run ended, and what it brought."""
    connection.execute(
        "UPDATE runs SET ended_at = ?, outcome = ? WHERE id = ?", (database.now().isoformat(), outcome, run_id)
    )
    if facts is None:
        return
    counts = [getattr(facts.accounts, name) for name in _COUNTS]
    values = (round(facts.seconds, 3), facts.bytes, facts.artifacts, *counts, profile_text(facts.profile))
    connection.execute(
        f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _FACTS)} WHERE id = ?",  # noqa: S608 - our own names
        (*values, shorten(facts.error, _ERROR), run_id),
    )


def amend_profile(database: Database, profiles: Iterable[tuple[int, Mapping[str, Spent]]]) -> None:
    """Record what came after the end of runs: compaction, the push, and the start of the engine."""
    with database.writing() as connection:
        connection.executemany(
            "UPDATE runs SET profile = ? WHERE id = ?",
            [(profile_text(profile), run_id) for run_id, profile in profiles],
        )


def note_idle(database: Database, connection: sqlite3.Connection, partition_id: int, command: str) -> bool:
    """Count a run without news for the last one of the partition, if that brought none either and had no error."""
    done = connection.execute(
        "UPDATE runs SET ended_at = ?, idle_checks = idle_checks + 1 WHERE outcome = 'done' AND command = ?"
        " AND coalesce(artifacts, 1) = 0 AND id = (SELECT max(id) FROM runs WHERE partition_id = ?)",
        (database.now().isoformat(), command, partition_id),
    )
    return done.rowcount == 1


def runs(
    database: Database, partitions: Sequence[str] | None = None, limit: int | None = None, *, is_failed: bool = False
) -> list[RunRecord]:
    """The newest runs of these partitions, or of all, newest first; or of those that failed or were interrupted."""
    with database.reading() as connection:
        has_facts = has_column(connection, "runs", "seconds")
        facts = f"{', '.join(_FACTS)}, idle_checks" if has_facts else ", ".join(["NULL"] * len(_FACTS) + ["0"])
        where = "outcome IN ('failed', 'interrupted')" if is_failed else "true"
        where += "" if partitions is None else f" AND p.name IN ({', '.join('?' * len(partitions))})"
        rows = connection.execute(
            "SELECT r.id, p.name, window_start, window_end, begun_at, ended_at, outcome, command,"  # noqa: S608
            f" {facts} FROM runs r JOIN partitions p ON p.id = r.partition_id WHERE {where} ORDER BY r.id DESC LIMIT ?",
            (*(partitions or ()), -1 if limit is None else limit),
        ).fetchall()
        return [_record(database, row) for row in rows]


def _record(database: Database, row: tuple[Any, ...]) -> RunRecord:
    number, partition, start, end_, begun, ended, outcome, command, *facts, idle = row
    seconds, size, artifacts, *counts, profile, error = facts
    took = None
    if seconds is not None:
        took = RunFacts(seconds, size, artifacts, Accounts(*counts), profile_from(profile), error)
    return RunRecord(
        number,
        partition,
        Window(datetime.fromisoformat(start), datetime.fromisoformat(end_)),
        datetime.fromisoformat(begun),
        datetime.fromisoformat(ended) if ended else None,
        outcome_now(database, partition, outcome),
        command,
        took,
        idle,
    )


def outcome_now(database: Database, partition: str, outcome: Outcome) -> Outcome:
    """The outcome of a run: one that has not ended was interrupted if its process is gone, as after a kill."""
    return "interrupted" if outcome == "running" and not _is_held(database, partition) else outcome


def _is_held(database: Database, partition: str) -> bool:
    """Whether the process that signed the lock is alive. To try the lock itself could keep a writer from it."""
    try:
        os.kill(int(json.loads(database.tree.read(database.layout.lock(partition)))["pid"]), 0)
    except PermissionError:
        return True  # it is alive, and of another user
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


def prune(database: Database, partitions: Iterable[str], oldest: datetime, *, is_due: bool = False) -> int:
    """Forget runs and samples from before `oldest`, and add up accounts; each partition once a day, or if it `is_due`.

    The totals of the accounts stay the same: what an artifact gave in several transactions becomes one row. Returns
    how many rows were deleted.
    """
    deleted, day = 0, (database.now() - _PRUNED).isoformat()
    for name in partitions:
        fact = f"pruned:{name}"
        if (read_fact(database.connection, fact) or "") > day and not is_due:
            continue
        with database.writing() as connection:
            found = connection.execute("SELECT id FROM partitions WHERE name = ?", (name,)).fetchone()
            deleted += _prune(connection, found[0], oldest.astimezone(UTC).isoformat()) if found else 0
            write_fact(connection, fact, database.now().isoformat())
    return deleted


def _prune(connection: sqlite3.Connection, partition_id: int, oldest: str) -> int:
    values = {"id": partition_id, "oldest": oldest}
    before = connection.total_changes
    old = "SELECT id FROM runs WHERE partition_id = :id AND coalesce(ended_at, begun_at) < :oldest"
    old += " AND id < (SELECT max(id) FROM runs WHERE partition_id = :id)"
    connection.execute(f"UPDATE transactions SET run_id = NULL WHERE run_id IN ({old})", values)  # noqa: S608
    updated = connection.total_changes - before
    connection.execute(f"DELETE FROM runs WHERE id IN ({old})", values)  # noqa: S608
    connection.execute(f"DELETE FROM rejected_samples WHERE transaction_id IN ({_SETTLED})", values)  # noqa: S608
    connection.execute(
        f"DELETE FROM accounts WHERE transaction_id IN ({_SETTLED}) AND superseded_by IN ({_SETTLED})",  # noqa: S608
        values,
    )
    return connection.total_changes - before - updated + _add_up(connection, values)


def _add_up(connection: sqlite3.Connection, values: dict[str, Any]) -> int:
    """Make one row of the accounts of an artifact: in its newest old transaction, which is of the same unit."""
    sums = ", ".join(f"sum(a.{name})" for name in _COUNTS)
    groups = connection.execute(
        f"SELECT t.unit, a.origin, a.generation, max(t.id), {sums} FROM transactions t"  # noqa: S608
        " JOIN accounts a ON a.transaction_id = t.id"
        f" WHERE t.id IN ({_SETTLED}) AND a.superseded_by IS NULL GROUP BY 1, 2, 3 HAVING count(*) > 1",
        values,
    ).fetchall()
    deleted = 0
    for unit, origin, generation, newest, *counts in groups:
        deleted += connection.execute(
            "DELETE FROM accounts WHERE origin = :origin AND generation = :generation AND superseded_by IS NULL"  # noqa: S608
            f" AND transaction_id < :newest AND transaction_id IN ({_SETTLED} AND t.unit = :unit)",
            {**values, "origin": origin, "generation": generation, "newest": newest, "unit": unit},
        ).rowcount
        connection.execute(
            f"UPDATE accounts SET {', '.join(f'{name} = ?' for name in _COUNTS)}"  # noqa: S608
            " WHERE transaction_id = ? AND origin = ? AND generation = ?",
            (*counts, newest, origin, generation),
        )
    return deleted
