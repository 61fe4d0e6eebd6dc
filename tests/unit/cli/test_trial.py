"""`tailpipe format test` and `tailpipe table test`: what does not fit is counted, and the next step is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailpipe.cli.app import app

CONFIG = """
format "regex" "app" {
  layout = `^(?P<time>\\S+) (?P<level>[A-Z]+)(?P<rest>.*)$`
}
table "app" {
  format = format.regex.app
  column "tp_timestamp" { source = "time" }
  column "code" { transform = "nullif(level, 'INFO')" }
}
"""
GOOD = "2024-01-31T10:00:00Z INFO\n"
STEP = "  = to find the part that does not match, shorten the layout until `tailpipe format test` prints fields\n"

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "app.tpc").write_text(CONFIG)

    def call(command: str, text: str, *flags: str) -> Result:
        (tmp_path / "app.log").write_text(text)
        name = "regex.app" if command == "format" else "app"
        env = {"TAILPIPE_INSTALL_DIR": str(tmp_path), "HOME": str(tmp_path)}
        return CliRunner().invoke(app, [command, "test", name, str(tmp_path / "app.log"), *flags], env=env)

    return call


@pytest.mark.parametrize("command", ["format", "table"])
@pytest.mark.parametrize(
    ("limit", "shown", "more"),
    [("1", 1, "4 more rejected rows not shown\n"), ("20", 3, "2 more rejected rows not shown\n")],
)
def test_rejected_rows_that_are_not_shown_are_counted(
    run: Run, command: str, limit: str, shown: int, more: str
) -> None:
    done = run(command, GOOD + "bad\n" * 5, "--limit", limit, "--output", "jsonl")
    assert done.exit_code == 0, done.output
    lines = [f"app.log line {number + 2}: does not match the layout: bad\n" for number in range(shown)]
    assert done.stderr == "".join(lines) + more + "6 rows read: 1 accepted, 5 rejected\n"


def test_one_row_that_is_not_shown_is_counted_and_none_is_not(run: Run) -> None:
    assert "\n1 more rejected row not shown\n" in run("table", GOOD + "bad\n" * 4).stderr
    assert "not shown" not in run("table", GOOD + "bad\n" * 3).stderr


def test_a_layout_that_matches_no_row_is_to_be_shortened(run: Run) -> None:
    done = run("table", "bad\nworse\n")
    assert done.exit_code == 1
    assert done.stderr.endswith("2 rows read: 0 accepted, 2 rejected\n" + STEP)
    assert STEP not in run("table", "bad\nnoon INFO\n").stderr
    assert STEP not in run("table", GOOD + "bad\n").stderr


def test_null_and_empty_text_differ_in_lines(run: Run) -> None:
    shown = run("table", GOOD, "--output", "line").stdout.splitlines()
    values = {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in shown)}
    assert (values["level"], values["code"], values["rest"]) == ("INFO", "NULL", "")


def test_the_assumed_year_of_times_without_one_is_printed_with_its_basis(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "config" / "cron.tpc"
    config.write_text('table "cron" { format "syslog" {}\n  column "tp_timestamp" { source = "timestamp" } }')
    log = tmp_path / "cron.log"
    log.write_text("Jan 31 10:00:00 web1 cron[7]: started\n")
    os.utime(log, (1_500_000_000, 1_500_000_000))  # in July 2017
    env = {"TAILPIPE_INSTALL_DIR": str(tmp_path), "HOME": str(tmp_path)}
    done = CliRunner().invoke(app, ["table", "test", "cron", str(log)], env=env)
    assert "times have no year: assumed 2017 for 1 row, from the modification time of the file\n" in done.stderr
    assert "to set the year: a file_layout with a date, or " in done.stderr
