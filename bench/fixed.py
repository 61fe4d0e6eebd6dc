"""What small and large collections cost, by the program as a user runs it: wall, CPU and memory of all its processes.

    python -m bench fixed --against ../other-checkout --jobs small,100k --runs 3 --data /var/tmp/logs --archive yes

Runs of two checkouts take turns, so that both see the same machine. Each run begins with an empty install directory.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench import _plain_duckdb
from bench._checkout import Checkout, environment
from bench._jobs import JOBS, Job
from bench._measure import Usage, measure

HERE = Path(__file__).resolve().parents[1]
DUCKDB = "DuckDB"


def main(arguments: Sequence[str] = ()) -> None:
    options = parser().parse_args(arguments)
    names = options.jobs.split(",") if options.jobs else list(JOBS)
    if unknown := [name for name in names if name not in JOBS]:
        sys.exit(f"there is no job {unknown[0]!r}; there are: {', '.join(JOBS)}")
    with tempfile.TemporaryDirectory(prefix="tailpipe-bench-") as directory:
        scratch = Path(directory)
        cache = options.data or scratch / "data"
        checkouts = [
            Checkout.at("after" if options.against else "tailpipe", HERE, scratch, has_archive=options.archive)
        ]
        if options.against:
            checkouts.insert(0, Checkout.at("before", options.against, scratch, has_archive=options.archive))
        warm_up(checkouts, cache)
        archive = "with" if options.archive else "without"
        print(f"medians of {options.runs} runs, {archive} a class archive; CPU of all processes")
        found = {}
        for name in names:
            job = JOBS[name]
            found[name] = run(job, checkouts, cache, options.runs, scratch, has_duckdb=options.duckdb)
            report(job, found[name])
        if {"100k", "100k-day"} <= found.keys():
            ratios(found["100k"], found["100k-day"])


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m bench fixed", description="Measure collections, small and large.")
    found.add_argument("--against", type=Path, metavar="PATH", help="another checkout, measured in turns with this one")
    found.add_argument(
        "--jobs", metavar="NAMES", help=f"those of {','.join(JOBS)}, separated by commas; all if left out"
    )
    found.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each job and checkout (default 3)")
    found.add_argument(
        "--data", type=Path, metavar="PATH", help="where logs are kept for the next time; else temporary"
    )
    found.add_argument(
        "--archive", type=_is_yes, default=False, metavar="yes|no", help="begin with a class archive or not"
    )
    found.add_argument("--no-duckdb", dest="duckdb", action="store_false", help="leave out plain DuckDB")
    return found


def _is_yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise argparse.ArgumentTypeError("expected yes or no")
    return text == "yes"


def warm_up(checkouts: list[Checkout], cache: Path) -> None:
    """One run that does not count, so that no checkout has its Python code compiled while it is measured."""
    job = JOBS["small"]
    for checkout in checkouts:
        checkout.collect(job, job.write(cache))


def run(
    job: Job, checkouts: list[Checkout], cache: Path, runs: int, scratch: Path, *, has_duckdb: bool
) -> dict[str, list[Usage]]:
    """The usage of each run, by what was measured."""
    data = job.write(cache)
    found: dict[str, list[Usage]] = {}
    for _ in range(runs):
        for checkout in checkouts:
            found.setdefault(checkout.name, []).append(checkout.collect(job, data))
        if has_duckdb and job.table == "aws_cloudtrail_log" and not job.is_again:
            out = scratch / "out"
            command = _plain_duckdb.command(data, out)
            found.setdefault(DUCKDB, []).append(measure(command, environment(scratch), scratch / "duckdb.log"))
            shutil.rmtree(out)
    return found


def report(job: Job, found: dict[str, list[Usage]]) -> None:
    print(f"\n{job.title}")
    print(f"  {'':10} {'wall s':>8} {'CPU s':>8} {'peak MB':>8} {'µs/row':>8}   all runs, wall/CPU")
    for name, usages in found.items():
        wall, cpu, memory = middle(usages)
        each = "  ".join(f"{usage.wall:.2f}/{usage.cpu:.2f}" for usage in usages)
        print(f"  {name:10} {wall:8.2f} {cpu:8.2f} {memory / 1e6:8.0f} {cpu / job.rows * 1e6:8.1f}   {each}")
    for first, second in (("before", "after"), ("tailpipe", DUCKDB), ("after", DUCKDB)):
        if first in found and second in found:
            shares = [a / b for a, b in zip(middle(found[first]), middle(found[second]), strict=True)]
            print(
                f"  {first} : {second}: wall {shares[0]:.2f}, CPU {shares[1]:.2f}, memory {shares[2]:.2f}", flush=True
            )


def ratios(spread: dict[str, list[Usage]], single: dict[str, list[Usage]]) -> None:
    """What the days cost: the same rows in 30 days and in one."""
    print("\n30 days : 1 day")
    for name, usages in spread.items():
        (wall, cpu, _), (one_wall, one_cpu, _) = middle(usages), middle(single[name])
        print(f"  {name:10} wall {wall / one_wall:.2f}, CPU {cpu / one_cpu:.2f}")


def middle(usages: list[Usage]) -> tuple[float, float, float]:
    """The medians of wall, CPU and memory."""
    return (
        median(usage.wall for usage in usages),
        median(usage.cpu for usage in usages),
        median(usage.memory for usage in usages),
    )
