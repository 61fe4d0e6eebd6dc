"""The tutorial, typed as it is written: every command works and prints what the page says."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.sampling import sampled
from tests.unit.docs.pages import codes, fences, read, section

PAGES = {"README.md": "Quick start", "docs/tutorial.md": ""}
"""The pages that are typed, and which part of each."""

pytestmark = pytest.mark.xdist_group("tutorial")


@pytest.mark.parametrize("page", sampled(PAGES, 2))
def test_what_a_beginner_types_works_as_it_is_written(page: str, tmp_path: Path) -> None:
    text = section(read(page), PAGES[page]) if PAGES[page] else read(page)
    day = str(datetime.now(UTC).date())
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "HOME": str(tmp_path), "NO_COLOR": "1", "PATH": path, "day": day}
    config = tmp_path / next(code for code in codes(text) if code.endswith(".tpc")).removeprefix("~/")
    done: subprocess.CompletedProcess[str] | None = None
    for fence in fences(text):
        if fence.info == "hcl":
            config.write_text(fence.body, encoding="utf-8")
        elif fence.info == "sh":
            program = ["bash", "-euo", "pipefail", "-c", fence.body]
            done = subprocess.run(
                program, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
            )
            assert done.returncode == 0, f"line {fence.line}: {done.stderr}"
        elif fence.info == "text":
            assert done is not None
            # The rule under a heading is as long as what stands there, and a home may be longer than another.
            out, err = (
                told.replace(str(tmp_path), "/home/me").replace(day, "2024-01-31")
                for told in (done.stdout, done.stderr)
            )
            assert squeezed(fence.body) in (squeezed(out), squeezed(err)), f"line {fence.line}"


def squeezed(text: str) -> list[list[str]]:
    """The words of each line, without rules."""
    return [words for line in text.splitlines() if (words := [word for word in line.split() if word.strip("─")])]
