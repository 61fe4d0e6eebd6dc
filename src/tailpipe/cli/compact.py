"""`tailpipe compact`: merges small files and applies a changed index."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

import click

from tailpipe.cli import render
from tailpipe.cli.options import between, common, examples, home_of, output, refuse_locked, refuse_unpushed, selectors
from tailpipe.model.window import window_between

COLUMNS = render.columns("partition", "rows", "files", "new_files:files now", "bytes:size", "new_bytes:size now")


@click.command(
    "compact",
    epilog=examples(
        "tailpipe compact",
        "tailpipe compact app_log.local --from T-30d --dry-run",
        "tailpipe compact 'aws_*' --reindex",
    ),
)
@selectors
@click.option("--reindex", is_flag=True, help="Rewrite files by the current tp_index of their partition.")
@between("First day to compact.")
@click.option("--dry-run", is_flag=True, help="Print the plan without compacting.")
@output
@common
def command(
    context: click.Context,
    selectors: tuple[str, ...],
    reindex: bool,
    start: str | None,
    end: str | None,
    dry_run: bool,
    output: str,
) -> None:
    """Merge small files in the selected partitions, or in all of them.

    Each day is rewritten as one file, or as several of about 200 MB, sorted by time. Days that are already
    compact are skipped. Row ids stay the same, and queries keep working.
    """
    from tailpipe.cli.progress import Display
    from tailpipe.operations.compact import Compact, compact

    home = home_of(context)
    window = window_between(start, end, now=datetime.now(UTC))
    display = Display(is_shown=True)
    try:
        done = compact(home, Compact(selectors, window, reindex, dry_run), display)
    finally:
        display.close()
    changed = [asdict(one) for one in done if one.files or (one.locked and output != "pretty")]
    hidden = ("new_files", "new_bytes") if dry_run else ()
    columns = {name: title for name, title in COLUMNS.items() if name not in hidden}
    nothing = "" if any(one.locked for one in done) else "nothing to compact"
    render.records(changed, output, columns, nothing=nothing)
    refuse_locked(one.locked for one in done)
    refuse_unpushed(home)
