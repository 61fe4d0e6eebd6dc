"""The processes of the reader test: one writes, compacts and deletes days over and over, others read them meanwhile.

Every row says which day it belongs to, its number in that day, and the version of the day it was
written with: `2024-01-10 7 v3`. So a reader can tell half a day, two versions of one, and a row twice.

The writer works for some seconds, and longer on a slow machine, until it has done a few rounds and each reader has
asked a few times; the readers go on until it is done.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.errors import QueryError
from tailpipe.lifecycle.compact import Subject, compact
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import EVERY_DAY, DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered, Staged, StagedArtifact
from tailpipe.model.table import Table
from tailpipe.query.session import Session
from tailpipe.testing import InProcessEngine
from tests.crash.collector import stage

PARTITION = "app_log.prod"
FIRST = date(2024, 1, 10)
DAYS = 5
ROWS = 12
LAST = FIRST + timedelta(days=DAYS - 1)
GRACE = timedelta(seconds=4)
ROUNDS = 4
READERS = ("snapshots", "sessions", "hive")
PATIENCE = 120.0


def write(home: Path, seconds: float, least: int = ROUNDS, readers: Sequence[str] = ()) -> str:
    """Collect days, replace them, compact them, delete one, and clean up, without a pause."""
    rounds = 0
    begun = time.monotonic()
    with Catalog.open(home) as catalog:
        while (
            (passed := time.monotonic() - begun) < seconds
            or rounds < least
            or (passed < PATIENCE and not all(_has_asked(home, role).exists() for role in readers))
        ):
            with catalog.writer(PARTITION) as writer:
                for number in range(DAYS):
                    _write_day(writer, FIRST + timedelta(days=number), rounds)
                writer.clean(GRACE)
            if compact(catalog, InProcessEngine(), Subject(PARTITION)).new_files is None:
                raise AssertionError("nothing was compacted")
            with catalog.writer(PARTITION) as writer:
                writer.delete(DaySet.span(LAST - timedelta(days=1), LAST))  # two whole units
            rounds += 1
    return f"{rounds} rounds"


def _write_day(writer: Writer, day: date, version: int) -> None:
    unit = Unit(day=day)
    with writer.begin(unit, "replace") as transaction:
        files = []
        # Every second day is spread over several directories, and its rows move between them.
        width = 3 if day.toordinal() % 2 else 1
        for part in range(width):
            ids = [f"{day} {n} v{version}" for n in range(ROWS) if (n + version) % width == part]
            when = day - timedelta(days=part % 2)
            # Two files for each place, so that there is something to put together.
            for half in range(2):
                name = f"part-{part}-{half}"
                files.append(stage(transaction.staging, name, f"index {part}", when, ids[half::2]))
        entry = LedgerEntry(
            f"{day}.log", "file", unit, datetime.now(UTC), committed_bytes=ROWS, committed_ordinals=ROWS
        )
        transaction.commit(
            Staged(
                tuple(files),
                (StagedArtifact(entry, Accounts(read=ROWS, kept=ROWS)),),
                (Covered("file", DaySet.of([day]), day),),
                restores=EVERY_DAY,
            )
        )


def read_snapshots(home: Path) -> str:
    """Query snapshots: every day that is there is there whole, in one version, each row once."""
    queries = 0
    while not _is_done(home):
        with _in_time():
            with Catalog.open(home, is_read_only=True) as catalog:
                paths = catalog.snapshot("app_log").paths()
            if paths:
                _check_whole(_query(paths))
        queries += 1
        _tell(home, "snapshots", queries)
    return f"{queries} queries"


def read_sessions(home: Path) -> str:
    """Query by sessions, old and refreshed ones: an answer is that of before or after a commit, never an error."""
    queries = refreshed = 0

    def newer(sequence: int) -> Snapshot | None:
        with Catalog.open(home, is_read_only=True) as catalog:
            return catalog.snapshot() if catalog.sequence() != sequence else None

    first = newer(-1)
    assert first is not None
    with Session(first, {"app_log": Table(name="app_log")}, newer=newer) as session:
        while not _is_done(home):
            with _in_time():
                refreshed += session.refresh()
                for sql in (
                    "SELECT tp_id FROM app_log",
                    f"SELECT tp_id FROM app_log WHERE tp_timestamp >= '{FIRST - timedelta(days=1)}'",
                    "SELECT tp_id FROM (FROM app_log) WHERE tp_date IS NOT NULL ORDER BY tp_timestamp",
                ):
                    batches = session.run(sql).batches(5)
                    _check_whole([tuple(text.split(" ")) for batch in batches for text in batch[0].to_pylist()])
                    queries += 1
                    _tell(home, "sessions", queries)
    return f"{queries} queries, {refreshed} refreshed"


def read_hive(home: Path) -> str:
    """Query the hive by glob: rows may be missing for a moment, but none is duplicated."""
    queries = failed = 0
    while not _is_done(home):
        try:
            rows = _query([f"{home}/tp_table=*/**/*.parquet"])
        except duckdb.IOException:  # a file that was listed went away: an outsider asks again
            failed += 1
            continue
        twice = [key for key, count in Counter((day, number) for day, number, _ in rows).items() if count > 1]
        if twice:
            raise AssertionError(f"twice in the hive: {twice}")
        queries += 1
        _tell(home, "hive", queries)
    return f"{queries} queries, {failed} asked again"


def _tell(home: Path, role: str, queries: int) -> None:
    if queries == ROUNDS:
        _has_asked(home, role).touch()


def _has_asked(home: Path, role: str) -> Path:
    return home.with_name(f"{role} has asked")


def _is_done(home: Path) -> bool:
    return home.with_name("done").exists()


@contextmanager
def _in_time() -> Iterator[None]:
    """Let a reader fail only if it was slower than the grace period: then files may be gone, as is promised."""
    begun = time.monotonic()
    try:
        yield
    except (duckdb.IOException, QueryError):
        if time.monotonic() - begun < GRACE.total_seconds():
            raise


def _query(paths: list[str]) -> list[tuple[str, str, str]]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        rows = connection.execute("SELECT tp_id FROM read_parquet(?, hive_partitioning = false)", [paths]).fetchall()
    return [tuple(text.split(" ")) for (text,) in rows]


def _check_whole(rows: list[tuple[str, str, str]]) -> None:
    for day in {day for day, _, _ in rows}:
        versions = {version for of, _, version in rows if of == day}
        numbers = Counter(number for of, number, _ in rows if of == day)
        if len(versions) != 1 or numbers != Counter(map(str, range(ROWS))):
            raise AssertionError(f"{day} is not whole: {versions}, {numbers}")


def main() -> None:
    role, home, *seconds = sys.argv[1:]
    if seconds:
        print(write(Path(home), float(seconds[0]), readers=READERS))
    else:
        print(dict(zip(READERS, (read_snapshots, read_sessions, read_hive), strict=True))[role](Path(home)))


if __name__ == "__main__":
    main()
