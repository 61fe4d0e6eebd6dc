"""What the shell makes of a text: whether it is whole, and what may follow in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tailpipe.cli.answer import Shape
from tailpipe.cli.shell import Shell, is_whole
from tailpipe.cli.shell_complete import Vocabulary, suggestions
from tailpipe.home.home import Home
from tailpipe.query.request import Query
from tailpipe.query.session import Session
from tailpipe.query.shapes import ColumnShape, TableShape

WHO = ColumnShape("who", "STRUCT(…)", (ColumnShape("home", "STRUCT(…)", (ColumnShape("city", "VARCHAR"),)),))
WORDS = Vocabulary(
    "tailpipe",
    (
        TableShape("tailpipe", "app_log", (ColumnShape("level", "VARCHAR"), ColumnShape("order", "INTEGER"), WHO)),
        TableShape("tailpipe", "flow_log", (ColumnShape("bytes", "BIGINT"), ColumnShape("User Agent", "VARCHAR"))),
        TableShape("recent", "app_log", (ColumnShape("level", "VARCHAR"),)),
    ),
    ("length", "lower", "count"),
    ("select", "from", "left", "limit", "order", "where", "join"),
    frozenset({"select", "from", "order", "limit", "where"}),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1; SELECT 2", False),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT ';'", False),
        ("SELECT ';';", True),
        ("SELECT $$ ; $$;", True),
        ("SELECT $$ ; ", False),
        ('SELECT "a; ', False),
        ("SELECT 1 /* ; ", False),
        ("SELECT 'é';", True),
        ("-- nothing", True),
        ("", True),
        (" .tables", True),
        ("exit", True),
        ("Help", True),
    ],
)
def test_enter_ends_only_what_is_whole(text: str, expected: bool) -> None:
    assert is_whole(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM |", ["app_log", "flow_log", "tailpipe", "recent"]),
        ("SELECT * FROM fl|", ["flow_log"]),
        ("SELECT * FROM app_log, fl|", ["flow_log"]),
        ("SELECT * FROM app_log a JOIN f|", ["flow_log"]),
        ("SELECT * FROM recent.|", ["app_log"]),
        ("SELECT | FROM flow_log", ["bytes", '"User Agent"', "app_log", "flow_log", "tailpipe", "recent"]),
        ("SELECT a.| FROM app_log AS a", ["level", '"order"', "who"]),
        ("SELECT a.le| FROM tailpipe.app_log a", ["level"]),
        ("SELECT who.| FROM app_log", ["home"]),
        ("SELECT a.who.home.c| FROM app_log a", ["city"]),
        ("SELECT who.h|", ["home"]),
        ("SELECT app_log.who.home.| FROM app_log", ["city"]),
        ("SELECT recent.app_log.l| FROM recent.app_log", ["level"]),
        ("SELECT l| FROM app_log", ["level", "left", "limit", "length", "lower"]),
        ("SELECT l| FROM flow_log", ["level", "left", "limit", "length", "lower"]),
        ('SELECT "us| FROM flow_log', ['"User Agent"']),
        ("SEL|", ["SELECT"]),
        ("sel|", ["select"]),
        ("SELECT 'le|", []),
        ("SELECT 1 -- le|", []),
        ("SELECT 1 /* le|", []),
        ("SELECT 'it''s' || lo|", ["lower"]),
        ("SELECT bytes FROM flow_log; SELECT le| FROM app_log;", ["level", "left", "length"]),
        ("SELECT nope.| FROM app_log", []),
    ],
)
def test_what_may_follow_is_suggested_the_likeliest_first(text: str, expected: list[str]) -> None:
    cursor = text.index("|", text.rfind("|| ") + 3 if "|| " in text else 0)
    found = suggestions(text[:cursor] + text[cursor + 1 :], cursor, WORDS)
    assert [one.text for one in found] == expected


def test_columns_of_the_tables_that_are_named_come_first() -> None:
    text = "SELECT  FROM flow_log"
    assert [one.kind for one in suggestions(text, 7, WORDS)][:2] == ["flow_log: BIGINT", "flow_log: VARCHAR"]


class Impatient(Session):
    """A session of somebody who presses Ctrl-C twice."""

    def refresh(self) -> bool:
        raise KeyboardInterrupt

    def interrupt(self) -> None:
        raise KeyboardInterrupt


def test_a_second_control_c_while_the_first_is_heard_does_not_end_the_shell(tmp_path: Path) -> None:
    home = Home.open(env={"TAILPIPE_INSTALL_DIR": str(tmp_path)})
    shell = Shell(home, Query(), Shape("csv"), None)
    shell.session.close()
    shell.session = Impatient(home.snapshot(), {})
    typed: Iterator[str] = iter(["SELECT 1;", "SELECT 2;", "exit"])
    shell.serve(lambda _: next(typed))
    assert list(typed) == []
    shell.session.close()
