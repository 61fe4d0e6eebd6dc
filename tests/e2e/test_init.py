"""The first minute from the command line: `tailpipe init`, and the two commands that it names."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from .conftest import Run

ACCESS = '10.0.0.{n} - anna [31/Jan/2024:10:00:0{n} +0000] "GET /{n} HTTP/1.1" 200 512\n'


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f'{{"at": "2024-01-31T10:00:0{n}Z", "user": "u{n}", "n": {n}}}\n' for n in range(6)))
    return path


@pytest.mark.slow
def test_init_writes_once_prints_with_dry_run_and_overwrites_only_by_force(
    run_without_spark: Run, tmp_path: Path, install: Path
) -> None:
    log = write(tmp_path / "visits.jsonl")
    printed = run_without_spark("init", str(log), "--dry-run")
    assert (printed.code, (install / "config" / "visits_log.tpc").exists()) == (0, False)
    done = run_without_spark("init", str(log))
    assert done.code == 0
    assert (install / "config" / "visits_log.tpc").read_text() == printed.out
    again = run_without_spark("init", str(log), "--name", "visits_log")
    assert (again.code, "exists" in again.err, "--force" in again.err) == (2, True, True)
    assert done.err.endswith(
        "next:\n  tailpipe collect visits_log.local --from 2024-01-31\n"
        '  tailpipe query "SELECT * FROM visits_log LIMIT 10"\n'
    )
    commands = [shlex.split(line)[1:] for line in done.err.splitlines()[-2:]]
    collected = run_without_spark(*commands[0])
    assert "visits_log.local: 6 rows" in collected.out
    assert run_without_spark(*commands[1], "--output", "csv").out.count("\n") == 7
    known = run_without_spark("table", "infer", str(log))
    assert (known.out[:20], "table visits_log, in the config" in known.err) == ('table "visits_log" {', True)


def test_init_without_an_argument_names_places_and_a_broken_file_is_no_traceback(
    run_without_spark: Run, tmp_path: Path
) -> None:
    write(tmp_path / "logs" / "a.jsonl")
    assert f"tailpipe init {tmp_path / 'logs'}" in run_without_spark("init").err
    (tmp_path / "x.bin").write_bytes(bytes(range(256)))
    done = run_without_spark("init", str(tmp_path / "x.bin"))
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-2:] == [
        'error: "x.bin" is a binary file of no format that is known',
        "  = to see all formats: tailpipe format list",
    ]


@pytest.mark.slow
def test_what_init_writes_is_collected_by_spark(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "web" / "access.log"
    path.parent.mkdir()
    path.write_text("".join(ACCESS.format(n=n) for n in range(9)))
    done = run("init", str(path))
    collect, query = (shlex.split(line)[1:] for line in done.err.splitlines()[-2:])
    assert run("config", "check", "--sql").code == 0
    assert ": 9 rows" in run(*collect).out
    assert run(*query, "--output", "csv").out.count("\n") == 10


def test_init_collects_what_it_found_and_not_in_a_dry_run(run_without_spark: Run, tmp_path: Path) -> None:
    log = tmp_path / "app-2024-01-31.log"
    log.write_text("10:00:01 INFO [main] a.B - started\n10:00:02 WARN [main] a.B - very slow\n")
    os.utime(log, (1_706_700_000, 1_706_700_000))  # it does not grow any more
    refused = run_without_spark("init", log.name, "--collect", "--dry-run")
    assert (refused.code, "--dry-run cannot be combined" in refused.err) == (2, True)
    done = run_without_spark("init", log.name, "--collect", "--name", "app_log")
    assert done.code == 0, done.err
    assert "tailpipe collect app_log.local --from 2024-01-31" in done.err
    statement = "SELECT tp_timestamp, tp_level, tp_message FROM app_log ORDER BY 1"
    rows = run_without_spark("query", statement, "--output", "csv")
    assert rows.out.splitlines()[1:] == ["2024-01-31 10:00:01,INFO,started", "2024-01-31 10:00:02,WARN,very slow"]
