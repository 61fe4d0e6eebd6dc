"""How answers are printed."""

from __future__ import annotations

import csv
import io
import json
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from tailpipe.cli.answer import print_answer

NAMES = ("a", "b")
TYPES = ("INTEGER", "VARCHAR")


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    print_answer(*arguments)  # type: ignore[arg-type]
    return capsys.readouterr().out


def test_a_table_aligns_numbers_and_tells_null_from_empty_text(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(1, "x"), (100, None), (None, "")]
    assert printed(capsys, NAMES, TYPES, rows, "pretty") == "a     b\n────  ────\n   1  x\n 100  NULL\nNULL\n"


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, ("a\x1b[2J",), ("VARCHAR",), [("\x1b]0;x\x07\nb\u202e",), (["\x1b"],)], "pretty")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text.splitlines()) == 4


def test_words_tell_how_many_rows_there_were(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_answer(NAMES, TYPES, [(1, "x")], "pretty") == ("1 row", "")
    assert print_answer(NAMES, TYPES, [], "json") == ("0 rows", "")
    assert print_answer(("n",), ("INTEGER",), ((n,) for n in range(20_000)), "csv") == ("20,000 rows", "")
    told = print_answer(("n",), ("INTEGER",), ((n,) for n in range(20_000)), "pretty")
    assert told == ("10,000 rows", "there are more, --output csv prints all")
    assert capsys.readouterr().out


def test_an_answer_without_rows_still_shows_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, NAMES, TYPES, [], "pretty") == "a  b\n─  ─\n"
    assert printed(capsys, NAMES, TYPES, [], "csv") == "a,b\n"
    assert json.loads(printed(capsys, NAMES, TYPES, [], "json")) == []
    assert printed(capsys, NAMES, TYPES, [], "jsonl") == ""


def test_json_is_json_whatever_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    moment = datetime(2024, 1, 31, 10)
    row = (moment, date(2024, 1, 31), Decimal("1.50"), UUID(int=1), float("nan"), {"k": [b"\x01", moment]}, '{"x": 1}')
    types = ("TIMESTAMP", "DATE", "DECIMAL(9,2)", "UUID", "DOUBLE", "STRUCT(k BLOB[])", "JSON")
    names = ("t", "d", "n", "u", "f", "s", "j")
    wanted = {
        "t": "2024-01-31 10:00:00",
        "d": "2024-01-31",
        "n": "1.50",
        "u": str(UUID(int=1)),
        "f": None,
        "s": {"k": ["01", "2024-01-31 10:00:00"]},
        "j": {"x": 1},
    }
    assert json.loads(printed(capsys, names, types, [row, row], "json")) == [wanted, wanted]
    lines = printed(capsys, names, types, [row, row], "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == [wanted, wanted]


def test_columns_with_the_same_name_are_told_apart_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(printed(capsys, ("a", "a"), TYPES, [(1, "x")], "jsonl")) == {"a": 1, "a_2": "x"}


def test_csv_comes_back_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(1, 'say "hi",\nthere'), (2, None), (3, ["a", {"b": 1}])]
    read = list(csv.reader(io.StringIO(printed(capsys, NAMES, TYPES, rows, "csv"))))
    assert read == [["a", "b"], ["1", 'say "hi",\nthere'], ["2", ""], ["3", '["a", {"b": 1}]']]


def test_a_plan_is_printed_as_it_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    names, types = ("explain_key", "explain_value"), ("VARCHAR", "VARCHAR")
    assert printed(capsys, names, types, [("physical_plan", "┌─┐\n└─┘")], "pretty") == "┌─┐\n└─┘\n"


def test_a_table_fits_the_terminal_and_says_what_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    names = [f"column_{n}" for n in range(20)]
    rows = [["x" * n * 5 for n in range(20)]]
    count, left_out = print_answer(names, ["VARCHAR"] * 20, rows, "pretty")
    assert count == "1 row"
    assert left_out == "5 of 20 columns fit, so name those you want, or use another --output"
    assert all(len(line) <= 60 for line in capsys.readouterr().out.splitlines())
