"""How a query ends before its time: by a signal, by Ctrl-C, or by its time limit; it leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.sampling import sampled
from tests.unit.catalog.conftest import DAY, Workspace

from .conftest import Run
from .terminal import SECONDS, Terminal

ENDLESS = "SELECT count(*) FROM range(100000000000) a, range(100) b WHERE a.range % 7 = b.range % 3"
DEAF = "SELECT levenshtein(repeat('x', 400000), repeat('y', 400000))"
"""One call of a function that takes hours, inside of which DuckDB does not react."""


@pytest.fixture
def env(install: Path, tmp_path: Path) -> dict[str, str]:
    (install / "config").mkdir(parents=True)
    Workspace(install / "data" / "default").collect([("web", DAY, ["a", "b", "c"])])
    spills(tmp_path).mkdir()
    home = {"HOME": str(tmp_path), "TAILPIPE_INSTALL_DIR": str(install), "TMPDIR": str(spills(tmp_path))}
    return {**os.environ, **home, "TERM": "xterm", "NO_COLOR": "1"}


def spills(tmp_path: Path) -> Path:
    return tmp_path / "tmp"


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in spills(tmp_path).iterdir())


def begun(env: dict[str, str], tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    """A query whose statement runs: it has taken more than a second of the processor since it made its directory."""
    call = [sys.executable, "-m", "tailpipe", "query", *arguments]
    process = subprocess.Popen(call, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline, before = time.monotonic() + SECONDS, None
    while before is None or _cpu_seconds(process.pid) < before + 1:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        if before is None and left(tmp_path):
            before = _cpu_seconds(process.pid)
        time.sleep(0.05)
    return process


def _cpu_seconds(pid: int) -> float:
    """Of a process and its children: the engine runs in one."""
    own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return _own_seconds(pid) + sum(_own_seconds(int(child)) for child in own)


def _own_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


DEAF_THREAD = "SELECT levenshtein(repeat(tp_id, 400000), repeat('y', 400000)) FROM app_log"
"""The same, on any of DuckDB's threads: the statement may end, and closing waits for that thread."""

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@linux
@pytest.mark.parametrize(
    ("number", "statement", "output"),
    sampled([(signal.SIGTERM, ENDLESS, "pretty"), (signal.SIGHUP, ENDLESS, "csv"), (signal.SIGTERM, DEAF, "csv")], 3),
)
def test_a_signal_ends_a_query_and_removes_its_temporary_files(
    env: dict[str, str], tmp_path: Path, number: signal.Signals, statement: str, output: str
) -> None:
    target = tmp_path / "answer"
    with begun(env, tmp_path, statement, "--output", output, "--to-file", str(target)) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (128 + number, "")
    assert "Traceback" not in err
    assert left(tmp_path) == []
    assert not target.exists()


@linux
@pytest.mark.slow
def test_what_a_killed_query_left_is_removed_by_the_next_one(env: dict[str, str], tmp_path: Path) -> None:
    stranger = spills(tmp_path) / "tailpipe-query-of-somebody"
    with begun(env, tmp_path, ENDLESS) as process:
        stranger.mkdir()  # it has no lock
        process.kill()
    assert len(left(tmp_path)) == 2
    with begun(env, tmp_path, ENDLESS) as living:
        subprocess.run([sys.executable, "-m", "tailpipe", "query", "SELECT 1"], env=env, cwd=tmp_path, check=True)
        assert len(left(tmp_path)) == 2  # that of the living one stays
        living.terminate()
    assert left(tmp_path) == [stranger.name]


