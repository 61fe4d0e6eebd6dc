from __future__ import annotations

import pytest

from tailpipe.cli.advice import about_field, about_time, misfits


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("17/May/2015:10:05:03 +0000", "%d/%b/%Y:%H:%M:%S %z"),
        ("Thu Jun 09 06:07:04 2005", "%a %b %d %H:%M:%S %Y"),
        ("31.1.2024 10:00:00", "%d.%m.%Y %H:%M:%S"),
        ("2024/01/31 10:00:00", "%Y/%m/%d %H:%M:%S"),
    ],
)
def test_a_time_of_a_common_layout_is_answered_with_its_transform(text: str, layout: str) -> None:
    import duckdb

    assert duckdb.sql(f"SELECT strptime('{text}', '{layout}')").fetchone() is not None
    advice = about_time(["does not match the layout", f'"at" is not a time: {text}'])
    assert advice.endswith(f"in place of source: transform = \"strptime(at, '{layout}')\"")


def test_any_other_time_gets_the_way_to_go_and_names_that_sql_would_not_read_get_quotes() -> None:
    assert "with the layout of yours: " in about_time(['"at" is not a time: noon'])
    assert 'strptime(\\"a-t\\",' in about_time(['"a-t" is not a time: noon'])
    assert about_time(["the line is not JSON"]) == ""


def test_a_field_that_no_row_has_is_answered_with_the_fields_there_are() -> None:
    assert about_field(['"tiem" gives no time'], ["time", "n"]).endswith('did you mean "time"?')
    assert about_field(['"when" gives no time'], ["a", "b"]).endswith("the fields are: a, b")
    assert about_field(['"meta.time" gives no time'], ["meta"]).endswith("transform = \"meta->>'time'\"")
    assert about_field(['"meta.at.time" gives no time'], ["meta"]).endswith("transform = \"meta->>'$.at.time'\"")
    assert about_field(['"time" gives no time', "tp_timestamp gives no time"], ["time"]) == ""


def test_values_that_do_not_fit_are_counted_in_words() -> None:
    assert misfits({"a": 1, "b": 2000}) == [
        "column a: 1 value did not fit its type and is null",
        "column b: 2,000 values did not fit its type and are null",
    ]
