"""`tailpipe runs`: the history of runs, newest first."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from tailpipe.catalog.run_record import RunRecord
from tailpipe.cli import render
from tailpipe.cli.options import common, completes_held, examples, home_of, limited, output
from tailpipe.model.artifact import Accounts

COLUMNS = render.columns(
    "started", "partition", "outcome", "duration", "rows", "rejected_rows:rejected", "bytes:size", "error"
)


@click.command(
    "runs",
    epilog=examples("tailpipe runs", "tailpipe runs app_log.shop --limit 100", "tailpipe runs --failed --output json"),
)
@click.argument("partitions", metavar="[PARTITION]...", nargs=-1, shell_complete=completes_held)
@click.option("--failed", is_flag=True, help="Only runs that failed or were interrupted.")
@limited("runs")
@output
@common
def command(context: click.Context, partitions: tuple[str, ...], failed: bool, limit: int, output: str) -> None:
    """Show the runs of the selected partitions, or of all, newest first.

    Shows start, outcome, duration, rows, bytes and error of each run. The other formats also have the window, the rows
    by outcome, the profile and the command. run_history of the workspace says how long runs are kept.
    """
    from tailpipe.operations.facts import runs

    found = runs(home_of(context), partitions, limit, is_failed=failed)
    rows = [_cells(one) if output == "pretty" else record_of(one) for one in found]
    has_errors = any(one.facts and one.facts.error for one in found)
    columns = {key: title for key, title in COLUMNS.items() if has_errors or key != "error"}
    render.records(rows, output, columns, nothing="no runs failed" if failed else "no runs yet")


def record_of(run: RunRecord) -> dict[str, Any]:
    """A run with all its facts, for programs; null where an earlier version has recorded none."""
    facts = run.facts
    counts = asdict(facts.accounts) if facts else dict.fromkeys(asdict(Accounts()))
    return {
        "run": run.id,
        "partition": run.partition,
        "started_at": render.moment(run.begun_at),
        "ended_at": render.moment(run.ended_at),
        "outcome": run.outcome,
        "window_start": render.moment(run.window.start),
        "window_end": render.moment(run.window.end),
        **{name: getattr(facts, name, None) for name in ("seconds", "bytes", "artifacts")},
        **counts,
        "profile": {
            phase: {"wall_seconds": spent.wall, "cpu_seconds": spent.cpu}
            for phase, spent in (facts.profile if facts else {}).items()
        },
        "idle_runs": run.idle_checks,
        "error": facts.error if facts else None,
        "command": run.command,
    }


def _cells(run: RunRecord) -> dict[str, Any]:
    cells: dict[str, Any] = {
        "started": run.begun_at.strftime("%Y-%m-%d %H:%M:%S"),
        "partition": run.partition,
        "outcome": run.outcome + (f" ({run.idle_checks:,} idle runs since)" if run.idle_checks else ""),
    }
    if facts := run.facts:
        cells |= {"duration": f"{facts.seconds:.1f} s", "rows": facts.accounts.kept, "bytes": facts.bytes}
        cells |= {"rejected_rows": facts.accounts.rejected, "error": render.shown(facts.error)}
    return cells
