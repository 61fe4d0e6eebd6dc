"""What whoever meets tailpipe for the first time runs into: mistakes, and what is said of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sampling import sampled

from .conftest import Run

Write = Callable[..., Path]

TABLE = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}
partition "app" "prod" { source "file" { paths = ["/tmp"] } }
"""
BROKEN = TABLE + 'table "mine" { fromat = 1 }\n'
MISSPELT = TABLE + 'schema "recent" {\n  tables = ["ap_*", "app", "apps"]\n}\n'


@pytest.mark.parametrize(
    "words",
    sampled(
        [
            "format list",
            "format show delimited",
            "format show jsonl.default",
            "table list",
            "table show aws_vpc_flow_log",
            "source list",
            "source show file",
            "connection list",
            "plugin list",
        ],
        4,
    ),
)
def test_what_plugins_bring_is_shown_while_the_config_is_broken(run: Run, write_config: Write, words: str) -> None:
    arguments = words.split()
    whole = run(*arguments, "--output", "json")
    write_config(BROKEN)
    done = run(*arguments, "--output", "json")
    assert (done.code, done.out) == (0, whole.out)
    if arguments[0] not in ("source", "plugin"):  # these never read it
        assert done.err == (
            "warning: 2 problems in the config; only what plugins provide is shown (see: tailpipe config check)\n"
        )


@pytest.mark.parametrize("arguments", [("table", "show", "app"), ("table", "show", "nobody"), ("partition", "list")])
def test_what_only_the_config_can_tell_tells_what_is_wrong_with_it(
    run: Run, write_config: Write, arguments: tuple[str, ...]
) -> None:
    write_config(BROKEN)
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert 'unknown argument "fromat"' in done.err


def test_a_file_is_tried_on_a_preset_while_the_config_is_broken(run: Run, write_config: Write, tmp_path: Path) -> None:
    write_config(BROKEN)
    (tmp_path / "a.csv").write_text("time,n\n10:00,1\n")
    done = run("format", "test", "delimited.csv", "a.csv", "--output", "csv")
    assert (done.code, done.out) == (0, "time,n\n10:00,1\n")
    assert "warning: 2 problems in the config" in done.err


def test_a_table_in_a_schema_that_nobody_knows_is_a_warning_with_its_place(run: Run, write_config: Write) -> None:
    write_config(MISSPELT)
    done = run("config", "check")
    assert done.code == 0
    assert done.out.endswith("no problems found, 1 warning\n")
    assert 'warning: schema "recent" shows the table "apps", which is not known\n' in done.err
    assert "main.tpc:8:28\n" in done.err
    assert '^^^^^^ did you mean "app"?\n' in done.err


@pytest.mark.parametrize(
    "arguments", [("schema", "show", "recent"), ("query", "FROM recent.apps"), ("connect",)], ids=str
)
def test_whoever_uses_such_a_schema_is_told_too(run: Run, write_config: Write, arguments: tuple[str, ...]) -> None:
    write_config(MISSPELT)
    assert 'the table "apps", which is not known' in run(*arguments).err
    assert run("query", "SELECT 1").err.count("apps") == 0


@pytest.mark.slow
def test_a_trial_tells_values_that_do_not_fit_and_a_few_rows_of_each_kind(
    run: Run, write_config: Write, tmp_path: Path
) -> None:
    write_config(TABLE.replace("column", 'column "n" { type = "integer" }\n  column', 1))
    row = '{"time": "2024-01-31T10:00:00Z", "n": "x", "s": "gr\ufffdn"}\n'
    (tmp_path / "a.jsonl").write_text(row + "{\n" * 9)
    done = run("table", "test", "app", "a.jsonl")
    assert done.out.split("\n")[0].split()[:4] == ["tp_timestamp", "n", "s", "time"]
    assert "tp_akas" not in done.out
    assert done.err == (
        "empty common columns are hidden; to show all columns: --output line\n"
        + "".join(f"a.jsonl line {number}: the line is not JSON: {{\n" for number in (2, 3, 4))
        + "6 more rejected rows not shown\n"
        "column n: 1 value of the wrong type set to null\n"
        "10 rows read: 1 accepted, 9 rejected\n"
        "invalid bytes were replaced by \ufffd; set the encoding of the format\n"
    )
    assert "tp_akas" in run("table", "test", "app", "a.jsonl", "--output", "line").out


