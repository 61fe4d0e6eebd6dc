"""`tailpipe log`: who has changed a partition, when, and what."""

from __future__ import annotations

from dataclasses import asdict

import click

from tailpipe.cli import render
from tailpipe.cli.options import common, completes_held, examples, home_of, limited, output
from tailpipe.errors import UsageError

COLUMNS = render.columns(
    "committed_at:time",
    "host",
    "version",
    "kind:change",
    "unit",
    "added_files:files added",
    "removed_files:removed",
    "rows",
    "bytes:size",
)
_OF_STORES = ("host", "version")


@click.command(
    "log", epilog=examples("tailpipe log app_log.shop", "tailpipe log app_log.shop --limit 100 --output json")
)
@click.argument("partition", shell_complete=completes_held)
@limited("changes")
@output
@common
def command(context: click.Context, partition: str, limit: int, output: str) -> None:
    """Show the changes of PARTITION, newest first.

    Shows when and by which host each change was committed, what it changed, and its version in the log of the store,
    if it was pushed. Changes of other hosts appear once they were fetched.
    """
    from tailpipe.catalog.changes import PartitionChange, changes

    home = home_of(context)
    names = home.select([partition])
    if len(names) != 1:
        raise UsageError(f"{partition} matches {len(names)} partitions", hint="name one: TABLE.PARTITION")
    nothing: list[PartitionChange] = []
    found = home.read(lambda catalog: changes(catalog.database, names[0], limit), nothing)
    rows = [{**asdict(one), "committed_at": render.moment(one.committed_at)} for one in found]
    is_shared = any(row[name] is not None for row in rows for name in _OF_STORES)
    columns = {key: title for key, title in COLUMNS.items() if is_shared or key not in _OF_STORES}
    render.records(rows, output, columns, nothing=f"{names[0]} has no changes yet")
