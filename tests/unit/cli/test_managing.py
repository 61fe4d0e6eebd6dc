"""`status`, `expire` and `compact` as a person sees them, over data that is there; no Spark is started."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailpipe.catalog.catalog import Catalog
from tailpipe.cli.app import app
from tailpipe.cli.grid import grid
from tailpipe.cli.status import HEADINGS, _fitted
from tailpipe.errors import CatalogError, TailpipeError, UsageError
from tailpipe.model.artifact import Accounts
from tailpipe.model.coverage import DaySet
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.staged import Covered, Staged, StagedArtifact
from tailpipe.model.window import Window, window_between
from tests.counting import calls_of
from tests.crash.collector import stage, stage_rejected

CONFIG = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}
partition "app" "prod" {
  source "file" { paths = ["/var/log/app"] }
  MORE
}
"""
DAYS = [date(2024, 1, 1) + timedelta(days=i) for i in range(4)]

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def call(*arguments: str, typed: str | None = None) -> Result:
        env = {"TAILPIPE_INSTALL_DIR": str(tmp_path), "HOME": str(tmp_path)}
        return CliRunner().invoke(app, arguments, env=env, input=typed)

    return call


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A workspace with four days in one partition, and one in another that no config names."""
    write(tmp_path)
    home = tmp_path / "data" / "default"
    home.mkdir(parents=True)
    for partition, days in (("app.prod", DAYS), ("old.gone", DAYS[:1])):
        for day in days:
            commit(home, partition, day, [f"{day}-{n}" for n in range(3)])
    return home


def write(install: Path, more: str = "", text: str = CONFIG, name: str = "main.tpc") -> None:
    (install / "config").mkdir(exist_ok=True)
    (install / "config" / name).write_text(text.replace("MORE", more))


def commit(home: Path, partition: str, day: date, ids: Sequence[str]) -> None:
    with Catalog.open(home) as catalog, catalog.writer(partition) as writer:
        transaction = writer.begin(Unit(day=day))
        file = stage(transaction.staging, "part", "default", day, ids)
        entry = LedgerEntry(
            ids[0], "file", Unit(day=day), datetime.now(UTC), committed_bytes=9, committed_ordinals=len(ids)
        )
        accounts = Accounts(read=len(ids), kept=len(ids))
        covers = (Covered("file", DaySet.of([day]), settled_before=date(2024, 2, 1)),)
        transaction.commit(Staged((file,), (StagedArtifact(entry, accounts),), covers))


def live(home: Path) -> int:
    with Catalog.open(home, is_read_only=True) as catalog:
        return len(catalog.snapshot().files)


def test_status_fits_on_one_screen(run: Run, home: Path, tmp_path: Path) -> None:
    long = "a_table_with_a_name_that_is_longer_than_it_should_be_by_far"
    write(tmp_path, text=CONFIG.replace('"app"', f'"{long}"'), name="more.tpc")
    lines = run("status").stdout.splitlines()
    assert lines[0] == f"workspace default: {home}"
    assert re.split("  +", lines[1]) == HEADINGS
    assert re.fullmatch(rf"{long}\.prod +never +– +– +0 +0 +0 +0 B +0", lines[3])  # what is piped is not cut
    assert re.fullmatch(r"app\.prod +never +2024-01-01 +2024-01-04 +4 +[\d,]+ +12 +\S+ kB +0", lines[4])
    assert re.fullmatch(r"old\.gone\* +never +2024-01-01 +2024-01-01 +1 +[\d,]+ +3 +\S+ kB +0", lines[5])
    assert re.fullmatch(r"total 3 +15 +\S+ kB +0", lines[6])
    assert lines[7] == "* not in the config"
    assert re.fullmatch(r"not requested: app\.prod 2024-01-05\.\.\d{4}-\d\d-\d\d", lines[8])
    assert lines[9:] == ["to collect them: tailpipe collect app.prod --fill"]
    cells = [
        [f"{long}.prod", "failed 12d", "2024-01-01", "01-04 10:00", "1,234", "1,234", "99,999", "999 MB", "99,999"]
    ]
    assert all(len(line) <= 80 for line in grid(*_fitted(cells, 80)).lines)
    assert _fitted([["short", *cells[0][1:]]], 120)[0] == HEADINGS


def test_status_tells_programs_all_of_it_also_while_a_run_goes_on(run: Run, home: Path) -> None:
    with Catalog.open(home) as catalog, catalog.writer("app.prod") as writer:
        writer.begin_run(Window.of_day(DAYS[0]), {}, frontiers={"file": DAYS[3]})
        going = json.loads(run("status", "--output", "json").stdout)
        shown = run("status").stdout
        writer.end_run("failed")
    prod, gone = going["partitions"]
    assert prod["last_run"]["outcome"] == "running"
    assert re.search(r"app\.prod +running \ds", shown)
    assert "running: app.prod" in shown
    assert (prod["days_covered"], prod["rows"], prod["files"], prod["is_in_config"]) == (4, 12, 4, True)
    assert prod["gaps"].startswith("2024-01-05..")
    assert (prod["not_requested"], prod["not_requested_days"]) == ("", 0)
    assert "to fill gaps: tailpipe collect" in shown
    assert (prod["first_date"], prod["last_date"]) == ("2024-01-01", "2024-01-04")
    assert (gone["is_in_config"], gone["last_run"]) == (False, None)
    assert (going["location"], going["total"]["rows"]) == (str(home), 15)
    assert re.search(r"app\.prod +failed \ds", run("status").stdout)


def test_status_has_something_to_say_when_there_is_nothing(run: Run, tmp_path: Path) -> None:
    assert "no partitions" in run("status").stdout
    write(tmp_path)
    assert re.search(r"app\.prod +never", run("status").stdout)


def test_deleting_asks_first_and_takes_no_for_an_answer(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    done = run("partition", "delete", "old.gone", typed="n\n")
    assert (done.exit_code, live(home)) == (1, 5)
    assert done.stderr.splitlines()[-1] == "nothing deleted"
    done = run("partition", "delete", "old.gone", typed="y\n")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (
        0,
        "deleted 3 rows from old.gone",
    )  # no config collects it
    assert live(home) == 4


def test_status_forgets_a_partition_that_holds_nothing_and_is_out_of_the_config(run: Run, home: Path) -> None:
    assert "old.gone*" in run("status").stdout
    assert run("partition", "delete", "old.gone", "--force").exit_code == 0
    assert "old.gone" not in run("status").stdout


@pytest.mark.parametrize(
    ("count", "rows", "size"),
    [
        (0, "0", "0 B"),
        (999, "999", "999 B"),
        (99_999, "99,999", "100 kB"),
        (123_456, "123k", "123 kB"),
        (1_250_000, "1.2M", "1.2 MB"),
        (84_100_000_000, "84.1G", "84.1 GB"),
        (5_200_000_000_000, "5200G", "5.2 TB"),
    ],
)
def test_numbers_are_short(count: int, rows: str, size: str) -> None:
    from tailpipe.cli.render import size as readable
    from tailpipe.cli.status import _short

    assert (_short(count), readable(count)) == (rows, size)


def test_what_is_older_than_the_retention_expires(run: Run, home: Path, tmp_path: Path) -> None:
    assert "no partition has a retention" in run("expire").stderr
    write(tmp_path, 'retention { keep = "1Y" }')
    told = run("expire", "--dry-run", "--output", "json")
    (record,) = json.loads(told.stdout)
    assert (record["expired_days"], record["rows"], record["files"]) == ("2024-01-01..2024-01-04", 12, 4)
    assert (told.exit_code, live(home)) == (0, 5)
    assert "2024-01-01..2024-01-04" in run("expire").stdout
    assert live(home) == 1
    assert run("expire").stderr == "no expired days\n"
    shown = json.loads(run("partition", "show", "app.prod", "--output", "json").stdout)
    assert (shown["coverage"][0]["dropped"], shown["retention"]) == ("2024-01-01..2024-01-04", "1Y")
    assert "2024" not in shown["gaps"]


@pytest.mark.parametrize("command", ["expire", "compact"])
def test_a_partition_that_is_locked_is_told_to_people_and_programs(
    run: Run, home: Path, tmp_path: Path, command: str
) -> None:
    write(tmp_path, 'retention { keep = "1Y" }')
    commit(home, "app.prod", DAYS[0], ["again"])
    with Catalog.open(home) as catalog, catalog.writer("app.prod"):
        shown, told = run(command), run(command, "--output", "json")
    for done in (shown, told):
        assert isinstance(done.exception, TailpipeError)
        assert done.exception.message == "some partitions were skipped"
        assert 'partition "app.prod" is being written by' in done.stderr
    assert shown.stdout == ""
    assert len(shown.stderr.splitlines()) == 1  # and not that there was nothing to do
    (record,) = json.loads(told.stdout)
    assert (record["partition"], record["rows"]) == ("app.prod", 0)
    assert 'partition "app.prod" is being written by' in record["locked"]
    assert live(home) == 6


def test_compaction_can_be_asked_about(run: Run, home: Path) -> None:
    commit(home, "old.gone", DAYS[0], ["again"])
    (record,) = json.loads(run("compact", "--dry-run", "--output", "json").stdout)
    assert (record["partition"], record["files"], record["rows"], record["new_files"]) == ("old.gone", 2, 4, None)
    assert live(home) == 6
    assert run("compact", "--dry-run", "--from", "2024-01-02").stderr == "nothing to compact\n"
    assert run("compact", "--dry-run", "--to", "2024-01-01").stdout
    assert run("compact", "app.prod").stderr == "nothing to compact\n"
    refused = run("compact", "old.gone", "--reindex").exception
    assert isinstance(refused, UsageError)
    assert "no longer in the config" in refused.message


def test_a_deletion_is_told_first_and_needs_a_yes_or_force(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "app.prod: 6 rows in 2 files, 2024-01-02..2024-01-03\n"
    chosen = ("partition", "delete", "app.prod", "--from", "2024-01-02", "--to", "2024-01-03")
    asked = run(*chosen)
    assert isinstance(asked.exception, UsageError)
    assert asked.exception.message == "not deleted: stdin is not a terminal"
    assert (asked.stderr, live(home)) == (told, 5)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    for answer, code, left in (("n\n", 1, 5), ("", 1, 5), ("y\n", 0, 3)):
        env = {"TAILPIPE_INSTALL_DIR": str(home.parent.parent), "HOME": str(home)}
        done = CliRunner().invoke(app, chosen, input=answer, env=env)
        assert (done.exit_code, live(home)) == (code, left)
        assert done.stderr.startswith(f"{told}Delete them? [y/N]")
    assert done.stderr.splitlines()[-2:] == [
        "deleted 6 rows from app.prod",
        "to collect them again: tailpipe collect app.prod --from 2024-01-02 --to 2024-01-03",
    ]
    assert run(*chosen, "--force").stderr == "nothing to delete\n"


ALL_BEFORE, ALL_AFTER = "0001-01-01..", "..9999-12-31"


@pytest.mark.parametrize(
    ("start", "end", "touched", "whole"),
    [
        (None, None, f"0001-01-01{ALL_AFTER}", f"0001-01-01{ALL_AFTER}"),
        ("2024-01-30", "2024-02-02", "2024-01-30..2024-02-02", "2024-01-30..2024-02-02"),
        ("2024-01-30", None, f"2024-01-30{ALL_AFTER}", f"2024-01-30{ALL_AFTER}"),
        (None, "2024-01-30", f"{ALL_BEFORE}2024-01-30", f"{ALL_BEFORE}2024-01-30"),
        ("2024-01-30T00:00", "2024-02-02T00:00", "2024-01-30..2024-02-01", "2024-01-30..2024-02-01"),
        ("2024-01-30T00:00:01", "2024-02-01T23:59", "2024-01-30..2024-02-01", "2024-01-31"),
        ("2024-01-30T23:59", "2024-02-02T00:01", "2024-01-30..2024-02-02", "2024-01-31..2024-02-01"),
        ("T-3d", None, f"2024-01-29{ALL_AFTER}", f"2024-01-30{ALL_AFTER}"),
        (None, "T-1d", f"{ALL_BEFORE}2024-01-31", f"{ALL_BEFORE}2024-01-30"),
    ],
)
def test_a_window_compacts_the_days_it_touches_and_deletes_those_that_lie_in_it_whole(
    start: str | None, end: str | None, touched: str, whole: str
) -> None:
    now = datetime(2024, 2, 1, 12, tzinfo=UTC)
    window = window_between(start, end, now=now)
    assert (str(DaySet.touched(window)), str(DaySet.within(window))) == (touched, whole)


@pytest.mark.parametrize(
    ("start", "end"),
    [("2024-01-03", "2024-01-02"), ("2024-01-03", "2024-01-01"), ("2024-01-02T10:00", "2024-01-02T09:00")],
)
def test_a_window_that_is_turned_is_refused_before_anything_is_done(run: Run, home: Path, start: str, end: str) -> None:
    commit(home, "app.prod", DAYS[1], ["again"])
    for command in (("compact", "app.prod"), ("partition", "delete", "app.prod", "--force")):
        done = run(*command, "--from", start, "--to", end)
        assert isinstance(done.exception, UsageError)
    assert live(home) == 6


@pytest.mark.parametrize(
    "command", [("query", "SELECT count(*) FROM app"), ("connect",), ("connect", "--format", "sql")]
)
def test_a_choice_that_cannot_be_meant_is_refused_everywhere(run: Run, home: Path, command: tuple[str, ...]) -> None:
    wrong = run(*command, "--partition", "prdo")
    assert isinstance(wrong.exception, UsageError)
    assert "prdo" in wrong.exception.message
    for end in ("2024-01-02", "2024-01-01"):
        turned = run(*command, "--from", "2024-01-03", "--to", end)
        assert isinstance(turned.exception, UsageError)
        assert "the window ends before it starts: from 2024-01-03" in turned.exception.message
    assert not list(home.glob("*.duckdb"))


def test_a_script_for_clients_begins_with_the_extension_that_a_schema_wants(
    run: Run, home: Path, tmp_path: Path
) -> None:
    assert "INSTALL" not in run("connect", "--format", "sql").stdout
    (tmp_path / "config" / "inside.tpc").write_text(
        """schema "inside" {\n  where = "tp_source_ip::inet <<= '10.0.0.0/8'"\n}\n"""
    )
    assert run("connect", "--format", "sql").stdout.startswith("INSTALL inet;\nLOAD inet;\nCREATE SCHEMA")


def test_what_connect_writes_is_for_its_owner_alone(run: Run, tmp_path: Path) -> None:
    path = Path(run("connect").stdout.strip())
    assert [one.stat().st_mode & 0o077 for one in (path, path.parent / ".tailpipe", path.parent)] == [0, 0, 0]


def test_people_see_sizes_and_counts_and_programs_the_numbers(run: Run, home: Path) -> None:
    shown = run("partition", "list").stdout.splitlines()
    assert shown[0].split()[3:6] == ["files", "rows", "size"]
    assert re.search(r"4 +12 +\d\.\d kB", shown[2])
    size = json.loads(run("partition", "list", "--output", "json").stdout)[0]["local"]["file_size"]
    assert size > 1000
    assert str(size) in run("partition", "list", "--output", "plain").stdout
    assert "source=" in run("partition", "show", "app.prod", "--output", "line").stdout


def test_rejected_rows_of_several_partitions_are_told_apart(run: Run, home: Path) -> None:
    for partition, count in (("app.prod", 2), ("old.gone", 3)):
        with Catalog.open(home) as catalog, catalog.writer(partition) as writer:
            transaction = writer.begin(Unit(day=DAYS[0]))
            entry = LedgerEntry("bad.log", "file", Unit(day=DAYS[0]), datetime.now(UTC), committed_bytes=9)
            accounts = Accounts(read=count, rejected=count)
            bad = stage_rejected(transaction.staging, "bad", count)
            transaction.commit(Staged((bad,), (StagedArtifact(entry, accounts),)))
    shown = run("rejected", "show", "--limit", "4")
    assert shown.stdout.splitlines()[0].split() == ["partition", "file", "line", "reason", "text"]
    assert [line.split()[0] for line in shown.stdout.splitlines()[2:]] == ["app.prod"] * 2 + ["old.gone"] * 2
    assert shown.stderr == "4 of 5 rejected rows; to show more: --limit\n"
    one = run("rejected", "show", "old.*")
    assert one.stdout.splitlines()[0].split() == ["file", "line", "reason", "text"]
    assert one.stderr == "3 of 3 rejected rows\n"
    assert {row["partition"] for row in json.loads(run("rejected", "show", "--output", "json").stdout)} == {
        "app.prod",
        "old.gone",
    }


@pytest.mark.usefixtures("home")
def test_a_partition_is_shown_without_reading_its_ledger(run: Run) -> None:
    assert "2024-01-01..2024-01-04" in run("partition", "show", "app.prod").stdout
    assert calls_of("load_coverage", lambda: run("partition", "show", "app.prod")) == 1
    assert calls_of("_checked", lambda: run("partition", "show", "app.prod")) == 0


def test_the_doctor_counts_what_would_fill_many_screens(run: Run, home: Path) -> None:
    with Catalog.open(home) as catalog, catalog.writer("app.prod") as writer:
        transaction = writer.begin(Unit(day=DAYS[0]))
        files = tuple(stage(transaction.staging, f"p{n}", f"i{n}", DAYS[0], ["x"]) for n in range(104))
        entry = LedgerEntry("many", "file", Unit(day=DAYS[0]), datetime.now(UTC), committed_ordinals=104)
        transaction.commit(Staged(files, (StagedArtifact(entry, Accounts(read=104, kept=104)),)))
    shutil.rmtree(home / "tp_table=app")
    told = run("doctor")
    assert len(told.stdout.splitlines()) == 100 + 2
    assert "… and 8 unlinked; to list all: --output json" in told.stderr
    assert len(json.loads(run("doctor", "--output", "json").stdout)) == 108
    shutil.rmtree(home / ".tailpipe" / "files" / "tp_table=app")
    assert "app.prod 2024-01-01..2024-01-04: files are lost" in run("doctor", "--repair").stderr


def test_the_doctor_restores_a_stored_file_from_the_hive(run: Run, home: Path) -> None:
    shutil.rmtree(home / ".tailpipe" / "files")
    found = run("doctor")
    assert found.exit_code == 1
    assert "the hive has an intact copy" in found.stdout
    healed = run("doctor", "--repair")
    assert healed.exit_code == 0
    assert "restored 5" in healed.stderr
    assert healed.stderr.endswith("\nno problems found (contents not verified; to verify: --checksums)\n")
    assert run("doctor", "--checksums").stderr == "no problems found\n"


def test_lost_days_fail_the_doctor_and_are_gaps_until_they_are_collected_again(run: Run, home: Path) -> None:
    shutil.rmtree(home / ".tailpipe" / "files")
    shutil.rmtree(home / "tp_table=app")
    repaired = run("doctor", "--repair")
    assert repaired.stderr.splitlines() == [
        "restored 1 file, marked 4 days for collection",
        "app.prod 2024-01-01..2024-01-04: files are lost; while the logs exist, collect them again:"
        " tailpipe collect app.prod",
        "to repair: tailpipe collect app.prod",
    ]
    for told in (repaired, run("doctor")):
        assert told.exit_code == 1
        assert "are lost; collect them again" in told.stdout
        assert "to repair: tailpipe collect app.prod" in told.stderr
    (record,) = (one for one in json.loads(run("status", "--output", "json").stdout)["partitions"] if one["lost"])
    assert (record["partition"], record["lost"]) == ("app.prod", "2024-01-01..2024-01-04")
    assert record["gap_days"] >= 4
    assert (
        "rows of 2024-01-01..2024-01-04 are lost; to collect them again: tailpipe collect app.prod"
        in run("status").stdout
    )


def test_the_command_after_checksums_repairs_what_they_found(run: Run, home: Path) -> None:
    path = next(one for one in (home / ".tailpipe" / "files").rglob("*") if one.is_file())
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(body)
    assert run("doctor").exit_code == 0
    found = run("doctor", "--checksums")
    assert (found.exit_code, found.stderr.strip()) == (1, "to repair: tailpipe doctor --repair --checksums")
    assert "moved to .tailpipe/set-aside: 1 file" in run("doctor", "--repair", "--checksums").stderr
    assert [one["problem"] for one in json.loads(run("doctor", "--checksums", "--output", "json").stdout)] == ["lost"]


def test_a_history_with_a_hole_is_rebuilt_only_by_accepting_the_loss(run: Run, home: Path) -> None:
    manifest = min((home / ".tailpipe" / "manifests").glob("*.manifest"))
    manifest.unlink()
    (home / ".tailpipe" / "catalog.db").unlink()
    refused = run("doctor", "--rebuild").exception
    assert isinstance(refused, CatalogError)
    assert manifest.name in refused.message
    assert "tailpipe doctor --rebuild --accept-loss" in refused.hint
    assert isinstance(run("doctor", "--accept-loss").exception, UsageError)
    assert manifest.name in run("doctor", "--rebuild", "--accept-loss").stderr