@pytest.mark.parametrize(
    ("row", "advice"),
    [
        ('{"tmie": 1}', 'no row has a field "time"; did you mean "tmie"?'),
        ('{"time": "1/Feb/2024:10:00:00 +0000"}', "strptime(time, '%d/%b/%Y:%H:%M:%S %z')"),
    ],
)
def test_a_trial_in_which_nothing_fits_tells_the_next_step(
    run: Run, write_config: Write, tmp_path: Path, row: str, advice: str
) -> None:
    write_config(TABLE)
    (tmp_path / "a.jsonl").write_text(row + "\n")
    done = run("table", "test", "app", "a.jsonl")
    assert advice in done.err
    assert done.code == 1  # no row fits


def test_a_transform_whose_types_clash_is_shown_where_it_stands(run: Run, write_config: Write, tmp_path: Path) -> None:
    clash = "transform = \"coalesce(try_strptime(a, '%d/%b/%Y'), b)\""
    write_config('table "app" {\n  format = format.csv.default\n  column "tp_timestamp" { ' + clash + " }\n}")
    (tmp_path / "a.csv").write_text("a,b\n10/Nov/2026,x\n")
    for arguments in (("config", "check", "--sql"), ("table", "test", "app", "a.csv")):
        done = run(*arguments)
        assert done.code == 2
        assert "error: timestamp and varchar do not mix in coalesce" in done.err
        assert ".tpc:3:" in done.err


