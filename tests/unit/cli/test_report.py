from __future__ import annotations

import pytest

from tailpipe.cli.report import print_report
from tailpipe.collect.events import Committed, Report, Summary, UnmatchedFiles
from tailpipe.model.artifact import Accounts
from tailpipe.model.staged import Sample


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


def test_rows_that_could_not_be_overwritten_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    skipped = {"unchanged": 7, "rewritten since: the rows of its earlier content stay": 2}
    lines = printed(capsys, Summary("a.b", skipped=skipped))
    assert lines == [
        "a.b: no new data",
        "  2 artifacts not overwritten: rewritten since: the rows of its earlier content stay",
    ]
