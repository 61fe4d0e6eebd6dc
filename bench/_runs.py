"""What all measurements of whole collections share: their options, and runs of checkouts that take turns."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import _plain_duckdb
from bench._checkout import Checkout, environment
from bench._jobs import JOBS, Job
from bench._measure import Usage, measure

__all__ = ["DUCKDB", "Bench", "middle", "opened", "parser"]

DUCKDB = "DuckDB"
_HERE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Bench:
    """The checkouts that are compared, and where their logs and results are."""

    checkouts: list[Checkout]
    data: Path
    scratch: Path
    runs: int
    has_duckdb: bool

    def run(self, job: Job) -> dict[str, list[Usage]]:
        """The usage of each run of a job, by what was measured: checkouts, and plain DuckDB if it can do it."""
        data = job.write(self.data)
        has_duckdb = self.has_duckdb and job.table == "aws_cloudtrail_log" and not job.is_again
        found: dict[str, list[Usage]] = {}
        for _ in range(self.runs):
            for checkout in self.checkouts:
                found.setdefault(checkout.name, []).append(checkout.collect(job, data))
            if has_duckdb:
                found.setdefault(DUCKDB, []).append(self._plain_duckdb(job, data))
        return found

    def _plain_duckdb(self, job: Job, data: Path) -> Usage:
        out = self.scratch / "out"
        usage = measure(_plain_duckdb.command(data, out), environment(self.scratch), self.scratch / "duckdb.log")
        rows = _plain_duckdb.rows(out)
        shutil.rmtree(out)
        if rows != job.rows:
            sys.exit(f"{DUCKDB}: {job.title}: {rows} rows, not {job.rows}")
        return usage


def parser(name: str, description: str, *, runs: int, is_collecting: bool = True) -> argparse.ArgumentParser:
    """The options that all have."""
    found = argparse.ArgumentParser(prog=f"python -m bench {name}", description=description)
    found.add_argument("--against", type=Path, metavar="PATH", help="another checkout, measured in turns with this one")
    found.add_argument("--runs", type=int, default=runs, metavar="N", help="runs of each (default %(default)s)")
    found.add_argument("--data", type=Path, metavar="PATH", help="keep the logs here for the next time")
    found.set_defaults(archive=False, duckdb=True)
    if is_collecting:
        found.add_argument("--archive", type=_is_yes, metavar="yes|no", help="start with a class archive (default no)")
        found.add_argument("--no-duckdb", dest="duckdb", action="store_false", help="leave out plain DuckDB")
    return found


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[Bench]:
    """Everything that the options name, warmed up."""
    if options.runs < 1:
        sys.exit("--runs: expected 1 or more")
    with tempfile.TemporaryDirectory(prefix="tailpipe-bench-") as directory:
        scratch = Path(directory)
        places = {"before": options.against, "after": _HERE} if options.against else {"tailpipe": _HERE}
        checkouts = [Checkout.at(name, root, scratch, has_archive=options.archive) for name, root in places.items()]
        found = Bench(checkouts, options.data or scratch / "data", scratch, options.runs, options.duckdb)
        _warm_up(found)
        yield found


def middle(usages: list[Usage]) -> Usage:
    """The medians."""
    return Usage(
        median(usage.wall for usage in usages),
        median(usage.cpu for usage in usages),
        median(usage.memory for usage in usages),
    )


def _is_yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise argparse.ArgumentTypeError("expected yes or no")
    return text == "yes"


def _warm_up(bench: Bench) -> None:
    """One run that does not count, so that no checkout has its Python code compiled while it is measured."""
    job = JOBS["small"]
    for checkout in bench.checkouts:
        checkout.collect(job, job.write(bench.data))
