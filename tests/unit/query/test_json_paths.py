"""Paths of JSON for Spark."""

from __future__ import annotations

import pytest

from tailpipe.query.dialects import spark_path


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a", "$.a"),
        ("x-id", "$.x-id"),
        ("a.b", "$['a.b']"),
        ("a[0]", "$['a[0]']"),
        ("o'clock", "$.o'clock"),
        ("0", "$.0"),
        ("", "$"),
        ("$", "$"),
        ("$.a.b[0].c", "$.a.b[0].c"),
        ('$."a.b"[1][2]', "$['a.b'][1][2]"),
        ("$.x-id", "$.x-id"),
    ],
)
def test_keys_and_numbers_are_spelt_for_spark(written: str, expected: str) -> None:
    assert spark_path(written) == expected


@pytest.mark.parametrize(
    "written",
    ["/a/b", "$.a[-1]", "$.a[#-1]", "$.a[*]", "$.*", "*", "$..a", "$a", "$.", '$."a\\"b"', " a", "o'.clock", "a?.b"],
)
def test_what_spark_would_read_in_another_way_has_no_path(written: str) -> None:
    assert spark_path(written) is None
