"""How long a person waits before a command says anything, beside what Python itself needs."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 7


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        small, large = Path(directory) / "small.tpc", Path(directory) / "large.tpc"
        small.write_text(config(partitions=60))
        large.write_text(config(partitions=10_000))
        lines = len(small.read_text().splitlines())
        calls = {
            "python itself": ["-c", "pass"],
            "tailpipe --help": ["-m", "tailpipe", "--help"],
            f"config check, {lines} lines": ["-m", "tailpipe", "config", "check", "--config-path", str(small)],
            "config check, 10,000 blocks": ["-m", "tailpipe", "config", "check", "--config-path", str(large)],
        }
        print(f"{'':32} {'wall s':>8} {'CPU s':>8}   (best of {ROUNDS})")
        for name, arguments in calls.items():
            wall, cpu = measure(arguments, Path(directory))
            print(f"{name:32} {wall:8.3f} {cpu:8.3f}")


def config(partitions: int) -> str:
    """A config with tables, formats and partitions as people write them, about eight lines for each."""
    head = 'table "app" {\n  format = format.jsonl.default\n  column "tp_timestamp" { source = "time" }\n}\n'
    block = (
        'partition "app" "p{i}" {{\n  # logs of host {i}\n  filter = "level <> \'debug\'"\n'
        '  source "file" {{\n    paths       = ["${{pathexpand("~/logs")}}/{i}"]\n'
        "    file_layout = `%{{YEAR:year}}/%{{MONTHNUM:month}}/%{{MONTHDAY:day}}`\n  }}\n}}\n"
    )
    return head + "".join(block.format(i=i) for i in range(partitions))


def measure(arguments: list[str], home: Path) -> tuple[float, float]:
    """The least wall and CPU seconds of a fresh process."""
    env = {**os.environ, "HOME": str(home), "TAILPIPE_INSTALL_DIR": str(home / "install")}
    best = (float("inf"), float("inf"))
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], env=env, check=True, capture_output=True)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = (min(best[0], wall), min(best[1], cpu))
    return best
