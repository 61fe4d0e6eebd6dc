"""Tables written as text and read back, and text of any kind: each line is one row, good or bad, in its place."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailpipe.formats import Delimited, Grok, Logfmt, Regex, Syslog
from tailpipe.formats.delimited_splitter import Splitter
from tailpipe.model.format import Format
from tests.examples import examples
from tests.unit.formats.parsing import Row, line_parser, parse, rows_of, run_of, values

CHARACTER = st.characters(codec="utf-8", exclude_characters="\n")
TEXT = st.text(CHARACTER, max_size=12)
TRICKY = st.one_of(TEXT, st.text(st.sampled_from(" \",'\\[]|=\t\r\0a1é-"), max_size=8))
FIELDS = ["a", "b", "c"]
TABLE = st.lists(st.tuples(TRICKY, TRICKY, TRICKY), min_size=1, max_size=12)
FEW = settings(max_examples=examples(60), deadline=None)


def read(format: Format, lines: list[str]) -> list[Row]:
    """The rows of the lines, which must be the same however the lines are cut into runs."""
    rows = parse(format, run_of(lines))
    half = len(lines) // 2
    parser = line_parser(format)
    again = rows_of(parser.parse([run_of(lines[:half])])) if half else []
    again += rows_of(parser.parse([run_of(lines[half:], first=half + 1, head=lines[:half])]))
    assert [_said(row) for row in again] == [_said(row) for row in rows]
    return rows


def _said(row: Row) -> dict[str, Any]:
    """A row without fields that are null, which a later batch may not know yet."""
    return {name: value for name, value in row.items() if value is not None}


def delimited(delimiter: str, escape: str = '"') -> Delimited:
    return Delimited(name="x", delimiter=delimiter, escape=escape, header=False, fields=FIELDS, null_if=())


@FEW
@given(TABLE, st.sampled_from([",", ";", "\t", " ", "|", "é"]))
def test_csv_comes_back(table: list[tuple[str, ...]], delimiter: str) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(table)
    assert values(read(delimited(delimiter), text.getvalue().split("\n")[:-1])) == table


@FEW
@given(TABLE, st.sampled_from([",", "||", r"\s+"]))
def test_values_with_escaped_quotes_come_back(table: list[tuple[str, ...]], delimiter: str) -> None:
    def written(value: str) -> str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    between = "  " if delimiter == r"\s+" else delimiter
    lines = [between.join(map(written, row)) for row in table]
    assert values(read(delimited(delimiter, "\\"), lines)) == table


@FEW
@given(st.lists(st.lists(TRICKY, min_size=1, max_size=5), min_size=1, max_size=8), st.booleans())
def test_lines_that_grow_come_back_whatever_the_first_one_has(table: list[list[str]], is_loose: bool) -> None:
    def written(value: str) -> str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    grows = replace(delimited(" ", "\\"), min_values=2, loose_quotes=is_loose)
    rows = read(grows, [" ".join(map(written, row)) for row in table])
    assert [row["_bad"] is None for row in rows] == [len(row) >= 2 for row in table]
    for row, expected in zip(rows, table, strict=True):
        names = ["a", "b", "c", "column_4", "column_5"]
        if row["_bad"] is None:
            assert [row.get(name) for name in names] == [*expected, *[None] * (5 - len(expected))]


@FEW
@given(st.lists(st.text(st.sampled_from(' "\\a'), min_size=1, max_size=12), min_size=1, max_size=6))
def test_loose_quotes_read_every_line_as_the_splitter_does(lines: list[str]) -> None:
    format = replace(delimited(" ", "\\"), min_values=1, loose_quotes=True)
    splitter = Splitter(" ", '"', "\\", is_loose=True)
    for row, line in zip(parse(format, lines), lines, strict=True):
        expected, reason = _split(splitter, line)
        assert row["_bad"] == reason
        if reason is None:
            named = [value for name, value in row.items() if not name.startswith("_")]
            assert named[: len(expected)] == expected
            assert not any(named[len(expected) :])


def _split(splitter: Splitter, line: str) -> tuple[list[str], str | None]:
    try:
        return splitter.split(line), None
    except ValueError as error:
        return [], str(error)


@FEW
@given(TABLE)
def test_logfmt_comes_back(table: list[tuple[str, ...]]) -> None:
    lines = [" ".join(f"{name}={json.dumps(value)}" for name, value in zip(FIELDS, row, strict=True)) for row in table]
    assert values(read(Logfmt(name="x"), lines)) == table


@FEW
@given(TABLE)
def test_structured_data_of_syslog_comes_back(table: list[tuple[str, ...]]) -> None:
    def written(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")

    lines = [
        "<1>1 - - - - - [x "
        + " ".join(f'{name}="{written(value)}"' for name, value in zip(FIELDS, row, strict=True))
        + "] m"
        for row in table
    ]
    rows = read(Syslog(name="x"), lines)
    assert [row["message"] for row in rows] == ["m"] * len(table)
    assert [tuple(json.loads(row["structured_data"])["x"].values()) for row in rows] == table


@FEW
@given(st.lists(st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters='\n"[] '), min_size=1)] * 3)))
def test_a_layout_comes_back(table: list[tuple[str, ...]]) -> None:
    layout = r'^(?P<a>[^ ]+) \[(?P<b>[^\]]+)\] "(?P<c>[^"]+)"$'
    assert values(read(Regex(name="x", layout=layout), [f'{a} [{b}] "{c}"' for a, b, c in table])) == table


ANY = [
    delimited(","),
    delimited(r"\s+", "\\"),
    delimited("::", ""),
    Delimited(name="x", header=False),
    Regex(name="x", layout=r"^(?P<a>\S+) (?P<b>.*)$"),
    Regex(name="x", layout=r'(?P<a>\S*) "(?P<b>.*)" \[(?P<c>\w*)\]'),
    Grok(name="x", layout="%{COMBINEDAPACHELOG}"),
    Logfmt(name="x"),
    Syslog(name="x"),
]
LINE = st.one_of(
    st.text(CHARACTER, min_size=1, max_size=40),
    st.text(st.sampled_from(' ",:\\[]=<>1a\t\r\0é\x0b\ufeff'), min_size=1, max_size=25),
    st.builds("<{}>1 - {} [{}".format, st.integers(0, 999), TEXT, TRICKY),
)


@pytest.mark.parametrize("format", ANY, ids=lambda format: f"{format.type}")
@settings(max_examples=examples(40), deadline=None)
@given(lines=st.lists(LINE, min_size=1, max_size=15))
def test_each_line_is_one_row_in_its_place(format: Format, lines: list[str]) -> None:
    rows = read(format, lines)
    assert [row["_ordinal"] for row in rows] == list(range(1, len(lines) + 1))
    assert [row["_raw"] for row in rows] == lines
