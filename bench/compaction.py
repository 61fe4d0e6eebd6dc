"""What the number of files of a day costs a query, and what it costs to keep that number low.

The first tables give the CPU time of a query in a new session, for the same rows in one to 32 files: cut by time,
as a log that is collected while it grows, or dealt out, as artifacts that each hold rows of the whole day. The others
compare compaction as it was (everything at once) with what is done after a collection now.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb

from tailpipe.catalog.catalog import Catalog, Writer
from tailpipe.catalog.snapshot import Snapshot
from tailpipe.lifecycle.compact import Compacted, Subject, compact
from tailpipe.lifecycle.policy import Wanted
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Staged, StagedArtifact, StagedFile
from tailpipe.query.session import Session
from tailpipe.testing import InProcessEngine

PARTITION = "trail.bench"
DAY = date(2024, 3, 5)
ROUNDS = 15
COUNTS = (1, 2, 3, 4, 8, 16, 32)
DAYS = {"1 MB": 14_500, "100 MB": 1_600_000}
STATEMENTS = {
    "count": "SELECT count(*) FROM trail",
    "group by": "SELECT event_name, count(*), sum(bytes) FROM trail GROUP BY ALL",
    "filter": "SELECT count(*), max(bytes) FROM trail WHERE tp_source_ip = '10.3.4.7'",
    "ten minutes": "SELECT count(*), max(bytes) FROM trail"
    " WHERE tp_timestamp >= '2024-03-05 10:00:00' AND tp_timestamp < '2024-03-05 10:10:00'",
}
ROWS = """
SELECT md5(i::VARCHAR) AS event_id, 'Action' || hash(i) % 40 AS event_name, 's' || hash(i + 1) % 12 AS event_source,
  hash(i + 2) % 100000 AS bytes, '{"bucketName":"logs-' || hash(i + 3) % 500 || '","key":"'
  || md5((i * 7)::VARCHAR)[:16] || '"}' AS request_parameters,
  '{"arn":"arn:aws:sts::123456789012:assumed-role/role' || hash(i + 3) % 500 || '"}'
  AS user_identity, md5((i * 3)::VARCHAR) AS tp_id, '10.' || hash(i + 4) % 256 || '.' || hash(i + 5) % 256 || '.7'
  AS tp_source_ip, 'trail' AS tp_table, 'bench' AS tp_partition, 'default' AS tp_index, DATE 'DAY' AS tp_date,
  TIMESTAMP 'DAY' + to_seconds(i * 86400 // COUNT) AS tp_timestamp, TIMESTAMP '2024-03-06' AS tp_ingest_timestamp,
  'file' AS tp_source_type, 'logs' AS tp_source_name, '/logs/' || i % 20 || '.gz' AS tp_source_location,
  NULL::VARCHAR AS tp_destination_ip, NULL::VARCHAR[] AS tp_ips, NULL::VARCHAR[] AS tp_akas,
  NULL::VARCHAR[] AS tp_domains, NULL::VARCHAR[] AS tp_emails, NULL::VARCHAR[] AS tp_tags,
  NULL::VARCHAR[] AS tp_usernames
FROM range(FIRST, LAST) t(i)
"""
CUTS = {"cut by time": "rowid * FILES // COUNT", "dealt out": "rowid % FILES"}
APPENDS, APPENDED_ROWS = 1000, 100
BACKFILL_DAYS, BACKFILL_ROWS = 30, 100_000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tailpipe-bench-") as directory:
        place = Path(directory)
        for size, rows in DAYS.items():
            for cut, number in CUTS.items():
                _queries(place / f"{size} {cut}", f"a day of {size}, {cut}", rows, number)
        _appends(place)
        _backfill(place)


@dataclass
class Days:
    """A partition that gets days of rows, each in so many files."""

    writer: Writer
    connection: duckdb.DuckDBPyConnection
    commits: int = 0

    def add(self, day: date, rows: str, parts: Sequence[str]) -> int:
        """Commit a file for each condition; gives their bytes."""
        self.commits += 1
        with self.writer.begin(Unit(day=day)) as transaction:
            files = [self._file(transaction.staging / f"part-{n}", day, rows, part) for n, part in enumerate(parts)]
            count = sum(file.rows for file in files)
            entry = LedgerEntry(
                f"{self.commits}.log",
                "file",
                Unit(day=day),
                datetime.now(UTC),
                committed_bytes=1,
                committed_ordinals=count,
            )
            transaction.commit(Staged(tuple(files), (StagedArtifact(entry, Accounts(read=count, kept=count)),)))
        return sum(file.size for file in files)

    def _file(self, path: Path, day: date, rows: str, part: str) -> StagedFile:
        run = self.connection.execute
        run(f"COPY ({rows} WHERE {part}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
        columns = {name: kind for name, kind, *_ in run(f"DESCRIBE FROM read_parquet('{path}')").fetchall()}
        found = run(f"SELECT count(*), min(tp_timestamp), max(tp_timestamp) FROM read_parquet('{path}')").fetchone()
        assert found is not None
        body = path.read_bytes()
        digest = hashlib.sha256(body).hexdigest()
        return StagedFile(path.name, found[0], len(body), digest, day, "default", found[1], found[2], columns)


def _rows(day: date, count: int, first: int = 0, last: int | None = None) -> str:
    values = {"DAY": day, "COUNT": count, "FIRST": first, "LAST": count if last is None else last}
    text = ROWS
    for name, value in values.items():
        text = text.replace(name, str(value))
    return text


def _queries(place: Path, title: str, rows: int, number: str) -> None:
    snapshots = {}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE day AS {_rows(DAY, rows)}")
        for files in COUNTS:
            part = number.replace("FILES", str(files)).replace("COUNT", str(rows))
            with Catalog.open(place / str(files)) as catalog, catalog.writer(PARTITION) as writer:
                Days(writer, connection).add(DAY, "FROM day", [f"{part} = {n}" for n in range(files)])
                snapshots[files] = catalog.snapshot()
    best: dict[tuple[int, str], float] = {}
    for _ in range(ROUNDS):  # one after the other, so that all see the same machine
        for files, snapshot in snapshots.items():
            for name, sql in STATEMENTS.items():
                best[files, name] = min(best.get((files, name), float("inf")), _taken(snapshot, sql))
    print(f"\n{title}: CPU ms, best of {ROUNDS}")
    print(f"{'files':>6} {'MB':>6} " + " ".join(f"{name:>12}" for name in STATEMENTS))
    for files, snapshot in snapshots.items():
        size = sum(file.size for file in snapshot.files) / 1e6
        print(f"{files:6} {size:6.1f} " + " ".join(f"{best[files, name] * 1000:12.1f}" for name in STATEMENTS))


def _taken(snapshot: Snapshot, sql: str) -> float:
    with Session(snapshot, {}) as session:
        before = time.process_time()
        list(session.run(sql).rows)
        return time.process_time() - before


def _passes() -> Iterator[tuple[str, Callable[[Catalog], Compacted]]]:
    """How compaction after a run is done, and was."""
    engine = InProcessEngine()

    def full(catalog: Catalog) -> Compacted:
        return compact(catalog, engine, Subject(PARTITION))

    def at_eight(catalog: Catalog) -> Compacted:
        is_due = len(catalog.snapshot(partition=PARTITION).files) >= 8
        return full(catalog) if is_due else Compacted(PARTITION)

    def what_pays(catalog: Catalog) -> Compacted:
        return compact(catalog, engine, Subject(PARTITION, wanted=Wanted(is_full_pass=False)))

    yield "before, older days: all, each time", full
    yield "before, newest days: all, at 8 files", at_eight
    yield "now: what pays", what_pays


@dataclass
class Cost:
    """What was added and what compaction wrote."""

    name: str
    added: int = 0
    rows_added: int = 0
    written: int = 0
    rows_written: int = 0
    seconds: float = 0.0

    def compact(self, act: Callable[[Catalog], Compacted], catalog: Catalog) -> None:
        before = time.process_time()
        done = act(catalog)
        self.seconds += time.process_time() - before
        self.written += done.new_bytes or 0
        self.rows_written += done.rows

    def show(self, files: int) -> None:
        rows = self.rows_written / self.rows_added
        megabytes = f"{self.added / 1e6:9.1f} {self.written / 1e6:11.1f}"
        print(f"{self.name:38} {files:6} {megabytes} {rows:13.1f} {self.seconds:8.1f}", flush=True)


def _title(text: str) -> None:
    print(f"\n{text}\n{'':38} {'files':>6} {'MB added':>9} {'MB written':>11} {'rewrites/row':>13} {'CPU s':>8}")


def _appends(place: Path) -> None:
    _title(f"{APPENDS:,} appends of {APPENDED_ROWS} rows to a day, compaction after each")
    count = APPENDS * APPENDED_ROWS
    for number, (name, act) in enumerate(_passes()):
        cost = Cost(name, rows_added=count)
        with Catalog.open(place / f"appends-{number}") as catalog, duckdb.connect() as connection:
            for n in range(APPENDS):
                rows = _rows(DAY, count, n * APPENDED_ROWS, (n + 1) * APPENDED_ROWS)
                with catalog.writer(PARTITION) as writer:
                    cost.added += Days(writer, connection, n).add(DAY, rows, ["true"])
                cost.compact(act, catalog)
            cost.show(len(catalog.snapshot().files))


def _backfill(place: Path) -> None:
    _title(f"a first collection of {BACKFILL_DAYS} days, {BACKFILL_ROWS:,} rows in two files each")
    for number, (name, act) in enumerate(_passes()):
        cost = Cost(name, rows_added=BACKFILL_DAYS * BACKFILL_ROWS)
        if "newest" in name:
            continue  # they are two of the days
        with Catalog.open(place / f"backfill-{number}") as catalog, duckdb.connect() as connection:
            with catalog.writer(PARTITION) as writer:
                days = Days(writer, connection)
                for day in DaySet.span(date(2024, 1, 1), date(2024, 1, BACKFILL_DAYS)):
                    cost.added += days.add(day, _rows(day, BACKFILL_ROWS), ["i % 2 = 0", "i % 2 = 1"])
            cost.compact(act, catalog)
            cost.show(len(catalog.snapshot().files))


if __name__ == "__main__":
    main()
