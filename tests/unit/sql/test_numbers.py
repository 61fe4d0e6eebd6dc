"""Fields that are text are numbers where an expression needs them to be, and nowhere else."""

from __future__ import annotations

import pytest

from tailpipe.sql.connection import connect
from tailpipe.sql.numbers import read_as_numbers


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("raw * 2", "CAST(raw AS DOUBLE) * 2"),
        (
            "CASE WHEN code < 300 THEN method ELSE 'x' END",
            "CASE WHEN CAST(code AS DOUBLE) < 300 THEN method ELSE 'x' END",
        ),
        ("a + b", "CAST(a AS DOUBLE) + CAST(b AS DOUBLE)"),
        ('"Raw Value" / 2 + raw', 'CAST("Raw Value" AS DOUBLE) / 2 + CAST(raw AS DOUBLE)'),
        ("'é' || (raw * 2)::VARCHAR", "'é' || (CAST(raw AS DOUBLE) * 2)::VARCHAR"),
        ("code BETWEEN 200 AND 299", "CAST(code AS DOUBLE) BETWEEN 200 AND 299"),
        ("raw || 'x'", None),
        ("try_cast(raw AS INTEGER) + 1", None),
        ("nullif(raw, '-')", None),
        ("no_such_function(raw)", None),
        ("raw +", None),
    ],
)
def test_only_what_must_be_a_number_is_cast(sql: str, expected: str | None) -> None:
    with connect() as connection:
        assert read_as_numbers(connection, sql, {}) == expected


def test_a_field_of_whole_numbers_is_bigint_and_one_that_is_no_text_stays() -> None:
    with connect() as connection:
        assert read_as_numbers(connection, "a * b", {}, ["a", "b"]) == "CAST(a AS BIGINT) * CAST(b AS BIGINT)"
        assert read_as_numbers(connection, "a * b", {"b": "INTEGER"}) == "CAST(a AS DOUBLE) * b"
