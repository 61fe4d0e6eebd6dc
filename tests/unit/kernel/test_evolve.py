"""A table that has changed, beside the files that are there."""

from __future__ import annotations

import pytest

from tailpipe.kernel.evolve import evolve, merged_columns
from tailpipe.model.outputs import common_types
from tailpipe.model.table import Column
from tests.counting import calls
from tests.unit.kernel.support import table

COMMON = {name: kind.stored for name, kind in common_types(()).items()}


def verdicts(stored: dict[str, str], *columns: Column, **types: str) -> dict[str, str]:
    made = table(*columns, map_fields=["*"] if types else [])
    return {change.column: change.verdict for change in evolve({**stored, **COMMON}, made, types)}


def test_what_stays_is_not_mentioned_and_new_and_dropped_columns_are_told() -> None:
    assert verdicts({"a": "INTEGER"}, Column("a", "integer")) == {}
    assert verdicts({"A": "INTEGER"}, Column("a", "integer")) == {}
    assert verdicts({"a": "INTEGER"}, Column("b", "integer")) == {"a": "dropped", "b": "added"}
    assert verdicts({"s": "STRUCT(a INTEGER, b VARCHAR[])"}, Column("s", "struct(a integer, b varchar[])")) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("INTEGER", "bigint"),
        ("INTEGER", "varchar"),
        ("BIGINT", "double"),
        ("FLOAT", "double"),
        ("DATE", "timestamp"),
        ("DECIMAL(10,2)", "decimal(12,3)"),
        ("BOOLEAN", "varchar"),
    ],
)
def test_a_wider_type_is_accepted(old: str, new: str) -> None:
    assert verdicts({"a": old}, Column("a", new)) == {"a": "widened"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BIGINT", "integer"),
        ("VARCHAR", "integer"),
        ("DOUBLE", "bigint"),
        ("TIMESTAMP", "date"),
        ("DECIMAL(10,2)", "decimal(10,3)"),
        ("INTEGER", "uinteger"),
        ("VARCHAR[]", "varchar"),
        ("STRUCT(a INTEGER)", "struct(a bigint)"),
        ("BLOB", "varchar"),
    ],
)
def test_any_other_change_is_refused_with_both_types(old: str, new: str) -> None:
    (change,) = evolve({"a": old, **COMMON}, table(Column("a", new)), {})
    assert change.verdict == "refused"
    new = (change.new or "").lower()
    assert change.message == f'column "a" of table "things" is {old.lower()} in existing files and cannot become {new}'


def test_undeclared_fields_widen_too() -> None:
    assert verdicts({"x": "BIGINT", "time": "VARCHAR"}, x="double", time="varchar") == {"x": "widened"}
    assert verdicts({"time": "VARCHAR"}, x="double", time="varchar") == {"x": "added"}
    assert verdicts({"x": "JSON", "time": "VARCHAR"}, x="varchar", time="varchar") == {"x": "widened"}
    assert verdicts({"x": "JSON", "time": "VARCHAR"}, x="json", time="varchar") == {}


@pytest.mark.parametrize(
    ("sets", "merged"),
    [
        ([{"a": "INTEGER"}], {"a": "INTEGER"}),
        ([{"a": "INTEGER"}, {"a": "BIGINT", "b": "DATE"}], {"a": "BIGINT", "b": "DATE"}),
        ([{"a": "BIGINT"}, {"a": "INTEGER"}], {"a": "BIGINT"}),
        ([{"a": "BIGINT"}, {"a": "DOUBLE"}, {"a": "VARCHAR"}], {"a": "VARCHAR"}),
        ([{"a": "JSON"}, {"a": "JSON"}], {"a": "JSON"}),
        ([{"a": "VARCHAR"}, {"a": "JSON"}], {"a": "VARCHAR"}),
        ([{"a": "VARCHAR[]"}, {"a": "VARCHAR"}], None),
        ([{"a": "DATE"}, {"a": "BOOLEAN"}], None),
        (
            [{"A": "INTEGER", "tp_id": "VARCHAR"}, {"a": "INTEGER", "z": "BLOB"}],
            {"a": "INTEGER", "z": "BLOB", "tp_id": "VARCHAR"},
        ),
        ([{"s": 'STRUCT("x" INTEGER)'}, {"s": "STRUCT(x INTEGER)"}], {"s": "STRUCT(x INTEGER)"}),
    ],
)
def test_files_are_merged_into_columns_that_can_hold_all_of_them(
    sets: list[dict[str, str]], merged: dict[str, str] | None
) -> None:
    found = merged_columns(sets, None)
    assert found == merged
    assert list(found or ()) == list(merged or ())


def test_merged_columns_are_those_of_the_table_and_whatever_else_is_there() -> None:
    made = table(Column("b", "bigint"), Column("a", "varchar"), Column("open"))
    old = {"a": "INTEGER", "gone": "DATE", "b": "INTEGER", "tp_id": "VARCHAR"}
    merged = merged_columns([old], made)
    assert merged is not None
    assert list(merged)[:3] == ["b", "a", "gone"]
    assert [merged[name] for name in ("a", "b", "gone", "tp_tags")] == ["VARCHAR", "BIGINT", "DATE", "VARCHAR[]"]
    assert "open" not in merged  # nobody knows its type yet
    assert merged_columns([{"b": "VARCHAR", "tp_id": "VARCHAR"}], made) is not None  # the wider type of the files stays
    assert (merged_columns([{"b": "VARCHAR"}], made) or {})["b"] == "VARCHAR"


def test_thousands_of_columns_are_merged_in_one_walk() -> None:
    small, large = ({f"c{number}": "BIGINT" for number in range(count)} for count in (200, 400))
    assert len(merged_columns([large, small], None) or ()) == 400
    once, twice = calls(lambda: merged_columns([small] * 2, None)), calls(lambda: merged_columns([large] * 2, None))
    assert twice < 2.5 * once
