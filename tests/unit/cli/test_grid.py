"""Tables for people in the room that there is."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone

import pytest

from tailpipe.cli import render
from tailpipe.cli.grid import grid

MEANING = "Who asked, and by which session, with the role behind it if there was one."


@pytest.mark.parametrize("room", [30, 40, 60, 80, 100])
def test_what_is_wrapped_fits_and_loses_no_word(room: int) -> None:
    cells = [["user_identity", "struct(" + "account_id varchar, " * 5 + "arn varchar)", MEANING], ["a", "b", "c"]]
    lines = grid(["column", "type", "meaning"], cells, room=room, is_wrapped=True).lines
    assert max(map(len, lines)) <= room
    if room >= 60:
        begin = lines[0].index("meaning")
        assert " ".join(line[begin:].strip() for line in lines[2:-1]).strip() == MEANING
    assert lines[-1].split()[0] == "a"


def test_what_is_shown_fits_the_terminal_also_where_it_is_indented(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    row = {"name": "trail", "description": MEANING, "columns": [{"name": "who", "description": MEANING}]}
    render.record(row, "pretty", {"columns": {"name": "column", "description": "meaning"}})
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert " ".join(" ".join(lines).split()).count("behind it if there was one.") == 2


def test_a_time_is_shown_to_the_second_in_utc(capsys: pytest.CaptureFixture[str]) -> None:
    at = datetime(2024, 1, 31, 10, 0, 0, 123456, timezone(timedelta(hours=2)))
    render.records([{"table": "trail", "from": at}], "pretty", {"table": "table", "from": "from"})
    assert capsys.readouterr().out.splitlines()[2] == "trail  2024-01-31 08:00:00"


def test_a_path_is_cut_in_front_because_its_end_tells_more() -> None:
    lines = grid(["file", "text"], [["/var/log/shop/2024-01-31.jsonl", "a" * 30]], room=34, ends=[0]).lines
    assert lines[2] == "…024-01-31.jsonl  aaaaaaaaaaaaaaa…"
