"""Data that is there: counted, deleted, examined and repaired from the command line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailpipe.catalog.catalog import Catalog
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered, Staged, StagedArtifact, StagedFile

from .conftest import Run

CONFIG = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}
partition "app" "prod" { source "file" { paths = ["/var/log/app"] } }
"""
DAYS = [date(2024, 1, 1) + timedelta(days=i) for i in range(4)]
ROWS = 3

Write = Callable[..., Path]


@pytest.fixture
def workspace(install: Path, write_config: Write) -> Path:
    """A workspace with four days in one partition, and one in another that no config names."""
    write_config(CONFIG)
    home = install / "data" / "default"
    home.mkdir(parents=True)
    with Catalog.open(home) as catalog:
        for partition, days in (("app.prod", DAYS), ("old.gone", DAYS[:1])):
            for day in days:
                commit_day(catalog, partition, day)
    return home


def commit_day(catalog: Catalog, partition: str, day: date) -> None:
    times = [datetime.combine(day, datetime.min.time()) + timedelta(hours=i) for i in range(ROWS)]
    ids = [f"{partition}-{day}-{i}" for i in range(ROWS)]
    with catalog.writer(partition) as writer:
        transaction = writer.begin(Unit(day=day))
        path = transaction.staging / "part"
        pq.write_table(pa.table({"tp_id": ids, "tp_timestamp": pa.array(times, pa.timestamp("us"))}), path)
        file = StagedFile(
            path="part",
            rows=ROWS,
            size=path.stat().st_size,
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            tp_date=day,
            tp_index="default",
            min_timestamp=times[0],
            max_timestamp=times[-1],
            columns={"tp_id": "VARCHAR", "tp_timestamp": "TIMESTAMP"},
        )
        entry = LedgerEntry(
            origin=f"/var/log/app/{day}.jsonl",
            source="file",
            unit=Unit(day=day),
            as_of=datetime(2024, 2, 1, tzinfo=UTC),
            uri=f"/var/log/app/{day}.jsonl",
            committed_bytes=100,
            committed_ordinals=ROWS,
        )
        accounts = Accounts(read=ROWS, kept=ROWS)
        covers = (Covered("file", DaySet.of([day]), settled_before=date(2024, 2, 1)),)
        transaction.commit(Staged((file,), (StagedArtifact(entry, accounts),), covers))


def rows(run: Run, partition: str) -> int:
    done = run("partition", "show", partition, "--output", "json")
    assert done.code == 0, done.err
    count = json.loads(done.out)["local"]["row_count"]
    assert isinstance(count, int)
    return count


def hive(home: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(home)) for path in home.glob("tp_table=*/**/*.parquet"))


def test_partitions_tell_what_they_hold_also_those_without_config(run: Run, workspace: Path) -> None:
    done = run("partition", "list", "--output", "json")
    local = {record["name"]: record["local"] for record in json.loads(done.out)}
    assert local["app.prod"]["row_count"] == 4 * ROWS
    assert local["app.prod"]["file_count"] == 4
    assert local["app.prod"]["file_size"] > 0
    assert local["old.gone"]["row_count"] == ROWS


def test_deleting_asks_first_and_refuses_where_nobody_can_answer(run: Run, workspace: Path) -> None:
    done = run("partition", "delete", "app.prod")
    assert done.code == 2
    assert "app.prod: 12 rows in 4 files, 2024-01-01..2024-01-04" in done.err
    assert "use --force" in done.err
    assert rows(run, "app.prod") == 4 * ROWS


def test_days_are_deleted_by_their_date_and_leave_the_hive(run: Run, workspace: Path) -> None:
    done = run("partition", "delete", "app.prod", "--from", "2024-01-02", "--to", "2024-01-03", "--force")
    assert (done.code, done.out) == (0, ""), done.err
    assert "deleted 6 rows from app.prod" in done.err
    assert rows(run, "app.prod") == 2 * ROWS
    assert [path[-10:] for path in hive(workspace) if "tp_table=app" in path] == ["2024-01-01", "2024-01-04"]
    with Catalog.open(workspace, is_read_only=True) as catalog:
        assert catalog.state("app.prod").coverage["file"].dropped == DaySet.of(DAYS[1:3])


def test_a_day_that_is_cut_by_the_window_stays(run: Run, workspace: Path) -> None:
    window = ("--from", "2024-01-01T10:00:00", "--to", "2024-01-03T10:00:00")
    done = run("partition", "delete", "app.prod", *window, "--force")
    assert "app.prod: 3 rows in 1 file, 2024-01-02" in done.err
    assert rows(run, "app.prod") == 3 * ROWS


def test_a_partition_without_config_is_deleted_too(run: Run, workspace: Path) -> None:
    assert run("partition", "delete", "old.gone", "--force").code == 0
    assert not any("old" in path for path in hive(workspace))
    assert rows(run, "app.prod") == 4 * ROWS


