from __future__ import annotations

import pytest

from tailpipe.cli.advice import about_field, about_time, about_width, type_errors


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("17/May/2015:10:05:03 +0000", "%d/%b/%Y:%H:%M:%S %z"),
        ("Thu Jun 09 06:07:04 2005", "%a %b %d %H:%M:%S %Y"),
        ("31.1.2024 10:00:00", "%d.%m.%Y %H:%M:%S"),
        ("2024/01/31 10:00:00", "%Y/%m/%d %H:%M:%S"),
        ("2024/01/31 10:00:00.123456", "%Y/%m/%d %H:%M:%S.%f"),
        ("31/01/2024 10:00:00,123", "%d/%m/%Y %H:%M:%S,%f"),
        ("1/31/2024 1:05 PM", "%m/%d/%Y %I:%M %p"),
        ("1/31/24 13:05", "%m/%d/%y %H:%M"),
        ("Wed, 31 Jan 2024 10:00:00 GMT", "%a, %d %b %Y %H:%M:%S %Z"),
        ("Wed, 31 Jan 2024 10:00:00 +01:00", "%a, %d %b %Y %H:%M:%S %z"),
        ("Wed Jan 31 10:00:00 UTC 2024", "%a %b %d %H:%M:%S %Z %Y"),
        ("Jan  3, 2024 10:00", "%b %d, %Y %H:%M"),
        ("January 31, 2024 10:00:00 PM", "%B %d, %Y %I:%M:%S %p"),
        ("31-JAN-2024 10:00:00", "%d-%b-%Y %H:%M:%S"),
        ("31.01.2024", "%d.%m.%Y"),
    ],
)
def test_a_time_of_a_common_layout_is_answered_with_its_transform(text: str, layout: str) -> None:
    import duckdb

    assert duckdb.sql(f"SELECT strptime('{text}', '{layout}')").fetchone() is not None
    advice = about_time(["does not match the layout", f'"at" is not a time: {text}'])
    assert advice.endswith(f"instead of source: transform = \"strptime(at, '{layout}')\"")


def test_any_other_time_gets_the_way_to_go_and_names_that_sql_would_not_read_get_quotes() -> None:
    assert "with your layout: " in about_time(['"at" is not a time: noon'])
    assert 'strptime(\\"a-t\\",' in about_time(['"a-t" is not a time: noon'])
    assert 'strptime(\\"When\\",' in about_time(['"When" is not a time: noon'])
    assert about_time(["the line is not JSON"]) == ""


def test_if_day_and_month_cannot_be_told_apart_both_layouts_are_named() -> None:
    advice = about_time(['"at" is not a time: 1/2/2024 10:00:00'])
    assert advice.endswith("""strptime(at, '%d/%m/%Y %H:%M:%S')", or '%m/%d/%Y %H:%M:%S'""")
    assert "with your layout: " in about_time(['"at" is not a time: 32/13/2024 10:00:00'])


def test_a_field_that_no_row_has_is_answered_with_the_fields_there_are() -> None:
    assert about_field(['"tiem" has no time'], ["time", "n"]).endswith('did you mean "time"?')
    assert about_field(['"when" has no time'], ["a", "b"]).endswith("available fields: a, b")
    assert about_field(['"meta.time" has no time'], ["meta"]).endswith("transform = \"meta->>'time'\"")
    assert about_field(['"meta.at.time" has no time'], ["meta"]).endswith("transform = \"meta->>'$.at.time'\"")
    assert about_field(['"time" has no time', "tp_timestamp has no time"], ["time"]) == ""


def test_lines_of_another_width_are_answered_with_both_numbers() -> None:
    advice = about_width(["the line is empty", "has 36 values for 14 fields"])
    assert advice.startswith("the format has 14 fields and the log 36; ")
    assert about_width(["has 3 values, expected at least 10"]) == ""


def test_values_that_do_not_fit_are_counted_in_words() -> None:
    assert type_errors({"a": 1, "b": 2000}) == [
        "column a: 1 value of the wrong type set to null",
        "column b: 2,000 values of the wrong type set to null",
    ]
