"""What small and large collections cost, by the program as a user runs it: wall, CPU and memory of all its processes.

    python -m bench fixed --against ../other-checkout --jobs small,100k --runs 3 --data ~/bench-data --archive yes

Runs of two checkouts take turns, so that both see the same machine. Each run starts with an empty install directory.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bench import _runs
from bench._jobs import JOBS, Job
from bench._measure import Usage
from bench._runs import DUCKDB, middle


def main(arguments: Sequence[str] = ()) -> None:
    parser = _runs.parser("fixed", "Measure collections, small and large.", runs=3)
    parser.add_argument("--jobs", metavar="NAMES", default=",".join(JOBS), help="comma-separated (default %(default)s)")
    options = parser.parse_args(arguments)
    names = options.jobs.split(",")
    if unknown := [name for name in names if name not in JOBS]:
        sys.exit(f"there is no job {unknown[0]!r}; there are: {', '.join(JOBS)}")
    with _runs.opened(options) as bench:
        archive = "with" if options.archive else "without"
        print(f"medians of {options.runs} runs, {archive} a class archive; CPU of all processes", flush=True)
        found = {}
        for name in names:
            found[name] = bench.run(JOBS[name])
            report(JOBS[name], found[name])
    if {"100k", "100k-day"} <= found.keys():
        report_days(found["100k"], found["100k-day"])


def report(job: Job, found: dict[str, list[Usage]]) -> None:
    print(f"\n{job.title}")
    print(f"  {'':10} {'wall s':>8} {'CPU s':>8} {'peak MB':>8}   all runs, wall/CPU")
    for name, usages in found.items():
        usual = middle(usages)
        each = "  ".join(f"{usage.wall:.2f}/{usage.cpu:.2f}" for usage in usages)
        print(f"  {name:10} {usual.wall:8.2f} {usual.cpu:8.2f} {usual.memory / 1e6:8.0f}   {each}")
    for first, second in (("before", "after"), ("tailpipe", DUCKDB), ("after", DUCKDB)):
        if first in found and second in found:
            a, b = middle(found[first]), middle(found[second])
            print(f"  {first} : {second} = wall {a.wall / b.wall:.2f}, CPU {a.cpu / b.cpu:.2f}")
    sys.stdout.flush()


def report_days(spread: dict[str, list[Usage]], single: dict[str, list[Usage]]) -> None:
    """What the days cost: the same number of rows in 30 days and in one."""
    print("\n100,000 rows, 30 days : 1 day")
    for name, usages in spread.items():
        a, b = middle(usages), middle(single[name])
        print(f"  {name:10} wall {a.wall / b.wall:.2f}, CPU {a.cpu / b.cpu:.2f}")
