"""Names become safe directories and come back unchanged."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from urllib.parse import unquote

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.catalog.layout import NULL, Layout, foreign_data, index_segment, is_our_name
from tests.unit.catalog.conftest import Workspace

ODD = [
    *(
        "plain",
        "two words",
        "a=b",
        "100%",
        "%41",
        "a/b",
        "../..",
        ".",
        "..",
        "~",
        "naïve ☃",
        "tab\tnew\nline",
    ),
    *(
        'quote"s',
        "it's",
        "0123",
        "true",
        "null",
        "NULL",
        "__HIVE_DEFAULT_PARTITION__",
        "*?[x]",
        "\\back",
        "",
        None,
    ),
]
LONG = ["x" * 500, "é" * 250, "a b" * 170]


def value_of(segment: str) -> str | None:
    """As DuckDB and Spark read a directory."""
    encoded = segment.removeprefix("tp_index=")
    return None if encoded == NULL else unquote(encoded)


@pytest.mark.parametrize("value", ODD)
def test_a_short_index_is_brought_back_by_its_directory(value: str | None) -> None:
    segment = index_segment(value)
    assert "/" not in segment
    assert len(segment) <= 140
    assert value_of(segment) == value


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=600))
def test_every_text_has_a_directory_of_its_own_and_not_too_long(value: str) -> None:
    segment = index_segment(value)
    assert len(segment.encode()) <= 140
    assert segment.isascii()
    assert segment.isprintable()
    assert value_of(segment) == value or "~" in segment


def test_two_long_values_with_the_same_beginning_stay_apart() -> None:
    assert index_segment("x" * 499 + "a") != index_segment("x" * 499 + "b")


def test_odd_indexes_come_back_unchanged_through_the_catalog(workspace: Workspace) -> None:
    values = [*ODD, *LONG]
    workspace.collect([(value, date(2024, 1, 31), [f"id-{n}"]) for n, value in enumerate(values)])
    with workspace.open(is_read_only=True) as catalog:
        snapshot = catalog.snapshot()
    rows = duckdb.execute(
        "SELECT tp_id, tp_index FROM read_parquet(?, hive_partitioning = false)", [snapshot.paths()]
    ).fetchall()
    assert dict(rows) == {f"id-{n}": value for n, value in enumerate(values)}
    assert {file.tp_index for file in snapshot.files} == set(values)


def test_short_odd_indexes_come_back_unchanged_through_the_hive(workspace: Workspace) -> None:
    workspace.collect([(value, date(2024, 1, 31), [f"id-{n}"]) for n, value in enumerate(ODD)])
    rows = duckdb.execute(
        "SELECT tp_id, tp_index FROM read_parquet(?, hive_partitioning = true)",
        [f"{workspace.home}/tp_table=*/**/*.parquet"],
    ).fetchall()
    assert dict(rows) == {f"id-{n}": value for n, value in enumerate(ODD)}


def test_no_glob_finds_a_file_twice(workspace: Workspace) -> None:
    workspace.collect([("a", date(2024, 1, 31), ["id-1", "id-2"])])
    (count,) = duckdb.execute("SELECT count(*) FROM read_parquet(?)", [f"{workspace.home}/**/*.parquet"]).fetchall()
    assert count == (2,)


def test_our_names_are_told_from_others() -> None:
    assert is_our_name("00000012-0a1b2c3d-0003.parquet") == "00000012-0a1b2c3d"
    assert is_our_name("part-0001.parquet") is None


def test_a_directory_of_another_program_is_recognised(tmp_path: Path) -> None:
    assert foreign_data(tmp_path / "absent") is None
    assert foreign_data(tmp_path) is None
    (tmp_path / "tp_table=x").mkdir()
    (tmp_path / "tp_table=x" / "data.parquet").touch()
    assert foreign_data(tmp_path) == tmp_path / "tp_table=x" / "data.parquet"


def test_our_own_workspace_is_not_foreign(workspace: Workspace) -> None:
    workspace.collect([("a", date(2024, 1, 31), ["id-1"])])
    assert foreign_data(workspace.home) is None


def test_a_metadata_sqlite_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "metadata.sqlite").touch()
    assert foreign_data(tmp_path) == tmp_path / "metadata.sqlite"


def test_data_may_be_in_another_place_than_the_catalog(tmp_path: Path) -> None:
    layout = Layout.of(tmp_path / "home", tmp_path / "shared")
    assert layout.database == tmp_path / "home" / ".tailpipe" / "catalog.db"
    assert layout.files == tmp_path / "shared" / ".tailpipe" / "files"
