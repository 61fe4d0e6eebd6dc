"""`tailpipe pull`: fetches what other hosts have pushed to the stores of partitions."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

import click

from tailpipe.cli import render
from tailpipe.cli.options import (
    between,
    common,
    completes,
    examples,
    fail_if,
    home_of,
    output,
    refuse_locked,
    selectors,
)
from tailpipe.errors import UsageError
from tailpipe.model.window import window_between

COLUMNS = render.columns("partition", "store", "version", "commits", "files", "bytes:size", "requests")


@click.command(
    "pull",
    epilog=examples(
        "tailpipe pull",
        "tailpipe pull 'aws_*' --data --from T-7d",
        "tailpipe pull --data --dry-run",
        "tailpipe pull --dataset last_week",
    ),
)
@selectors
@click.option("--data", "with_data", is_flag=True, help="Also bring files to this disk and pin them.")
@click.option(
    "--dataset",
    metavar="NAME",
    shell_complete=completes(lambda w: list(w.config.datasets)),
    help="Bring the files of this dataset to this disk and pin them.",
)
@between("Start time of --data. Defaults to the first day.", "End time of --data. A bare date includes that day.")
@click.option(
    "--index",
    "indexes",
    metavar="VALUE",
    multiple=True,
    help="Only files of this tp_index; wildcards are allowed. Repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Print commits, files, bytes and requests without pulling.")
@output
@common
def command(
    context: click.Context,
    selectors: tuple[str, ...],
    with_data: bool,
    dataset: str | None,
    start: str | None,
    end: str | None,
    indexes: tuple[str, ...],
    dry_run: bool,
    output: str,
) -> None:
    """Pull the catalog of the selected partitions, or of all partitions in the stores.

    Files stay in the store unless --data or --dataset is given. Partitions that the config does not name are found in
    the store.
    """
    from tailpipe.operations.pull import Pull, pull

    home = home_of(context)
    if dataset is not None and (selectors or start or end or indexes):
        raise UsageError(
            "--dataset cannot be used with SELECTOR, --from, --to or --index",
            hint=f"the dataset selects what is pulled; see: tailpipe dataset show {dataset}",
        )
    window = window_between(start, end, now=datetime.now(UTC))
    done = pull(home, Pull(selectors, window, indexes, with_data, dataset, dry_run))
    render.records([asdict(one) for one in done], output, COLUMNS, nothing="no partitions in the stores")
    if dry_run and done:
        render.say("dry run: nothing pulled")
    for one in done:
        for conflict in one.conflicts:
            render.say(conflict)
        if one.error:
            render.problem(f"{one.partition}: {one.error}")
    refuse_locked(one.locked for one in done)
    fail_if(any(one.error for one in done))
