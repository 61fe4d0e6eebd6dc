from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.formats import Zeek
from tailpipe.plugin import Column
from tailpipe.testing import check_format, read_bytes
from tests.unit.formats.growing import grown_rows
from tests.unit.formats.parsing import parse

HEADER = (
    b"#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
    b"#open\t2024-01-31-10-00-00\n"
    b"#fields\tts\tuid\tid.orig_h\tid.orig_p\tduration\tlocal\tparents\tTTLs\tnote\n"
    b"#types\ttime\tstring\taddr\tport\tinterval\tbool\tset[string]\tvector[interval]\tstring\n"
)
TSV = (
    HEADER + b"1706691600.120000\tC1\t10.0.0.1\t53\t0.000000\tT\ta,b\t60.000000,1.500000\tx\\x09y\n"
    b"1706691601.000001\tC2\tfe80::1\t0\t-\tF\t(empty)\t-\t(empty)\n"
    b"1706691602.000000\tC3\t10.0.0.2\t80\t12.000000\t-\t-\t(empty)\t\\xff\\xc3\\xa9\n"
    b"#close\t2024-01-31-11-00-00\n"
)
JSON = b"""\
{"ts":1706691600.12,"uid":"C1","id.orig_h":"10.0.0.1","id.orig_p":53,"duration":0.0,"local":true,"parents":["a","b"],"TTLs":[60.0,1.5],"note":"x\\ty"}
{"ts":1706691601.000001,"uid":"C2","id.orig_h":"fe80::1","id.orig_p":0,"local":false,"parents":[],"note":""}
{"ts":1706691602.0,"uid":"C3","id.orig_h":"10.0.0.2","id.orig_p":80,"duration":12.0,"TTLs":[],"note":"\\\\xff\\\\xc3\\\\xa9"}
"""
ROWS: list[dict[str, Any]] = [
    {
        "ts": "1706691600.12",
        "uid": "C1",
        "id_orig_h": "10.0.0.1",
        "id_orig_p": "53",
        "duration": "0",
        "local": "true",
        "parents": '["a","b"]',
        "TTLs": "[60,1.5]",
        "note": "x\ty",
    },
    {
        "ts": "1706691601.000001",
        "uid": "C2",
        "id_orig_h": "fe80::1",
        "id_orig_p": "0",
        "local": "false",
        "parents": "[]",
        "note": "",
    },
    {
        "ts": "1706691602",
        "uid": "C3",
        "id_orig_h": "10.0.0.2",
        "id_orig_p": "80",
        "duration": "12",
        "TTLs": "[]",
        "note": "\\xff\\xc3\\xa9",
    },
]


def texts(data: bytes) -> list[dict[str, Any]]:
    rows = parse(Zeek(), data.decode().splitlines())
    assert [row["_bad"] for row in rows] == [None] * len(rows)
    return [{name: value for name, value in row.items() if value is not None and name[0] != "_"} for row in rows]


@pytest.mark.parametrize("data", [TSV, JSON], ids=["tsv", "json"])
def test_both_forms_give_the_same_rows(data: bytes) -> None:
    assert texts(data) == ROWS


def test_values_have_their_types() -> None:
    check_format(
        Zeek(),
        HEADER + b"1706691600.123456\tC1\t10.0.0.1\t53\t0.5\tT\t-\t-\t-\n",
        [
            {
                "ts": 1706691600.123456,
                "uid": "C1",
                "id_orig_h": "10.0.0.1",
                "id_orig_p": 53,
                "duration": 0.5,
                "local": "true",
            }
        ],
    )


def test_the_header_says_how_values_are_separated() -> None:
    data = b"#separator ;\n#set_separator;|\n#empty_field;EMPTY\n#unset_field;NONE\n#fields;a;b;c\n"
    data += b"#types;string;set[count];string\n"
    assert texts(data + b"x-y;1|2;NONE\nEMPTY;EMPTY;-\n") == [
        {"a": "x-y", "b": "[1,2]"},
        {"a": "", "b": "[]", "c": "-"},
    ]


def test_a_second_header_holds_from_there_on() -> None:
    assert texts(b"#fields\ta\tb\n1\t2\n#fields\tb\n3\n") == [{"a": "1", "b": "2"}, {"b": "3"}]


def test_bad_lines_are_rejected() -> None:
    found = read_bytes(Zeek(), b"a\tb\n#fields\tx\ty\n1\t2\n1\n{nope\n{}\n")
    assert found.rows == [{"x": 1, "y": 2}, {"x": None, "y": None}]
    assert found.rejected == [
        ("line 1", "no line before it names the fields"),
        ("line 4", "has 1 value for 2 fields"),
        ("line 5", "the line is not JSON"),
    ]


COLUMNS = [Column("uid", "varchar"), Column("note", "varchar")]


@pytest.mark.parametrize("cut", range(0, len(TSV), 97))
def test_a_file_that_grows_is_read_with_its_header(cut: int) -> None:
    both, whole = grown_rows(Zeek(), TSV, cut, COLUMNS)
    assert both == whole
    assert [values[1] for values in whole] == ["C1", "C2", "C3"]


SCALAR = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


def written(text: str) -> str:
    """A text as Zeek writes it between tabs."""
    return "".join(
        char if 32 <= ord(char) < 127 and char not in "\\," else "".join(f"\\x{byte:02x}" for byte in char.encode())
        for char in text
    )


@given(
    text=SCALAR.filter(lambda text: text not in ("-", "(empty)")),
    items=st.lists(SCALAR.filter(lambda text: text not in ("-", "(empty)")), max_size=3),
    number=st.integers(0, 2**40).map(lambda n: n / 64),
    flag=st.booleans(),
)
def test_whatever_zeek_writes_is_the_same_in_both_forms(text: str, items: list[str], number: float, flag: bool) -> None:
    header = "#fields\td\ta.b\tc\te\n#types\tdouble\tstring\tset[string]\tbool\n"
    parts = ",".join(map(written, items)) if items else "(empty)"
    tsv = f"{header}{number:.6f}\t{written(text)}\t{parts}\t{'FT'[flag]}\n"
    as_json = json.dumps({"a.b": text, "c": items, "d": number, "e": flag})
    assert texts(tsv.encode()) == texts(as_json.encode())


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1, max_size=40))
def test_no_line_makes_it_fail(text: str) -> None:
    for line in (text, "{" + text, "#" + text, "#types\t" + text):
        rows = parse(Zeek(), ["#fields\ta\tb", line, "1\t2"])
        assert len(rows) == 1 + (not line.startswith("#"))
