"""The AWS tables make exactly these rows of these logs.

`TAILPIPE_UPDATE_GOLDEN=1 pytest` writes the rows anew; read them before you keep them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tailpipe.kernel.task import Outcome
from tailpipe.sql.check import check_table
from tests.aws_tables.golden import GOLDEN, TABLES, Case, cases, lines, session, shown_notes, shown_rows


@pytest.mark.parametrize("case", cases(), ids=str)
def test_the_log_gives_exactly_these_rows(case: Case, golden_files: tuple[Path, Mapping[Case, Outcome]]) -> None:
    root, outcomes = golden_files
    with session({case: outcomes[case]}, root) as found:
        rows = shown_rows(found, case.table)
    notes = shown_notes(outcomes[case])
    if os.environ.get("TAILPIPE_UPDATE_GOLDEN") == "1":
        _write(case.beside("rows.jsonl"), rows)
        _write(case.beside("notes.txt"), notes)
    assert [json.loads(row) for row in rows] == [json.loads(row) for row in lines(case.beside("rows.jsonl"))]
    assert notes == lines(case.beside("notes.txt"))


def test_every_expectation_has_its_log() -> None:
    inputs = {case.input.with_name(case.name) for case in cases()}
    expected = [path for path in GOLDEN.glob("*/*") if path.name.endswith((".rows.jsonl", ".notes.txt"))]
    assert {path.with_name(path.name.partition(".")[0]) for path in expected} <= inputs


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_rows_for_five_and_something_odd(
    name: str, golden_files: tuple[Path, Mapping[Case, Outcome]]
) -> None:
    outcomes = [outcome for case, outcome in golden_files[1].items() if case.table == name]
    assert sum(outcome.accounts.read for outcome in outcomes) >= 5
    assert any(outcome.accounts.rejected for outcome in outcomes), "a row without a time, for one"


@pytest.mark.parametrize("name", TABLES)
def test_the_sql_of_a_table_is_sound(name: str) -> None:
    assert check_table(TABLES[name]) == ()
    assert set(TABLES[name].layouts) >= {"aws_s3_bucket", "file"}


def _write(path: Path, texts: Sequence[str]) -> None:
    if texts:
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    else:
        path.unlink(missing_ok=True)
