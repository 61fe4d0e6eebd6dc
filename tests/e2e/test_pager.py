"""A pager in a real terminal: whatever becomes of it, the answer or a reason is seen, and nothing crashes."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.sampling import sampled
from tests.unit.catalog.conftest import Workspace

from .terminal import Terminal

LONG = "SELECT 'row ' || range AS a, repeat('x', 40) AS b FROM range(9000)"
"""More than the buffer of a pipe holds, so that the pager is still being written to when it is closed."""
ENDLESS = "SELECT 'row ' || range AS a FROM range(100000000000)"

pytestmark = pytest.mark.skipif(shutil.which("less") is None, reason="needs less")


@pytest.fixture
def env(install: Path, tmp_path: Path) -> dict[str, str]:
    (install / "config").mkdir(parents=True)
    Workspace(install / "data" / "default")
    kept = {name: value for name, value in os.environ.items() if name not in ("PAGER", "LESS", "LESSOPEN", "NO_COLOR")}
    return {**kept, "HOME": str(tmp_path), "TAILPIPE_INSTALL_DIR": str(install), "TERM": "xterm"}


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("sql", "output", "less"), sampled([(LONG, "pretty", None), (ENDLESS, "line", ""), (ENDLESS, "plain", "-R")], 3)
)
def test_leaving_with_q_ends_the_query_well(
    env: dict[str, str], tmp_path: Path, sql: str, output: str, less: str | None
) -> None:
    if less is not None:
        env["LESS"] = less
    with Terminal("query", sql, "--output", output, env=env, cwd=tmp_path) as terminal:
        terminal.see("row 0", "row 10", ":")
        terminal.type("q")
        assert terminal.ended() == 0
        terminal.see("the pager was closed before the last row, ")
        assert "Error" not in "\n".join(terminal.lines)


def test_the_shell_goes_on_after_q(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal("query", env=env, cwd=tmp_path) as terminal:
        terminal.see("\ntailpipe")
        terminal.type(f"{LONG};\n")
        terminal.see("row 0", "row 10", ":")
        terminal.type("q")
        terminal.see("the pager was closed", "tailpipe>")
        terminal.ask("SELECT 42 AS a;", "a", "42", "1 row")


def test_all_rows_are_seen_at_the_end_of_the_pager(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal("query", LONG, env=env, cwd=tmp_path) as terminal:
        terminal.see("row 0", ":")
        terminal.type("G")
        terminal.see("row 8999")
        terminal.type("q")
        assert terminal.ended() == 0
        terminal.see("9,000 rows, ")


def test_a_pager_that_reads_nothing_is_no_crash(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal("query", LONG, env={**env, "PAGER": "true"}, cwd=tmp_path) as terminal:
        assert terminal.ended() == 0
        terminal.see("the pager was closed")


def test_a_pager_that_fails_is_named(env: dict[str, str], tmp_path: Path) -> None:
    failing = program(tmp_path / "failing", "#!/bin/sh\nexit 3\n")
    with Terminal("query", LONG, env={**env, "PAGER": f"{failing} -x"}, cwd=tmp_path, columns=200) as terminal:
        assert terminal.ended() == 0
        terminal.see("the pager failed: ", "failing -x ended with exit code 3; PAGER=cat prints without one")


@pytest.mark.parametrize("pager", sampled(["no-such-pager", "", "cat", "less 'x", "broken"], 3))
def test_without_a_pager_the_answer_is_printed(env: dict[str, str], tmp_path: Path, pager: str) -> None:
    if pager == "broken":  # a file that may be run, and cannot be
        pager = str(program(tmp_path / "broken", "\x7fELF"))
    with Terminal("query", LONG, env={**env, "PAGER": pager}, cwd=tmp_path) as terminal:
        assert terminal.ended() == 0
        terminal.see("row 8990", "row 8999", "9,000 rows, ")


def test_control_c_in_the_pager_is_for_the_pager(env: dict[str, str], tmp_path: Path) -> None:
    waiting = "import sys, signal, time\nsignal.signal(signal.SIGINT, lambda *_: (print('heard'), sys.exit(0)))\n"
    pager = tmp_path / "pager.py"
    pager.write_text(f"{waiting}sys.stdin.read()\nprint('read all', flush=True)\ntime.sleep(600)\n")
    pager_env = {**env, "PAGER": f"'{sys.executable}' '{pager}'"}
    with Terminal("query", LONG, env=pager_env, cwd=tmp_path) as terminal:
        terminal.see("read all")
        terminal.type("\x03")
        assert terminal.ended() == 0
        terminal.see("heard", "9,000 rows, ")
