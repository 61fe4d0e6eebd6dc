"""What a shipped table costs as a file against the Python class that it was before: CPU of the kernel in one thread.

Both read the same rows; runs are interleaved, and figures are medians. The target is 1.05.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path

from tests.aws_tables.declared_in_python.cloudtrail_log import CloudtrailLog
from tests.aws_tables.declared_in_python.guardduty_finding import GuarddutyFinding

from bench import _kernel_data as kernel_data
from bench.kernel import Case, run_kernel
from tailpipe.model.table import Table
from tailpipe.plugin import Plugin, Registry

ROUNDS = 5
TARGET = 1.05
FINDINGS = Path(__file__).parent.parent / "tests/golden/aws/aws_guardduty_finding/findings.in.jsonl"


def main() -> None:
    shipped = Registry.installed().tables
    python = {
        table.name: table for table in Plugin(name="aws", tables=[CloudtrailLog, GuarddutyFinding]).loaded("table")
    }
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        print(
            f"{'':24} {'rows':>8} {'class s':>8} {'file s':>8} {'ratio':>6} {'target':>7}   (CPU, median of {ROUNDS})"
        )
        for name, table in python.items():
            (work / name).mkdir()
            _write(name, work / name)
            compare(table, shipped[name], work / name, work / "out")


def compare(python: Table, file: Table, data: Path, out: Path) -> None:
    seconds: dict[str, list[float]] = {"class": [], "file": []}
    rows = 0
    for _ in range(ROUNDS):
        for kind, table in (("class", python), ("file", file)):
            assert table.format is not None
            spent, rows = run_kernel(Case(table.name, "", table, table.format, lambda _: "", TARGET), data, out)
            seconds[kind].append(spent)
    one, other = (statistics.median(found) for found in seconds.values())
    print(f"{python.name:24} {rows:8} {one:8.2f} {other:8.2f} {other / one:6.2f} {TARGET:7.2f}")


def _write(name: str, place: Path) -> None:
    if name == "aws_cloudtrail_log":
        kernel_data.write(place, 4, 10_000, kernel_data.documents)
        return
    lines = [line for line in FINDINGS.read_bytes().splitlines(keepends=True) if _is_whole(line)]
    for number in range(2):
        (place / f"{number}.jsonl").write_bytes(b"".join(lines) * (5_000 // len(lines)))


def _is_whole(line: bytes) -> bool:
    """Whether a line is a finding with a time; the golden file also has some that are rejected."""
    try:
        return "createdAt" in json.loads(line)
    except ValueError:
        return False


if __name__ == "__main__":
    main()
