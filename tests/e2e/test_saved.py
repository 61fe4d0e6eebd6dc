"""Saved queries as a person uses them: run by name, listed, shown, completed, and used as checks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.catalog.conftest import DAY, Workspace

from .conftest import Run

CONFIG = """
query "rows_of" {
  title = "Rows from one on"
  sql   = "SELECT tp_id FROM app_log WHERE tp_id >= $first AND $least <= (SELECT count(*) FROM app_log)"
  tags  = ["mine"]
  param "first" {
    default     = "a"
    description = "The first of them."
  }
  param "least" {
    type    = "integer"
    default = 1
  }
}
query "nothing" { sql = "FROM app_log WHERE false" }
query "cookbook_summary" { sql = "SELECT 'mine' AS a" }
queries "team" { path = "sql" }
"""


@pytest.fixture(autouse=True)
def data(install: Path, write_config: Callable[..., Path]) -> Workspace:
    """Three rows of app_log.prod, and some queries."""
    write_config(CONFIG)
    directory = install / "config" / "sql"
    directory.mkdir()
    (directory / "one_row.sql").write_text(
        "-- title: One row\n-- param: id varchar : its id\n\nFROM app_log\nWHERE tp_id = $id\n"
    )
    (directory / "broken.sql").write_text("-- title: Broken\n\nSELECT\n  tp_idd FROM app_log\n")
    (directory / "writes.sql").write_text("DROP VIEW app_log\n")
    workspace = Workspace(install / "data" / "default")
    workspace.collect([("web", DAY, ["a", "b", "c"])])
    return workspace


def ids(out: str) -> list[str]:
    return sorted(row["tp_id"] for row in json.loads(out))


def test_a_bare_word_is_a_saved_query(run: Run) -> None:
    done = run("query", "rows_of", "--output", "json")
    assert (done.code, ids(done.out)) == (0, ["a", "b", "c"])
    done = run("query", "one_row", "--param", "id=b", "--output", "json")
    assert (done.code, ids(done.out)) == (0, ["b"])
    done = run("query", "one_row", "--param", "id=b' OR true --", "--output", "json")
    assert (done.code, ids(done.out)) == (0, [])


def test_a_query_of_the_config_hides_one_of_a_plugin(run: Run) -> None:
    assert json.loads(run("query", "cookbook_summary", "--output", "json").out) == [{"a": "mine"}]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rows_off"], 2, 'saved query not found: rows_off\n  = did you mean "rows_of"?'),
        (["app_log"], 2, '"app_log" is a table, not a saved query\n  = to read it: tailpipe query "FROM app_log"'),
        (["zzz"], 2, "saved query not found: zzz\n  = see: tailpipe saved list"),
        (["one_row"], 2, 'the parameter "id" of "one_row" has no value\n  = give one: --param id=VALUE (its id)'),
        (["one_row", "--param", "idd=b"], 2, 'the query "one_row" has no parameter "idd"\n  = did you mean "id"?'),
        (["rows_of", "--param", "least=x"], 2, 'the parameter "least" must be integer, not "x"'),
        (["rows_of", "one_row", "--param", "id=a", "--param", "x=1"], 2, 'no statement has a parameter "x"'),
        (["broken"], 1, "broken.sql:4:3"),
        (["writes"], 2, "a query is read-only"),
    ],
)
def test_what_cannot_be_run_is_told(run: Run, arguments: list[str], code: int, message: str) -> None:
    done = run("query", *arguments)
    assert done.code == code
    assert message in done.err


def test_one_word_that_is_a_statement_stays_one(run: Run) -> None:
    done = run("query", "SHOW", "--output", "json")
    assert "app_log" in [row["name"] for row in json.loads(done.out)]


def test_saved_queries_stand_among_statements_and_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.sql").write_text("SELECT $least AS a")
    done = run(
        "query", "one_row", "SELECT 1 AS a", "two.sql", "--param", "id=c", "--param", "least=5", "--output", "json"
    )
    assert done.code == 0
    assert [(one["name"], len(one["rows"])) for one in json.loads(done.out)] == [
        ("one_row", 1),
        ("statement 2", 1),
        ("two.sql", 1),
    ]


def test_all_are_listed_and_one_is_shown(run: Run) -> None:
    listed = json.loads(run("saved", "list", "--output", "json").out)
    assert [one["name"] for one in listed][:6] == [
        "broken",
        "cookbook_summary",
        "nothing",
        "one_row",
        "rows_of",
        "writes",
    ]
    plugins = {one["name"]: one["plugin"] for one in listed}
    assert plugins["cloudtrail_failed_logins"] == "aws"
    assert plugins["cookbook_summary"] is None
    assert [one["name"] for one in json.loads(run("saved", "list", "--tag", "mine", "--output", "json").out)] == [
        "rows_of"
    ]
    shown = json.loads(run("saved", "show", "one_row", "--output", "json").out)
    assert (shown["title"], shown["sql"]) == ("One row", "FROM app_log\nWHERE tp_id = $id")
    assert shown["params"] == [
        {"name": "id", "type": "varchar", "required": True, "default": None, "description": "its id"}
    ]
    assert run("saved", "show", "one_row", "--output", "sql").out == "FROM app_log\nWHERE tp_id = $id\n"
    assert "The first of them." in run("saved", "show", "rows_of").out
    missing = run("saved", "show", "rows_off")
    assert (missing.code, missing.err) == (2, 'error: saved query not found: rows_off\n  = did you mean "rows_of"?\n')


def test_with_a_broken_config_the_queries_of_plugins_are_shown(run: Run, write_config: Callable[..., Path]) -> None:
    write_config("query {", "broken.tpc")
    done = run("saved", "show", "cloudtrail_failed_logins", "--output", "sql")
    assert (done.code, "FROM aws_cloudtrail_log" in done.out) == (0, True)
    assert run("query", "cloudtrail_failed_logins").code == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tailpipe query one", ["one_row"]),
        ("tailpipe check no", ["nothing"]),
        ("tailpipe saved show rows", ["rows_of"]),
        ("tailpipe query rows_of --param ", ["first=", "least="]),
        ("tailpipe query rows_of --param f", ["first="]),
        ("tailpipe check one_row rows_of --param ", ["id=", "first=", "least="]),
    ],
)
def test_names_and_parameters_are_completed(run: Run, words: str, expected: list[str]) -> None:
    count = len(words.split(" ")) - 1
    done = run(_TAILPIPE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(count))
    assert [line.partition(",")[2] for line in done.out.splitlines()] == expected


# Checks


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nothing"], 0),
        (["rows_of"], 3),
        (["nothing", "rows_of"], 3),
        (["rows_of", "--param", "first=x"], 0),
        (["rows_of", "--from", "T-1d"], 0),
        (["broken"], 1),
        (["broken", "rows_of"], 1),
        (["writes", "nothing"], 1),
        (["one_row", "nothing"], 1),
        (["rows_off", "rows_of"], 2),
        (["app_log"], 2),
        (["x*"], 2),
        (["rows_of", "--param", "x=1"], 2),
        ([], 2),
    ],
)
def test_the_exit_code_of_a_check(run: Run, arguments: list[str], code: int) -> None:
    assert run("check", *arguments).code == code


def test_many_checks_are_one_document_and_a_broken_one_fails_alone(run: Run) -> None:
    done = run("check", "rows_of", "broken", "one_row", "noth*", "--limit", "1", "--output", "json")
    found = json.loads(done.out)
    assert done.code == 1
    assert [(one["name"], one["status"], len(one["rows"])) for one in found] == [
        ("rows_of", "found", 1),
        ("broken", "error", 0),
        ("one_row", "error", 0),
        ("nothing", "ok", 0),
    ]
    assert [one["error"] for one in found] == [
        None,
        'there is no column "tp_idd"',
        'the parameter "id" of "one_row" has no value',
        None,
    ]
    assert "broken.sql:4:3" in done.err


def test_one_check_is_a_document_of_the_same_form(run: Run) -> None:
    done = run("check", "nothing", "--output", "json")
    assert json.loads(done.out) == [{"name": "nothing", "title": None, "rows": [], "status": "ok", "error": None}]


def test_a_check_for_people_has_a_line_for_each_query(run: Run) -> None:
    done = run("check", "nothing", "rows_of", "broken")
    lines = done.out.splitlines()
    assert lines[0] == "nothing: ok"
    assert lines[1] == "rows_of: 3 rows  Rows from one on"
    assert lines[-1] == "broken: failed  Broken"
    assert {"a", "b", "c"} <= {line.strip() for line in lines}
