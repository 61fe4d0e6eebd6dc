from __future__ import annotations

from tailpipe.config.text import ConfigText, Problem
from tailpipe.config.vocabulary import Vocabulary


def test_an_offset_becomes_line_and_column_from_one() -> None:
    text = ConfigText("a.tpc", "one\ntwo three\n\nfour")
    assert str(text.place((0, 3))) == "a.tpc:1:1"
    assert str(text.place((8, 13))) == "a.tpc:2:5"
    assert text.place((8, 13)).text == "two three"
    assert text.place((8, 13)).length == 5
    assert str(text.place((14, 15))) == "a.tpc:3:1"
    assert str(text.place((15, 19))) == "a.tpc:4:1"


def test_a_newline_belongs_to_the_line_that_it_ends() -> None:
    assert str(ConfigText("a.tpc", "one\ntwo").place((3, 4))) == "a.tpc:1:4"


def test_a_span_at_or_behind_the_end_is_at_the_end() -> None:
    text = ConfigText("a.tpc", "one\ntwo")
    assert str(text.place((7, 8))) == "a.tpc:2:4"
    assert str(text.place((99, 100))) == "a.tpc:2:4"
    assert str(ConfigText("a.tpc", "").place((0, 1))) == "a.tpc:1:1"


def test_a_span_of_many_lines_stays_on_its_first() -> None:
    place = ConfigText("a.tpc", "a = [\n  1,\n]").place((4, 12))
    assert (place.line, place.column, place.length) == (1, 5, 1)


def test_a_windows_line_is_shown_without_its_end() -> None:
    assert ConfigText("a.tpc", "one\r\ntwo\r\n").place((5, 8)).text == "two"


def test_columns_count_characters_and_not_bytes() -> None:
    assert ConfigText("a.tpc", "日本 x").place((3, 4)).column == 4


def test_a_place_never_holds_a_secret() -> None:
    text = ConfigText("a.tpc", 'door = "hunter2" x = 1\npassword = "hunter2"')
    text.hide(lambda: Vocabulary(secrets=frozenset({"door"}), plain=frozenset({"x"})))
    assert text.place((17, 18)).text == 'door = "•••••••" x = 1'
    assert text.place((24, 25)).text == 'password = "•••••••"'


def test_a_problem_keeps_its_hint_and_its_note() -> None:
    found = ConfigText("a.tpc", "a\nb").diagnostic(Problem("wrong", (2, 3), "mend it", ("first here", (0, 1))))
    assert (found.message, found.hint, str(found.place)) == ("wrong", "mend it", "a.tpc:2:1")
    assert [(note.message, str(note.place)) for note in found.notes] == [("first here", "a.tpc:1:1")]


def test_a_problem_at_a_secret_does_not_quote_it() -> None:
    text = ConfigText("a.tpc", "password = 8hunter2")
    found = text.diagnostic(Problem('"8hunter2" is not a number', (11, 19), 'write "8hunter2"'))
    assert (found.message, found.hint) == ('"•••" is not a number', 'write "•••"')


def test_many_problems_of_one_long_line_share_it() -> None:
    text = ConfigText("a.tpc", "x" * 1_000_000)
    places = [text.place((position, position + 1)) for position in range(10_000)]
    assert len({id(place.text) for place in places}) == 1