@pytest.mark.slow
def test_rows_that_were_all_rejected_are_read_again_by_the_command_that_is_told(
    run_without_spark: Run, write_config: Write, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_text('{"at": "2024-01-31T10:00:00Z"}\n')
    config = TABLE.replace("/tmp", str(logs))
    write_config(config)
    told = "app.prod: no rows collected, 1 row rejected; fix the config, then run: "
    first = run_without_spark("collect", "--from", "2024-01-01", "--no-progress")
    assert told + "tailpipe collect app.prod --from 2024-01-01 --overwrite\n" in first.err
    write_config(config.replace('"time"', '"at"'))
    assert told in run_without_spark("collect", "--from", "2024-01-01", "--no-progress").err
    again = run_without_spark("collect", "app.prod", "--overwrite", "--from", "2024-01-01", "--no-progress")
    assert (again.out, again.err) == ("app.prod: 1 row, 1 undated artifact\n", "")


@pytest.mark.slow
def test_rows_that_were_all_filtered_are_told_with_the_command_that_reads_them_again(
    run_without_spark: Run, write_config: Write, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_text('{"time": "2024-01-31T10:00:00Z", "level": "ERROR"}\n')
    config = TABLE.replace("/tmp", str(logs)).replace('"prod" {', '"prod" {\n  filter = "level = ERROR"\n ')
    write_config(config)
    again = "tailpipe collect app.prod --from 2024-01-01 --overwrite"
    told = f"app.prod: no rows collected, 1 row filtered; fix the filter, then run: {again}\n"
    assert told in run_without_spark("collect", "--from", "2024-01-01", "--no-progress").err
    write_config(config.replace("= ERROR", "= 'ERROR'"))
    assert run_without_spark(*again.split()[1:], "--no-progress").out == "app.prod: 1 row, 1 undated artifact\n"


def _laid_out(layout: str, more: str = "") -> str:
    return TABLE.replace('["/tmp"]', f'["/tmp"]\n    file_layout = "{layout}"\n    {more}\n')


def test_a_layout_with_a_pattern_that_does_not_exist_is_a_problem_with_its_place(run: Run, write_config: Write) -> None:
    write_config(_laid_out("%{YER:year}.log"))
    done = run("config", "check")
    assert done.code == 2
    assert 'error: there is no pattern "YER"' in done.err
    assert "main.tpc:7:19\n" in done.err
    assert 'did you mean "YEAR"?' in done.err
    assert run("table", "list").code == 0


def test_a_layout_with_half_a_date_is_a_warning(run: Run, write_config: Write) -> None:
    write_config(_laid_out("%{YEAR:yeer}-%{MONTHNUM:month}-%{MONTHDAY:day}.log"))
    done = run("config", "check")
    assert (done.code, done.out.splitlines()[-1]) == (0, "no problems found, 1 warning")
    assert 'warning: the layout has a day and no "year", so its files have no date\n' in done.err
    write_config(_laid_out("%{YEAR:year}-%{MONTHNUM:month}.log"))
    assert run("config", "check").err == ""


def test_a_group_of_a_layout_that_fills_nothing_is_a_warning(run: Run, write_config: Write) -> None:
    write_config(_laid_out("%{WORD:tp_index}/%{WORD:tp_id}/%{WORD:tp_source_name}.log"))
    done = run("config", "check")
    assert (done.code, done.out.splitlines()[-1]) == (0, "no problems found, 2 warnings")
    assert 'warning: the group "tp_index" of the layout has no effect\n' in done.err
    assert 'write tp_index = "tp_source_name" into the partition' in done.err
    assert 'warning: the group "tp_id" of the layout has no effect\n' in done.err


def test_a_pattern_of_ones_own_is_looked_at_in_every_source(run: Run, write_config: Write) -> None:
    write_config(_laid_out("%{X:year}.log", 'patterns = { X = "(" }'))
    done = run("config", "check")
    assert done.code == 2
    assert 'pattern "X":' in done.err


def test_a_config_without_files_says_so(run: Run) -> None:
    assert "no .tpc files found; run tailpipe collect for an example" in run("config", "check").err


def test_the_default_of_an_option_is_shown_as_config_writes_it(run: Run) -> None:
    [line] = [line for line in run("source", "show", "file").out.splitlines() if "recursive" in line]
    assert line.split()[:6] == ["recursive", "true", "or", "false", "no", "true"]


def test_a_partition_shows_where_it_looks_and_by_which_format(run: Run, write_config: Write) -> None:
    write_config(_laid_out("%{YEAR:year}.log"))
    lines = run("partition", "show", "app.prod").out.splitlines()
    [line] = [line for line in lines if line.split()[:2] == ["file", "file"]]
    assert line.split()[2:] == ["format.jsonl.default", "paths=/tmp,", "file_layout=%{YEAR:year}.log"]
    assert "map_fields  *" in run("table", "show", "app").out


@pytest.mark.parametrize(
    ("arguments", "told"),
    sampled(
        [
            (("collect", "--form", "T-1d"), 'error: unknown flag "--form", did you mean "--from"?'),
            (("collect", "--zzz"), 'error: unknown flag "--zzz"\n'),
            (("partition", "shwo"), 'error: unknown command "shwo", did you mean "show"?'),
            (("format", "test", "mine", "a"), "format not found: mine\n  = there is: regex.mine\n"),
            (("format", "test", "regex", "a"), "format not found: regex.default\n  = there are: regex.mine, "),
            (("format", "test", "grok", "a"), "format not found: grok.default\n  = see: tailpipe format list\n"),
            (("format", "test", "jsnol", "a"), "format not found: jsnol\n  = see: tailpipe format list\n"),
        ],
        3,
    ),
)
def test_a_wrong_word_is_answered_with_the_right_one(
    run: Run, write_config: Write, arguments: tuple[str, ...], told: str
) -> None:
    write_config('format "regex" "mine" { layout = "(?P<a>.)" }')
    done = run(*arguments)
    assert done.code == 2
    assert told in done.err


@pytest.mark.slow
def test_rows_outside_the_window_are_told_with_the_days_to_ask_for(
    run_without_spark: Run, write_config: Write, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.jsonl").write_text('{"time": "2024-01-31T10:00:00Z"}\n{"time": "2024-02-03T10:00:00Z"}\n')
    write_config(TABLE.replace("/tmp", str(logs)))
    told = run_without_spark("collect", "--no-progress").out
    expected = "requested window; the logs have rows from 2024-01-31 to 2024-02-03; to collect them: "
    _, _, command = told.partition(expected)
    words = shlex.split(command.splitlines()[0])
    assert words == ["tailpipe", "collect", "app.prod", "--from", "2024-01-31"]
    assert run_without_spark(*words[1:], "--no-progress").out.startswith("app.prod: 2 rows")