def test_control_c_ends_a_query(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal("query", ENDLESS, env=env, cwd=tmp_path) as terminal:
        terminal.see("still running; Ctrl-C ends it")
        terminal.type("\x03")
        assert terminal.ended() == 130
        terminal.see("interrupted")
    assert left(tmp_path) == []


@pytest.mark.slow
def test_control_c_twice_ends_a_query_that_does_not_react(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal("query", DEAF, env=env, cwd=tmp_path) as terminal:
        terminal.see("still running; Ctrl-C ends it")
        terminal.type("\x03")
        terminal.see("still cancelling; Ctrl-C again ends tailpipe")
        terminal.type("\x03")
        assert terminal.ended() == 130
    assert left(tmp_path) == []


@pytest.mark.slow
def test_control_c_twice_ends_the_shell_if_a_statement_does_not_react(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal("query", env=env, cwd=tmp_path) as terminal:
        terminal.see("\ntailpipe>")
        terminal.type(f"{DEAF};\n")
        terminal.see("still running; Ctrl-C ends it")
        terminal.type("\x03")
        terminal.see("still cancelling; Ctrl-C again ends tailpipe")
        terminal.type("\x03")
        assert terminal.ended() == 130
    assert left(tmp_path) == []


@pytest.mark.slow
def test_a_shell_ends_also_if_a_thread_of_a_cancelled_statement_does_not(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal("query", "--timeout", "1s", env=env, cwd=tmp_path) as terminal:
        terminal.see("\ntailpipe>")
        terminal.type(f"{DEAF_THREAD};\n")
        terminal.see("stopped at the time limit of 1 s")
        with suppress(OSError):  # if the whole process was stuck, it has ended with the time limit
            terminal.type(".exit\n")
        assert terminal.ended() in (0, 124)
    assert left(tmp_path) == []


def test_a_shell_that_is_terminated_at_its_prompt_leaves_nothing(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal("query", env=env, cwd=tmp_path) as terminal:
        terminal.ask("SELECT 41 + 1 AS a;", "42", "1 row")
        assert len(left(tmp_path)) == 1
        terminal.child.kill(signal.SIGTERM)
        assert terminal.ended() == 128 + signal.SIGTERM
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("statement", "output"),
    sampled([(ENDLESS, "pretty"), (ENDLESS, "csv"), (DEAF, "json"), (DEAF_THREAD, "line")], 4),
)
def test_a_time_limit_ends_a_statement(
    env: dict[str, str], run: Run, tmp_path: Path, statement: str, output: str
) -> None:
    done = run("query", statement, "--timeout", "1s", "--output", output, TMPDIR=env["TMPDIR"])
    assert done.code == 124
    assert "error: stopped at the time limit of 1 s\n  = raise it with --timeout" in done.err
    assert left(tmp_path) == []


@pytest.mark.slow
def test_each_statement_has_its_own_time(env: dict[str, str], run: Run) -> None:
    done = run("query", "SELECT 1 AS a", ENDLESS, "SELECT 2 AS b", "--timeout", "10s", "--output", "plain")
    assert (done.code, done.out) == (1, "a\n1\nb\n2\n")
    assert done.err.count("stopped at the time limit of 10 s") == 1


@pytest.mark.parametrize(
    ("word", "hint"),
    sampled([("30", "write 30s for seconds"), ("soon", "such as 30s"), ("-5s", "such"), ("0s", "such")], 4),
)
def test_a_time_limit_is_a_duration(env: dict[str, str], run: Run, word: str, hint: str) -> None:
    done = run("query", "SELECT 1", f"--timeout={word}")
    assert (done.code, done.out) == (2, "")
    assert f'the timeout "{word}" is not a duration\n  = {hint}' in done.err


def test_a_time_limit_in_the_shell(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal("query", "--timeout", "1h", env=env, cwd=tmp_path) as terminal:
        terminal.see("\ntailpipe>")
        terminal.ask(".timeout", "statements are stopped after 3600 s")
        terminal.ask(".timeout 1s", "statements are stopped after 1 s")
        terminal.ask(f"{ENDLESS};", "stopped at the time limit of 1 s")
        terminal.ask(".index web", "indexes web")
        terminal.ask(".timeout", "statements are stopped after 1 s")
        terminal.ask(".timeout off", "statements have no time limit")
        terminal.ask("SELECT 41 + 1 AS a;", "42")


CRASH = "SELECT from_json('1', repeat('[', 20000) || '\"INT\"' || repeat(']', 20000))"


@linux
def test_a_crash_of_the_engine_is_a_message_and_an_exit_code(env: dict[str, str], tmp_path: Path) -> None:
    call = [sys.executable, "-m", "tailpipe", "query", CRASH]
    done = subprocess.run(call, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the statement crashed the SQL engine\n  = ")


CRASHING_CONFIG = """
schema "crashing" {
  where = "CRASH IS NOT NULL"
}
query "a" {
  sql = "SELECT 1 AS n"
}
query "b" {
  sql = "SELECT CRASH"
}
query "c" {
  sql = "SELECT 2 AS n"
}
query "d" {
  sql = "SELECT CRASH || 'd'"
}
query "e" {
  sql = "SELECT 3 AS n WHERE n < 3"
}
""".replace("CRASH", CRASH.removeprefix("SELECT ").replace('"', '\\"'))


def called(env: dict[str, str], tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (Path(env["TAILPIPE_INSTALL_DIR"]) / "config" / "crashing.tpc").write_text(CRASHING_CONFIG)
    call = [sys.executable, "-m", "tailpipe", "--workspace", "default", *arguments]
    return subprocess.run(call, env=env, cwd=tmp_path, capture_output=True, text=True)


@linux
def test_a_crash_is_a_message_for_every_command_that_plans_sql(env: dict[str, str], tmp_path: Path) -> None:
    done = called(env, tmp_path, "schema", "show", "crashing")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the statement crashed the SQL engine\n  = ")


@linux
@pytest.mark.parametrize("output", ["pretty", "json"])
def test_a_check_that_crashes_is_named_and_the_others_run(env: dict[str, str], tmp_path: Path, output: str) -> None:
    done = called(env, tmp_path, "check", "a", "b", "c", "d", "e", "--output", output)
    assert done.returncode == 1
    assert done.stderr.count("error: the statement crashed the SQL engine: SELECT from_json(") == 2
    if output == "pretty":
        results = [line for line in done.stdout.splitlines() if line[1:2] == ":"]
        assert results == ["a: 1 row", "b: failed", "c: 1 row", "d: failed", "e: ok"]
    else:
        found = [(one["name"], one["rows"], one["status"]) for one in json.loads(done.stdout)]
        assert found == [
            ("a", [{"n": 1}], "found"),
            ("b", [], "error"),
            ("c", [{"n": 2}], "found"),
            ("d", [], "error"),
            ("e", [], "ok"),
        ]


@linux
def test_a_query_whose_parent_is_killed_ends_too(env: dict[str, str], tmp_path: Path) -> None:
    process = begun(env, tmp_path, ENDLESS)
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.communicate()
    deadline = time.monotonic() + SECONDS
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
