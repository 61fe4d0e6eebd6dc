"""`tailpipe format`: types of formats, presets, and formats of the config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailpipe.cli import render
from tailpipe.cli.describe import format_record, type_record
from tailpipe.cli.listing import OPTIONS, noun_group
from tailpipe.cli.options import common, completes, examples, fail_if, home_of, limited, output, with_built_ins
from tailpipe.cli.trial import NOWHERE, fits_nothing, show_trial
from tailpipe.home.home import Home
from tailpipe.operations.trial import try_file


def _records(home: Home) -> list[dict[str, Any]]:
    registry = home.registry
    owner = registry.owner
    records = [type_record(one, owner("format", name), kind="type") for name, one in registry.formats.items()]
    records += [format_record(one, owner("preset", name), "preset") for name, one in registry.presets.items()]
    records += [format_record(one, owner("format", one.type), "config") for one in home.config.formats.values()]
    return sorted(records, key=lambda record: str(record["name"]))


command = noun_group(
    "format",
    _records,
    render.columns("name:format", "kind:from", "plugin", "description"),
    example="delimited",
    parts={"options": OPTIONS},
    also_named="format.",
    has_built_ins=True,
)


@command.command(
    "test", epilog=examples("tailpipe format test regex.access access.log", "tailpipe format test jsonl app.log.gz")
)
@click.argument(
    "name", metavar="FORMAT", shell_complete=completes(lambda home: [*home.registry.presets, *home.config.formats])
)
@click.argument("file", type=click.Path(path_type=Path))
@limited("rows", least=0)
@output
@common
def test(context: click.Context, name: str, file: Path, limit: int, output: str) -> None:
    """Parse FILE with FORMAT and print the first rows.

    Also prints the lines that do not match, with position and reason. Column types are inferred. Collects and writes
    nothing. Exits with 1 if no line matches.
    """
    home = home_of(context)
    format_ = with_built_ins(home, lambda known: known.format(name.removeprefix("format.")))
    trial = try_file(home, file, NOWHERE, format_, limit)
    show_trial(trial, output, is_format=True)
    fail_if(fits_nothing(trial))
