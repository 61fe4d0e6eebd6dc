from __future__ import annotations

import pytest

from tailpipe.cli.report import print_report
from tailpipe.collect.events import Committed, Failed, Report, Summary, UnmatchedFiles
from tailpipe.model.artifact import Accounts
from tailpipe.model.staged import Sample
from tailpipe.stores.pushed import PushReport


def printed(capsys: pytest.CaptureFixture[str], summary: Summary) -> list[str]:
    print_report(Report((summary,)), "pretty")
    return capsys.readouterr().out.splitlines()


def test_a_long_layout_of_a_table_does_not_bury_the_file_it_does_not_match(capsys: pytest.CaptureFixture[str]) -> None:
    layout = "(%{DATA}/)?" + "([^0-9ch/][^/]*|" * 100
    line = printed(capsys, Summary("a.b", unmatched_files=(UnmatchedFiles("file", 2, 2, layout, "x.log"),)))[-1]
    assert line.startswith("  source file: 2 of 2 files do not match file_layout (%{DATA}/)?(")
    assert line.endswith("… (first: x.log)")
    assert len(line) < 250


def test_if_no_line_has_as_many_values_as_the_format_has_fields_the_next_step_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sample = Sample("/flow.log", "line 1", "has 36 values for 14 fields", "3 - 748335378900")
    committed = Committed("a.b", "2024-01-31", 1, Accounts(1, 0, 0, 1), "new day")
    lines = printed(capsys, Summary("a.b", committed=(committed,), rejected_samples=(sample,)))
    assert any(line.startswith("  the format has 14 fields and the log 36; choose another format") for line in lines)


def test_rejected_rows_beyond_the_samples_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    samples = tuple(Sample("/a.log", f"line {number}", "the line is not JSON", "x") for number in range(1, 5))
    shown = [f"  rejected: /a.log line {number}: the line is not JSON" for number in (1, 2, 3)]
    step = "to show rejected rows: tailpipe rejected show a.b"
    for rejected, last in ((3, f"  {step}"), (4, f"  and 1 more; {step}"), (2000, f"  and 1,997 more; {step}")):
        committed = Committed("a.b", "2024-01-31", 1, Accounts(rejected + 1, 1, 0, rejected), "new day")
        summary = Summary("a.b", committed=(committed,), rejected_samples=samples[:rejected])
        assert printed(capsys, summary)[1:] == [*shown, last]


def test_rows_that_could_not_be_overwritten_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    skipped = {"unchanged": 7, "rewritten since: the rows of its earlier content stay": 2}
    lines = printed(capsys, Summary("a.b", skipped=skipped))
    assert lines == [
        "a.b: no new data",
        "  2 artifacts not overwritten: rewritten since: the rows of its earlier content stay",
        "  if files were corrected: tailpipe partition delete a.b --from DAY --to DAY,"
        " then tailpipe collect a.b --from DAY --to DAY",
    ]


def test_undated_artifacts_are_named_and_days_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    day = Committed("a.b", "2024-01-31", 3, Accounts(5, 5), "new day")
    pack = Committed("a.b", "pack:56f4e2bb01acdbcb", 2, Accounts(4, 4), "undated artifacts")
    assert printed(capsys, Summary("a.b", committed=(day,))) == ["a.b: 5 rows, 3 artifacts, 1 day"]
    assert printed(capsys, Summary("a.b", committed=(pack,))) == ["a.b: 4 rows, 2 undated artifacts"]
    assert printed(capsys, Summary("a.b", committed=(day, pack))) == ["a.b: 9 rows, 5 artifacts (2 undated), 1 day"]


def test_a_failed_pack_and_the_partition_keep_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    failed = Failed("a.b", "pack:56f4e2bb01acdbcb", ("no space",))
    assert printed(capsys, Summary("a.b", failed=(failed,), error="no space left")) == [
        "a.b: 0 rows, undated files failed",
        "  undated files rolled back: no space",
        "  committed days are kept; fix the error and collect again, or use --skip-bad-artifacts",
        "a.b: failed: no space left",
    ]


def test_a_partition_all_of_whose_days_roll_back_has_a_headline(capsys: pytest.CaptureFixture[str]) -> None:
    failed = [Failed("a.b", f"2024-01-{day}", ("is not a gzip file",)) for day in (30, 31)]
    pack = Failed("a.b", "pack:56f4e2bb01acdbcb", ("no space",))
    for some, what in ((failed[:1], "1 day"), (failed, "2 days"), ([*failed, pack], "2 days and undated files")):
        lines = printed(capsys, Summary("a.b", failed=tuple(some)))
        assert lines[:2] == [f"a.b: 0 rows, {what} failed", "  2024-01-30 rolled back: is not a gzip file"]


def test_a_push_without_files_counts_commits_alone(capsys: pytest.CaptureFixture[str]) -> None:
    push = PushReport("a.b", "lake", commits=1, offloaded_files=2, unpushed_commits=1, error="no route to host")
    assert printed(capsys, Summary("a.b", push=push)) == [
        "a.b: no new data",
        "  pushed to lake: 1 commit",
        "  push failed: no route to host",
        "  not pushed: 1 commit; to push: tailpipe push a.b",
        "  moved off this disk: 2 files, which the store has",
    ]
