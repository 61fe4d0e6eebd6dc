"""How fast the catalog is: committing a day, opening a large workspace, taking a snapshot of it."""

from __future__ import annotations

import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from tests.crash.collector import stage

from tailpipe.catalog.catalog import Catalog
from tailpipe.model.artifact import Accounts
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Staged, StagedArtifact

Result = TypeVar("Result")

FILES = 100_000
DAYS = 50
FIRST = date(2024, 1, 1)


def main() -> None:
    place = Path(tempfile.mkdtemp())
    try:
        _commits(place / "commits", files=4)
        _commits(place / "many", files=400, days=5)
        _large(place / "large")
    finally:
        shutil.rmtree(place)


def _commits(home: Path, *, files: int, days: int = DAYS) -> None:
    cpu, wall = [], []
    with Catalog.open(home) as catalog, catalog.writer("app_log.prod") as writer:
        for number in range(days):
            unit = Unit(day=FIRST + timedelta(days=number))
            transaction = writer.begin(unit)
            assert unit.day
            parts = tuple(
                stage(transaction.staging, f"part-{n}", f"index-{n}", unit.day, [f"{number}-{n}"]) for n in range(files)
            )
            entry = LedgerEntry(
                f"{number}.log",
                "file",
                unit,
                datetime.now(UTC),
                committed_bytes=files,
                committed_ordinals=files,
            )
            staged = Staged(parts, (StagedArtifact(entry, Accounts(read=files, kept=files)),))
            before = (_cpu(), time.perf_counter())
            transaction.commit(staged)
            cpu.append(_cpu() - before[0])
            wall.append(time.perf_counter() - before[1])
    print(
        f"commit of a day of {files} files: {_middle(cpu):.1f} ms CPU, {_middle(wall):.1f} ms in all (median of {days})"
    )


def _large(home: Path) -> None:
    _fill(home)
    opened: list[float] = []
    for _ in range(5):
        _timed(opened, lambda: Catalog.open(home, is_read_only=True)).close()
    print(f"{FILES:,} live files: open {_middle(opened):.1f} ms")
    with Catalog.open(home, is_read_only=True) as catalog:
        for table in (None, "log_0"):
            taken: list[float] = []
            for _ in range(5):
                count = len(_timed(taken, partial(catalog.snapshot, table)).paths())
            print(f"{FILES:,} live files: snapshot of {count:,} of them {_middle(taken):.1f} ms")
    written: list[float] = []
    with Catalog.open(home) as catalog, _timed(written, partial(_hold, catalog)):
        print(f"{FILES:,} live files: lock and recovery of a partition {_middle(written):.1f} ms")


def _hold(catalog: Catalog) -> ExitStack:
    with ExitStack() as held:
        held.enter_context(catalog.writer("log_0.prod"))
        return held.pop_all()


def _fill(home: Path) -> None:
    """Write the rows straight into the tables: 20,000 files in one table, the others in eight more."""
    with Catalog.open(home) as catalog, catalog.database.writing() as connection:
        connection.execute("INSERT INTO column_sets VALUES (1, '{}')")
        for table in range(9):
            connection.execute("INSERT INTO partitions VALUES (?, ?, 0)", (table, f"log_{table}.prod"))
            connection.execute(
                "INSERT INTO transactions"
                " VALUES (?, ?, ?, 'append', '2024-01-01', 'published', 0, NULL, '', '', ?, NULL, NULL, NULL, ?)",
                (table + 1, f"{table:08d}-00000000", table, table + 1, table + 1),
            )
            rows = FILES // 5 if table == 0 else FILES // 10
            connection.executemany(
                "INSERT INTO files (path, partition_id, transaction_id, unit, role, tp_index, tp_date, rows, bytes,"
                " sha256, min_timestamp, max_timestamp, columns_id)"
                " VALUES (?, ?, ?, ?, 'data', 'index', ?, 1000, 100000, ?, 0, 1, 1)",
                [_row(table, number) for number in range(rows)],
            )


def _row(table: int, number: int) -> tuple[object, ...]:
    day = (FIRST + timedelta(days=number % 1000)).isoformat()
    name = f"00000001-00000000-{number:06d}"
    path = f"files/tp_table=log_{table}/tp_partition=prod/tp_index=index/tp_date={day}/{name}"
    return path, table, table + 1, day, day, f"{number:064x}"


def _timed(into: list[float], deed: Callable[[], Result]) -> Result:
    before = time.perf_counter()
    result = deed()
    into.append(time.perf_counter() - before)
    return result


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _middle(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) // 2] * 1000


if __name__ == "__main__":
    main()
