"""The command line frame: help, first run, config, listings, exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tailpipe import __version__

from .conftest import Run

Write = Callable[..., Path]

CONFIG = """
workspace "default" { spark { master = "local[2]" } }
workspace "lab" { location = "~/lab" log_level = "info" }

connection "aws" "prod" {
  access_key = "AKIAEXAMPLE"
  secret_key = "canary-secret"
}

format "delimited" "flow" { delimiter = " " }

table "app" {
  description = "The app."
  format      = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "level" { type = "string" description = "How bad." }
}

partition "app" "prod" {
  description = "Production."
  source "file" { paths = ["/var/log/app"] }
  source "file" "flows" { paths = ["/var/log/flow"] format = format.delimited.flow }
}

partition "app" "test" { source "file" { paths = ["/tmp"] } }

schema "recent" { from = "T-7d" }
"""

NOUNS = ("connection", "source", "format", "table", "partition", "plugin", "schema")
SHOWN = {
    "connection": "aws.prod",
    "source": "file",
    "format": "delimited.flow",
    "table": "app",
    "partition": "app.prod",
    "plugin": "core",
    "schema": "recent",
}


def test_the_version_is_printed(run: Run) -> None:
    done = run("--version")
    assert (done.code, done.out) == (0, f"tailpipe {__version__}\n")


def test_help_names_every_command_and_every_command_has_help_with_an_example(run: Run) -> None:
    done = run("--help")
    assert done.code == 0
    for command in (*NOUNS, "collect", "config", "completion"):
        assert f"  {command} " in done.out
    for call in (("collect",), ("config", "check"), ("table", "list"), ("table", "show"), ("plugin", "install")):
        done = run(*call, "--help")
        assert done.code == 0
        assert "Example" in done.out


@pytest.mark.parametrize("noun", NOUNS)
def test_every_noun_is_listed_and_shown_as_json(run: Run, write_config: Write, noun: str) -> None:
    write_config(CONFIG)
    done = run(noun, "list", "--output", "json")
    assert done.code == 0, done.err
    records = {record["name"]: record for record in json.loads(done.out)}
    shown = json.loads(run(noun, "show", SHOWN[noun], "--output", "json").out)
    listed = records[SHOWN[noun]]
    assert {key: shown[key] for key in listed} == listed  # one alone may tell more
    assert {"name", "plugin", "description"} <= shown.keys()


def test_a_partition_tells_what_of_it_is_here(run: Run, write_config: Write) -> None:
    write_config(CONFIG)
    shown = json.loads(run("partition", "show", "app.prod", "--output", "json").out)
    assert shown["local"] == {"file_count": 0, "file_size": 0, "row_count": 0}
    assert [source["name"] for source in shown["sources"]] == ["file", "flows"]


def test_a_table_tells_its_columns_and_a_source_its_options(run: Run, write_config: Write) -> None:
    write_config(CONFIG)
    table = json.loads(run("table", "show", "app", "--output", "json").out)
    columns = {column["name"]: column["type"] for column in table["columns"]}
    assert columns["level"] == "varchar"
    assert columns["tp_ips"] == "varchar[]"
    source = json.loads(run("source", "show", "file", "--output", "json").out)
    paths = next(option for option in source["options"] if option["name"] == "paths")
    assert (paths["required"], paths["type"]) == (True, "list of text")


def test_all_outputs_hold_the_same_names(run: Run, write_config: Write) -> None:
    write_config(CONFIG)
    names = ["app.prod", "app.test"]
    outputs = {output: run("partition", "list", "--output", output).out for output in ("jsonl", "csv", "plain", "line")}
    assert [json.loads(line)["name"] for line in outputs["jsonl"].splitlines()] == names
    assert [row["name"] for row in csv.DictReader(io.StringIO(outputs["csv"]))] == names
    assert [line.split("\t")[0] for line in outputs["plain"].splitlines()] == ["name", *names]
    assert [line.split("= ")[1] for line in outputs["line"].splitlines() if line.startswith("name")] == names
    pretty = run("partition", "list").out.splitlines()
    assert [line.split()[0] for line in pretty[2:]] == names


def test_an_unknown_name_is_told_with_the_nearest_one(run: Run, write_config: Write) -> None:
    write_config(CONFIG)
    done = run("partition", "show", "app.prd")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith('error: partition not found: app.prd\n  = did you mean "app.prod"?\n')


def test_wrong_use_exits_with_2_and_says_where_help_is(run: Run) -> None:
    done = run("colect")
    assert done.code == 2
    assert 'unknown command "colect", did you mean "collect"?' in done.err
    assert 'unknown command "collection", did you mean "partition"?' in run("collection", "list").err
    done = run("table", "list", "--outpt", "json")
    assert done.code == 2
    assert "see: tailpipe table list --help" in done.err


def test_the_first_run_makes_private_directories_and_says_so_on_stderr(run: Run, install: Path) -> None:
    done = run("partition", "list", "--output", "json")
    assert (done.code, done.out) == (0, "[]\n")
    assert f"created {install / 'config'}" in done.err
    assert f"created {install / 'data' / 'default'}" in done.err
    for directory in (install, install / "config", install / "data", install / "data" / "default"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert run("partition", "list").err == "no results\n"


def test_collect_without_config_shows_an_example_that_passes_the_check(run: Run, install: Path) -> None:
    done = run("collect")
    assert done.code == 2
    assert done.out == ""
    assert str(install / "config" / "app.tpc") in done.err
    example = done.err[done.err.index("table ") : done.err.index("error:")]
    (install / "config" / "app.tpc").write_text(example)
    checked = run("config", "check")
    assert checked.code == 0, checked.err
    assert "app_log.local" in checked.out


def test_collect_refuses_a_selector_that_means_nothing(run: Run, write_config: Write) -> None:
    write_config(CONFIG)
    done = run("collect", "app.prd")
    assert (done.code, done.err) == (2, 'error: partition not found: app.prd\n  = did you mean "app.prod"?\n')


def test_config_check_says_what_is_there(run: Run, write_config: Write, install: Path) -> None:
    write_config(CONFIG)
    done = run("config", "check")
    assert done.code == 0
    assert "2 partitions: app.prod, app.test" in done.out
    assert f"workspace default in {install / 'data' / 'default'}" in done.out


def test_config_check_tells_all_problems_of_all_files_and_exits_with_2(run: Run, write_config: Write) -> None:
    write_config('partition "nope" "x" { source "file" { paths = 5 } }\n', "a.tpc")
    write_config('schema "main" {}\nformat "jsonl" {', "b.tpc")
    done = run("config", "check")
    assert (done.code, done.out) == (2, "")
    for place in ("a.tpc:1:", "b.tpc:1:8", "b.tpc:2:"):
        assert place in done.err
    assert done.err.endswith("problems in the config\n")


def test_secrets_appear_in_no_output(run: Run, write_config: Write) -> None:
    write_config(CONFIG)
    calls = [("config", "show"), ("config", "show", "--output", "json"), ("config", "check")]
    calls += [("connection", "show", "aws.prod", "--output", output) for output in ("pretty", "json", "csv", "line")]
    for call in calls:
        done = run(*call, TAILPIPE_LOG_LEVEL="debug")
        assert done.code == 0
        assert "canary" not in done.out + done.err
    write_config(CONFIG.replace("secret_key", "secret_kee"))
    done = run("config", "check")
    assert 'did you mean "secret_key"?' in done.err
    assert "canary" not in done.out + done.err


def test_what_config_show_prints_is_a_config_that_says_the_same(run: Run, write_config: Write) -> None:
    write_config(CONFIG)
    text = run("config", "show").out
    first = json.loads(run("config", "show", "--output", "json").out)
    write_config(text)
    assert json.loads(run("config", "show", "--output", "json").out) == first


def test_flags_win_over_environment_and_that_over_the_default(run: Run, write_config: Write, tmp_path: Path) -> None:
    write_config(CONFIG)
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.tpc").write_text('workspace "flag" {}\nworkspace "lab" {}\n')
    assert "lab in" in run("config", "check", TAILPIPE_WORKSPACE="lab").out
    assert "default in" in run("config", "check", "--workspace", "default", TAILPIPE_WORKSPACE="lab").out
    assert "flag in" in run("--workspace", "flag", "--config-path", str(other), "config", "check").out
    done = run("config", "check", "--workspace", "flag", TAILPIPE_CONFIG_PATH=str(other))
    assert "flag in" in done.out
    assert f"workspace lab in {tmp_path / 'lab'}" in run("config", "check", "--workspace", "lab").out
    done = run("config", "check", "--workspace", "lap")
    assert (done.code, done.err) == (2, 'error: there is no workspace "lap"\n  = did you mean "lab"?\n')


def test_a_wrong_log_level_or_config_path_is_told(run: Run) -> None:
    done = run("config", "check", TAILPIPE_LOG_LEVEL="loud")
    assert (done.code, "the levels are: debug" in done.err) == (2, True)
    done = run("config", "check", "--config-path", "nowhere")
    assert (done.code, "nowhere" in done.err) == (2, True)


@pytest.mark.parametrize("name", ["x.parquet", "metadata.sqlite", "tp_table=a/tp_partition=b/c.parquet"])
def test_a_directory_with_foreign_data_is_refused_and_left_alone(
    run: Run, write_config: Write, install: Path, name: str
) -> None:
    write_config(CONFIG)
    foreign = install / "data" / "default" / name
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"not ours")
    for call in (("collect",), ("partition", "list")):
        done = run(*call)
        assert done.code == 1
        assert "contains data of another program" in done.err
        assert 'workspace "default" { location = "…" }' in done.err
    assert [path for path in (install / "data").rglob("*") if path.is_file()] == [foreign]


def test_bad_config_files_are_told_without_a_traceback(run: Run, write_config: Write, install: Path) -> None:
    path = write_config("")
    path.write_bytes(b'schema "a" {}\n# \xff\xfe\n')
    done = run("config", "check")
    assert done.code == 2
    assert "not UTF-8" in done.err
    assert "main.tpc:2:3" in done.err
    path.write_text('schema "a" { where = "' + "x" * 1_000_000 + '" oops }')
    done = run("config", "check")
    assert done.code == 2
    assert len(done.err) < 1000


def test_ten_thousand_blocks_are_read(run: Run, write_config: Write) -> None:
    write_config(CONFIG + "".join(f'schema "s{i}" {{ from = "T-{i}d" }}\n' for i in range(10_000)))
    done = run("config", "check")
    assert done.code == 0
    assert "10,001 schemas" in done.out


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_an_unreadable_config_directory_is_told(tmp_path: Path, write_config: Write, install: Path) -> None:
    config = write_config(CONFIG).parent
    for path in (tmp_path, *tmp_path.parents):
        if not path.stat().st_mode & stat.S_IXOTH:
            path.chmod(path.stat().st_mode | stat.S_IXOTH)
    install.chmod(0o755)
    config.chmod(0o700)
    # The interpreter itself may lie where only root can read, so all is imported before root is given up.
    code = (
        "import os, sys\nfrom tailpipe.cli import main\n"
        "def call(*arguments):\n"
        "    try: main(arguments)\n"
        "    except SystemExit as leaving: return leaving.code\n"
        "assert call('config', 'check') == 0\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "sys.exit(call('config', 'check'))"
    )
    env = {**os.environ, "HOME": "/", "TAILPIPE_INSTALL_DIR": str(install), "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: cannot read the directory: Permission denied")
    assert "install/config" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_printed(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert done.code == 0
    assert "_TAILPIPE_COMPLETE" in done.out


def test_completion_knows_the_partitions_of_the_config(run: Run, write_config: Write) -> None:
    write_config(CONFIG)
    env = {"_TAILPIPE_COMPLETE": "bash_complete", "COMP_WORDS": "tailpipe partition show app.", "COMP_CWORD": "3"}
    assert [line.split(",")[-1] for line in run(**env).out.splitlines()] == ["app.prod", "app.test"]


def test_a_reader_that_closes_early_is_no_error(run: Run, write_config: Write, install: Path) -> None:
    write_config(CONFIG + "".join(f'schema "s{i}" {{}}\n' for i in range(3000)))
    command = f"{sys.executable} -m tailpipe schema list --output jsonl | head -1; exit ${{PIPESTATUS[0]}}"
    env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(install)}
    done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_an_interrupt_exits_with_130(install: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "slow.tpc"
    os.mkfifo(fifo)  # reading it blocks until someone writes
    env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(install), "HOME": str(tmp_path)}
    call = [sys.executable, "-m", "tailpipe", "config", "check", "--config-path", str(fifo)]
    child = subprocess.Popen(call, env=env, stderr=subprocess.PIPE)
    with fifo.open("w"):  # returns when the child has opened it for reading
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=240)
    assert (child.returncode, err) == (130, b"interrupted\n")


def test_help_and_check_import_nothing_heavy(write_config: Write, install: Path) -> None:
    path = write_config(CONFIG)
    heavy = "pyspark duckdb _duckdb pyarrow pandas numpy boto3 botocore obstore rich prompt_toolkit sqlglot"
    for call in (["--help"], ["config", "check", "--config-path", str(path)], ["collect", "--help"], ["status"]):
        code = (
            "import sys\nfrom tailpipe.cli import main\n"
            f"try: main({call!r})\nexcept SystemExit: pass\n"
            f"print('HEAVY', *(m for m in {heavy.split()!r} if m in sys.modules))"
        )
        env = {**os.environ, "TAILPIPE_INSTALL_DIR": str(install)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
        assert done.stdout.splitlines()[-1].split() == ["HEAVY"]
