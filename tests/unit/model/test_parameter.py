"""Parameters: which of them SQL names, and which values fit a type."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tailpipe.errors import UsageError
from tailpipe.model.parameter import check_parameter_type, names_in, value_of

NOW = datetime(2024, 1, 31, 12, tzinfo=UTC)
PIECES = [
    "$a", "$b1", "$_", '$"odd x"', "$1", "?", "'", "''", '"', "--", "\n", "/*", "*/", "$$", "$t$", "e'", "\\", "E'\\''",
    " ", "x", "x$y", "ü", "$ü", ";", "select ", ",", "(", ")", "1", "-", ".", "::",
]  # fmt: skip


def said(sql: str) -> set[str] | None:
    """The parameters that DuckDB finds; None if the text is not SQL."""
    try:
        statements = duckdb.connect().extract_statements(sql)
    except duckdb.Error:
        return None
    return {name.lower() for one in statements for name in one.named_parameters}


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(lambda parts: "SELECT 1, " + "".join(parts)))
@example("SELECT '$a', $b -- $c\n/* $d /* $e */ $f */ , $$ $g $$, $t$ $h $t$, \"$i\", e'\\' $j', $k")
@example("SELECT x$y, $a, $select, x'$z', 'a''$b', \"c\"\"$d\"")
@example("SELECT /* never closed $a")
def test_the_names_are_those_that_duckdb_finds(sql: str) -> None:
    expected = said(sql)
    if expected is not None and "?" not in sql:
        assert {one.name.lower() for one in names_in(sql)} == expected


def test_a_name_knows_its_place() -> None:
    sql = "SELECT '$a', $who"
    (found,) = names_in(sql)
    assert sql[found.start : found.end] == "$who"


@pytest.mark.parametrize(
    ("type_", "given", "expected"),
    [
        ("varchar", "it's", "it's"),
        ("text", "", ""),
        ("integer", "-7", -7),
        ("int", 7, 7),
        ("utinyint", "255", 255),
        ("bigint", str(2**63 - 1), 2**63 - 1),
        ("boolean", "TRUE", True),
        ("boolean", False, False),
        ("double", "1.5e3", 1500.0),
        ("double", 2, 2.0),
        ("decimal(5,2)", "123.45", Decimal("123.45")),
        ("decimal(5,2)", 1.5, Decimal("1.5")),
        ("date", "2024-01-30", date(2024, 1, 30)),
        ("date", "T-1d", date(2024, 1, 30)),
        ("date", datetime(2024, 1, 30, 5), date(2024, 1, 30)),
        ("timestamp", "2024-01-30T10:00:00+02:00", datetime(2024, 1, 30, 8, tzinfo=UTC)),
        ("uuid", "00000000-0000-4000-8000-000000000007", UUID("00000000-0000-4000-8000-000000000007")),
        ("inet", "203.0.113.0/24", "203.0.113.0/24"),
        ("inet", "2001:db8::1", "2001:db8::1"),
        ("integer", None, None),
    ],
)
def test_a_value_that_fits_is_taken(type_: str, given: Any, expected: object) -> None:
    value = value_of("x", type_, given, now=NOW)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        ("integer", "seven"), ("integer", "1.5"), ("integer", ""), ("integer", "1_000"), ("integer", "٣"),
        ("integer", "2147483648"), ("integer", True), ("integer", 1.0), ("utinyint", "-1"), ("integer", "9" * 100),
        ("boolean", "yes"), ("boolean", 1), ("double", "x"), ("double", "nan"), ("double", True),
        ("decimal(5,2)", "1234"), ("decimal(5,2)", "1.234"), ("decimal(5,2)", "1e9999"), ("decimal(5,2)", True),
        ("date", "soon"), ("date", 7), ("timestamp", date(2024, 1, 1)), ("uuid", "x"), ("uuid", 5),
        ("inet", "10.0.0.256"), ("inet", 1), ("varchar", 7), ("varchar", b"x"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused(type_: str, given: Any) -> None:
    with pytest.raises(UsageError, match=f'the parameter "who" must be {type_.split("(")[0]}'):
        value_of("who", type_, given, now=NOW)


def test_a_long_value_is_not_shown_whole() -> None:
    with pytest.raises(UsageError) as caught:
        value_of("who", "integer", "x" * 10_000, now=NOW)
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("type_", ["varchar[]", "json", "struct(a varchar)", "interval", "blob", "time", "nope"])
def test_a_type_that_no_parameter_can_have_is_refused(type_: str) -> None:
    with pytest.raises(UsageError):
        check_parameter_type(type_)
