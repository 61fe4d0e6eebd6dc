"""Which columns a narrow terminal shows of a star."""

from __future__ import annotations

import pytest

from tailpipe.cli.columns import pick_columns
from tailpipe.query.stars import Starred

from .answers import written, written_with

NAMES = ("timestamp", "host", "version", "message", "tp_date", "tp_id", "tp_ips", "tp_timestamp")
NULLS = [(2, 6), (2, 3, 6)]
ALL = frozenset(range(8))


def picked(starred: Starred) -> list[str]:
    return [NAMES[x] for x in pick_columns(NAMES, NULLS, starred).places]


def test_the_time_comes_first_and_what_says_nothing_goes() -> None:
    one = pick_columns(NAMES, NULLS, Starred(ALL, frozenset({0})))
    assert [NAMES[x] for x in one.places] == ["tp_timestamp", "host", "message"]
    assert (one.empty, one.common, one.times) == (2, 2, 1)


def test_columns_that_the_statement_names_stay_where_they_are() -> None:
    assert picked(Starred()) == list(NAMES)
    assert picked(Starred(frozenset({2, 4}))) == [name for name in NAMES if name not in ("version", "tp_date")]
    assert picked(Starred(ALL - {0, 5})) == ["timestamp", "tp_timestamp", "host", "message", "tp_id"]


def test_without_rows_no_column_is_empty() -> None:
    assert pick_columns(NAMES, [], Starred(ALL)).empty == 0


WIDE = ", ".join(["'h' AS host", "NULL AS nothing", *(f"repeat('x', 30) AS tp_{n}" for n in range(6))])
ROWS = f"SELECT {WIDE}, repeat('m', 60) AS message, TIMESTAMP '2024-01-31 10:00:00' AS tp_timestamp FROM range(2)"


@pytest.mark.parametrize("room", [40, 80])
def test_a_star_at_a_narrow_terminal_shows_time_and_message(room: int) -> None:
    text, told = written_with(ROWS, room=room, starred=Starred(frozenset(range(10))))
    lines = text.decode().splitlines()
    assert lines[0].split() == ["tp_timestamp", "host", "message"]
    assert lines[2].startswith("2024-01-31 10:00:00  h     mmm")
    assert max(map(len, lines)) <= room
    assert told.hidden == "hidden: 1 empty, 6 tp_; name columns or use --output line"
    in_shell = written_with(ROWS, room=room, starred=Starred(frozenset(range(10))), line_mode=".mode line")[1]
    assert in_shell.hidden.endswith("use .mode line")


def test_all_is_shown_where_it_fits_and_where_no_terminal_is() -> None:
    star = Starred(frozenset(range(10)))
    everything = written(ROWS).decode()
    assert written(ROWS, starred=star).decode() == everything
    assert written_with(ROWS, room=400, starred=star)[0].decode() == everything
    assert written_with(ROWS, room=400, starred=star)[1].hidden == ""
