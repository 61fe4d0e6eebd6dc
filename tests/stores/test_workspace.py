"""The operations of a workspace with a store: collecting pushes, and a store that fails harms nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailpipe.catalog.catalog import Catalog
from tailpipe.cli import push as push_command
from tailpipe.cli.app import app
from tailpipe.cli.report import print_report
from tailpipe.collect.events import Report
from tailpipe.errors import UsageError
from tailpipe.model.request import Collect
from tailpipe.model.store import Store
from tailpipe.operations.delete import delete
from tailpipe.operations.push import Push, push
from tailpipe.storage.objects import Objects
from tailpipe.stores.pushing import Pushing, StoreUse
from tailpipe.stores.upload import Limits
from tests.objects.conftest import remote
from tests.stores.conftest import Shared
from tests.stores.installed import NAME, NOTHING, TODAY, configure, log, opened, write
from tests.unit.catalog.conftest import PARTITION


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, catch_exceptions=False, standalone_mode=False)


def test_each_unit_is_pushed_after_its_commit_and_the_report_says_so(
    install: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(install, "a", days=3)
    report = opened(install).collect([NAME])
    print_report(report, "pretty")
    assert capsys.readouterr().out.splitlines()[1].startswith("  pushed to lake: 4 commits, 3 files, ")
    assert len(log(install)) >= 3
    pushed = report.partitions[0].push
    assert pushed is not None
    assert (pushed.unpushed_commits, pushed.error) == (0, "")
    print_report(report, "json")
    assert json.loads(capsys.readouterr().out)[0]["push"]["files"] == 3
    assert "push" in report.partitions[0].profile


def test_compaction_deletion_and_expiry_go_through_the_log(install: Path) -> None:
    for name in ("a", "b", "c", "d"):
        write(install, name)
        opened(install).collect([NAME])
    before = len(log(install))
    delete(opened(install).home, NAME)
    assert len(log(install)) == before + 1
    with Catalog.open(install / "data" / "default", host="web-1") as catalog:
        kinds = catalog.database.connection.execute(
            "SELECT kind, id IN (SELECT transaction_id FROM pushed) FROM transactions WHERE sequence IS NOT NULL"
        ).fetchall()
    assert {"append", "rewrite", "delete"} <= {kind for kind, _ in kinds}
    assert all(is_pushed for _, is_pushed in kinds)


def test_an_unreachable_store_harms_no_collection_and_is_reported_once(
    install: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(install, "a", days=3)
    (install / "lake").rmdir()
    report = opened(install).collect([NAME])
    assert report.is_done
    assert report.partitions[0].accounts.kept == 3
    print_report(report, "pretty")
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "not pushed" in line] == ["  not pushed: 4 commits; to push: tailpipe push app.x"]
    assert len([line for line in lines if line.startswith("  push failed: there is no directory ")]) == 1
    (install / "lake").mkdir()
    result = run("push", "--output", "json")
    assert result.exit_code == 0
    (record,) = json.loads(result.stdout)
    assert (record["commits"], record["unpushed_commits"], record["files"]) == (4, 0, 3)


def test_no_push_leaves_it_for_later(install: Path) -> None:
    write(install, "a")
    report = collect_only(install)
    assert report.partitions[0].push is not None
    assert report.partitions[0].push.unpushed_commits == 2  # the day, and that there was nothing on others
    assert log(install) == []
    result = run("status")
    assert "store lake: app.x 1 file on this disk" in result.stdout
    assert "0 in the store (0 B), never pushed; 2 commits not pushed for" in result.stdout
    assert "to push: tailpipe push" in result.stdout
    push(opened(install).home, Push())
    result = run("status")
    assert "store lake: app.x 1 file on this disk" in result.stdout
    assert "1 in the store" in result.stdout
    write(install, "b")
    collect_only(install)
    assert "1 commit not pushed for" in run("status").stdout
    (record,) = [one for one in json.loads(run("status", "--output", "json").stdout)["partitions"] if one["store"]]
    assert record["store"]["unpushed_commits"] == 1


@pytest.mark.slow
def test_a_push_that_fails_after_a_commit_ends_with_an_error_and_loses_nothing(install: Path) -> None:
    write(install, "a", days=2)
    (install / "lake").rename(install / "away")
    result = command(install, "collect", NAME)
    assert result.returncode == 1, result.stderr
    _check_failed_push(result.stderr)
    assert opened(install).query("SELECT count(*) AS n FROM app").to_pylist() == [{"n": 2}]
    (record,) = [one for one in json.loads(run("status", "--output", "json").stdout)["partitions"] if one["store"]]
    assert record["store"]["unpushed_commits"] == 3
    assert record["store"]["unpushed_since"]
    write(install, "b", days=2)
    assert command(install, "collect", NAME, "--no-push", "--no-compact").returncode == 0
    result = command(install, "compact")
    assert result.returncode == 1, result.stderr
    _check_failed_push(result.stderr)
    assert run("push").return_value == 1
    (install / "away").rename(install / "lake")
    assert run("push").return_value is None
    assert "not pushed" not in run("status").stdout
    assert opened(install).query("SELECT count(*) AS n FROM app").to_pylist() == [{"n": 4}]


@pytest.mark.parametrize("arguments", [("partition", "delete", NAME, "--force"), ("expire",)], ids=["delete", "expire"])
def test_a_command_whose_change_cannot_be_pushed_ends_with_an_error(install: Path, arguments: tuple[str, ...]) -> None:
    write(install, "a")
    opened(install).collect([NAME])
    path = install / "config" / "main.tpc"
    retention = '  retention {\n    keep = "1d"\n  }\n'
    path.write_text(path.read_text().replace("store = store.lake", f"store = store.lake\n{retention}"))
    (install / "lake").rename(install / "away")
    result = run(*arguments)
    assert result.return_value == 1, result.stderr
    _check_failed_push(result.stderr)
    assert opened(install).query("SELECT count(*) AS n FROM app").to_pylist() == [{"n": 0}]
    (install / "away").rename(install / "lake")
    assert run("push").return_value is None
    assert "not pushed" not in run("status").stdout


def collect_only(install: Path) -> Report:
    """Collect without a push."""
    return opened(install).collect(Collect(datetime.now(UTC), partitions=[NAME], push=False))


def command(install: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line as cron runs it."""
    program = str(Path(sys.executable).with_name("tailpipe"))
    environment = {**os.environ, "TAILPIPE_INSTALL_DIR": str(install), "TAILPIPE_AUTO_WARMUP": "no"}
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)


