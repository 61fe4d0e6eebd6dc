"""`tailpipe partition`: what is collected, from where, how much of it is here, and how it goes."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import click

from tailpipe.cli import render
from tailpipe.cli.again import located
from tailpipe.cli.describe import coverage_record, held_record, partition_record
from tailpipe.cli.listing import noun_group
from tailpipe.cli.options import between, common, completes_held, examples, home_of, refuse_unpushed
from tailpipe.errors import EXIT_FAILED, UsageError
from tailpipe.home.home import Home
from tailpipe.model.coverage import DaySet
from tailpipe.model.window import window_between
from tailpipe.operations import delete as operation
from tailpipe.operations.facts import coverage
from tailpipe.operations.pull import pin

SOURCES = render.columns("name:source", "type", "format", "options")
COVERAGE = render.columns("source", "covered", "missing", "dropped", "frontier")


def _records(home: Home) -> list[dict[str, Any]]:
    config, registry, held = home.config, home.registry, home.held()
    records = {name: held_record(totals) for name, totals in held.items()}
    for address, partition in config.partitions.items():
        plugin = None if partition.table in config.tables else registry.owner("table", partition.table)
        table = home.tables[partition.table]
        records[address] = partition_record(partition, table, plugin, held.get(address))
    return [record for _, record in sorted(records.items())]


def _with_coverage(home: Home, record: dict[str, Any]) -> dict[str, Any]:
    partition = home.config.partitions.get(record["name"])
    return {**record, **coverage_record(coverage(home, record["name"]), partition, datetime.now(UTC))}


command = noun_group(
    "partition",
    _records,
    render.columns(
        "name:partition",
        "plugin",
        "sources",
        "local.file_count:files",
        "local.row_count:rows",
        "local.file_size:size",
        "description",
    ),
    example="app_log.local",
    parts={"sources": SOURCES, "coverage": COVERAGE},
    also_named="partition.",
    more=_with_coverage,
)


@command.command("delete", epilog=examples("tailpipe partition delete app_log.local --to T-90d --force"))
@click.argument("selector", shell_complete=completes_held)
@between("Start time. Defaults to the first day.")
@click.option("--force", is_flag=True, help="Delete without confirmation.")
@common
def delete(context: click.Context, selector: str, start: str | None, end: str | None, force: bool) -> None:
    """Delete collected days of the selected partitions.

    Only whole days between --from and --to are deleted, by tp_date. To collect them again, run collect with --from.
    Partitions that were removed from the config can be deleted too.
    """
    home = home_of(context)
    window = window_between(start, end, now=datetime.now(UTC))
    if not DaySet.within(window):
        raise UsageError(f'no full day from "{start}" to "{end}"', hint="days are UTC days")
    doomed = [one for one in operation.preview_deletion(home, selector, window) if one.files or one.rejected]
    if not doomed:
        render.say("nothing to delete")
        return
    for one in doomed:
        parts = [f"{render.counted(one.rows, 'row')} in {render.counted(one.files, 'file')}"]
        parts += [render.days(one.dates)] if one.dates else []
        parts += [f"{one.rejected:,} rejected"] if one.rejected else []
        render.say(f"{one.partition}: {', '.join(parts)}")
    if not force:
        if not sys.stdin.isatty():
            raise UsageError("not deleted: stdin is not a terminal", hint="use --force to delete without confirmation")
        if not click.confirm("Delete them?", err=True):
            render.say("nothing deleted")
            context.exit(EXIT_FAILED)
    for one in doomed:
        operation.delete(home, one.partition, window)
        render.say(f"deleted {render.counted(one.rows, 'row')} from {one.partition}")
    for one in doomed:
        if one.dates and one.partition in home.config.partitions:
            days = f"--from {one.dates.first} --to {one.dates.last}"
            render.say(located(f"to collect them again: tailpipe collect {one.partition} {days}"))
    refuse_unpushed(home)


def _pin(is_pinned: bool, word: str, description: str) -> None:
    """Add the command that pins, or the one that unpins."""

    @command.command(word, help=description, epilog=examples(f"tailpipe partition {word} app_log.local --from T-7d"))
    @click.argument("selector", shell_complete=completes_held)
    @between("Start time. Defaults to the first day.")
    @common
    def act(context: click.Context, selector: str, start: str | None, end: str | None) -> None:
        home = home_of(context)
        window = window_between(start, end, now=datetime.now(UTC))
        for name, files in pin(home, selector, window, is_pinned=is_pinned).items():
            render.say(f"{name}: {render.counted(files, 'file')} {word}ned")


_pin(True, "pin", "Keep files on this disk, whatever the rule of their store says.")
_pin(False, "unpin", "Let the rule of the store decide again which files stay here.")
