"""`tailpipe rejected`: the rows that could not be used, with place, reason and text."""

from __future__ import annotations

from dataclasses import asdict

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, examples, home_of, limited, output, selectors

COLUMNS = render.columns("file", "line", "reason", "text")


command = click.Group("rejected", help="Show rejected rows.")


@command.command(
    "show",
    epilog=examples("tailpipe rejected show", "tailpipe rejected show access_log.web --limit 1000 --output jsonl"),
)
@selectors
@limited("rows")
@output
@common
def show(context: click.Context, selectors: tuple[str, ...], limit: int, output: str) -> None:
    """Show rejected rows with file, line, reason and text.

    Shows the selected partitions, or all of them, newest day first. A row is rejected if it does not match the
    format, has no timestamp, or lacks a required column. The other rows of its file are still collected.
    """
    from tailpipe.operations.facts import rejected
    from tailpipe.query.rejected import RejectedRow, rejected_rows

    home = home_of(context)
    rows: list[RejectedRow] = []
    chosen = set(home.select(selectors))
    found = {name: held.rejected_rows for name, held in home.held().items() if name in chosen}
    total = sum(found.values())
    for name in (name for name, count in found.items() if count):
        rows += rejected_rows(name, rejected(home, name), limit - len(rows)) if len(rows) < limit else []
    partition = render.columns("partition") if len({row.partition for row in rows}) > 1 else {}
    render.records([asdict(row) for row in rows], output, {**partition, **COLUMNS}, nothing="")
    more = "" if len(rows) == total else "; to show more: --limit"
    render.say(f"{len(rows):,} of {total:,} rejected rows{more}" if total else "no rejected rows")