def _check_failed_push(stderr: str) -> None:
    assert "error: the push of app.x failed; everything is committed on this disk" in stderr
    assert "once the store can be used, run: tailpipe push; to see what waits: tailpipe status" in stderr
    assert "Traceback" not in stderr


def test_a_failed_push_after_a_deletion_is_a_warning(install: Path) -> None:
    write(install, "a")
    opened(install).collect([NAME])
    (install / "lake").rename(install / "away")
    said: list[str] = []
    delete(opened(install, said.append).home, NAME)
    assert [line for line in said if "was not pushed" in line and line.endswith("to push it: tailpipe push")]


@pytest.mark.xdist_group("s3")
def test_a_push_after_a_commit_does_not_wait_long_for_a_server_that_is_gone(lake: Shared) -> None:
    lake.collect(["a"])
    pauses: list[float] = []

    def opened_store(_: Store) -> Objects:
        objects = remote("http://127.0.0.1:9", "gone")
        objects.backoff = replace(objects.backoff, retries=8, sleep=pauses.append)
        return objects

    store = Store(name="lake", location="s3://gone")
    use = StoreUse(store, tuple(store.partition_by), lambda files: [])
    pushing = Pushing(lambda _: use, "web-1", opened_store, Limits(seconds=60))
    with lake.open() as catalog:
        report = pushing.finish(catalog, [PARTITION])[PARTITION]
    assert "cannot connect" in report.error
    assert report.unpushed_commits == 1
    assert len(pauses) == 2


def test_push_says_what_it_would_do_and_what_it_has_done(install: Path) -> None:
    write(install, "a", days=2)
    collect_only(install)
    result = run("push", "--dry-run", "--output", "json")
    (told,) = json.loads(result.stdout)
    assert (told["files"], told["commits"]) == (2, 3)
    assert log(install) == []
    assert "dry run: nothing pushed" in run("push", "--dry-run").stderr
    result = run("push", NAME, "--limit-rate", "100MB")
    assert result.exit_code == 0
    assert "lake" in result.stdout
    assert "nothing to push" in run("push").stderr


def test_push_fails_with_the_reason_if_the_store_does(install: Path) -> None:
    write(install, "a")
    collect_only(install)
    (install / "lake").rmdir()
    runner = CliRunner().invoke(app, ["push"])
    assert runner.exit_code == 1
    assert "app.x: there is no directory " in runner.stderr


def test_files_leave_this_disk_by_the_rule_of_the_store(install: Path) -> None:
    write(install, "a", days=2)
    configure(install, here=NOTHING)
    report = opened(install).collect([NAME])
    assert report.partitions[0].push is not None
    assert report.partitions[0].push.offloaded_files == 2
    assert list((install / "data" / "default").glob("tp_table=*/**/*.parquet")) == []
    result = run("status")
    assert "app.x 0 files on this disk" in result.stdout


def test_pinned_files_stay_whatever_the_rule_says(install: Path) -> None:
    write(install, "a", days=2)
    opened(install).collect([NAME])
    configure(install, here=NOTHING)
    result = run("partition", "pin", NAME, "--from", str(TODAY - timedelta(days=2)))
    assert result.stderr == "app.x: 1 file pinned\n"
    assert push(opened(install).home, Push())[0].offloaded_files == 1
    assert run("partition", "unpin", NAME).stderr == "app.x: 1 file unpinned\n"
    assert push(opened(install).home, Push())[0].offloaded_files == 1


def test_partitions_without_a_store_are_refused_by_push(install: Path) -> None:
    configure(install, has_store=False)
    with pytest.raises(UsageError, match="none of the partitions has a store"):
        run("push")


@pytest.mark.parametrize(("text", "rate"), [("10MB", 1e7), ("500 kB", 5e5), ("1.5GB/s", 1.5e9), (None, None)])
def test_a_rate_has_a_unit(text: str | None, rate: float | None) -> None:
    assert push_command._rate(text) == rate


@pytest.mark.parametrize("text", ["10", "fast", "0MB", "-1MB", "10TB"])
def test_anything_else_is_no_rate(text: str) -> None:
    with pytest.raises(UsageError, match="is not a rate"):
        push_command._rate(text)
