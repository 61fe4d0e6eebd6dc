"""`tailpipe expire`: drops the days that are older than the retention of their partition."""

from __future__ import annotations

from typing import Any

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, completes, examples, home_of, output, refuse_locked, refuse_unpushed
from tailpipe.errors import TailpipeError
from tailpipe.home.home import Home
from tailpipe.lifecycle.retain import Expired
from tailpipe.operations.expire import Expire, expire

COLUMNS = render.columns("partition", "keep", "expired_days:expired", "rows", "files", "bytes:size")


@click.command("expire", epilog=examples("tailpipe expire --dry-run", "tailpipe expire 'app_log.*'"))
@click.argument(
    "selectors",
    metavar="[SELECTOR]...",
    nargs=-1,
    shell_complete=completes(lambda home: [name for name, one in home.config.partitions.items() if one.retention]),
)
@click.option("--dry-run", is_flag=True, help="Print the expired days without deleting them.")
@click.option("--force", is_flag=True, help="Delete expired days even if the clock appears to have jumped.")
@output
@common
def command(context: click.Context, selectors: tuple[str, ...], dry_run: bool, force: bool, output: str) -> None:
    """Delete days that exceed the retention of the selected partitions, or of all of them.

    collect does this after every run. Whole days are deleted, by tp_date. To collect them again, run collect with
    --from. Partitions without a retention block keep everything. After a pause of two months the clock may be
    wrong: nothing is deleted without --force.
    """
    home = home_of(context)
    chosen = home.select(selectors)
    found = [_record(home, one) for one in expire(home, Expire(chosen, dry_run, force))]
    gone = [record for record in found if record["files"] or (record["locked"] and output != "pretty")]
    nothing = "" if any(record["locked"] for record in found) else "no expired days"
    if not found:
        nothing = 'no partition has a retention; add one: retention { keep = "400d" }'
    render.records(gone, output, COLUMNS, nothing=nothing)
    if gone and dry_run:
        render.say("dry run: nothing deleted")
    if why := next((record["clock_warning"] for record in found if record["clock_warning"]), ""):
        raise TailpipeError(f"nothing deleted: {why}", hint="if the clock is right, use --force")
    refuse_locked(record["locked"] for record in found)
    refuse_unpushed(home)


def _record(home: Home, expired: Expired) -> dict[str, Any]:
    retention = home.config.partitions[expired.partition].retention
    return {
        "partition": expired.partition,
        "keep": retention.keep if retention else "",
        "oldest_kept": str(expired.oldest),
        "expired_days": str(expired.dates),
        "rows": expired.rows,
        "files": expired.files,
        "bytes": expired.size,
        "locked": expired.locked,
        "clock_warning": expired.clock_warning,
    }
