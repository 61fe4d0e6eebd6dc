from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailpipe.formats import Cef, Leef
from tailpipe.formats.event_formats import cef_event, leef_event
from tailpipe.testing import read_bytes
from tests.unit.formats.parsing import parse

CEF = (
    r"CEF:0|Secure|threat\|manager|1.0|100|worm \\ stopped|10|"
    r"src=10.0.0.1 dst=2.1.2.2 msg=a \= b\nnext line  spt=1232"
)


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def test_a_cef_event() -> None:
    pairs = {"src": "10.0.0.1", "dst": "2.1.2.2", "msg": "a = b\nnext line", "spt": "1232"}
    assert plain(cef_event(CEF)) == {
        "cef_version": "0",
        "device_vendor": "Secure",
        "device_product": "threat|manager",
        "device_version": "1.0",
        "device_event_class_id": "100",
        "name": "worm \\ stopped",
        "severity": "10",
        **pairs,
        "extension": pairs,
    }


@pytest.mark.parametrize(
    "header",
    ["Jan 31 10:00:00 web1", "<134>Jan 31 10:00:00 web1", "<134>1 2024-01-31T10:00:00Z web1 app - - -", "web1"],
)
@pytest.mark.parametrize(("read", "line"), [(cef_event, CEF), (leef_event, "LEEF:1.0|a|b|1|7|x=1")])
def test_a_syslog_header_is_kept_and_changes_nothing(header: str, read: Any, line: str) -> None:
    expected = {**read(line), "syslog_header": header}
    assert read(f"{header} {line}") == expected


@pytest.mark.parametrize(
    ("extension", "pairs"),
    [
        ("", {}),
        ("msg=", {"msg": ""}),
        ("a=1 b=x y z c=2", {"a": "1", "b": "x y z", "c": "2"}),
        (r"path=C:\\dir\\file", {"path": r"C:\dir\file"}),
        (r"q=a\=b\|c", {"q": "a=b|c"}),
        ("a=1 a=2", {"a": "1"}),
        ("ad.key[0]=x", {"ad.key[0]": "x"}),
        ("cs1Label=Rule cs1=drop all", {"cs1Label": "Rule", "cs1": "drop all", "Rule": "drop all"}),
    ],
)
def test_the_extension_of_cef(extension: str, pairs: dict[str, str]) -> None:
    assert cef_event(f"CEF:0|a|b|c|d|e|5|{extension}")["extension"] == pairs


def test_a_pair_with_the_name_of_a_header_field_does_not_hide_it() -> None:
    row = cef_event("CEF:1|a|b|c|d|header|5|name=pair severity=9")
    assert (row["name"], row["name_"], row["severity"], row["severity_"]) == ("header", "pair", "5", "9")


@pytest.mark.parametrize(
    ("line", "pairs"),
    [
        ("LEEF:1.0|a|b|1|7|src=10.0.0.1\tmsg=x y=z\tempty=", {"src": "10.0.0.1", "msg": "x y=z", "empty": ""}),
        ("LEEF:2.0|a|b|1|7|^|src=10.0.0.1^msg=x y", {"src": "10.0.0.1", "msg": "x y"}),
        ("LEEF:2.0|a|b|1|7|x5E|src=10.0.0.1^msg=x", {"src": "10.0.0.1", "msg": "x"}),
        ("LEEF:2.0|a|b|1|7|0x5E|src=10.0.0.1^msg=x", {"src": "10.0.0.1", "msg": "x"}),
        ("LEEF:2.0|a|b|1|7||src=10.0.0.1\tmsg=x", {"src": "10.0.0.1", "msg": "x"}),
        ("LEEF:2.0|a|b|1|7|src=10.0.0.1\tmsg=x", {"src": "10.0.0.1", "msg": "x"}),
        ("LEEF:2.0|a|b|1|7||||src=a", {"||src": "a"}),
        ("LEEF:1.0|a|b|1|7|", {}),
        ("LEEF:1.0|a|b|1|7", {}),
    ],
)
def test_pairs_of_leef(line: str, pairs: dict[str, str]) -> None:
    row = leef_event(line)
    assert row["extension"] == pairs
    assert (row["device_vendor"], row["device_product"], row["device_version"], row["event_id"]) == ("a", "b", "1", "7")


@pytest.mark.parametrize(
    ("read", "line", "reason"),
    [
        (cef_event, "hello", "has no header CEF:0|…"),
        (cef_event, "CEF:0|a|b", "the header of CEF is cut off"),
        (cef_event, "xCEF:0|a|b|c|d|e|f|", "has no header CEF:0|…"),
        (leef_event, "LEEF:3.0|a|b|c|d|", "has no header LEEF:1.0|… or LEEF:2.0|…"),
        (leef_event, "LEEF:1.0|a|b", "the header of LEEF is cut off"),
    ],
)
def test_lines_without_a_header_are_rejected(read: Any, line: str, reason: str) -> None:
    with pytest.raises(ValueError, match="header") as refused:
        read(line)
    assert str(refused.value) == reason


def test_through_the_format_a_bad_line_costs_itself_only() -> None:
    found = read_bytes(Cef(), f"{CEF}\nCEF:0|a\n{CEF}\n".encode())
    assert [row["src"] for row in found.rows] == ["10.0.0.1"] * 2
    assert found.rejected == [("line 2", "the header of CEF is cut off")]


CHARACTERS = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]) | st.sampled_from("\\=|\n\r")
TEXT = st.text(CHARACTERS, max_size=8)


def escaped(text: str, special: str) -> str:
    text = text.replace("\\", "\\\\")
    for character in special:
        text = text.replace(character, "\\" + character)
    return text.replace("\n", "\\n").replace("\r", "\\r")


@given(
    header=st.lists(TEXT, min_size=6, max_size=6),
    values=st.dictionaries(st.from_regex(r"\A[a-z]{1,6}\Z"), TEXT, max_size=4),
)
def test_whatever_is_written_as_cef_is_read_back(header: list[str], values: dict[str, str]) -> None:
    pairs = " ".join(f"{key}={escaped(value, '=')}" for key, value in values.items())
    line = "CEF:0|" + "|".join(escaped(part, "|") for part in header) + "|" + pairs
    row = cef_event(line)
    assert [*row.values()][2:8] == header
    assert row["extension"] == values


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1, max_size=40))
def test_no_line_makes_it_fail(text: str) -> None:
    lines = [text, f"CEF:0|{text}", f"CEF:0|a|b|c|d|e|f|{text}", f"LEEF:2.0|a|b|c|d|{text}"]
    for format in (Cef(), Leef()):
        rows = parse(format, lines)
        assert len(rows) == len(lines)
        assert all(json.loads(row["extension"]) is not None for row in rows if row["_bad"] is None)
