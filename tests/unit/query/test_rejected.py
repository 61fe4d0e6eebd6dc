"""Rejected rows come back from the files that keep them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tailpipe.errors import TailpipeError
from tailpipe.query.rejected import RejectedRow, rejected_rows


def write(path: Path, *lines: int) -> Path:
    rows = ", ".join(f"('a.log', {line}, 'does not match', 'text {line}')" for line in lines)
    with duckdb.connect() as connection:
        source = f"FROM (VALUES {rows}) t(artifact, ordinal, reason, raw)"
        connection.execute(f"COPY ({source}) TO '{path}' (FORMAT parquet)")
    return path


def test_rows_come_file_by_file_up_to_the_limit(tmp_path: Path) -> None:
    paths = [write(tmp_path / "new", 3, 9), write(tmp_path / "old", 1)]
    assert [row.line for row in rejected_rows("app.x", paths, 100)] == [3, 9, 1]
    assert rejected_rows("app.x", paths, 1) == [RejectedRow("app.x", "a.log", 3, "does not match", "text 3")]


def test_nothing_was_rejected_where_there_is_no_file() -> None:
    assert rejected_rows("app.x", [], 100) == []


def test_a_file_that_is_gone_leads_to_the_doctor(tmp_path: Path) -> None:
    with pytest.raises(TailpipeError) as caught:
        rejected_rows("app.x", [tmp_path / "gone"], 100)
    assert "tailpipe doctor" in caught.value.hint


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: body[: len(body) // 2],
        lambda body: body[:-1] + b"x",
        lambda body: body[:-60] + b"\xff" * 52 + body[-8:],
    ],
    ids=["cut", "end", "metadata"],
)
def test_a_damaged_file_leads_to_the_doctor(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path / "one", 3, 9)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(TailpipeError, match="cannot read a stored file: ") as caught:
        rejected_rows("app.x", [path], 100)
    assert "tailpipe doctor --checksums" in caught.value.hint
