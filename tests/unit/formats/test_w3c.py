from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.formats import W3cLog
from tailpipe.plugin import Column
from tailpipe.testing import check_format, read_bytes
from tests.unit.formats.growing import grown_rows
from tests.unit.formats.parsing import parse, run_of, values

LOG = b"""\
#Software: Microsoft Internet Information Services 10.0
#Version: 1.0
#Date: 2024-01-31 10:00:00
#Fields: date time s-ip cs-uri-stem cs-uri-query cs(User-Agent) sc-status
2024-01-31 10:00:00 10.0.0.1 /a+b q=1+2 Mozilla/5.0+(Windows+NT+10.0) 200
2024-01-31 10:00:01 fe80::1%4 / - - 404
#Fields: date time sc-status cs-username
2024-01-31 10:05:00 500 anna
"""
ROWS: list[dict[str, Any]] = [
    {
        "date": "2024-01-31",
        "time": "10:00:00",
        "s_ip": "10.0.0.1",
        "cs_uri_stem": "/a+b",
        "cs_uri_query": "q=1+2",
        "cs_user_agent": "Mozilla/5.0 (Windows NT 10.0)",
        "sc_status": 200,
    },
    {"date": "2024-01-31", "time": "10:00:01", "s_ip": "fe80::1%4", "cs_uri_stem": "/", "sc_status": 404},
    {"date": "2024-01-31", "time": "10:05:00", "sc_status": 500, "cs_username": "anna"},
]


def test_the_fields_may_change_in_the_middle_and_stay_so() -> None:
    check_format(W3cLog(), LOG, ROWS)


def test_windows_line_ends_and_tabs_make_no_difference() -> None:
    check_format(W3cLog(), LOG.replace(b"\n", b"\r\n"), ROWS)
    head, _, rest = LOG.partition(b"2024-01-31 10:00:00 10")
    tabs = (b"2024-01-31 10:00:00 10" + rest).replace(b" ", b"\t").replace(b"#Fields:\t", b"#Fields: ")
    check_format(W3cLog(), head + tabs, ROWS)


def test_quotes_keep_blanks_and_then_a_plus_is_one() -> None:
    check_format(W3cLog(), b'#Fields: a b\n"x ""y"" + z" 1\n', [{"a": 'x "y" + z', "b": 1}])


def test_a_plus_may_be_left_as_it_is() -> None:
    check_format(W3cLog(plus_as_blank=False), b"#Fields: a b\nx+y 1\n", [{"a": "x+y", "b": 1}])


def test_a_line_without_names_before_it_is_rejected() -> None:
    found = read_bytes(W3cLog(), b"#Version: 1.0\na b\n#Fields: a b\n1 2\n1 2 3\n")
    assert found.rows == [{"a": 1, "b": 2}]
    assert found.rejected == [
        ("line 2", "no line before it names the fields"),
        ("line 5", "has 3 values for 2 fields"),
    ]


def test_names_stay_for_the_runs_that_follow() -> None:
    format = W3cLog().read_as()
    rows = parse(format, run_of(["#Fields: a b", "1 2"]), run_of(["3 4"], first=3, head=["#Fields: a b"]))
    assert values(rows) == [("1", "2"), ("3", "4")]


COLUMNS = [Column("sc_status", "integer"), Column("cs_username", "varchar")]


@pytest.mark.parametrize("cut", range(0, len(LOG), 53))
def test_a_file_that_grows_is_read_with_the_names_that_hold_there(cut: int) -> None:
    both, whole = grown_rows(W3cLog().read_as(), LOG, cut, COLUMNS)
    assert both == whole
    assert [values[1:] for values in whole] == [(200, None), (404, None), (500, "anna")]


DATED = b"""\
#Date: 2024-01-31 10:00:00
#Fields: time sc-status
10:00:00 200
10:00:01 404
#Date: 2024-02-01 00:00:00
#Fields: time sc-status
00:00:01 500
"""


def test_rows_without_a_date_have_that_of_the_line_before_them() -> None:
    found = read_bytes(W3cLog(), DATED)
    assert [row["date"] for row in found.rows] == ["2024-01-31", "2024-01-31", "2024-02-01"]


@pytest.mark.parametrize("cut", range(0, len(DATED), 29))
def test_a_file_that_grows_is_read_with_the_date_that_holds_there(cut: int) -> None:
    both, whole = grown_rows(W3cLog().read_as(), DATED, cut, [Column("date", "varchar")])
    assert both == whole
    assert [values[1:] for values in whole] == [("2024-01-31",), ("2024-01-31",), ("2024-02-01",)]


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1, max_size=40))
def test_no_line_makes_it_fail(text: str) -> None:
    rows = parse(W3cLog().read_as(), ["#Fields: a b", text])
    assert len(rows) == (0 if text.startswith("#") else 1)
