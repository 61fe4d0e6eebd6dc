"""Collections with what follows them: retention, compaction and the history of runs."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tailpipe.catalog.catalog import Catalog
from tailpipe.cli.report import print_report
from tailpipe.errors import UsageError
from tailpipe.operations.collect import Collect, collect, preview
from tailpipe.operations.compact import Compact, compact
from tailpipe.operations.facts import runs
from tests.unit.home.support import OLD, opened, write


def request(**options: Any) -> Collect:
    return Collect(datetime.now(UTC), partitions=["app.x"], **options)


def test_a_collection_tidies_up_the_days_it_has_touched_and_tells_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path, name)
        report = collect(opened(tmp_path), request(compact=False))
        assert report.partitions[0].maintenance.compacted_files == 0
    write(tmp_path, "d")
    report = collect(opened(tmp_path), request())
    print_report(report, "pretty")
    assert capsys.readouterr().out.splitlines() == ["app.x: 1 row, 1 artifact, 1 day", "  compacted 4 files into 1"]
    with Catalog.open(tmp_path / "data" / "default") as catalog:
        assert [file.rows for file in catalog.snapshot().files] == [4]
    report = collect(opened(tmp_path, 'retention { keep = "5d" }'), request())
    print_report(report, "pretty")
    assert capsys.readouterr().out.splitlines() == ["app.x: no new data", f"  expired: {OLD}, 4 rows"]
    print_report(report, "json")
    assert json.loads(capsys.readouterr().out)[0]["maintenance"]["expired_days"] == str(OLD)
    assert compact(opened(tmp_path), Compact(["app.x"]))[0].files == 0


def test_a_source_that_a_partition_does_not_have_is_no_empty_collection(tmp_path: Path) -> None:
    write(tmp_path, "a")
    with pytest.raises(UsageError, match="source not found: nope") as caught:
        collect(opened(tmp_path), request(source="nope"))
    assert caught.value.hint == "app.x has: file"
    with pytest.raises(UsageError, match="source not found: nope"):
        preview(opened(tmp_path), request(source="nope"))
    assert collect(opened(tmp_path), request(source="file")).partitions[0].accounts.kept == 1


def test_every_run_is_in_the_history_with_its_error_and_no_secret(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        write(tmp_path, name)
        report = collect(opened(tmp_path), request(command="tailpipe collect"))
    newest, *others = runs(opened(tmp_path), limit=4)
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
    collect(opened(tmp_path), request())
    (failed,) = runs(opened(tmp_path), "app.x", 1, is_failed=True)
    assert failed.facts is not None
    assert (failed.outcome, failed.facts.accounts.read) == ("failed", 0)
    assert "logs/password=•••" in failed.facts.error
    assert "hunter2" not in failed.facts.error
