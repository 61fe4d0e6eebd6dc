"""`tailpipe source`: the types of sources that plugins bring, and what a source of the config gives."""

from __future__ import annotations

import json
from typing import Any

import click

from tailpipe.cli import render
from tailpipe.cli.describe import sources_record, type_record
from tailpipe.cli.listing import OPTIONS, noun_group
from tailpipe.cli.logs import log_from
from tailpipe.cli.options import between, common, completes, examples, home_of, limited, output, pretty_or_json
from tailpipe.cli.report_records import years_record
from tailpipe.cli.trial import show_trial
from tailpipe.errors import EXIT_FAILED, UsageError
from tailpipe.home.home import Home
from tailpipe.model.nearest import did_you_mean
from tailpipe.operations.trial import try_source


def _records(home: Home) -> list[dict[str, Any]]:
    registry = home.registry
    return [type_record(source, registry.owner("source", name)) for name, source in sorted(registry.sources.items())]


TYPES = render.columns("name:source", "plugin", "description")
OF_PARTITIONS = render.columns("partition", "name:source", "type", "format", "options")

command = noun_group("source", _records, TYPES, example="file", parts={"options": OPTIONS}, label="source type")


def _tables(home: Home) -> list[str]:
    return sorted({partition.table for partition in home.config.partitions.values()})


@command.command("list", epilog=examples("tailpipe source list app_log"))
@click.argument("name", metavar="[TABLE]", required=False, shell_complete=completes(_tables))
@output
@common
def list_(context: click.Context, name: str | None, output: str) -> None:
    """List all source types, or the sources of TABLE."""
    home = home_of(context)
    if name is None:
        render.records(_records(home), output, TYPES)
        return
    records = [
        {"partition": address, **record}
        for address, partition in home.config.partitions.items()
        if name in (partition.table, address)
        for record in sources_record(partition, home.tables[partition.table])
    ]
    if not records and name not in home.tables:
        hint = did_you_mean(name, [*home.config.partitions, *_tables(home)], "see: tailpipe partition list")
        noun = "partition" if "." in name else "table"
        raise UsageError(f"{noun} not found: {name}", hint=hint)
    render.records(records, output, OF_PARTITIONS)


def _complete_source(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The sources of the partition that was typed before."""

    def names(home: Home) -> list[str]:
        partition = home.config.partitions.get(context.params.get("partition", ""))
        return [source.name for source in partition.sources] if partition else []

    return completes(names)(context, parameter, incomplete)


@command.command(
    "test",
    epilog=examples(
        "tailpipe source test app_log.local",
        "tailpipe source test app_log.local file --from 2024-03-05 --to 2024-03-05",
    ),
)
@click.argument(
    "partition", metavar="TABLE.PARTITION", shell_complete=completes(lambda home: list(home.config.partitions))
)
@click.argument("source", metavar="[SOURCE]", required=False, shell_complete=_complete_source)
@between("Start time. Defaults to seven days ago.")
@limited("rows", least=0)
@pretty_or_json
@common
def test(context: click.Context, /, partition: str, source: str | None, output: str, **flags: Any) -> None:
    """List SOURCE, open its newest artifact and print the first rows.

    Also prints rejected rows, with position and reason. Collects and writes nothing. Exits with 1 if nothing can be
    listed, or if no row fits the table.
    """
    home = home_of(context)
    if partition not in home.config.partitions:
        hint = did_you_mean(partition, home.config.partitions, "see: tailpipe partition list")
        raise UsageError(f"partition not found: {partition}", hint=hint)
    log_from(home.settings.log_levels, home.config.secrets)
    tried = try_source(home, partition, source, **flags)
    trial = tried.trial
    if output == "json":
        render.data(json.dumps(_record(tried), ensure_ascii=False, default=str) + "\n")
    else:
        listed = f"{tried.listed:,} or more artifacts" if tried.is_cut else render.counted(tried.listed, "artifact")
        render.say(f'source "{tried.source}": {listed} listed; opened {tried.artifact.uri}')
        show_trial(trial, output, is_format=False)
    if trial.error is not None or not trial.accounts.kept:
        if not trial.accounts.read and trial.error is None:
            render.say("the artifact has no rows; choose other days with --from and --to")
        context.exit(EXIT_FAILED)


def _record(tried: Any) -> dict[str, Any]:
    trial = tried.trial
    return {
        "source": tried.source,
        "artifacts": tried.listed,
        "has_more_artifacts": tried.is_cut,
        "artifact": tried.artifact.uri,
        "day": tried.artifact.day,
        "error": trial.error,
        "read_to_end": trial.is_whole,
        **{name: getattr(trial.accounts, name) for name in ("read", "kept", "filtered", "rejected")},
        "rows": [] if trial.rows is None else trial.rows.to_pylist(),
        "rejected_rows": [{"position": one.position, "reason": one.reason, "text": one.text} for one in trial.rejected],
        "type_errors": trial.nulls,
        "empty_columns": trial.unfilled,
        "assumed_years": years_record(trial.years),
    }
