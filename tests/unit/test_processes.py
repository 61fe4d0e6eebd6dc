"""The CPU time of a process and of all below it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailpipe.spark.processes import cpu_seconds

BUSY = "import time\nwhile time.process_time() < 0.3: pass\n"
PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {BUSY + "print(flush=True); input()"!r}], stdout=-1, stdin=-1)
child.stdout.readline()
print("ready", flush=True)
input()
child.communicate(b"x")
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not say")
def test_children_count_while_they_live_and_after_it() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert cpu_seconds(process.pid) >= 0.2  # the system counts whole ticks, and leaves out what is begun
        process.stdin.write("\n")
    assert cpu_seconds(process.pid) == 0  # it is gone


def test_a_name_may_hold_anything_and_a_process_may_end_meanwhile(tmp_path: Path) -> None:
    for pid, parent, name in ((1, 0, "init"), (7, 1, "a) R 1 (b"), (8, 7, "x")):
        (tmp_path / str(pid)).mkdir()
        fields = ["S", str(parent), *["0"] * 9, "100", "50", "25", "25", *["0"] * 10]
        (tmp_path / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
    (tmp_path / "9").mkdir()
    second = os.sysconf("SC_CLK_TCK")
    assert cpu_seconds(7, tmp_path) == 400 / second
    assert cpu_seconds(9, tmp_path) == 0
    assert cpu_seconds(1, tmp_path / "nowhere") == 0
