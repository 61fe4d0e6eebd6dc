"""How the cost of a collection grows with its rows and with its days: a table in Markdown.

    python -m bench growth --rows 0.1,1,5 --days 1,30,365 --data ~/bench-data

Rows are varied in 30 days, and days with a million rows; `--all` takes every pair. A file has about 2,000 rows, and
each day has at least one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from bench import _runs
from bench._jobs import trail_job
from bench._measure import Usage
from bench._runs import middle

FILE_ROWS = 2_000
USUAL_ROWS, USUAL_DAYS = 1_000_000, 30


def main(arguments: Sequence[str] = ()) -> None:
    parser = _runs.parser("growth", "Measure collections of growing size.", runs=1)
    parser.add_argument("--rows", type=_millions, default="0.1,0.3,1,3,5", metavar="LIST", help="millions of rows")
    parser.add_argument("--days", type=_days, default="1,7,30,90,365", metavar="LIST", help="numbers of days")
    parser.add_argument("--all", action="store_true", help="measure every pair of rows and days")
    options = parser.parse_args(arguments)
    with _runs.opened(options) as bench:
        names = [checkout.name for checkout in bench.checkouts]
        print(header(names, has_duckdb=bench.has_duckdb), flush=True)
        for rows, days in pairs(options.rows, options.days, is_full=options.all):
            files = max(days, rows // FILE_ROWS)
            found = bench.run(trail_job(rows, files, days))
            print(line(rows, days, files, [middle(usages) for usages in found.values()]), flush=True)


def pairs(rows: list[int], days: list[int], *, is_full: bool) -> list[tuple[int, int]]:
    """Rows and days to measure, each pair once."""
    if is_full:
        return [(one, many) for many in days for one in rows]
    return list(dict.fromkeys([(one, USUAL_DAYS) for one in rows] + [(USUAL_ROWS, many) for many in days]))


def header(names: list[str], *, has_duckdb: bool) -> str:
    cells = ["rows", "days", "files"]
    for name in [*names, _runs.DUCKDB] if has_duckdb else names:
        prefix = "" if name == "tailpipe" else f"{name}: "
        cells += [f"{prefix}wall s", "CPU s", "CPU µs a row", "peak MB"]
    return f"| {' | '.join(cells)} |\n|{'---:|' * len(cells)}"


def line(rows: int, days: int, files: int, found: list[Usage]) -> str:
    cells = [f"{rows:,}", f"{days}", f"{files:,}"]
    for usage in found:
        cells += [
            f"{usage.wall:.1f}",
            f"{usage.cpu:.1f}",
            f"{usage.cpu / rows * 1e6:.0f}",
            f"{usage.memory / 1e6:,.0f}",
        ]
    return f"| {' | '.join(cells)} |"


def _millions(text: str) -> list[int]:
    return _numbers(text, 1_000_000)


def _days(text: str) -> list[int]:
    return _numbers(text, 1)


def _numbers(text: str, unit: int) -> list[int]:
    try:
        found = [round(float(part) * unit) for part in text.split(",")]
    except ValueError:
        found = [0]
    if min(found) < 1:
        raise argparse.ArgumentTypeError(f"expected numbers above 0, separated by commas, got {text!r}")
    return found
