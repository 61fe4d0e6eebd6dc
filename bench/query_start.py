"""From the start of the process to an answer, by the program as a user runs it, beside the bare DuckDB library.

    python -m bench query_start --against ../other-checkout --data ~/bench-data

Both read the same parquet files, which tailpipe has collected, and both give the same answer.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bench import _runs
from bench._checkout import Checkout, environment
from bench._jobs import Job, lines_job, trail_job
from bench._measure import Usage, measure
from bench._runs import Bench, middle

FILE_ROWS, LINE_FILES, TRAIL_FILES = 200_000, 28, 30
CASES = (
    (lines_job(FILE_ROWS * LINE_FILES, LINE_FILES), LINE_FILES, "SELECT count(*), max(a) FROM {}"),
    (trail_job(100_000, 50, TRAIL_FILES), TRAIL_FILES, "SELECT count(*), count(error_code) FROM {}"),
)
BARE = "import duckdb; print(*duckdb.connect().execute({sql!r}).fetchone(), sep=',')"


def main(arguments: Sequence[str] = ()) -> None:
    parser = _runs.parser(
        "query_start", "Measure what a query costs beside what DuckDB needs for it.", runs=15, is_collecting=False
    )
    options = parser.parse_args(arguments)
    with _runs.opened(options) as bench:
        print(f"medians of {options.runs} runs, milliseconds", flush=True)
        for job, files, statement in CASES:
            installs = {checkout: collected(checkout, job, files, bench.data) for checkout in bench.checkouts}
            report(job, files, statement, run(bench, installs, job, statement))


def collected(checkout: Checkout, job: Job, files: int, data: Path) -> Path:
    """An install directory with the rows of a job in so many files."""
    install = checkout.collected(job, job.write(data))
    if (found := len(list(install.glob(parquet_files(job))))) != files:
        sys.exit(f"{checkout.name}: {job.title}: {found} parquet files, not {files}")
    return install


def run(bench: Bench, installs: dict[Checkout, Path], job: Job, statement: str) -> dict[str, list[Usage]]:
    """The usage of each run, by what was measured; the first round does not count."""
    found: dict[str, list[Usage]] = {}
    for checkout, install in installs.items():
        ours = checkout.run(["query", statement.format(job.table), "--output", "csv", "--no-header"], install)
        if ours != (bare := checkout.run_python(bare_code(install, job, statement))):
            sys.exit(f"{checkout.name}: {statement}: tailpipe says {ours!r}, DuckDB {bare!r}")
    for _ in range(bench.runs):
        for checkout, install in installs.items():
            usage = checkout.measure(["query", statement.format(job.table)], install)
            found.setdefault(checkout.name, []).append(usage)
        checkout, install = list(installs.items())[-1]
        command = [str(checkout.python), "-c", bare_code(install, job, statement)]
        usage = measure(command, environment(install), bench.scratch / "duckdb.log")
        found.setdefault(_runs.DUCKDB, []).append(usage)
    return found


def bare_code(install: Path, job: Job, statement: str) -> str:
    pattern = install / parquet_files(job)
    return BARE.format(sql=statement.format(f"read_parquet('{pattern}', hive_partitioning = false)"))


def parquet_files(job: Job) -> str:
    return f"data/default/tp_table={job.table}/**/*.parquet"


def report(job: Job, files: int, statement: str, found: dict[str, list[Usage]]) -> None:
    bare = middle(found[_runs.DUCKDB])
    print(f"\n{statement.format(job.table)}; {job.rows:,} rows, {files} files")
    print(f"  {'':10} {'wall':>8} {'CPU':>8} {'wall more':>10} {'CPU more':>10} {'peak MB':>8}")
    for name, usages in found.items():
        usual = middle(usages)
        wall, cpu = usual.wall - bare.wall, usual.cpu - bare.cpu
        more = f"{wall * 1e3:10.0f} {cpu * 1e3:10.0f}" if name != _runs.DUCKDB else f"{'':10} {'':10}"
        print(
            f"  {name:10} {usual.wall * 1e3:8.0f} {usual.cpu * 1e3:8.0f} {more} {usual.memory / 1e6:8.0f}", flush=True
        )
