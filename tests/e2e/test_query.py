"""`tailpipe query` as a process: what it takes, what it writes, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import sampled
from tests.unit.catalog.conftest import DAY, Workspace

from .conftest import Run


@pytest.fixture(autouse=True)
def data(install: Path) -> Workspace:
    """Three rows of app_log.prod."""
    (install / "config").mkdir(parents=True)
    workspace = Workspace(install / "data" / "default")
    workspace.collect([("web", DAY, ["a", "b", "c"])])
    return workspace


def environment(install: Path, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "TAILPIPE_INSTALL_DIR": str(install), "HOME": str(tmp_path)}


def test_a_batch_goes_on_after_a_mistake_and_ends_with_1(run: Run, tmp_path: Path) -> None:
    (tmp_path / "b.sql").write_text("SELECT 2 AS a;\n\n-- it has no such column\nSELECT tp_idd\nFROM app_log;")
    (tmp_path / "c.sql").write_text("SELECT 3 AS a")
    done = run("query", "SELECT 1 AS a; SELECT ';' AS a", "[bc].sql", "--output", "csv")
    assert (done.code, done.out) == (1, "a\n1\na\n;\na\n2\na\n3\n")
    assert "--> b.sql:4:8" in done.err
    assert 'did you mean "tp_id"?' in done.err


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT 1 AS a; SELECT tp_idd FROM app_log; SELECT 2 AS b", "1:23"),
        ("SELECT 1 AS a;\n\n  SELECT\n    tp_idd FROM app_log", "4:5"),
        ("-- SELECT tp_idd FROM app_log\n; SELECT 1 AS a;SELECT tp_idd FROM app_log", "2:24"),
    ],
)
def test_a_mistake_is_shown_in_the_line_that_was_written(run: Run, text: str, place: str) -> None:
    done = run("query", text)
    line, column = (int(number) for number in place.split(":"))
    written = text.split("\n")[line - 1]
    assert done.code == 1
    assert f"--> statement:{place}\n  |\n{line} | {written}\n  | {' ' * (column - 1)}^^^^^^ did" in done.err


def test_standard_input_is_read(install: Path, tmp_path: Path) -> None:
    for arguments in ([], ["-"]):
        done = subprocess.run(
            [sys.executable, "-m", "tailpipe", "query", *arguments, "--output", "plain", "--no-header"],
            input="SELECT count(*) FROM app_log;\nSELECT 2;\n",
            env=environment(install, tmp_path),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "3\n2\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    sampled(
        [
            (("none.sql",), 2, 'there is no file "none.sql"'),
            (("",), 2, "there is no statement to run"),
            (("SELECT 1", "--output", "json", "--separator", ";"), 2, "--separator does not apply to --output json"),
            (("SELECT 1; SELECT 2", "--output", "parquet"), 2, "parquet holds one result"),
            (("SELECT 1", "--output", "csv", "--null", ","), 2, "choose another --separator or --null"),
            (
                ("SELECT 1", "--output", "csv", "--separator", "||"),
                2,
                "--separator of csv must be one character",
            ),
            (("SELECT 1", "--output", "csv", "--separator", "§"), 2, "--separator of csv must be one character"),
            (("SELECT 1", "--output", "csv", "--separator", ""), 2, "--separator of csv must be one character"),
            (("SELECT 1", "--output", "csv", "--null", "a\nb"), 2, "--null contains"),
            (("SELECT 1", "--limit", "x"), 2, '--limit must be an integer, not "x"'),
            (("SELECT 1", "--limit", "it's"), 2, '--limit must be an integer, not "it\'s"'),
            (("SELECT 1", "--limit", "-1"), 2, '--limit must be an integer of at least 0, not "-1"'),
            (("SELECT 1", "--limit"), 2, "--limit needs a value\n  = see: tailpipe query --help"),
            (("SELECT 1", "--timing=1"), 2, "--timing takes no value"),
            (("SELECT 1", "--limi", "1"), 2, 'unknown flag "--limi", did you mean "--limit"?'),
            (
                ("SELECT 1", "--engine", "park"),
                2,
                '--engine must be duckdb or spark, not "park", did you mean "spark"?',
            ),
            (("-- only a comment",), 2, "there is no statement to run"),
            (("SELECT 1", "--to-file", "none/a.csv"), 1, 'cannot write "none/a.csv"'),
            (("SELECT 1", "--to-file", "a.csv.gz"), 2, '".gz" at the end of "a.csv.gz" is not a known output format'),
            (("DROP VIEW app_log",), 2, "a query is read-only"),
        ],
        5,
    ),
)
def test_wrong_use_is_told(run: Run, arguments: tuple[str, ...], code: int, message: str) -> None:
    done = run("query", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_several_statements_are_one_document_of_json(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SELECT 1 AS a UNION ALL SELECT 2 ORDER BY ALL")
    (tmp_path / "b.sql").write_text("SELECT 3 AS b; SELECT 'x' AS c WHERE false;")
    done = run("query", "a.sql", "[b].sql", "SELECT 'é' AS \"d\"", "--output", "json")
    expected = [
        {"name": "a.sql", "rows": [{"a": 1}, {"a": 2}]},
        {"name": "b.sql statement 1", "rows": [{"b": 3}]},
        {"name": "b.sql statement 2", "rows": []},
        {"name": "statement 4", "rows": [{"d": "é"}]},
    ]
    assert (done.code, json.loads(done.out)) == (0, expected)
    done = run("query", "a.sql", "[b].sql", "SELECT 'é' AS \"d\"", "--to-file", "all.json")
    assert (done.code, json.loads((tmp_path / "all.json").read_text())) == (0, expected)
    assert json.loads(run("query", "a.sql", "--output", "json").out) == [{"a": 1}, {"a": 2}]


def test_a_failed_statement_of_several_leaves_valid_json(run: Run) -> None:
    late = "SELECT CASE WHEN range = 150000 THEN error('broken') ELSE 'fine' END AS a FROM range(200000)"
    done = run("query", "SELECT nope", "SELECT 1 AS a", late, "--output", "json")
    assert done.code == 1, done.err
    first, second, third = json.loads(done.out)
    assert (first["rows"], first["error"]) == ([], 'there is no column "nope"')
    assert second == {"name": "statement 2", "rows": [{"a": 1}]}
    assert "broken" in third["error"]
    assert set(map(json.dumps, third["rows"])) <= {'{"a": "fine"}'}


def test_several_statements_follow_each_other_in_the_other_outputs(run: Run) -> None:
    two = ("query", "SELECT 1 AS a", "SELECT 2 AS b")
    assert run(*two, "--output", "csv").out == "a\n1\nb\n2\n"
    assert run(*two, "--output", "jsonl").out == '{"a":1}\n{"b":2}\n'


def test_a_file_is_written_whole_or_not_at_all(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    done = run("query", "SELECT tp_id FROM app_log ORDER BY ALL", "--to-file", "a.csv", "--timing")
    assert (done.code, done.out, path.read_text()) == (0, "", "tp_id\na\nb\nc\n")
    assert "3 rows, " in done.err
    done = run("query", "SELECT 1", "SELECT nope", "--to-file", "a.csv")
    assert (done.code, path.read_text()) == (1, "tp_id\na\nb\nc\n")
    assert 'nothing was written to "a.csv"' in done.err


@pytest.mark.parametrize("output", sampled(["csv", "plain", "arrow"], 3))
def test_a_reader_that_has_seen_enough_ends_it_silently(install: Path, tmp_path: Path, output: str) -> None:
    sql = "FROM range(100000000000)"
    process = subprocess.Popen(
        [sys.executable, "-m", "tailpipe", "query", sql, "--output", output],
        env=environment(install, tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        assert process.stdout.read(2)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_an_answer_loads_nothing_that_it_does_not_need(install: Path, tmp_path: Path) -> None:
    always = (
        "duckdb importlib.metadata pandas pyspark tailpipe.catalog.commit tailpipe.catalog.doctor"
        " tailpipe.plugins.aws.connection tailpipe.plugins.aws.flow_format"
    )
    for output, unwanted in (("pretty", f"pyarrow prompt_toolkit {always}"), ("csv", f"pyarrow.dataset {always}")):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "tailpipe", "query", "FROM app_log", "--output", output],
            env=environment(install, tmp_path),
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = {
            line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")
        }
        assert "_duckdb" in loaded
        assert not loaded & set(unwanted.split())


@pytest.mark.parametrize("output", sampled(["csv", "pretty", "parquet"], 3))
def test_a_full_disk_behind_stdout_is_told(install: Path, tmp_path: Path, output: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tailpipe", "query", "FROM app_log", "--output", output],
            env=environment(install, tmp_path),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot write: No space left on device\n")


@pytest.mark.parametrize(("closed", "code"), sampled([("<&-", 2), (">&- <&-", 2), ("2>&-", 0), (">&- 2>&-", 0)], 2))
def test_closed_streams_are_no_bug(install: Path, tmp_path: Path, closed: str, code: int) -> None:
    words = "" if code else "'SELECT 1'"
    done = subprocess.run(
        ["/bin/sh", "-c", f"'{sys.executable}' -m tailpipe query {words} {closed}"],
        env=environment(install, tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert ("there is no statement to run" in done.stderr) == (code == 2)


def test_a_name_as_long_as_names_may_be_is_written(run: Run, tmp_path: Path) -> None:
    name = "a" * 250 + ".csv"
    assert run("query", "SELECT 1 AS a", "--to-file", name).code == 0
    assert (tmp_path / name).read_text() == "a\n1\n"


@pytest.mark.parametrize("output", sampled(["jsonl", "pretty", "plain", "line", "csv", "json"], 6))
def test_a_schema_shows_which_of_its_tables_hold_rows(run: Run, output: str) -> None:
    done = run("schema", "show", "tailpipe", "--output", output)
    assert done.code == 0
    assert "app_log" in done.out
    assert "aws_vpc_flow_log" in done.out
    if output == "jsonl":
        record = json.loads(done.out)
        assert [(table["table"], table["rows"]) for table in record["tables"]] == [("app_log", 3)]
        assert "aws_vpc_flow_log" in record["empty_tables"]


# Parameters


def test_a_value_is_bound_whatever_it_holds(run: Run) -> None:
    hostile = "'; DROP TABLE app_log; -- $x \"\n"
    done = run(
        "query", "SELECT $who AS who, count(*) AS n FROM app_log", "--param", f"who={hostile}", "--output", "json"
    )
    assert (done.code, json.loads(done.out)) == (0, [{"who": hostile, "n": 3}])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["SELECT $who"], 'the parameter "who" has no value'),
        (["SELECT $who", "--param", "whoo=1"], 'did you mean "who"?'),
        (["SELECT $who", "--param", "who"], '"who" is not NAME=VALUE'),
        (["SELECT $who", "--param", "=a"], '"=a" is not NAME=VALUE'),
        (["SELECT $who", "--param", "who=a", "--param", "WHO=b"], '--param "WHO" is repeated'),
        (["SELECT $n", "--param", "n:integer=x"], 'the parameter "n" must be integer, not "x"'),
        (["SELECT $n", "--param", "n:intger=1"], 'did you mean "integer"?'),
        (["SELECT 1; SELECT $a", "--param", "a=1", "--param", "b=1"], 'no statement has a parameter "b"'),
    ],
)
def test_a_wrong_parameter_is_refused(run: Run, arguments: list[str], message: str) -> None:
    done = run("query", *arguments)
    assert done.code == 2
    assert message in done.err


def test_each_statement_gets_the_values_that_it_names(run: Run) -> None:
    statements = "SELECT $a AS x; SELECT $b::INTEGER + $A::INTEGER AS x; SELECT '$a' AS x"
    done = run("query", statements, "--param", "a=1", "--param", "b:integer=2", "--output", "csv", "--no-header")
    assert (done.code, done.out) == (0, "1\n3\n$a\n")


def test_a_value_may_hold_an_equals_sign_and_be_empty(run: Run) -> None:
    done = run("query", "SELECT $a AS a, $b AS b", "--param", "a=x=y", "--param", "b=", "--output", "json")
    assert json.loads(done.out) == [{"a": "x=y", "b": ""}]
