"""What eighty tables in twenty packs add to `tailpipe --help` and to a query: CPU of the whole process.

The packs have copies of the built-in `kubernetes_audit_log`. The target is at most 30 ms.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import tailpipe

ROUNDS = 9
PACKS, TABLES = 20, 4
COMMANDS = {"--help": ["--help"], "query": ["query", "SELECT count(*) FROM x"]}
CONFIG = 'table "x" {\n  format = format.jsonl.default\n  column "tp_timestamp" { source = "time" }\n}\n'


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        installs = {count: install(Path(directory) / str(count), count) for count in (0, PACKS)}
        found: dict[tuple[str, int], list[float]] = {}
        for _ in range(ROUNDS):
            for count, place in installs.items():
                for name, command in COMMANDS.items():
                    found.setdefault((name, count), []).append(measure(command, place))
        for name in COMMANDS:
            without, with_packs = (statistics.median(found[name, count]) for count in (0, PACKS))
            print(f"{name:8} {without:6.0f} ms, with {PACKS * TABLES} tables {with_packs:6.0f} ms (target +30)")


def install(place: Path, packs: int) -> Path:
    (place / "config").mkdir(parents=True)
    (place / "config" / "x.tpc").write_text(CONFIG)
    name = "kubernetes_audit_log"
    text = (Path(tailpipe.__file__).parent / "plugins/kubernetes/tables" / f"{name}.tpc").read_text()
    for number in range(packs):
        tables = place / "plugins" / f"p{number}" / "tables"
        tables.mkdir(parents=True)
        (tables.parent / "plugin.tpc").write_text(f'plugin "p{number}" {{\n  description = "A pack."\n}}\n')
        for one in range(TABLES):
            (tables / f"p{number}_t{one}.tpc").write_text(text.replace(name, f"p{number}_t{one}"))
    return place


def measure(command: list[str], place: Path) -> float:
    """Milliseconds of CPU that a command takes."""
    before = _cpu()
    environment = {**os.environ, "TAILPIPE_INSTALL_DIR": str(place)}
    subprocess.run([sys.executable, "-m", "tailpipe", *command], env=environment, capture_output=True, check=True)
    return (_cpu() - before) * 1000


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