def test_deleting_an_unknown_partition_fails(run: Run, workspace: Path) -> None:
    done = run("partition", "delete", "app.prd", "--force")
    assert done.code == 2
    assert "partition not found: app.prd" in done.err
    done = run("partition", "delete", "app.prod", "--from", "nonsense", "--force")
    assert (done.code, '"nonsense" is not a time' in done.err) == (2, True)


def test_a_healthy_workspace_is_told_to_be_well(run: Run, workspace: Path) -> None:
    done = run("doctor", "--checksums")
    assert (done.code, done.out, done.err) == (0, "", "no problems found\n")
    assert run("doctor", "--output", "json").out == "[]\n"


def test_a_missing_file_is_found_and_repaired(run: Run, workspace: Path) -> None:
    stored = next(workspace.glob(".tailpipe/files/tp_table=app/**/tp_date=2024-01-02/*"))
    next(workspace.glob("tp_table=app/**/tp_date=2024-01-02/*.parquet")).unlink()
    stored.unlink()
    done = run("doctor")
    assert done.code == 1
    assert "is missing" in done.out
    assert done.err == "to repair: tailpipe doctor --repair\n"
    done = run("doctor", "--repair")
    assert done.code == 1, done.out
    assert "app.prod 2024-01-02: files are lost" in done.err
    assert "to repair: tailpipe collect app.prod" in done.err
    assert rows(run, "app.prod") == 3 * ROWS
    with Catalog.open(workspace, is_read_only=True) as catalog:
        assert catalog.state("app.prod").coverage["file"].missing == DaySet.of([DAYS[1]])


def test_a_flipped_byte_is_found_by_checksums(run: Run, workspace: Path) -> None:
    stored = next(workspace.glob(".tailpipe/files/tp_table=app/**/tp_date=2024-01-03/*"))
    stored.chmod(0o600)
    content = bytearray(stored.read_bytes())
    content[20] ^= 1
    stored.write_bytes(content)
    assert run("doctor").code == 0
    done = run("doctor", "--checksums")
    assert done.code == 1
    assert "does not match its checksum" in done.out


def test_a_lost_catalog_is_told_and_rebuilt(run: Run, workspace: Path) -> None:
    run("partition", "delete", "app.prod", "--to", "2024-01-01", "--force")
    for path in (workspace / ".tailpipe").glob("catalog.db*"):
        path.unlink()
    done = run("doctor")
    assert done.code == 1
    assert "tailpipe doctor --rebuild" in done.err
    done = run("partition", "list")
    assert done.code == 1
    assert "tailpipe doctor --rebuild" in done.err
    done = run("doctor", "--rebuild")
    assert done.code == 0, done.out + done.err
    assert "4 files with 12 rows" in done.err
    assert rows(run, "app.prod") == 3 * ROWS


def test_a_damaged_catalog_is_told_and_rebuilt(run: Run, workspace: Path) -> None:
    (workspace / ".tailpipe" / "catalog.db").write_bytes(b"not a database" * 1000)
    done = run("partition", "list")
    assert done.code == 1
    assert "catalog.db is damaged" in done.err
    assert run("doctor", "--rebuild").code == 0
    assert rows(run, "app.prod") == 4 * ROWS


def test_doctor_on_a_workspace_without_data_finds_nothing(run: Run) -> None:
    done = run("doctor")
    assert done.code == 0
    assert done.err.endswith("no problems found (contents not verified; to verify: --checksums)\n")


def test_days_that_were_deleted_are_told_as_dropped_and_are_no_gap(run: Run, workspace: Path) -> None:
    assert run("partition", "delete", "app.prod", "--to", "2024-01-02", "--force").code == 0
    shown = json.loads(run("partition", "show", "app.prod", "--output", "json").out)
    (coverage,) = shown["coverage"]
    assert coverage["dropped"] == "2024-01-01..2024-01-02"
    assert coverage["covered"] == "2024-01-03..2024-01-04"
    assert shown["gaps"] == ""
    assert shown["not_requested"].startswith("2024-01-05..")  # nothing was collected since
    assert shown["rejected_rows"] == 0
    assert "2024-01-01..2024-01-02" in run("partition", "show", "app.prod").out


def test_what_is_there_is_queried_with_or_without_a_config_for_it(run: Run, workspace: Path) -> None:
    done = run("query", "SELECT (SELECT count(*) FROM app) AS a, (SELECT count(*) FROM old) AS b", "--output", "csv")
    assert (done.code, done.out) == (0, f"a,b\n{4 * ROWS},{ROWS}\n"), done.err


def test_a_query_before_anything_was_collected_has_columns_and_no_rows(run: Run, write_config: Write) -> None:
    write_config(CONFIG)
    done = run("query", "SELECT tp_timestamp, tp_ips FROM app", "--output", "csv")
    assert (done.code, done.out) == (0, "tp_timestamp,tp_ips\n"), done.err
    assert run("rejected", "show", "app.prod").err.endswith("no rejected rows\n")
    assert run("rejected", "show", "app.prd").code == 2
