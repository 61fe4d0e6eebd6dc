"""The history of runs: what a run took and brought, who was killed, and what is forgotten."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.run_record import RunFacts
from tailpipe.catalog.runs import prune, runs
from tailpipe.model.artifact import Accounts
from tailpipe.model.meter import Spent
from tailpipe.model.window import Window
from tests.unit.catalog.conftest import DAY, PARTITION, Workspace, to_third_version

WINDOW = Window.of_day(DAY)
FACTS = RunFacts(1.5, 2048, 3, Accounts(7, 4, 1, 1, 1, 0), {"list": Spent(0.25, 0.125)}, "no such bucket")


def test_a_run_is_recorded_with_what_it_took_and_brought(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        writer.begin_run(WINDOW, {}, "tailpipe collect")
        workspace.clock.pass_(seconds=2)
        writer.end_run("failed", FACTS)
        (one,) = runs(catalog.database)
    assert (one.partition, one.outcome, one.window, one.command) == (PARTITION, "failed", WINDOW, "tailpipe collect")
    assert one.ended_at is not None
    assert (one.ended_at - one.begun_at, one.facts) == (timedelta(seconds=2), FACTS)


def test_a_run_that_was_killed_is_interrupted_once_the_next_one_begins(workspace: Workspace) -> None:
    with workspace.open() as catalog:
        for _ in range(2):
            with catalog.writer(PARTITION) as writer:
                writer.begin_run(WINDOW, {})
        assert [one.outcome for one in runs(catalog.database)] == ["running", "interrupted"]
        assert [one.id for one in runs(catalog.database, is_failed=True)] == [1]


def test_runs_are_told_newest_first_by_partition_and_up_to_a_limit(workspace: Workspace) -> None:
    with workspace.open() as catalog:
        for name in ("app_log.a", "app_log.b", "app_log.a"):
            with catalog.writer(name) as writer:
                writer.begin_run(WINDOW, {})
                writer.end_run("done")
        assert [one.partition for one in runs(catalog.database)] == ["app_log.a", "app_log.b", "app_log.a"]
        assert [one.id for one in runs(catalog.database, ["app_log.a"])] == [3, 1]
        assert [one.id for one in runs(catalog.database, limit=1)] == [3]


def test_runs_of_an_earlier_version_have_no_facts(workspace: Workspace) -> None:
    with workspace.open() as catalog, catalog.writer(PARTITION) as writer:
        writer.begin_run(WINDOW, {})
        writer.end_run("done")
    to_third_version(workspace)
    with workspace.open(is_read_only=True) as catalog:
        (one,) = runs(catalog.database)
        assert (one.outcome, one.facts, one.idle_checks) == ("done", None, 0)
    with workspace.open() as catalog:
        assert [one.facts for one in runs(catalog.database)] == [None]


def test_old_runs_go_and_the_totals_stay(workspace: Workspace) -> None:
    with workspace.open() as catalog:
        _history(catalog, datetime(2024, 1, 1, tzinfo=UTC), 4 * 24 * 60)
        before = catalog.accounts(PARTITION)
        assert prune(catalog.database, [PARTITION], datetime(2024, 1, 4, tzinfo=UTC), is_due=True) > 10_000
        assert catalog.accounts(PARTITION) == before
        assert len(runs(catalog.database)) == 24 * 60
        counts = {name: _count(catalog, name) for name in ("accounts", "rejected_samples", "runs")}
        # Three days became three artifacts with one row each; the day that is kept is as it was.
        assert counts == {"accounts": 3 + 24 * 60, "rejected_samples": 24 * 60, "runs": 24 * 60}
        assert prune(catalog.database, [PARTITION], datetime(2024, 1, 4, tzinfo=UTC), is_due=True) == 0
        # A day that is replaced later takes its added-up accounts with it.
        catalog.database.connection.execute("UPDATE accounts SET superseded_by = 1 WHERE origin = '2024-01-01.log'")
        assert catalog.accounts(PARTITION).read == before.read - 24 * 60 * 3


def test_a_partition_is_pruned_once_a_day(workspace: Workspace) -> None:
    far = datetime(2030, 1, 1, tzinfo=UTC)
    with workspace.open() as catalog:
        with catalog.writer(PARTITION) as writer:
            for _ in range(3):
                writer.begin_run(WINDOW, {})
                writer.end_run("done")
        assert prune(catalog.database, [PARTITION], far) == 2, "the last run stays: status shows it"
        with catalog.writer(PARTITION) as writer:
            writer.begin_run(WINDOW, {})
            writer.end_run("done")
        assert prune(catalog.database, [PARTITION], far) == 0
        workspace.clock.pass_(hours=25)
        assert prune(catalog.database, [PARTITION], far) == 1


def test_what_is_not_pushed_is_not_added_up(workspace: Workspace) -> None:
    """Another host may have been first: then the transaction is taken back, and its accounts with it."""
    with workspace.open() as catalog:
        _history(catalog, datetime(2024, 1, 1, tzinfo=UTC), 10)
        catalog.database.connection.execute("INSERT INTO stores VALUES (1, 'lake', 1)")
        catalog.database.connection.execute("INSERT INTO pushed SELECT id, 1 FROM transactions WHERE id <= 4")
        prune(catalog.database, [PARTITION], datetime(2025, 1, 1, tzinfo=UTC), is_due=True)
        assert (_count(catalog, "accounts"), catalog.accounts(PARTITION).read) == (7, 30)


@pytest.mark.slow
def test_a_year_of_runs_every_minute_stays_small_and_fast(workspace: Workspace, tmp_path: Path) -> None:
    minutes, begun = 365 * 24 * 60, datetime(2024, 1, 1, tzinfo=UTC)
    with workspace.open() as catalog:
        _history(catalog, begun, minutes)
        before = catalog.accounts(PARTITION)
        assert before.read == 3 * minutes
        spent = time.process_time()
        oldest = begun + timedelta(days=365 - 90)
        prune(catalog.database, [PARTITION], oldest, is_due=True)
        assert time.process_time() - spent < 60, "a year at once"
        assert catalog.accounts(PARTITION) == before
        spent = time.process_time()
        prune(catalog.database, [PARTITION], oldest + timedelta(days=1), is_due=True)
        assert time.process_time() - spent < 5, "what a day adds"
        spent = time.process_time()
        assert len(runs(catalog.database, [PARTITION], 20)) == 20
        assert time.process_time() - spent < 0.05
        assert _count(catalog, "runs") <= 90 * 24 * 60
        assert _count(catalog, "accounts") <= 90 * 24 * 60 + 365
        catalog.database.connection.execute("VACUUM")
        pages = catalog.database.connection.execute(
            "SELECT sum(pgsize) FROM dbstat WHERE name IN"
            " ('runs', 'accounts', 'rejected_samples', 'runs_open', 'runs_of_partition')"
        ).fetchone()[0]
        assert pages < 60e6


def _count(catalog: Catalog, table: str) -> int:
    return int(catalog.database.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _history(catalog: Catalog, begun: datetime, minutes: int) -> None:
    """A run every minute that took three rows from the file of the day and rejected one, straight into the tables."""
    moments = [(number + 1, begun + timedelta(minutes=number)) for number in range(minutes)]
    with catalog.database.writing() as connection:
        connection.execute("INSERT INTO partitions (id, name) VALUES (1, ?)", (PARTITION,))
        connection.executemany(
            "INSERT INTO runs VALUES (?, 1, ?, ?, 'tailpipe collect', ?, ?, 'done',"
            " 0.5, 300, 1, 3, 2, 0, 1, 0, 0, '{\"list\": [0.01, 0.01], \"commit\": [0.02, 0.01]}', '', 0)",
            ((number, *[moment.isoformat()] * 4) for number, moment in moments),
        )
        connection.executemany(
            "INSERT INTO transactions (id, name, partition_id, kind, unit, state, epoch, run_id, begun_at,"
            " committed_at, sequence, number) VALUES (?, ?, 1, 'append', ?, 'published', 0, ?, ?, ?, ?, ?)",
            _transactions(moments),
        )
        connection.executemany(
            "INSERT INTO accounts VALUES (?, ?, 0, 3, 2, 0, 1, 0, 0, NULL)",
            ((number, f"{moment.date()}.log") for number, moment in moments),
        )
        connection.executemany(
            "INSERT INTO rejected_samples VALUES (?, 0, 'a.log', 'line 1', 'not JSON', 'x')",
            ((number,) for number, _ in moments),
        )


def _transactions(moments: list[tuple[int, datetime]]) -> Iterator[tuple[object, ...]]:
    for number, moment in moments:
        text = moment.isoformat()
        yield number, f"{number:08d}-0", str(moment.date()), number, text, text, number, number
