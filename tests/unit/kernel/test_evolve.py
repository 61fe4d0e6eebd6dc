"""A table that has changed, beside the files that are there."""

from __future__ import annotations

import pytest

from tailpipe.kernel.evolve import evolve
from tailpipe.kernel.outputs import COMMON_TYPES
from tailpipe.model.table import Column
from tests.unit.kernel.support import table

COMMON = {name: kind.stored for name, kind in COMMON_TYPES.items()}


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
def test_any_other_change_is_refused_with_both_types_and_what_to_do(old: str, new: str) -> None:
    (change,) = evolve({"a": old, **COMMON}, table(Column("a", new)), {})
    assert change.verdict == "refused"
    assert old.lower() in change.message
    assert (change.new or "").lower() in change.message
    assert "collect it again" in change.message


def test_undeclared_fields_widen_too() -> None:
    assert verdicts({"x": "BIGINT", "time": "VARCHAR"}, x="double", time="varchar") == {"x": "widened"}
    assert verdicts({"time": "VARCHAR"}, x="double", time="varchar") == {"x": "added"}
