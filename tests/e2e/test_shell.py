"""The shell in a real terminal: what a person types, and what is seen."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.catalog.conftest import DAY, Workspace

from .terminal import Terminal

CONFIG = """
table "visit" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "who" { type = "struct(name varchar, home struct(city varchar))" }
}
schema "recent" { from = "T-7d" }
query "row_of" {
  sql = "SELECT tp_id AS found FROM app_log WHERE tp_id = $id"
  param "id" {}
}
"""
ENDLESS = "SELECT count(*) FROM range(100000000000) a, range(100) b WHERE a.range % 7 = b.range % 3;"

Open = Callable[..., Terminal]


@pytest.fixture
def data(install: Path) -> Workspace:
    """Three rows of app_log.prod."""
    workspace = Workspace(install / "data" / "default")
    workspace.collect([("web", DAY, ["a", "b", "c"])])
    return workspace


@pytest.fixture
def shell(tmp_path: Path, install: Path, data: Workspace, write_config: Callable[..., Path]) -> Open:
    write_config(CONFIG)
    env = {**os.environ, "HOME": str(tmp_path), "TAILPIPE_INSTALL_DIR": str(install), "TERM": "xterm", "PAGER": "less"}

    def start(*arguments: str, **more: str) -> Terminal:
        terminal = Terminal("query", *arguments, env={**env, **more}, cwd=tmp_path)
        terminal.see("\ntailpipe")
        return terminal

    return start


def test_statements_commands_and_mistakes(shell: Open, tmp_path: Path, data: Workspace) -> None:
    (tmp_path / "two.sql").write_text("SELECT 'first' AS a;\nSELECT nope;\nSELECT 'third' AS a;\n")
    with shell() as terminal:
        terminal.ask("SELECT tp_id\nFROM app_log\nORDER BY ALL;", "> FROM app_log", "tp_id", "a", "b", "c", "3 rows")
        terminal.ask("SELECT ';' AS a; SELECT 2 -- two;\n AS b;", "a", ";", "1 row", "b", "2", "1 row")
        terminal.ask("SELECT tp_idd FROM app_log;", "1:8", 'did you mean "tp_id"?')
        terminal.ask(".tabels", 'did you mean ".tables"?')
        terminal.ask(".tables", "app_log", "visit", "recent.app_log")
        terminal.ask(".inspect visit", "who", "STRUCT(", "tp_date", "DATE")
        terminal.ask(".inspect nope", "table not found: nope")
        terminal.ask(".schemas", "schema", "tables", "tailpipe", "recent")
        terminal.ask(".help", ".tables", ".exit")
        terminal.ask("help", ".tables", ".exit")
        terminal.ask(".read two.sql", "first", "two.sql:2:8", "third")
        terminal.ask(".read none.sql", 'cannot read "none.sql": No such file or directory')

        terminal.ask(".mode line", "output format: line")
        terminal.ask("SELECT 1 AS a, NULL AS b;", "a = 1", "b =")
        terminal.ask(".mode xml", "choose one of: pretty, plain, line")
        terminal.ask(".mode parquet")
        terminal.ask("SELECT 1;", "is not text")
        terminal.ask(".mode csv")
        terminal.ask(".timing on", "timing is on")
        terminal.ask("SELECT 'x,y' AS a;", '"x,y"', "1 row, ")

        terminal.ask(".output out.csv", 'results go to "out.csv"')
        terminal.ask("SELECT 1 AS a;", "1 row")
        terminal.ask("SELECT nope;", "nope")
        terminal.ask("SELECT 2 AS a;", "1 row")
        assert (tmp_path / "out.csv").read_text() == "a\n1\na\n2\n"
        terminal.ask("SELECT 3 AS a; SELECT 4 AS b;", "SELECT 3 AS a; SELECT 4 AS b;", "1 row", "1 row")
        assert (tmp_path / "out.csv").read_text() == "a\n1\na\n2\na\n3\nb\n4\n"
        terminal.ask(".output out.json", 'results go to "out.json"')
        terminal.ask(".mode json")
        terminal.ask("SELECT 0 AS a;", "SELECT 0 AS a;", "1 row")
        terminal.ask("SELECT 1 AS a; SELECT 2 AS b;", "SELECT 1 AS a; SELECT 2 AS b;", "1 row", "1 row")
        answers = [{"name": "statement 1", "rows": [{"a": 1}]}, {"name": "statement 2", "rows": [{"b": 2}]}]
        assert json.loads((tmp_path / "out.json").read_text()) == answers
        terminal.ask("SELECT 3 AS a;", "SELECT 3 AS a;", "1 row")
        assert json.loads((tmp_path / "out.json").read_text()) == [{"a": 3}]
        terminal.ask(".mode csv")
        terminal.ask(".output off", "results go to the screen")

        terminal.ask(".to 2024-01-30", "statements see: to 2024-01-31 00:00:00")
        terminal.ask("SELECT count(*) AS n FROM app_log;", "n", "0", "1 row")
        terminal.ask(".to off", "everything")
        terminal.ask(".partition nope", "partition not found: nope")
        terminal.ask(".index web", "indexes web")
        terminal.ask(".from someday", '"someday" is not a time')
        terminal.ask("SELECT count(*) AS n FROM app_log;", "n", "3", "1 row")

        data.collect([("web", DAY, ["d"])], origin="b.log")
        terminal.ask("SELECT count(*) AS n FROM app_log;", "n", "4", "1 row")
        terminal.type(".exit\n")
        assert terminal.ended() == 0


def test_names_are_completed(shell: Open) -> None:
    with shell() as terminal:
        typed = ""
        for keys, seen in (
            ("sel", "select"),
            (" who.ho", " who.home"),
            (".ci", ".city"),
            (" as town from vis", " as town from visit"),
        ):
            terminal.type(f"{keys}\t")
            typed += seen
            terminal.see(f"tailpipe> {typed}")
        terminal.type(";\n")
        terminal.see("town", "0 rows", "tailpipe>")
        terminal.type("select  from app_log" + "\x1b[D" * 13 + "tp_so\t")
        terminal.see("select tp_source_ from app_log", "tp_source_ip", "app_log: VARCHAR")
        terminal.type("\x03.sche\t")
        terminal.see("tailpipe> .schema", ".schemas")


@pytest.mark.slow
def test_control_c_cancels_what_runs_and_clears_what_is_typed(shell: Open) -> None:
    with shell() as terminal:
        for mode in ("pretty", "csv"):  # rows come in two ways
            terminal.ask(f".mode {mode}", mode)
            terminal.type(f"\x0c{ENDLESS}\n")
            terminal.see("range % 3;\n")
            terminal.see("still running; Ctrl-C ends it")
            terminal.type("\x03")
            terminal.see("cancelled", "tailpipe>")
            terminal.ask("SELECT 42 AS a;", "a", "42")
        terminal.type("SELECT 'never\n")
        terminal.type("\x03")
        terminal.ask("SELECT 43 AS a;", "a", "43")
        terminal.type("\x04")
        assert terminal.ended() == 0


def test_what_was_typed_is_there_in_the_next_session(shell: Open, install: Path) -> None:
    with shell() as terminal:
        terminal.ask("SELECT 1 AS\nremembered;", "remembered")
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert stat.S_IMODE((install / "history").stat().st_mode) == 0o600
    with shell("--from", "T-1d", "--output", "line") as terminal:
        terminal.type("\x1b[A\n")
        terminal.see("SELECT 1 AS", "> remembered;", "remembered = 1")
        terminal.type("quit\n")
        assert terminal.ended() == 0


def test_a_long_answer_goes_through_a_pager(shell: Open) -> None:
    with shell() as terminal:
        terminal.type("FROM range(5000);\n")
        terminal.see("range", "0", "30", ":")
        terminal.type("q")
        terminal.see("5,000 rows", "tailpipe>")
        terminal.ask("SELECT 1 AS a;", "a", "1")


def test_parameters_are_set_for_the_statements_that_follow(shell: Open) -> None:
    with shell("--param", "id=a") as terminal:
        terminal.ask("SELECT 'is ' || $id AS a, '$no' AS b;", "is a", "$no", "1 row")
        terminal.ask('.param id="it\'s b"', '$id = "it\'s b"')
        terminal.ask("SELECT 'is ' || $ID AS a;", "is it's b")
        terminal.ask("SELECT 1 AS without;", "without", "1 row")
        terminal.ask(".param n:integer=x", 'must be integer, not "x"')
        terminal.ask(".param id=b", "$id = 'b'")
        terminal.ask("row_of;", "found", "b", "1 row")
        terminal.ask("row_off;", 'did you mean "row_of"?')
        terminal.ask(".param off", "no parameter has a value")
        terminal.ask("row_of;", 'the parameter "id" of "row_of" has no value')
        terminal.ask("SELECT $id;", 'the parameter "id" has no value')
