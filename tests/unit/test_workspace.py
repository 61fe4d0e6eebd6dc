"""The verbs of a workspace, with the kernel in this process instead of Spark."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.catalog.catalog import Catalog
from tailpipe.cli.report import print_report
from tailpipe.errors import UsageError
from tailpipe.testing import InProcessEngine
from tailpipe.workspace import Workspace
from tests.unit.collect.support import CONFIG

TODAY = datetime.now(UTC).date()
OLD = TODAY - timedelta(days=6)


def opened(install: Path, more: str = "") -> Workspace:
    (install / "config").mkdir(exist_ok=True)
    text = CONFIG.replace("LOGS", str(install / "logs")).replace('"x" {', '"x" {\n' + more)
    (install / "config" / "main.tpc").write_text(text)
    return Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(install)}, engine=InProcessEngine())


def write(install: Path, name: str) -> None:
    path = install / "logs" / name / f"{OLD}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"time": f"{OLD}T10:00:00Z", "message": name}) + "\n")


def test_a_collection_tidies_up_the_days_it_has_touched_and_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path, name)
        report = opened(tmp_path).collect(["app.x"], with_compaction=False)
        assert report.partitions[0].maintenance.compacted_files == 0
    write(tmp_path, "d")
    report = opened(tmp_path).collect(["app.x"])
    print_report(report, "pretty")
    assert capsys.readouterr().out.splitlines() == ["app.x: 1 row, 1 artifact, 1 day", "  compacted 4 files into 1"]
    with Catalog.open(tmp_path / "data" / "default") as catalog:
        assert [file.rows for file in catalog.snapshot().files] == [4]
    report = opened(tmp_path, 'retention { keep = "5d" }').collect(["app.x"])
    print_report(report, "pretty")
    assert capsys.readouterr().out.splitlines() == ["app.x: no new data", f"  expired: {OLD}, 4 rows"]
    print_report(report, "json")
    assert json.loads(capsys.readouterr().out)[0]["maintenance"]["expired_days"] == str(OLD)
    assert opened(tmp_path).keeping.compact(["app.x"])[0].files == 0


def test_a_source_that_a_partition_does_not_have_is_no_empty_collection(tmp_path: Path) -> None:
    write(tmp_path, "a")
    with pytest.raises(UsageError, match="source not found: nope") as caught:
        opened(tmp_path).collect("app.x", source="nope")
    assert caught.value.hint == "app.x has: file"
    with pytest.raises(UsageError, match="source not found: nope"):
        opened(tmp_path).preview(["app.x"], source="nope")
    assert opened(tmp_path).collect("app.x", source="file").partitions[0].accounts.kept == 1


def test_a_new_index_is_checked_before_it_is_applied(tmp_path: Path) -> None:
    write(tmp_path, "a")
    opened(tmp_path).collect(["app.x"])
    with pytest.raises(UsageError, match=r'no file of app\.x has a column "massage"') as caught:
        opened(tmp_path, 'tp_index = "massage"').keeping.compact(["app.x"], reindex=True)
    assert caught.value.hint == 'did you mean "message"?'
    (done,) = opened(tmp_path, 'tp_index = "message"').keeping.compact(["app.x"], reindex=True)
    assert (done.files, done.new_files) == (1, 1)


def test_every_run_is_in_the_history_with_its_error_and_no_secret(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        write(tmp_path, name)
        report = opened(tmp_path).collect(["app.x"], command="tailpipe collect")
    newest, *others = opened(tmp_path).runs(limit=4)
    assert newest.facts is not None
    assert (newest.id, newest.outcome, newest.facts.accounts) == (4, "done", report.partitions[0].accounts)
    assert report.partitions[0].run == 4
    assert (newest.facts.bytes, newest.facts.artifacts) == (report.partitions[0].bytes, 1)
    assert dict(newest.facts.profile).keys() == report.partitions[0].profile.keys() >= {"list", "commit", "compact"}
    assert [one.command for one in others] == ["tailpipe collect"] * 3
    path = tmp_path / "logs" / "password=hunter2hunter2" / f"{OLD}.jsonl.gz"
    path.parent.mkdir()
    path.write_bytes(b"\x1f\x8b\x08 cut off")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    opened(tmp_path).collect(["app.x"])
    (failed,) = opened(tmp_path).runs("app.x", 1, is_failed=True)
    assert failed.facts is not None
    assert (failed.outcome, failed.facts.accounts.read) == ("failed", 0)
    assert "logs/password=•••" in failed.facts.error
    assert "hunter2" not in failed.facts.error
